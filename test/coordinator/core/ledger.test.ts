import { describe, expect, test } from 'vitest';
import { cover, gapNoticed, passTime } from '../../../coordinator/core/ledger.ts';
import { createState } from '../../../coordinator/core/lifecycle.ts';
import type { Effect, Gap, LedgerRow } from '../../../coordinator/core/types.ts';
import {
  type Cause,
  type Caused,
  explained,
  percentOf,
  states,
  touches,
  uptime,
  windowOf,
} from '../../../coordinator/core/uptime.ts';
import type { Interval } from '../../../shared/base/time.ts';
import fc from '../../support/random.ts';
import { at, inTime, story } from './story.ts';

describe('ledger', () => {
  const rowsOf = (effects: readonly Effect[]): LedgerRow[] => {
    const rows = new Map<number, LedgerRow>();
    for (const effect of effects) {
      if (effect.is !== 'ledger' || effect.kind !== 'unknown') continue;
      for (const began_at of effect.drop) rows.delete(began_at);
      for (const row of effect.put) rows.set(row.began_at, row);
    }
    return [...rows.values()].toSorted((a, b) => a.began_at - b.began_at);
  };
  const seconds = (rows: readonly LedgerRow[]) =>
    rows.map(({ began_at, ended_at }) => [
      (began_at - at(0)) / 1000,
      ended_at === null ? null : (ended_at - at(0)) / 1000,
    ]);
  const unknown = (told: ReturnType<typeof story>) => seconds(rowsOf(told.effects('ledger')));

  describe('rule 22: unknown is time without a usable result', () => {
    test('rule 22: a monitor is unknown from its creation to its first result', () => {
      const told = story();
      told.pass('Europe', 20);
      expect(unknown(told)).toEqual([[0, 20]]);
    });

    test('rule 22: a gap begins two intervals and the time limit after the last result, and ends with the next', () => {
      const told = story();
      told.pass('Europe', 0);
      told.tick(134);
      expect(unknown(told)).toEqual([]);
      told.tick(136);
      expect(unknown(told)).toEqual([[130, null]]);
      told.result('unknown', 'Europe', 150);
      expect(unknown(told)).toEqual([[130, null]]);
      told.fail('Europe', 200);
      expect(unknown(told)).toEqual([[130, 200]]);
    });

    test('rule 22: late originals turn unknown into what they saw', () => {
      const told = story();
      told.pass('Europe', 0);
      told.tick(1000);
      told.pass('Europe', 1000);
      expect(unknown(told)).toEqual([[130, 1000]]);
      told.pass('Asia', 300, { arrives: 1010 });
      expect(unknown(told)).toEqual([
        [130, 300],
        [430, 1000],
      ]);
      told.pass('Asia', 60, { arrives: 1011 });
      told.pass('Asia', 200, { arrives: 1012, probe: 'second' });
      told.pass('Asia', 420, { arrives: 1013, probe: 'third' });
      told.pass('Asia', 950, { arrives: 1014, probe: 'fourth' });
      expect(unknown(told)).toEqual([
        [190, 200],
        [550, 950],
      ]);
    });

    test('rule 22: the interval in force when the gap began stays with it', () => {
      const told = story();
      told.pass('Europe', 0);
      told.tick(200);
      told.tell(
        {
          is: 'edited',
          at: at(210),
          watched: { ...told.state().watched, interval_ms: 30_000 },
          changed: false,
        },
        210,
      );
      told.pass('Europe', 250);
      expect(rowsOf(told.effects('ledger'))).toMatchObject([
        { interval_ms: 60_000, ended_at: at(250) },
      ]);
    });

    test('rule 22: whatever the order of arrival, unknown is what no result covers', () => {
      const starts = fc.array(fc.integer({ min: 0, max: 300 }), { maxLength: 12 });
      fc.assert(
        fc.property(
          starts,
          fc.array(fc.integer({ min: 0, max: 40 }), { minLength: 12, maxLength: 12 }),
          (times, waits) => {
            const base = { ...createState(story(['Europe']).state().watched), covered_until: 0 };
            let state: { covered_until: number; gaps: readonly Gap[] } = {
              covered_until: 0,
              gaps: [],
            };
            const told: Effect[] = [];
            let now = 0;
            const apply = (change: ReturnType<typeof cover>) => {
              state = change.covered;
              told.push(...change.effects);
            };
            for (const [index, from] of times.entries()) {
              now = Math.max(now, from) + (waits[index] ?? 0);
              apply(cover({ ...base, ...state }, from, from + 20));
              apply(passTime({ ...base, ...state }, now + gapNoticed));
            }
            const end = now + 1;
            const rows = rowsOf(told);
            expect(rows.filter(({ ended_at }) => ended_at === null).length).toBeLessThanOrEqual(1);
            for (let time = 0; time < end; time += 1) {
              const covered = times.some((from) => from <= time && time < from + 20);
              const isUnknown =
                rows.some(
                  ({ began_at, ended_at }) =>
                    began_at <= time && (ended_at === null || time < ended_at),
                ) || time >= Math.max(state.covered_until, 0);
              expect(isUnknown).toBe(!covered);
            }
          },
        ),
      );
    });
  });

  describe('rule 18: from a resume or an edit of what is checked on', () => {
    const hourly = () => story(['Europe', 'Asia'], { interval_ms: 3_600_000 });
    const unknown = (told: ReturnType<typeof story>) => {
      const rows = new Map<number, number | null>();
      for (const { kind, put, drop } of told.effects('ledger')) {
        if (kind !== 'unknown') continue;
        for (const began of drop) rows.delete(began);
        for (const { began_at, ended_at } of put) rows.set(began_at, ended_at);
      }
      return [...rows];
    };
    const edit = (told: ReturnType<typeof story>, second: number) => {
      const { watched } = told.state();
      told.tell(
        {
          is: 'edited',
          at: at(second),
          watched: { ...watched, config_version: watched.config_version + 1 },
          changed: true,
        },
        second,
      );
    };

    test('its status is unknown until it is checked again, however long earlier results would have counted', () => {
      const told = hourly();
      told.pass('Europe', 0);
      told.tell({ is: 'paused', at: at(60) }, 60);
      told.tell({ is: 'resumed', at: at(70) }, 70);
      expect(unknown(told)).toEqual([[at(70), null]]);
      told.pass('Asia', 75);
      expect(unknown(told)).toEqual([[at(70), at(75)]]);
      edit(told, 100);
      expect(told.state().covered_until).toBe(at(100));
      told.pass('Europe', 104);
      expect(unknown(told)).toEqual([
        [at(70), at(75)],
        [at(100), at(104)],
      ]);
    });

    test('earlier results, or those of an earlier config, count for the time before alone', () => {
      const told = hourly();
      told.pass('Europe', 0);
      edit(told, 100);
      told.pass('Asia', 99, { config_version: 1, arrives: 101 });
      told.pass('Europe', 100.5, { config_version: 1, arrives: 101 });
      expect(unknown(told)).toEqual([[at(100), null]]);
      told.pass('Europe', 103);
      expect(unknown(told)).toEqual([[at(100), at(103)]]);
    });

    test('an earlier unknown stretch goes on, also one that ended with a result from while the change was on its way', () => {
      const told = story(['Europe', 'Asia'], { interval_ms: 10_000 });
      told.pass('Europe', 0);
      told.tick(60);
      edit(told, 70);
      expect(unknown(told)).toEqual([[at(30), null]]);
      told.pass('Europe', 80);
      told.tick(150);
      told.pass('Europe', 160.5);
      edit(told, 160.2);
      expect(unknown(told)).toEqual([
        [at(30), at(80)],
        [at(110), null],
      ]);
    });

    test('a heartbeat waits for its next ping', () => {
      const told = story(['Europe', 'Asia'], { kind: 'heartbeat', interval_ms: 300_000 });
      const ping = (second: number) =>
        told.tell(
          {
            is: 'ping',
            ping: {
              ...inTime(second),
              is: 'good',
              covers_until: at(second + 360),
              cause: null,
              evidence: null,
            },
          },
          second,
        );
      ping(0);
      edit(told, 100);
      expect(unknown(told)).toEqual([[at(100), null]]);
      ping(200);
      expect(unknown(told)).toEqual([[at(100), at(200)]]);
      expect(told.state().covered_until).toBe(at(560));
    });
  });
});

