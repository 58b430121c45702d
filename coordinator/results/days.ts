import type { Log } from '../../shared/base/log.ts';
import type { Interval } from '../../shared/base/time.ts';
import type { Queryable, Transaction } from '../database/connect.ts';
import { bytesText } from '../database/table.ts';
import { placeOf, placesOfProbes } from '../probes/places.ts';
import type { Check } from './check.ts';
import { hourMs, hourOf } from './chunk.ts';
import { dateOf, markMonths, monthSummaries } from './months.ts';
import { createResults, type MonitorKey, noUnsealedHours, type Results } from './reading.ts';
import type { Series, SeriesRow } from './series.ts';
import {
  countCheck,
  dayOf,
  emptySummary,
  mergeSummary,
  percentileOf,
  readCells,
  type Summary,
} from './summary.ts';

/**
 * Rows of days (`days`): one a monitor and day, made from its chunks once the day is over,
 * and again when one of them changes. The database marks such days. A day without a row is read from
 * single checks. A row outlives its chunks: one that is made again counts no fewer checks.
 */

export const dayMs = 86_400_000;
/** A day's last hour is sealed by then, as a rule; what comes later makes its row again. */
const settledMs = hourMs;
/** A monitor whose results arrive late gets its row again at most this often. */
const againMs = 600_000;

type Mark = { readonly day: number; readonly monitor_key: number };

/** Makes the rows of some marked days. False when no mark waits. */
export async function makeDays(
  sql: Transaction,
  { now, batchSize, log }: { readonly now: number; readonly batchSize: number; readonly log: Log },
): Promise<boolean> {
  // Marks are deleted before chunks are read: one that is made meanwhile waits, and is there for
  // the next time.

  const marks = await sql<Mark[]>`
    delete from stale_days where (day, monitor_key) in (
      select day, monitor_key from stale_days
      where day < ${dateOf(now - settledMs)} and since <= ${new Date(now - againMs)}
      order by day, monitor_key limit ${batchSize} for update skip locked)
    returning day, monitor_key`;
  for (const [day, some] of Map.groupBy(marks, (mark) => mark.day))
    await makeDay(
      sql,
      day,
      some.map(({ monitor_key }) => monitor_key),
      log,
    );
  return marks.length > 0;
}

async function makeDay(
  sql: Transaction,
  day: number,
  monitors: readonly number[],
  log: Log,
): Promise<void> {
  const stored = createResults({ unsealed: noUnsealedHours, log });
  const windows = monitors.map((key) => ({ key, partition: 0, from: day, to: day + dayMs }));
  const read = await stored.within(sql, windows);
  const checks = new Map(monitors.map((monitor, nth) => [monitor, read[nth] ?? []]));
  const placeSeenBy = await placesByMonitor(sql, checks);
  const before = await sql<{ monitor_key: number; whole: Uint8Array }[]>`
    select monitor_key, whole from days
    where day = ${dateOf(day)} and monitor_key = any(${[...checks.keys()]}::bigint[])`;
  const counted = new Map(before.map(({ monitor_key, whole }) => [monitor_key, countIn(whole)]));
  const rows = [...checks].flatMap(([monitor, all]) => {
    const made = dayOf(day, all, (probe) => placeSeenBy(monitor, probe));
    const isLess = made === null || countIn(made.whole) < (counted.get(monitor) ?? 0);
    return isLess ? [] : [{ monitor, ...made }];
  });
  if (rows.length === 0) return;
  await sql`
    insert into days (day, monitor_key, whole, hours)
    select ${dateOf(day)}, r.monitor_key, r.whole::bytea, r.hours::bytea
    from unnest(${rows.map(({ monitor }) => monitor)}::bigint[],
      ${rows.map(({ whole }) => bytesText(whole))}::text[],
      ${rows.map(({ hours }) => bytesText(hours))}::text[])
      as r (monitor_key, whole, hours)
    where not exists (select 1 from forgotten_monitors f where f.monitor_key = r.monitor_key)
    on conflict (day, monitor_key) do update
    set whole = excluded.whole, hours = excluded.hours
    where (days.whole, days.hours) <> (excluded.whole, excluded.hours)`;
  await markMonths(
    sql,
    day,
    rows.map(({ monitor }) => monitor),
  );
}

/** How many checks cells count; 0 of damaged ones. */
function countIn(cells: Uint8Array): number {
  const sum = emptySummary();
  return readCells(cells, () => sum) === null ? sum.ok + sum.failed + sum.unknown : 0;
}

/**
 * What a probe's checks of a monitor count for: its continent, or its private place where the
 * monitor has chosen places.
 */
