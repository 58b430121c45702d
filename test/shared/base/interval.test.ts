import fc from 'fast-check';
import { expect, test } from 'vitest';
import { clip, type Interval, length, subtract, union } from '../../../shared/base/time.ts';

const intervals = fc.array(
  fc.tuple(fc.nat(40), fc.nat(40)).map(([from, to]): Interval => ({ from, to })),
  { maxLength: 12 },
);
const instants = Array.from({ length: 42 }, (_, index) => index);
const covers = (list: readonly Interval[], at: number) => list.some(({ from, to }) => from <= at && at < to);

test('a union covers the same instants, sorted and disjoint', () => {
  fc.assert(
    fc.property(intervals, (given) => {
      const merged = union(given);
      for (const at of instants) expect(covers(merged, at)).toBe(covers(given, at));
      for (const [index, { from, to }] of merged.entries()) {
        expect(from).toBeLessThan(to);
        expect(from).toBeGreaterThan(merged[index - 1]?.to ?? -1);
      }
    }),
  );
});

test('a difference covers exactly what is in the first and not in the second', () => {
  fc.assert(
    fc.property(intervals, intervals, (a, b) => {
      const left = subtract(union(a), union(b));
      for (const at of instants) expect(covers(left, at)).toBe(covers(a, at) && !covers(b, at));
    }),
  );
});

test('a clip keeps what lies in the window, and the length adds up', () => {
  fc.assert(
    fc.property(intervals, fc.nat(40), fc.nat(40), (given, from, to) => {
      const kept = clip(union(given), { from, to });
      expect(length(kept)).toBe(instants.filter((at) => covers(given, at) && from <= at && at < to).length);
    }),
  );
});
