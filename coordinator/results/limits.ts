import type { Interval } from '../../shared/base/time.ts';
import type { Queryable } from '../database/connect.ts';
import { hourMs } from './chunk.ts';
import { dayMs, rangesWithout } from './days.ts';
import { dateOf } from './months.ts';
import type { MonitorKey, MonitorWindow, Results } from './reading.ts';
import { countWithin, isWithin } from './sketch.ts';
import { emptySummary, readCells } from './summary.ts';

/** Passing checks of a minute, an hour or a day of UTC, by when it begins. */
export type Timed = { readonly at: number; within: number; beyond: number };

const minuteMs = 60_000;
/** What began longer ago is counted by the hour, and by the day: no window that ends now is so long. */
const [byMinuteMs, byHourMs] = [7 * hourMs, 4 * dayMs];
const monitorsAtOnce = 200;

/**
 * How many passing checks of monitors, by their keys, responded within a limit: of rows of days, and
 * of single checks of the other days. Both count a time as sketches do, so that a check counts the
 * same before and after its day has a row. An hour or a day counts where it begins in the window.
 */
export async function timesWithin(
  sql: Queryable,
  results: Results,
  monitors: readonly MonitorKey[],
  { from, to }: Interval,
  limit_ms: number,
): Promise<ReadonlyMap<number, readonly Timed[]>> {
  const limit = limit_ms * 10;
  const found = new Map<number, readonly Timed[]>();
  const firstWhole = Math.ceil(from / dayMs) * dayMs;
  const firstHourly = Math.max(firstWhole, Math.floor((to - byHourMs) / dayMs) * dayMs);
  for (let first = 0; first < monitors.length; first += monitorsAtOnce) {
    const some = monitors.slice(first, first + monitorsAtOnce);
    const rows = await sql<{ key: number; day: number; cells: Uint8Array }[]>`
      select monitor_key as key, day, case when day >= ${dateOf(firstWhole)}::date
        and day < ${dateOf(firstHourly)}::date then whole else hours end as cells
      from days where monitor_key = any(${some.map(({ key }) => key)}::bigint[])
        and day = any(array(
          select generate_series(${dateOf(from)}::date, ${dateOf(to - 1)}::date, '1 day')::date))`;
    const rowsOf = Map.groupBy(rows, ({ key }) => key);
    const windows: MonitorWindow[] = [];
    const counted = new Map<number, Map<number, Timed>>();
    const timedAt = (key: number, at: number): Timed =>
      counted
        .getOrInsertComputed(key, () => new Map<number, Timed>())
        .getOrInsertComputed(at, () => ({ at, within: 0, beyond: 0 }));
    for (const monitor of some) {
      const { key } = monitor;
      const read = new Set<number>();
      for (const { day, cells } of rowsOf.get(key) ?? []) {
        const hours = Array.from({ length: 24 }, emptySummary);
        const fault = readCells(cells, (_place, hour) => hours[hour] ?? emptySummary());
        if (fault !== null) {
          results.reportDay(key, day, fault);
          continue;
        }
        read.add(day);
        for (const [hour, { ok, sketch }] of hours.entries()) {
          const at = day + hour * hourMs;
          if (ok === 0 || at < from || at >= to) continue;
          const timed = timedAt(key, at);
          const within = countWithin(sketch, limit);
          timed.within += within;
          timed.beyond += ok - within;
        }
      }
      windows.push(...rangesWithout(read, { from, to }).map((range) => ({ ...monitor, ...range })));
    }
    for (const [nth, checks] of (await results.within(sql, windows)).entries()) {
      const { key = 0 } = windows[nth] ?? {};
      for (const { at, outcome, took_ms } of checks) {
        if (outcome !== 'ok') continue;
        const step = at >= to - byMinuteMs ? minuteMs : hourMs;
        const begun = Math.floor(at / step) * step;
        if (begun < from) continue;
        const timed = timedAt(key, begun);
        if (isWithin(Math.round(took_ms * 10), limit)) timed.within += 1;
        else timed.beyond += 1;
      }
    }
    for (const { key } of some) found.set(key, [...(counted.get(key)?.values() ?? [])]);
  }
  return found;
}
