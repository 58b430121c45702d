import { describe, expect, test } from 'vitest';
import { flappingOf } from '../../../coordinator/notifications/policy.ts';

const minute = 60_000;
/** Outages as [minute of confirmation, minutes long]; the last may go on. */
const outages = (...told: readonly (readonly [number, number | null])[]) =>
  told.map(([at, long], index) => ({
    incident: String(index),
    confirmed_at: at * minute,
    resolved_at: long === null ? null : (at + long) * minute,
  }));

describe('rule 37: a monitor that flaps', () => {
  test.each([
    ['two are plain', outages([0, 1], [10, null]), 'plain'],
    ['the third within 30 min is told as flapping', outages([0, 1], [10, 1], [20, null]), 'flapping'],
    ['three in more than 30 min are plain', outages([0, 1], [20, 1], [31, null]), 'plain'],
    ['the fourth is silent', outages([0, 1], [5, 1], [10, 1], [15, null]), 'silent'],
    ['still silent after an hour, if it never was steady', outages([0, 1], [9, 1], [18, 1], [32, 1], [46, 1], [60, null]), 'silent'],
    ['after 15 min of rest it is plain again', outages([0, 1], [5, 1], [10, 1], [26, null]), 'plain'],
    ['a minute less, and it is not', outages([0, 1], [5, 1], [10, 1], [25, null]), 'silent'],
    ['one that was down for 5 min was told, and ends the silence', outages([0, 1], [5, 1], [10, 1], [15, 5], [21, null]), 'plain'],
  ] as const)('rule 37: %s', (_, told, expected) => {
    expect(flappingOf(told)).toBe(expected);
  });
});
