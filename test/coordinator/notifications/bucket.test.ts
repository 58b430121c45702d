import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fullBucket, gather } from '../../../coordinator/notifications/policy.ts';

const second = 1_000;

/** When messages leave, if something is due at each of these moments and what waits leaves together as soon as it may. */
const leaving = (dueAt: readonly number[]): number[] => {
  const due = dueAt.toSorted((a, b) => a - b);
  let bucket = fullBucket;
  let wake = Number.POSITIVE_INFINITY;
  const left: number[] = [];
  for (let next = 0; next < due.length || wake < Number.POSITIVE_INFINITY; ) {
    const comes = due[next] ?? Number.POSITIVE_INFINITY;
    const now = Math.min(comes, wake);
    const more = comes === now;
    while (due[next] === now) next += 1;
    const gathered = gather(bucket, { now, more });
    bucket = gathered.bucket;
    wake = gathered.is === 'waits' ? gathered.until : Number.POSITIVE_INFINITY;
    if (gathered.is === 'leaves') left.push(now);
  }
  return left;
};
const at = (...seconds: readonly number[]): number[] => seconds.map((each) => 1_000_000 + each * second);

describe('rule 32: how messages of a channel are gathered', () => {
  test('rule 32: two leave at once, the third when nothing came for 5 s, those after it when nothing came for 15 s', () => {
    expect(leaving(at(0, 1, 2))).toEqual(at(0, 1, 7));
    expect(leaving(at(0, 1, 2, 4, 10))).toEqual(at(0, 1, 9, 25));
  });

  test('rule 32: however much keeps coming, nothing waits for longer than 20 s, and after that 60 s', () => {
    const oneEachSecond = Array.from({ length: 200 }, (_, index) => index);
    expect(leaving(at(...oneEachSecond)).slice(0, 5)).toEqual(at(0, 1, 22, 83, 144));
  });

  test('rule 32: what is spent is forgotten while nothing waits', () => {
    expect(leaving(at(0, 20, 40, 60, 80, 100))).toEqual(at(0, 20, 40, 60, 80, 100));
    expect(leaving(at(0, 1, 2, 60))).toEqual(at(0, 1, 7, 60));
  });

  test('rule 32: 100 within a second, or within a minute, are at most four messages, the first undelayed', () => {
    for (const within of [1, 10, 60]) {
      const left = leaving(at(...Array.from({ length: 100 }, (_, index) => (index * within) / 100)));
      expect(left[0]).toBe(1_000_000);
      expect([within, left.length]).toEqual([within, within === 60 ? 4 : 3]);
    }
  });

  test('rule 32: many within a minute, come as they may, are at most four messages', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 59_999 }), { minLength: 1, maxLength: 100 }), (more) => {
        // Never 5 s without any: else it is not one matter.
        const due = [...more, ...Array.from({ length: 15 }, (_, index) => index * 4_000)].map((ms) => 1_000_000 + ms);
        const left = leaving(due);
        expect(left.length).toBeLessThanOrEqual(4);
        expect(left[0]).toBe(1_000_000);
      }),
    );
  });

  test('rule 32: whatever is due when leaves within a minute, and no more than four and one for each 15 s', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 300_000 }), { minLength: 1, maxLength: 100 }), (more) => {
        const due = more.map((ms) => 1_000_000 + ms);
        const left = leaving(due);
        for (const one of due) expect(left.some((when) => when >= one && when - one <= 60 * second)).toBe(true);
        for (const [index, from] of left.entries())
          for (const [many, to] of left.slice(index).entries())
            expect(many + 1).toBeLessThanOrEqual(4 + Math.floor((to - from) / (15 * second)));
      }),
    );
  });

  test('rule 32: a clock that is set back keeps nobody waiting for longer than ever', () => {
    const before = { fullAt: 9_000_000, since: 8_990_000, newest: 8_999_000 };
    expect(gather(before, { now: 1_000_000, more: false })).toMatchObject({ is: 'waits', until: 1_015_000 });
  });

  test('rule 32: what was dropped while it waited keeps nothing that comes much later', () => {
    const before = { fullAt: 1_040_000, since: 1_002_000, newest: 1_002_000 };
    expect(gather(before, { now: 1_200_000, more: true })).toMatchObject({ is: 'leaves', bucket: { fullAt: 1_215_000 } });
  });
});
