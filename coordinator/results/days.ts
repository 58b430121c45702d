import type { Log } from '../../shared/base/log.ts';
import type { Interval } from '../../shared/base/time.ts';
import type { Queryable, Transaction } from '../database/connect.ts';
import { bytesText } from '../database/table.ts';
import { placeOf, placesOfProbes } from '../probes/places.ts';
import { type Check, unionOf } from './check.ts';
import { hourMs, hourOf, readChunk } from './chunk.ts';
import type { MonitorKey, Results } from './reading.ts';
import { hourlySeries } from './rollups.ts';
import type { Series, SeriesRow } from './series.ts';
import {
  addFigures,
  countCheck,
  dayOf,
  emptySummary,
  mergeSummary,
  percentileOf,
  readCells,
  type Summary,
} from './summary.ts';

/**
 * Rows of days (`daily_rollups`): one a monitor and day, made from its chunks once the day is over,
 * and again when one of them changes. The database marks such days. Where chunks
 * are damaged, or were left out of a backup, the hourly rollups count more checks: then the row has
 * no figures, and a series takes the rollups. Once a day is long over, rollups are deleted whose
 * figures are in its row, in a tenth of the space.
 */

export const dayMs = 86_400_000;
/** A day's last hour is sealed by then, as a rule; what comes later makes its row again. */
const settledMs = hourMs;
/** A monitor whose results arrive late gets its row again at most this often. */
const againMs = 600_000;

type Mark = { readonly day: Date; readonly monitor_key: number };
type ChunkRow = { readonly monitor_key: number; readonly at: Date; readonly data: Uint8Array };

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
  for (const [day, some] of Map.groupBy(marks, (mark) => mark.day.getTime()))
    await makeDay(
      sql,
      day,
      some.map(({ monitor_key }) => monitor_key),
      log,
    );
  return marks.length > 0;
}

/** The UTC day of a time, as the database reads it. */
function dateOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

async function makeDay(
  sql: Transaction,
  day: number,
  monitors: readonly number[],
  log: Log,
): Promise<void> {
  const chunks = await chunksOfDay(sql, day, monitors);
  const checks = new Map<number, readonly Check[]>();
  for (const [monitor, some] of Map.groupBy(chunks, ({ monitor_key }) => monitor_key))
    checks.set(
      monitor,
      checksIn(some, (at, fault) =>
        log.error({ monitor_key: monitor, at, fault }, 'a chunk of results is damaged'),
      ),
    );
  const placeSeenBy = await placesByMonitor(sql, checks);
  const knownOf = await knownByMonitor(sql, day, [...checks.keys()]);
  const rows = [...checks].flatMap(([monitor, all]) => {
    const made = dayOf(day, all, (probe) => placeSeenBy(monitor, probe));
    if (made === null) return [];
    const { rolledUp, inRow } = knownOf(monitor);
    if (countIn(made.whole) >= Math.max(rolledUp, inRow)) return [{ monitor, ...made }];
    return inRow > 0 ? [] : [{ monitor, whole: noFigures, hours: noFigures }];
  });
  if (rows.length === 0) return;
  await sql`
    insert into daily_rollups (day, monitor_key, whole, hours)
    select ${dateOf(day)}, r.monitor_key, r.whole::bytea, r.hours::bytea
    from unnest(${rows.map(({ monitor }) => monitor)}::bigint[],
      ${rows.map(({ whole }) => bytesText(whole))}::text[],
      ${rows.map(({ hours }) => bytesText(hours))}::text[])
      as r (monitor_key, whole, hours)
    where not exists (select 1 from forgotten_monitors f where f.monitor_key = r.monitor_key)
    on conflict (day, monitor_key) do update
    set whole = excluded.whole, hours = excluded.hours
    where (daily_rollups.whole, daily_rollups.hours) <> (excluded.whole, excluded.hours)`;
}

const noFigures = new Uint8Array();

/** How many checks of a monitor's day its hourly rollups count, and its row. */
async function knownByMonitor(
  sql: Queryable,
  day: number,
  monitors: readonly number[],
): Promise<(monitor: number) => { readonly rolledUp: number; readonly inRow: number }> {
  const rows = await sql<{ monitor_key: number; rolled_up: number; whole: Uint8Array | null }[]>`
    select k.monitor_key, d.whole, (
      select coalesce(sum(u.ok + u.failed + u.unknown), 0)::int from rollups u
      where u.monitor_key = k.monitor_key
        and u.hour >= ${new Date(day)} and u.hour < ${new Date(day + dayMs)}) as rolled_up
    from unnest(${monitors}::bigint[]) as k (monitor_key)
      left join daily_rollups d on d.day = ${dateOf(day)} and d.monitor_key = k.monitor_key`;
  const byKey = new Map(
    rows.map(({ monitor_key, rolled_up, whole }) => [
      monitor_key,
      { rolledUp: rolled_up, inRow: whole === null ? 0 : countIn(whole) },
    ]),
  );
  return (monitor) => byKey.get(monitor) ?? { rolledUp: 0, inRow: 0 };
}

