import { describe, expect, test } from 'vitest';
import { isCovered, shutBy } from '../../../coordinator/notifications/policy.ts';

const chosen = { covers: 'chosen', monitors: new Set(['shop']), groups: new Set(['web']) } as const;

describe('rule 30: what a channel covers', () => {
  test.each([
    ['all, whatever was chosen before', { ...chosen, covers: 'all' }, { id: 'mail', group: null }, true],
    ['a monitor that was chosen', chosen, { id: 'shop', group: null }, true],
    ['a monitor of a group that was chosen', chosen, { id: 'cart', group: 'web' }, true],
    ['no other', chosen, { id: 'mail', group: 'office' }, false],
    ['no monitor without a group by its group', chosen, { id: 'mail', group: null }, false],
  ] as const)('rule 30: %s', (_, coverage, monitor, covered) => {
    expect(isCovered(coverage, monitor)).toBe(covered);
  });

  test('rule 30: nobody is told by a channel that is off, deleted, not proven, or whose address has unsubscribed', () => {
    const open = { deleted: false, enabled: true, verified: true, unsubscribed: false };
    expect(shutBy(open)).toBeUndefined();
    expect(shutBy({ ...open, deleted: true })).toBe('deleted');
    expect(shutBy({ ...open, enabled: false })).toBe('off');
    expect(shutBy({ ...open, verified: false })).toBe('unproven');
    expect(shutBy({ ...open, unsubscribed: true })).toBe('unsubscribed');
  });
});
