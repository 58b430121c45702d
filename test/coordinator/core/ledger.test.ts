import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cover, gapNoticed, passTime } from '../../../coordinator/core/ledger.ts';
import { createState } from '../../../coordinator/core/lifecycle.ts';
import type { Effect, Gap, LedgerRow } from '../../../coordinator/core/types.ts';
import { at, inTime, story } from './story.ts';

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
  rows.map(({ began_at, ended_at }) => [(began_at - at(0)) / 1000, ended_at === null ? null : (ended_at - at(0)) / 1000]);
const unknown = (told: ReturnType<typeof story>) => seconds(rowsOf(told.effects('ledger')));

describe('rule 22: unknown is time without a usable result', () => {
  test('rule 22: a monitor is unknown from its creation to its first result', () => {
    const told = story(['Europe', 'Asia']);
    told.pass('Europe', 20);
    expect(unknown(told)).toEqual([[0, 20]]);
  });

  test('rule 22: a gap begins two intervals and the time limit after the last result, and ends with the next', () => {
    const told = story(['Europe', 'Asia']);
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
    const told = story(['Europe', 'Asia']);
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
    const told = story(['Europe', 'Asia']);
    told.pass('Europe', 0);
    told.tick(200);
    told.tell({ is: 'edited', at: at(210), watched: { ...told.state().watched, interval_ms: 30_000 }, changed: false }, 210);
    told.pass('Europe', 250);
    expect(rowsOf(told.effects('ledger'))).toMatchObject([{ interval_ms: 60_000, ended_at: at(250) }]);
  });

  test('rule 22: whatever the order of arrival, unknown is what no result covers', () => {
    const starts = fc.array(fc.integer({ min: 0, max: 300 }), { maxLength: 12 });
    fc.assert(
      fc.property(starts, fc.array(fc.integer({ min: 0, max: 40 }), { minLength: 12, maxLength: 12 }), (times, waits) => {
        const base = { ...createState(story(['Europe']).state().watched), covered_until: 0 };
        let state: { covered_until: number; gaps: readonly Gap[] } = { covered_until: 0, gaps: [] };
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
            rows.some(({ began_at, ended_at }) => began_at <= time && (ended_at === null || time < ended_at)) ||
            time >= Math.max(state.covered_until, 0);
          expect(isUnknown).toBe(!covered);
        }
      }),
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
    told.tell({ is: 'edited', at: at(second), watched: { ...watched, config_version: watched.config_version + 1 }, changed: true }, second);
  };

  test('nobody knows how it is until somebody has looked again, however long what was seen before would have counted', () => {
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

  test('what was seen before, or of what was checked before, tells of the time before alone', () => {
    const told = hourly();
    told.pass('Europe', 0);
    edit(told, 100);
    told.pass('Asia', 99, { config_version: 1, arrives: 101 });
    told.pass('Europe', 100.5, { config_version: 1, arrives: 101 });
    expect(unknown(told)).toEqual([[at(100), null]]);
    told.pass('Europe', 103);
    expect(unknown(told)).toEqual([[at(100), at(103)]]);
  });

  test('a stretch that nobody knew before goes on, also one that ended with what was seen while the change was on its way', () => {
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
        { is: 'ping', ping: { ...inTime(second), is: 'good', covers_until: at(second + 360), cause: null, evidence: null } },
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
