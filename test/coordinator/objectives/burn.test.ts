import { expect, test } from 'vitest';
import { burnOf, burnWindows } from '../../../coordinator/objectives/burn.ts';
import fc from '../../support/random.ts';

const day = 86_400_000;

test('rule 52.1: a pair of windows burns when the share that is down exceeds so many times what may be, in both', () => {
  const sums = fc.tuple(
    fc.nat(3 * day),
    fc.oneof(fc.constant(0), fc.nat(day), fc.nat(day / 1_000)),
  );
  const target = fc.integer({ min: 900_000, max: 999_999 }).map((millionths) => millionths / 1e4);
  fc.assert(
    fc.property(
      fc.tuple(sums, sums, sums, sums, sums),
      target,
      ([five, half, hour, six, days], target) => {
        const given = new Map([
          [5, five],
          [30, half],
          [60, hour],
          [360, six],
          [4_320, days],
        ]);
        const ratio = (minutes: number): number => {
          const [up, down] = given.get(minutes) ?? [0, 0];
          return up + down === 0 ? 0 : down / (up + down) / (1 - target / 100);
        };
        const burns = burnOf(target, (minutes) => {
          const [countedUp, countedDown] = given.get(minutes) ?? [0, 0];
          return { countedUp, countedDown };
        });
        for (const { short_minutes, long_minutes, factor, ...seen } of burns) {
          expect(seen.short_rate).toBeCloseTo(ratio(short_minutes), 3);
          expect(seen.long_rate).toBeCloseTo(ratio(long_minutes), 3);
          expect(seen.burns).toBe(ratio(short_minutes) > factor && ratio(long_minutes) > factor);
        }
      },
    ),
    { numRuns: 10_000 },
  );
});

test('what is spent exactly as fast as it may be does not burn, and a millisecond more does', () => {
  const burning = (countedDown: number, of: number) =>
    burnOf(99.9, () => ({ countedDown, countedUp: of - countedDown })).map(({ burns }) => burns);
  // 14.4, 6 and 1 thousandths of 100,000 s.
  expect(burning(1_440_000, 100_000_000)).toEqual([false, true, true]);
  expect(burning(1_440_001, 100_000_000)).toEqual([true, true, true]);
  expect(burning(600_000, 100_000_000)).toEqual([false, false, true]);
  expect(burning(600_001, 100_000_000)).toEqual([false, true, true]);
  expect(burning(100_000, 100_000_000)).toEqual([false, false, false]);
  expect(burning(100_001, 100_000_000)).toEqual([false, false, true]);
  expect(burning(0, 0)).toEqual([false, false, false]);
});

test('the pairs spend 2, 5 and 10 % of the budget of 30 days in their long windows', () => {
  expect(
    burnWindows.map(({ long_minutes, factor }) => (long_minutes * factor) / (30 * 24 * 60)),
  ).toEqual([0.02, 0.05, 0.1]);
});
