import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cover, passTime } from '../../../coordinator/core/ledger.ts';
import type { Effect, Gap } from '../../../coordinator/core/types.ts';
import { story } from './story.ts';

/** Rule 22: the rows that the database holds are the gaps that the core knows, after whatever came in whatever order. */

const watched = story(['Europe']).state().watched;
const day = 86_400_000;

type State = { readonly covered_until: number; readonly gaps: readonly Gap[] };

const apply = (rows: Map<number, Gap>, effects: readonly Effect[]): void => {
  for (const effect of effects) {
    if (effect.is !== 'ledger') continue;
    for (const began of effect.drop) rows.delete(began);
    for (const { began_at, ended_at, interval_ms } of effect.put) rows.set(began_at, { from: began_at, to: ended_at, interval_ms });
  }
};

const step = fc.oneof(
  fc.record({ is: fc.constant('seen' as const), from: fc.integer({ min: 0, max: 200 }), long: fc.integer({ min: 1, max: 15 }) }),
  fc.record({ is: fc.constant('time' as const), wait: fc.integer({ min: 1, max: 20 }) }),
);

describe('rule 22: the rows of the ledger', () => {
  test('are the gaps that are known, and nothing is written when none of them changes', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
        const rows = new Map<number, Gap>();
        let state: State = { covered_until: 0, gaps: [] };
        let now = 0;
        let interval_ms = 60_000;
        for (const each of steps) {
          interval_ms += 1;
          if (each.is === 'time') now += each.wait * 1000;
          const before = state.gaps;
          const of = { ...state, watched: { ...watched, interval_ms } };
          const { covered, effects } = each.is === 'time' ? passTime(of, now) : cover(of, each.from * 1000, (each.from + each.long) * 1000);
          state = covered;
          apply(rows, effects);
          const byStart = (a: Gap, b: Gap) => a.from - b.from;
          expect([...rows.values()].toSorted(byStart)).toEqual(state.gaps.toSorted(byStart));
          const same = JSON.stringify(before) === JSON.stringify(state.gaps);
          expect(effects).toHaveLength(same ? 0 : 1);
          for (const effect of effects) {
            if (effect.is !== 'ledger') throw new Error('only the ledger is written');
            const known = before.map(({ from, to }) => `${from} ${to}`);
            expect(effect.put.filter(({ began_at, ended_at }) => known.includes(`${began_at} ${ended_at}`))).toEqual([]);
            expect(effect.drop.filter((began) => state.gaps.some(({ from }) => from === began))).toEqual([]);
          }
        }
      }),
    );
  });

  test('keep the interval that was in force when the gap began, also when a late original parts it', () => {
    const open = passTime({ covered_until: 0, gaps: [], watched }, 5_000).covered;
    expect(open.gaps).toEqual([{ from: 0, to: null, interval_ms: 60_000 }]);
    const slower = { ...watched, interval_ms: 300_000 };
    const parted = cover({ ...open, watched: slower }, 20_000, 30_000).covered;
    expect(parted.gaps).toEqual([{ from: 0, to: 20_000, interval_ms: 60_000 }]);
    expect(parted.covered_until).toBe(30_000);
    const again = passTime({ ...parted, watched: slower }, 40_000).covered;
    const inner = cover({ ...again, watched }, 5_000, 10_000).covered;
    expect(inner.gaps).toEqual([
      { from: 0, to: 5_000, interval_ms: 60_000 },
      { from: 10_000, to: 20_000, interval_ms: 60_000 },
      { from: 30_000, to: null, interval_ms: 300_000 },
    ]);
  });

  test('keep it also when one of several is parted', () => {
    const gaps = [
      { from: 0, to: 10_000, interval_ms: 60_000 },
      { from: 20_000, to: 40_000, interval_ms: 300_000 },
      { from: 50_000, to: 60_000, interval_ms: 30_000 },
    ];
    expect(cover({ covered_until: 90_000, gaps, watched }, 25_000, 30_000).covered.gaps).toEqual([
      gaps[0],
      { from: 20_000, to: 25_000, interval_ms: 300_000 },
      { from: 30_000, to: 40_000, interval_ms: 300_000 },
      gaps[2],
    ]);
  });

  test('have the interval now in force for a gap that nobody had noticed when the next result came', () => {
    const { covered } = cover({ covered_until: 10_000, gaps: [], watched }, 90_000, 100_000);
    expect(covered).toEqual({ covered_until: 100_000, gaps: [{ from: 10_000, to: 90_000, interval_ms: watched.interval_ms }] });
  });

  test('of a gap that is over stay known here for eight days, and not a moment longer, whether or not another lasts', () => {
    const ended = 10_000;
    const lasting = { from: 8 * day, to: null, interval_ms: 60_000 };
    for (const rest of [[], [lasting]]) {
      const gaps = [{ from: 0, to: ended, interval_ms: 60_000 }, ...rest];
      const of = { covered_until: 9 * day, gaps, watched };
      expect(passTime(of, ended + 8 * day).covered.gaps).toBe(gaps);
      expect(passTime(of, ended + 8 * day + 1).covered.gaps).toEqual(rest);
    }
  });

  test('a gap is noticed five seconds after it began, and not again while it lasts', () => {
    const known = { covered_until: 10_000, gaps: [], watched };
    expect(passTime(known, 14_999).effects).toEqual([]);
    const noticed = passTime(known, 15_000);
    expect(noticed.effects).toHaveLength(1);
    expect(passTime({ ...noticed.covered, watched }, 60_000).effects).toEqual([]);
  });

  test('gaps of more than eight days ago are forgotten here, but not the one that lasts, and never in the ledger', () => {
    const gap = (from: number, to: number | null): Gap => ({ from, to, interval_ms: 60_000 });
    const old = gap(0, day);
    const young = gap(2 * day, 3 * day);
    const lasting = gap(4 * day, null);
    const known = { covered_until: 4 * day, gaps: [old, young, lasting], watched };
    expect(passTime(known, 9 * day)).toEqual({ covered: { covered_until: 4 * day, gaps: [old, young, lasting] }, effects: [] });
    expect(passTime(known, 9 * day + 1)).toEqual({ covered: { covered_until: 4 * day, gaps: [young, lasting] }, effects: [] });
    expect(passTime(known, 30 * day).covered.gaps).toEqual([lasting]);
    // Nothing is forgotten and one opens: both are known.
    const closed = { covered_until: 4 * day, gaps: [old, young], watched };
    expect(passTime(closed, 4 * day + 5_000).covered.gaps).toEqual([old, young, lasting]);
  });
});
