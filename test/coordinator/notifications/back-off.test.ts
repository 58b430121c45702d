import { describe, expect, test } from 'vitest';
import { reminderAfter, tryAgain } from '../../../coordinator/notifications/policy.ts';

describe('rule 31: when a message is tried again', () => {
  test('rule 31: after 1 s, 5 s, 30 s, 2 min, 10 min, then hourly for a day, then no more', () => {
    const pauses: number[] = [];
    for (let attempts = 1; ; attempts += 1) {
      const again = tryAgain({ attempts, after_s: undefined }, 0);
      if (again.is === 'given up') break;
      pauses.push(again.at / 1_000);
    }
    expect(pauses.slice(0, 6)).toEqual([1, 5, 30, 120, 600, 3_600]);
    expect(pauses).toHaveLength(5 + 24);
  });
  test('rule 31: not before the receiver wants it, and not later than an hour', () => {
    expect(tryAgain({ attempts: 1, after_s: 20 }, 0)).toEqual({ is: 'again', at: 20_000 });
    expect(tryAgain({ attempts: 5, after_s: 20 }, 0)).toEqual({ is: 'again', at: 600_000 });
    expect(tryAgain({ attempts: 1, after_s: 86_400 }, 0)).toEqual({ is: 'again', at: 3_600_000 });
  });
});

test('rule 35: reminders come at doubling distances up to a day', () => {
  expect([1, 2, 3, 4].map((n) => reminderAfter(1_800, n) / 60_000)).toEqual([30, 60, 120, 240]);
  expect(reminderAfter(1_800, 30)).toBe(86_400_000);
});
