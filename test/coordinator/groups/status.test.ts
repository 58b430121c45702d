import { describe, expect, test } from 'vitest';
import { groupStatus } from '../../../coordinator/groups/model.ts';

describe('rule 29: the one status of a group', () => {
  const member = (status: Parameters<typeof groupStatus>[0][number]['status'], affects_group_status = true) => ({
    status,
    affects_group_status,
  });
  test.each([
    ['the worst of its members', [member('up'), member('down'), member('verifying')], 'down'],
    ['verifying before pending', [member('pending'), member('verifying')], 'verifying'],
    ['pending before up', [member('pending'), member('up')], 'pending'],
    ['members that do not affect it do not count', [member('down', false), member('up')], 'up'],
    ['paused members do not count', [member('paused'), member('up')], 'up'],
    ['paused when none is enabled', [member('paused'), member('paused', false)], 'paused'],
    ['paused when the only one is not enabled, affect it or not', [member('paused', false)], 'paused'],
    ['paused when none that affects it is enabled', [member('paused'), member('up', false)], 'paused'],
    ['pending when none affects it and one is enabled', [member('paused', false), member('up', false)], 'pending'],
    ['pending when the only one does not affect it', [member('up', false)], 'pending'],
    ['pending without members', [], 'pending'],
  ] as const)('rule 29: %s', (_, members, expected) => {
    expect(groupStatus(members)).toBe(expected);
  });
});