/**
 * Rule 22: the rows that the database holds are the gaps that the core knows, after whatever came
 * in whatever order.
 */
describe('rule 22: the rows of the ledger', () => {
  const watched = story(['Europe']).state().watched;
  const day = 86_400_000;

  type State = { readonly covered_until: number; readonly gaps: readonly Gap[] };

  const apply = (rows: Map<number, Gap>, effects: readonly Effect[]): void => {
    for (const effect of effects) {
      if (effect.is !== 'ledger') continue;
      for (const began of effect.drop) rows.delete(began);
      for (const { began_at, ended_at, interval_ms } of effect.put)
        rows.set(began_at, { from: began_at, to: ended_at, interval_ms });
    }
  };

  const step = fc.oneof(
    fc.record({
      is: fc.constant('seen' as const),
      from: fc.integer({ min: 0, max: 200 }),
      long: fc.integer({ min: 1, max: 15 }),
    }),
    fc.record({ is: fc.constant('time' as const), wait: fc.integer({ min: 1, max: 20 }) }),
  );

  test('are the known gaps, and nothing is written when none of them changes', () => {
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
          const { covered, effects } =
            each.is === 'time'
              ? passTime(of, now)
              : cover(of, each.from * 1000, (each.from + each.long) * 1000);
          state = covered;
          apply(rows, effects);
          const byStart = (a: Gap, b: Gap) => a.from - b.from;
          expect([...rows.values()].toSorted(byStart)).toEqual(state.gaps.toSorted(byStart));
          const same = JSON.stringify(before) === JSON.stringify(state.gaps);
          expect(effects).toHaveLength(same ? 0 : 1);
          for (const effect of effects) {
            if (effect.is !== 'ledger') throw new Error('only the ledger is written');
            const known = before.map(({ from, to }) => `${from} ${to}`);
            expect(
              effect.put.filter(({ began_at, ended_at }) =>
                known.includes(`${began_at} ${ended_at}`),
              ),
            ).toEqual([]);
            expect(
              effect.drop.filter((began) => state.gaps.some(({ from }) => from === began)),
            ).toEqual([]);
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

  test('have the interval now in force for a gap that was unnoticed when the next result came', () => {
    const { covered } = cover({ covered_until: 10_000, gaps: [], watched }, 90_000, 100_000);
    expect(covered).toEqual({
      covered_until: 100_000,
      gaps: [{ from: 10_000, to: 90_000, interval_ms: watched.interval_ms }],
    });
  });

  test('of a gap that is over stay in memory for eight days exactly, whether or not another lasts', () => {
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

  test('gaps of more than eight days ago are dropped from memory, but not the one that lasts, and never from the ledger', () => {
    const gap = (from: number, to: number | null): Gap => ({ from, to, interval_ms: 60_000 });
    const old = gap(0, day);
    const young = gap(2 * day, 3 * day);
    const lasting = gap(4 * day, null);
    const known = { covered_until: 4 * day, gaps: [old, young, lasting], watched };
    expect(passTime(known, 9 * day)).toEqual({
      covered: { covered_until: 4 * day, gaps: [old, young, lasting] },
      effects: [],
    });
    expect(passTime(known, 9 * day + 1)).toEqual({
      covered: { covered_until: 4 * day, gaps: [young, lasting] },
      effects: [],
    });
    expect(passTime(known, 30 * day).covered.gaps).toEqual([lasting]);
    // Nothing is forgotten and one opens: both are known.
    const closed = { covered_until: 4 * day, gaps: [old, young], watched };
    expect(passTime(closed, 4 * day + 5_000).covered.gaps).toEqual([old, young, lasting]);
  });
});

describe('uptime', () => {
  const none = { paused: [], cover: [], down: [], unknown: [] };
  const hour = 3_600_000;

  const interval = fc
    .tuple(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 0, max: 60 }))
    .map(([from, long]): Interval => ({ from, to: from + long }));
  const intervals = fc.array(interval, { maxLength: 8 });
  const input = fc.record({
    window: fc
      .tuple(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 0, max: 200 }))
      .map(([from, long]) => ({ from, to: from + long })),
    created_at: fc.integer({ min: 0, max: 300 }),
    paused: intervals,
    cover: intervals,
    down: intervals,
    unknown: intervals,
  });

  describe('rule 21: every millisecond is exactly one of five states', () => {
    test('rule 21: the five add up to the window, from the later of creation and its start', () => {
      fc.assert(
        fc.property(input, (given) => {
          const { paused, maintenance, down, unknown, up } = uptime(given);
          expect(paused + maintenance + down + unknown + up).toBe(
            Math.max(0, given.window.to - Math.max(given.window.from, given.created_at)),
          );
        }),
      );
    });

    test('rule 21: it agrees with counting millisecond by millisecond, the first state that fits', () => {
      fc.assert(
        fc.property(input, (given) => {
          const counted = { paused: 0, maintenance: 0, down: 0, unknown: 0, up: 0 };
          const inside = (list: readonly Interval[], time: number) =>
            list.some(({ from, to }) => from <= time && time < to);
          for (
            let time = Math.max(given.window.from, given.created_at);
            time < given.window.to;
            time += 1
          ) {
            if (inside(given.paused, time)) counted.paused += 1;
            else if (inside(given.cover, time)) counted.maintenance += 1;
            else if (inside(given.down, time)) counted.down += 1;
            else if (inside(given.unknown, time)) counted.unknown += 1;
            else counted.up += 1;
          }
          expect(uptime(given)).toMatchObject(counted);
        }),
      );
    });

    test('rule 21: a window of 30 days with an hour down and an hour of maintenance across it', () => {
      const window = windowOf(30, 100 * 24 * hour);
      const down = [{ from: window.to - 3 * hour, to: window.to - hour }];
      const cover = [{ from: window.to - 2 * hour, to: window.to - hour }];
      const sums = uptime({ ...none, window, created_at: 0, down, cover });
      expect(sums).toMatchObject({
        down: hour,
        maintenance: hour,
        up: 718 * hour,
        down_seconds: 3600,
        percent: 99.8609,
      });
    });
  });

  describe('rule 23: the percentage', () => {
    test('rule 23: null when nothing was up or down', () => {
      expect(
        uptime({
          ...none,
          window: { from: 0, to: hour },
          created_at: 0,
          unknown: [{ from: 0, to: hour }],
        }).percent,
      ).toBeNull();
    });

    test('rule 23: rounded down, so that 100 means no downtime at all', () => {
      const year = 365 * 24 * hour;
      expect(percentOf(year - 1, 1)).toBe(99.9999);
      expect(percentOf(year, 0)).toBe(100);
      expect(percentOf(0, 1)).toBe(0);
      expect(percentOf(2, 1)).toBe(66.6666);
      expect(percentOf(1, 1)).toBe(50);
      fc.assert(
        fc.property(fc.nat({ max: year }), fc.integer({ min: 1, max: year }), (up, down) => {
          const percent = percentOf(up, down) ?? Number.NaN;
          expect(percent).toBeLessThan(100);
          expect(Math.round(percent * 10_000)).toBe(
            Number((BigInt(up) * 1_000_000n) / BigInt(up + down)),
          );
        }),
      );
    });

    test('rule 23: incidents of the last days are those that touch the window, and every open one', () => {
      const window = { from: 100, to: 200 };
      expect(touches(window, { started_at: 20, resolved_at: 99 })).toBe(false);
      expect(touches(window, { started_at: 20, resolved_at: 100 })).toBe(true);
      expect(touches(window, { started_at: 20, resolved_at: null })).toBe(true);
      expect(touches(window, { started_at: 201, resolved_at: 202 })).toBe(false);
      expect(touches(window, { started_at: 200, resolved_at: 202 })).toBe(true);
    });
  });

  test('rule 21: a year with an interval every ten minutes is summed in a moment', () => {
    const window = windowOf(365, 365 * 24 * hour);
    const down = Array.from({ length: 52_560 }, (_, index) => ({
      from: index * 600_000,
      to: index * 600_000 + 1000,
    }));
    const { down: sum, up } = uptime({ ...none, window, created_at: 0, down });
    expect(sum).toBe(52_560_000);
    expect(up + sum).toBe(365 * 24 * hour);
  });
});

describe('rule 43: uptime explains itself', () => {
  const hour = 3_600_000;
  const pause: Cause = { is: 'pause' };
  const gap: Cause = { is: 'gap' };
  const incident = (id: string): Cause => ({ is: 'incident', id });

  const caused = fc
    .tuple(
      fc.integer({ min: 0, max: 400 }),
      fc.integer({ min: 0, max: 60 }),
      fc.integer({ min: 0, max: 9 }),
    )
    .map(([from, long, id]): Caused => ({ from, to: from + long, cause: incident(String(id)) }));
  const intervals = fc.array(caused, { maxLength: 8 });
  const input = fc.record({
    window: fc
      .tuple(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 0, max: 200 }))
      .map(([from, long]) => ({ from, to: from + long })),
    created_at: fc.integer({ min: 0, max: 300 }),
    paused: intervals,
    cover: intervals,
    down: intervals,
    unknown: intervals,
  });

  test('rule 43: the stretches have no hole and no overlap, and add up to the sum state by state', () => {
    fc.assert(
      fc.property(input, (given) => {
        const stretches = explained(given);
        const begin = Math.max(given.window.from, given.created_at);
        let next = begin;
        for (const { from, to } of stretches) {
          expect(from).toBe(next);
          expect(to).toBeGreaterThan(from);
          next = to;
        }
        expect(next).toBe(Math.max(begin, stretches.length === 0 ? begin : given.window.to));
        const sums = uptime(given);
        for (const state of states) {
          const sum = stretches
            .filter((each) => each.state === state)
            .reduce((all, { from, to }) => all + to - from, 0);
          expect(sum).toBe(sums[state]);
        }
      }),
    );
  });

  test('rule 43: each stretch names a cause from within it', () => {
    fc.assert(
      fc.property(input, (given) => {
        const of = {
          paused: given.paused,
          maintenance: given.cover,
          down: given.down,
          unknown: given.unknown,
        };
        for (const { from, to, state, cause } of explained(given)) {
          if (state === 'up') expect(cause).toBeNull();
          else
            expect(
              of[state].some((each) => each.cause === cause && each.from <= from && each.to >= to),
            ).toBe(true);
        }
      }),
    );
  });

  test('rule 43: an outage across a maintenance window is listed before and after it, by the same incident', () => {
    const window = { from: 0, to: 10 * hour };
    const upkeep: Cause = { is: 'window', id: 'w', name: 'Database' };
    expect(
      explained({
        window,
        created_at: 0,
        paused: [{ from: 9 * hour, to: 10 * hour, cause: pause }],
        cover: [{ from: 3 * hour, to: 4 * hour, cause: upkeep }],
        down: [{ from: 2 * hour, to: 5 * hour, cause: incident('i') }],
        unknown: [{ from: 7 * hour, to: 10 * hour, cause: gap }],
      }),
    ).toEqual([
      { from: 0, to: 2 * hour, state: 'up', cause: null },
      { from: 2 * hour, to: 3 * hour, state: 'down', cause: incident('i') },
      { from: 3 * hour, to: 4 * hour, state: 'maintenance', cause: upkeep },
      { from: 4 * hour, to: 5 * hour, state: 'down', cause: incident('i') },
      { from: 5 * hour, to: 7 * hour, state: 'up', cause: null },
      { from: 7 * hour, to: 9 * hour, state: 'unknown', cause: gap },
      { from: 9 * hour, to: 10 * hour, state: 'paused', cause: pause },
    ]);
  });
});
