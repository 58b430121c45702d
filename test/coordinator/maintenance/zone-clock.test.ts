import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { instantOf, instantsIn, localOf } from '../../../coordinator/maintenance/recurrence.ts';

const hour = 3_600_000;
const utc = (text: string): number => Date.parse(`${text}Z`);

/** Moments near which a clock changed: by an hour, by half of one, by a whole day, for good, and in the year's other half. */
const changes = [
  ['Europe/Berlin', '2026-03-29T01:00'],
  ['Europe/Berlin', '2026-10-25T01:00'],
  ['America/New_York', '2026-11-01T06:00'],
  ['Australia/Lord_Howe', '2026-10-03T15:30'],
  ['Pacific/Apia', '2011-12-30T10:00'],
  ['Africa/Casablanca', '2026-02-15T02:00'],
  ['Europe/Moscow', '2014-10-25T22:00'],
  ['Asia/Kolkata', '2026-06-01T00:00'],
  ['UTC', '2026-06-01T00:00'],
] as const;

describe('rule 27: a local time of a zone', () => {
  test('that does not exist moves forward by the gap, and one that exists twice is the first', () => {
    expect(instantOf(utc('2026-03-29T02:30'), 'Europe/Berlin')).toBe(utc('2026-03-29T01:30'));
    expect(instantOf(utc('2026-10-25T02:30'), 'Europe/Berlin')).toBe(utc('2026-10-25T00:30'));
    expect(instantOf(utc('2026-07-01T12:00'), 'Europe/Berlin')).toBe(utc('2026-07-01T10:00'));
  });

  test('is what its clock shows at that instant', () => {
    expect(localOf(utc('2026-07-01T10:00'), 'Europe/Berlin')).toBe(utc('2026-07-01T12:00'));
    expect(localOf(utc('2026-01-01T10:00:00.123'), 'Asia/Kolkata')).toBe(utc('2026-01-01T15:30:00.123'));
    // Before zones had whole minutes, and hours.
    expect(localOf(utc('1880-01-01T00:00'), 'Europe/Berlin')).toBe(utc('1880-01-01T00:53:28'));
  });

  test('is the same one by one and as one of many, in whatever order they come', () => {
    const near = fc.integer({ min: -60 * 4, max: 60 * 4 }).map((quarters) => (quarters * hour) / 4);
    const far = fc.integer({ min: -400, max: 400 }).map((days) => days * 24 * hour);
    fc.assert(
      fc.property(fc.constantFrom(...changes), fc.array(fc.oneof(near, near, far), { maxLength: 30 }), ([zone, change], offsets) => {
        const around = localOf(utc(change), zone);
        const fast = instantsIn(zone);
        for (const offset of offsets) expect(fast(around + offset)).toBe(instantOf(around + offset, zone));
      }),
      { numRuns: 300 },
    );
  });

  test.each(changes)('is the same one by one and as one of many, quarter by quarter, forwards and backwards: %s at %s', (zone, change) => {
    const around = localOf(utc(change), zone);
    const all = Array.from({ length: 4 * 24 * 5 }, (_, quarter) => around + (quarter * hour) / 4 - 60 * hour);
    for (const order of [all, all.toReversed()]) {
      const fast = instantsIn(zone);
      expect(order.map(fast)).toEqual(order.map((local) => instantOf(local, zone)));
    }
  });

  test('of a day in the middle of summer is told without the calendar, which is slow', () => {
    const fast = instantsIn('Europe/Berlin');
    const summer = utc('2026-07-01T12:00');
    fast(summer);
    const calendar = Temporal.PlainDateTime.from;
    let asked = 0;
    Temporal.PlainDateTime.from = (...given) => {
      asked += 1;
      return calendar(...given);
    };
    try {
      for (let day = -60; day < 60; day += 1) expect(fast(summer + day * 24 * hour)).toBe(summer + day * 24 * hour - 2 * hour);
    } finally {
      Temporal.PlainDateTime.from = calendar;
    }
    expect(asked).toBe(0);
  });
});
