import { expect, test } from 'vitest';
import { delayFrom, muteFrom, reminderFrom } from '../../../coordinator/notifications/policy.ts';

test('a channel waits up to a day before it is told, and between a minute and a day before it is reminded', () => {
  expect([0, 300, 86_400].map(delayFrom)).toEqual([0, 300, 86_400]);
  expect([0, 1, 60, 86_400].map(reminderFrom)).toEqual([null, 60, 60, 86_400]);
  for (const wrong of [-1, 86_401, Number.POSITIVE_INFINITY]) {
    expect(() => delayFrom(wrong)).toThrow('delay_s: must be from 0 (at once) to 86400 seconds');
    expect(() => reminderFrom(wrong)).toThrow('reminder_s: must be from 0 (never) to 86400 seconds');
  }
});

test('all alerts are muted for a week at most', () => {
  expect([1, 60, 10_080].map(muteFrom)).toEqual([1, 60, 10_080]);
  for (const wrong of [-5, 0, 10_081]) expect(() => muteFrom(wrong)).toThrow('minutes: must be from 1 to 10080');
});