async function placesByMonitor(
  sql: Queryable,
  checks: ReadonlyMap<number, readonly Check[]>,
): Promise<(monitor: number, probe: number) => string | undefined> {
  const used = new Set([...checks.values()].flatMap((all) => all.map(({ probe }) => probe)));
  const keys = [...checks.keys()];
  const [probes, choosing] = await Promise.all([
    sql<{ key: number; continent: string; place: string | null }[]>`
      select p.key, p.continent, ${placeOf(sql)}::text as place from probes p
      where p.key = any(${[...used]}::int[])`,
    // In the trash a monitor keeps its places, in case it is restored.
    sql<{ key: number }[]>`
      select key from monitors where key = any(${keys}::bigint[]) and places is not null
      union all select d.monitor_key from deleted_monitors d join deleted_rows x
        on x.monitor_id = d.monitor_id and x.source = 'monitors' and x.row->>'places' is not null
      where d.monitor_key = any(${keys}::bigint[])`,
  ]);
  const byKey = new Map(probes.map((probe) => [probe.key, probe]));
  const withPlaces = new Set(choosing.map(({ key }) => key));
  return (monitor, probe) => {
    const found = byKey.get(probe);
    return (withPlaces.has(monitor) ? found?.place : null) ?? found?.continent;
  };
}

/** A series of whole hours with percentiles, from rows of days. */
export async function yearSeries(
  sql: Queryable,
  results: Results,
  monitor: MonitorKey,
  window: Interval,
  step_s: number,
): Promise<Series> {
  const { from, to } = window;
  const slots = new Map<string, Map<number, Summary>>();
  const outside = emptySummary();
  const summaryOf = (place: string, at: number): Summary =>
    at < from || at >= to
      ? outside
      : slots
          .getOrInsertComputed(place, () => new Map<number, Summary>())
          .getOrInsertComputed(Math.floor((at - from) / (step_s * 1_000)), emptySummary);
  const isByDay = from % dayMs === 0 && (step_s * 1_000) % dayMs === 0;
  await countWindow(sql, results, monitor, window, isByDay ? 'whole' : 'hours', summaryOf);
  return seriesIn(slots);
}

/** Rows of days that are read at once, and that a call may read: a row takes some 5 µs. */
const rowsAtOnce = 5_000;
const mostRows = 40_000;

/**
 * The checks of monitors within a window, by their keys, from rows of days alone: the whole hours of
 * UTC that begin in it, of days that are over. Where that would be too many rows, its months of UTC.
 */
export async function summariesOf(
  sql: Queryable,
  results: Results,
  monitors: readonly MonitorKey[],
  { from, to }: Interval,
): Promise<ReadonlyMap<number, Summary>> {
  const found = new Map<number, Summary>();
  const outside = emptySummary();
  const days = Math.ceil(to / dayMs) - Math.floor(from / dayMs);
  if (days * monitors.length > mostRows)
    return monthSummaries(sql, results, monitors, { from, to });
  const size = Math.max(1, Math.floor(rowsAtOnce / days));
  for (let first = 0; first < monitors.length; first += size) {
    const keys = monitors.slice(first, first + size).map(({ key }) => key);
    const rows = await sql<{ key: number; day: number; cells: Uint8Array }[]>`
      select monitor_key as key, day, case when day >= ${dateOf(from + dayMs - 1)}::date
        and day < ${dateOf(to)}::date then whole else hours end as cells
      from days where monitor_key = any(${keys}::bigint[]) and day = any(array(
        select generate_series(${dateOf(from)}::date, ${dateOf(to - 1)}::date, '1 day')::date))`;
    for (const { key, day, cells } of rows) {
      const summary = found.getOrInsertComputed(key, emptySummary);
      const fault = readCells(cells, (_place, hour) => {
        const at = day + hour * hourMs;
        return at < from || at >= to ? outside : summary;
      });
      if (fault !== null) results.reportDay(key, day, fault);
    }
  }
  return found;
}

/** Counts all checks of a window: as rows of days have them, and single checks of the other days. */
async function countWindow(
  sql: Queryable,
  results: Results,
  monitor: MonitorKey,
  { from, to }: Interval,
  cells: 'whole' | 'hours',
  summaryOf: (place: string, at: number) => Summary,
): Promise<void> {
  const rows = await sql<{ day: number; cells: Uint8Array }[]>`
    select day, ${sql(cells)} as cells from days
    where monitor_key = ${monitor.key} and day = any(array(
      select generate_series(${dateOf(from)}::date, ${dateOf(to - 1)}::date, '1 day')::date))`;
  const read = new Set<number>();
  for (const { day: start, cells: data } of rows) {
    const fault = readCells(data, (place, hour) => summaryOf(place, start + hour * hourMs));
    if (fault === null) read.add(start);
    else results.reportDay(monitor.key, start, fault);
  }
  const ranges = rangesWithout(read, { from, to });
  const [checks, places] = await Promise.all([
    results.within(
      sql,
      ranges.map((range) => ({ ...monitor, ...range })),
    ),
    placesOfProbes(sql, monitor.key),
  ]);
  for (const check of checks.flat()) {
    const place = places.get(check.probe);
    if (place !== undefined) countCheck(summaryOf(place, check.at), check);
  }
}