/** How many checks cells count; 0 of damaged ones. */
function countIn(cells: Uint8Array): number {
  return countsByPlace(cells)
    .values()
    .reduce((sum, count) => sum + count, 0);
}

function countsByPlace(cells: Uint8Array): ReadonlyMap<string, number> {
  const places = new Map<string, Summary>();
  const fault = readCells(cells, (place) => places.getOrInsertComputed(place, emptySummary));
  return new Map(fault === null ? [...places].map(([place, sum]) => [place, countOf(sum)]) : []);
}

function countOf({ ok, failed, unknown }: Pick<Summary, 'ok' | 'failed' | 'unknown'>): number {
  return ok + failed + unknown;
}

/** In order of monitor and time. */
function chunksOfDay(
  sql: Queryable,
  day: number,
  monitors: readonly number[],
): Promise<ChunkRow[]> {
  return sql<ChunkRow[]>`
  select monitor_key, at, data from chunks
  where monitor_key = any(${monitors}::bigint[])
    and at >= ${new Date(day)} and at < ${new Date(day + dayMs)}
  order by monitor_key, at`;
}

/** The checks of a monitor; a damaged chunk is reported, and gives what is readable of it. */
function checksIn(
  chunks: readonly ChunkRow[],
  report: (at: string, fault: string) => void,
): readonly Check[] {
  return unionOf(
    ...chunks.map(({ at, data }) => {
      const { checks, fault } = readChunk(at.getTime(), data);
      if (fault !== null) report(at.toISOString(), fault);
      return checks;
    }),
  );
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

/**
 * A series of whole hours with percentiles, from rows of days. Days without a row are read from
 * hourly rollups, which have no percentiles; today and yesterday, which may have none yet, from
 * single checks as well, and of each hour what counts more.
 */
export async function yearSeries(
  sql: Queryable,
  results: Results,
  monitor: MonitorKey,
  { from, to }: Interval,
  step_s: number,
): Promise<Series> {
  const slots = new Map<string, Map<number, Summary>>();
  const outside = emptySummary();
  const summaryOf = (place: string, at: number): Summary =>
    at < from || at >= to
      ? outside
      : slots
          .getOrInsertComputed(place, () => new Map<number, Summary>())
          .getOrInsertComputed(Math.floor((at - from) / (step_s * 1_000)), emptySummary);

  const isByDay = from % dayMs === 0 && (step_s * 1_000) % dayMs === 0;
  const days = await sql<{ day: Date; cells: Uint8Array }[]>`
    select day, ${isByDay ? sql`whole` : sql`hours`} as cells from daily_rollups
    where monitor_key = ${monitor.key} and day = any(array(
      select generate_series(${dateOf(from)}::date, ${dateOf(to - 1)}::date, '1 day')::date))
      and whole <> ''`;
  const read = new Set<number>();
  for (const { day, cells } of days) {
    const start = day.getTime();
    const fault = readCells(cells, (place, hour) => summaryOf(place, start + hour * hourMs));
    if (fault === null) read.add(start);
    else results.reportDay(monitor.key, start, fault);
  }

  const rolledUp = rangesWithout(read, { from, to });
  const yesterday = Math.floor((to - 1) / dayMs) * dayMs - dayMs;
  const recent = rolledUp.filter((range) => range.to > yesterday);
  const [{ rows: hourly }, places] = await Promise.all([
    hourlySeries(sql, results, monitor, rolledUp, hourMs / 1_000),
    placesOfProbes(sql, monitor.key),
  ]);
  // After the rollups, so that none of their checks is missing because it came in between.
  const checks = await results.within(
    sql,
    recent.map((range) => ({ ...monitor, ...range, from: Math.max(range.from, yesterday) })),
  );
  const byHour = Map.groupBy(
    checks.flat().filter(({ probe }) => places.has(probe)),
    ({ at }) => hourOf(at),
  );
  const begin = rolledUp[0]?.from ?? from;
  for (const [slot, rows] of Map.groupBy(hourly, (row) => row.slot)) {
    const hour = begin + slot * hourMs;
    const count = rows.reduce((sum, row) => sum + countOf(row), 0);
    if (count <= (byHour.get(hour)?.length ?? 0)) continue;
    byHour.delete(hour);
    for (const row of rows) addFigures(summaryOf(row.continent, hour), figuresOf(row));
  }
  for (const check of [...byHour.values()].flat()) {
    const place = places.get(check.probe);
    if (place !== undefined) countCheck(summaryOf(place, check.at), check);
  }
  return seriesIn(slots);
}

/** The parts of a window outside these days; adjacent days are one range. */
function rangesWithout(days: ReadonlySet<number>, { from, to }: Interval): readonly Interval[] {
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
    whole: hasPercentiles(whole) ? percentilesOf(whole) : null,
    places: new Map(
      wholes
        .filter(([, sum]) => hasPercentiles(sum))
        .map(([place, sum]) => [place, { ...percentilesOf(sum), phases: null }]),
    ),
  };
}

