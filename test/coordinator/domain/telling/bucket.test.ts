import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { takeFrom } from '../../../../coordinator/domain/telling/bucket.ts';

/** When messages leave, if something is due at each of these moments and what waits leaves together as soon as the bucket lets it. */
const leaving = (dueAt: readonly number[]): number[] => {
  let fullAt = 0;
  let free = 0;
  const left: number[] = [];
  for (const due of dueAt.toSorted((a, b) => a - b)) {
    if (due <= (left.at(-1) ?? -1)) continue; // It left with the one before.
    const at = Math.max(due, free);
    const bucket = takeFrom(fullAt, at);
    if (bucket.is === 'empty') {
      free = bucket.until;
      const open = takeFrom(fullAt, free);
      expect(open.is).toBe('open');
      if (open.is === 'open') fullAt = open.fullAt;
      left.push(free);
    } else {
      fullAt = bucket.fullAt;
      left.push(at);
    }
  }
  return left;
};

describe('rule 32: the bucket of a channel', () => {
  test('rule 32: the first three leave at once, the next after five seconds', () => {
    expect(leaving([1_000, 1_001, 1_002, 1_003])).toEqual([1_000, 1_001, 1_002, 6_000]);
  });

  test('rule 32: 100 that are due within a second are at most four messages, the first undelayed', () => {
    const left = leaving(Array.from({ length: 100 }, (_, index) => 10_000 + index * 10));
    expect(left[0]).toBe(10_000);
    expect(left).toHaveLength(4);
  });

  test('rule 32: whatever is due when, no more than three and one for each five seconds leave', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 60_000 }), { maxLength: 100 }), (due) => {
        const left = leaving(due.map((at) => at + 100_000));
        for (const [index, from] of left.entries())
          for (const to of left.slice(index)) {
            const many = left.filter((at) => at >= from && at <= to).length;
            expect(many).toBeLessThanOrEqual(3 + Math.floor((to - from) / 5_000));
          }
        expect(left[0]).toBe(due.length === 0 ? undefined : Math.min(...due) + 100_000);
      }),
    );
  });

  test('rule 32: a clock that is set back empties no bucket for longer than it ever is', () => {
    expect(takeFrom(1_000_000, 0)).toEqual({ is: 'empty', until: 5_000 });
  });
});