/** The parts of a window outside these days; adjacent days are one range. */
export function rangesWithout(
  days: ReadonlySet<number>,
  { from, to }: Interval,
): readonly Interval[] {
  const ranges: { readonly from: number; to: number }[] = [];
  for (let day = Math.floor(from / dayMs) * dayMs; day < to; day += dayMs) {
    if (days.has(day)) continue;
    const end = Math.min(day + dayMs, to);
    const last = ranges.at(-1);
    if (last?.to === day) last.to = end;
    else ranges.push({ from: Math.max(day, from), to: end });
  }
  return ranges;
}

function seriesIn(slots: ReadonlyMap<string, ReadonlyMap<number, Summary>>): Series {
  const places = [...slots].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const whole = emptySummary();
  const wholes = places.map(([place, summaries]) => {
    const sum = emptySummary();
    for (const summary of summaries.values()) mergeSummary(sum, summary);
    mergeSummary(whole, sum);
    return [place, sum] as const;
  });
  return {
    rows: places.flatMap(([continent, summaries]) =>
      [...summaries]
        .toSorted(([a], [b]) => a - b)
        .map(([slot, summary]) => ({ continent, slot, ...rowOf(summary) })),
    ),
    whole: whole.ok > 0 ? percentilesOf(whole) : null,
    places: new Map(
      wholes
        .filter(([, sum]) => sum.ok > 0)
        .map(([place, sum]) => [place, { ...percentilesOf(sum), phases: null }]),
    ),
  };
}

function rowOf(summary: Summary): Omit<SeriesRow, 'continent' | 'slot'> {
  const { ok, failed, unknown, sum, least, most } = summary;
  const hasTimes = ok > 0;
  return {
    ok,
    failed,
    unknown,
    mean: hasTimes ? sum / ok / 10 : null,
    least: hasTimes ? least / 10 : null,
    most: hasTimes ? most / 10 : null,
    ...percentilesOf(summary),
    phases: null,
  };
}

function percentilesOf(summary: Summary) {
  return {
    median: percentileOf(summary, 0.5),
    p95: percentileOf(summary, 0.95),
    p99: percentileOf(summary, 0.99),
  };
}

/** What a monitor's checks of an hour from a place add up to, as an export has it. */
export type HourFigures = {
  readonly continent: string;
  readonly hour: string;
  readonly ok: number;
  readonly failed: number;
  readonly unknown: number;
  readonly took_sum: number;
  readonly took_min: number | null;
  readonly took_max: number | null;
  readonly p50_ms: number | null;
  readonly p95_ms: number | null;
  readonly p99_ms: number | null;
};

/** Nothing is kept for longer. */
const longestKeptMs = 3_660 * dayMs;

/** For an export: all hours of a monitor that are over. */
export async function hourlyFigures(
  sql: Queryable,
  results: Results,
  monitor: MonitorKey,
  now: number,
): Promise<readonly HourFigures[]> {
  const found = new Map<string, { readonly place: string; readonly hour: number; sum: Summary }>();
  const window = { from: Math.floor((now - longestKeptMs) / dayMs) * dayMs, to: hourOf(now) };
  await countWindow(sql, results, monitor, window, 'hours', (place, at) => {
    const cell = { place, hour: hourOf(at), sum: emptySummary() };
    return found.getOrInsertComputed(`${cell.hour} ${place}`, () => cell).sum;
  });
  return [...found.values()]
    .toSorted((a, b) => a.hour - b.hour)
    .map(({ place, hour, sum }) => ({
      continent: place,
      hour: new Date(hour).toISOString(),
      ok: sum.ok,
      failed: sum.failed,
      unknown: sum.unknown,
      took_sum: sum.sum / 10,
      took_min: sum.ok === 0 ? null : sum.least / 10,
      took_max: sum.ok === 0 ? null : sum.most / 10,
      p50_ms: tenthsOf(percentileOf(sum, 0.5)),
      p95_ms: tenthsOf(percentileOf(sum, 0.95)),
      p99_ms: tenthsOf(percentileOf(sum, 0.99)),
    }));
}

export function tenthsOf(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms * 10) / 10;
}

/** Deletes the rows of days before this time, and of months that begin before it. */
export async function forgetDays(sql: Queryable, before: number): Promise<void> {
  await sql`delete from months where month < ${dateOf(before)}`;
  await sql`delete from days where day < ${dateOf(before)}`;
}