function hasPercentiles(summary: Summary): boolean {
  return percentileOf(summary, 0.5) !== null;
}

function figuresOf({ ok, failed, unknown, mean, least, most }: SeriesRow): Omit<Summary, 'sketch'> {
  return {
    ok,
    failed,
    unknown,
    sum: (mean ?? 0) * ok * 10,
    least: least === null ? Number.POSITIVE_INFINITY : least * 10,
    most: (most ?? 0) * 10,
    sketched: 0,
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

/** A row of a day as it leaves the database in JSON. */
export type DayRow = { readonly day: string; readonly hours: string };

/** For an export. A damaged row is reported, and has none. */
export function percentilesByHour(
  { day, hours }: DayRow,
  report: (day: number, fault: string) => void,
) {
  const cells = new Map<string, { readonly place: string; readonly hour: number; sum: Summary }>();
  const fault = readCells(Buffer.from(hours, 'base64'), (place, hour) => {
    const cell = { place, hour, sum: emptySummary() };
    return cells.getOrInsertComputed(`${hour} ${place}`, () => cell).sum;
  });
  const start = Date.parse(day);
  if (fault !== null) report(start, fault);
  return Array.from(cells.values(), ({ place, hour, sum }) => ({
    continent: place,
    hour: new Date(start + hour * hourMs).toISOString(),
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

function tenthsOf(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms * 10) / 10;
}

/** Late checks of a day are in its row by then. */
const rollupsKeptMs = 10 * dayMs;

/**
 * Deletes the hourly rollups of some monitors' days, where the row of the day counts as many checks
 * of each place. False when no row waits.
 */
export async function dropRollups(
  sql: Transaction,
  { now, batchSize }: { readonly now: number; readonly batchSize: number },
): Promise<boolean> {
  const [done] = await sql<{ day: string; monitor_key: number }[]>`
    select day::text, monitor_key from dropped_rollups for update`;
  const rows = await sql<(Mark & { readonly is_stale: boolean })[]>`
    select d.day, d.monitor_key, exists (select from stale_days s
      where s.day = d.day and s.monitor_key = d.monitor_key) as is_stale
    from daily_rollups d
    where (d.day, d.monitor_key) > (${done?.day ?? '1970-01-01'}::date, ${done?.monitor_key ?? 0}::bigint)
      and d.day < ${dateOf(now - rollupsKeptMs)}
    order by d.day, d.monitor_key limit ${batchSize}`;
  const firstStale = rows.findIndex(({ is_stale }) => is_stale);
  const made = firstStale < 0 ? rows : rows.slice(0, firstStale);
  const last = made.at(-1);
  if (last === undefined) return false;
  for (const [day, some] of Map.groupBy(made, (row) => row.day.getTime()))
    await dropRollupsOfDay(
      sql,
      day,
      some.map(({ monitor_key }) => monitor_key),
    );
  await sql`insert into dropped_rollups (day, monitor_key)
    values (${dateOf(last.day.getTime())}, ${last.monitor_key})
    on conflict (only_row) do update set day = excluded.day, monitor_key = excluded.monitor_key`;
  return true;
}

async function dropRollupsOfDay(
  sql: Queryable,
  day: number,
  monitors: readonly number[],
): Promise<void> {
  const keys = monitors;
  const ofDay = sql`monitor_key = any(${keys}::bigint[])
    and hour >= ${new Date(day)} and hour < ${new Date(day + dayMs)}`;
  const rolledUp = await sql<{ monitor_key: number; place: string; count: number }[]>`
    select monitor_key, continent as place, sum(ok + failed + unknown)::int as count
    from rollups where ${ofDay} group by 1, 2`;
  const rows = await sql<{ monitor_key: number; whole: Uint8Array; hours: Uint8Array }[]>`
    select monitor_key, whole, hours from daily_rollups
    where day = ${dateOf(day)} and monitor_key = any(${keys}::bigint[])`;
  const counts = new Map(
    rows.map(({ monitor_key, whole, hours }) => [
      monitor_key,
      [countsByPlace(whole), countsByPlace(hours)],
    ]),
  );
  const missing = new Set(
    rolledUp.flatMap(({ monitor_key, place, count }) =>
      counts.get(monitor_key)?.every((counted) => (counted.get(place) ?? 0) >= count) === true
        ? []
        : [monitor_key],
    ),
  );
  const whole = monitors.filter((monitor) => !missing.has(monitor));
  await sql`delete from rollups where ${ofDay}
    and monitor_key = any(${whole}::bigint[])`;
}

/** Deletes the rows of days before this time. */
export async function forgetDays(sql: Queryable, before: number): Promise<void> {
  await sql`delete from daily_rollups where day < ${dateOf(before)}`;
}
