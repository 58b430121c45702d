import { expect, test } from 'vitest';

import {
  countTime,
  emptySketch,
  mergeSketch,
  quantileOf,
  readSketch,
  type Sketch,
  writeSketch,
} from '../../../coordinator/results/sketch.ts';
import fc from '../../support/random.ts';

const sketchOf = (times: readonly number[]): Sketch => {
  const sketch = emptySketch();
  for (const ticks of times) countTime(sketch, ticks);
  return sketch;
};
const written = (times: readonly number[]): number[] => {
  const bytes: number[] = [];
  writeSketch(sketchOf(times), Math.min(...times), bytes);
  return bytes;
};
const readInto = (
  into: Sketch,
  bytes: readonly number[],
  known: { least: number; total: number },
): Sketch => {
  readSketch({ data: Uint8Array.from(bytes), at: 0 }, known, into);
  return into;
};

/** Most are near each other, as response times are; some are anywhere up to ten minutes. */
const time = fc.oneof(
  fc.integer({ min: 800, max: 1_400 }),
  fc.integer({ min: 0, max: 40 }),
  fc.integer({ min: 0, max: 6_000_000 }),
);
const times = fc.array(time, { minLength: 1, maxLength: 300 });

test('quantiles are within 2 % of the time of their rank', () => {
  fc.assert(
    fc.property(times, fc.constantFrom(0.01, 0.5, 0.95, 0.99, 1), (all, q) => {
      const sorted = all.toSorted((a, b) => a - b);
      const exact = (sorted[Math.max(1, Math.ceil(q * all.length)) - 1] ?? Number.NaN) / 10;
      const quantile = quantileOf(sketchOf(all), all.length, q);
      expect(Math.abs(quantile - exact)).toBeLessThanOrEqual(exact * 0.02);
    }),
    { numRuns: 1_000 },
  );
});

test('merging gives the sketch of all times, in whatever order and parts', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(time, fc.integer({ min: 0, max: 4 }), fc.nat()), { maxLength: 200 }),
      (parts) => {
        const merged = emptySketch();
        const shuffled = parts.toSorted(([, , a], [, , b]) => a - b);
        for (const part of [3, 0, 4, 1, 2])
          mergeSketch(
            merged,
            sketchOf(shuffled.flatMap(([ticks, of]) => (of === part ? [ticks] : []))),
          );
        expect(merged).toEqual(sketchOf(parts.map(([ticks]) => ticks)));
      },
    ),
  );
});

test('a written sketch is read back, and read into another it is merged', () => {
  fc.assert(
    fc.property(times, times, (all, others) => {
      const known = { least: Math.min(...all), total: all.length };
      expect(readInto(emptySketch(), written(all), known)).toEqual(sketchOf(all));
      expect(readInto(sketchOf(others), written(all), known)).toEqual(
        sketchOf([...all, ...others]),
      );
    }),
  );
});

test('a sketch that counts more than its total is refused', () => {
  const bytes = written([1_000, 1_001, 1_002, 1_003]);
  const read = (some: readonly number[], total: number) => () =>
    readInto(emptySketch(), some, { least: 1_000, total });
  expect(read(bytes, 2)).toThrow('too many times');
  expect(read([0xff, 0xff, 0x7f], 1)).toThrow('too many times');
});

test('an hour of twenty checks of one place takes less than ten bytes', () => {
  // 100 ms and up to 35 ms more, most of them little.
  const times = Array.from({ length: 20 }, (_, each) => 1_000 + ((each ** 2 * 7) % 350));
  expect(written(times).length).toBeLessThan(10);
});
