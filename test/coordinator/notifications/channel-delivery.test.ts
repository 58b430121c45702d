import { describe, expect, test } from 'vitest';
import { afterAttempt, isDelivering, isLastResort, isOwnerNotificationDue } from '../../../coordinator/notifications/policy.ts';

const hour = 3_600_000;
const well = { failing_since: null, refused_at: null };

describe('rule 38: a channel that does not deliver', () => {
  test('rule 38: after an hour of failures, or one refusal for good, until something is taken', () => {
    const failing = afterAttempt(well, 'retry', 0);
    expect(isDelivering(failing, hour - 1)).toBe(true);
    expect(isDelivering(afterAttempt(failing, 'retry', hour), hour)).toBe(false);
    const refused = afterAttempt(well, 'refused', 5);
    expect(isDelivering(refused, 5)).toBe(false);
    expect(isDelivering(afterAttempt(refused, 'taken', 6), 6)).toBe(true);
  });
  test('rule 38: owners are mailed once a day', () => {
    const refused = { ...afterAttempt(well, 'refused', 0), owners_told_at: null };
    expect(isOwnerNotificationDue(refused, 0)).toBe(true);
    expect(isOwnerNotificationDue({ ...refused, owners_told_at: 0 }, 23 * hour)).toBe(false);
    expect(isOwnerNotificationDue({ ...refused, owners_told_at: 0 }, 24 * hour)).toBe(true);
    expect(isOwnerNotificationDue({ ...well, owners_told_at: null }, 0)).toBe(false);
  });
  test('rule 38: a "down" that nobody took within two minutes is mailed to all owners', () => {
    expect(isLastResort({ first_told_at: 0, taken: false }, 119_999)).toBe(false);
    expect(isLastResort({ first_told_at: 0, taken: false }, 120_000)).toBe(true);
    expect(isLastResort({ first_told_at: 0, taken: true }, hour)).toBe(false);
  });
});
