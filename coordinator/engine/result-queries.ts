import { codeOf } from '../../shared/base/errors.ts';
import type { Interval } from '../../shared/base/time.ts';
import type { Outcome, Phases } from '../../shared/checks/result.ts';
import {
  numbersLiteral,
  type Queryable,
  type Statement,
  textsLiteral,
} from '../database/connect.ts';
import { placeOf } from '../probes/places.ts';
import { outcomeNumbers } from '../results/check.ts';

/** The checks of one continent or private place, summarized for one step of time. */
export type SeriesRow = {
  /** A continent; of a monitor with chosen places, a private one by its id. */
  readonly continent: string;
  readonly slot: number;
  readonly ok: number;
  readonly failed: number;
  readonly unknown: number;
  readonly mean: number | null;
  readonly least: number | null;
  readonly most: number | null;
  readonly median: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
  /** Means of dns, tcp, tls, first_byte and total; null where only hours are stored. */
  readonly phases: readonly (number | null)[] | null;
};

/** The percentiles of all passes of a window. */
export type Percentiles = Pick<SeriesRow, 'median' | 'p95' | 'p99'>;

export type Series = {
  readonly rows: readonly SeriesRow[];
  /** Null where only hours are stored. */
  readonly whole: Percentiles | null;
};

/** From raw results, as far as they are kept, with percentiles and phases. */
export async function rawSeries(
  sql: Queryable,
  monitor: number,
  { from, to }: Interval,
  step_s: number,
): Promise<Series> {
  const [begin, end] = [new Date(from), new Date(to)];
  const rows = await sql<(Omit<SeriesRow, 'continent'> & { readonly continent: string | null })[]>`
    select ${seenFrom(sql)} as continent, ${slotOf(sql, 'r.at', begin, step_s)} as slot,
      (count(*) filter (where r.outcome = 0))::int as ok,
        (count(*) filter (where r.outcome = 1))::int as failed,
      (count(*) filter (where r.outcome = 2))::int as unknown,
      avg(r.took_ms) filter (where r.outcome = 0) as mean,
      min(r.took_ms) filter (where r.outcome = 0) as least, max(r.took_ms)
      filter (where r.outcome = 0) as most,
      percentile_cont(0.5) within group (order by r.took_ms) filter (where r.outcome = 0) as median,
      percentile_cont(0.95) within group (order by r.took_ms) filter (where r.outcome = 0) as p95,
      percentile_cont(0.99) within group (order by r.took_ms) filter (where r.outcome = 0) as p99,
      array[${sql.unsafe(
        [1, 2, 3, 4, 5]
          .map((phase) => `avg(r.phases[${phase}]) filter (where r.outcome = 0)`)
          .join(', '),
      )}]::float8[] as phases
    from results r join probes p on p.key = r.probe_key left join monitors m on m.key = r.monitor_key
    where r.monitor_key = ${monitor} and r.at >= ${begin} and r.at < ${end}
    group by grouping sets ((1, 2), ()) order by 1, 2`;
  // The empty grouping set has a row, also where there are no results.
  const whole = rows.find(({ continent }) => continent === null);
  return {
    rows: rows.flatMap(({ continent, ...rest }) =>
      continent === null ? [] : [{ continent, ...rest }],
    ),
    whole: whole === undefined || whole.median === null ? null : whole,
  };
}

/**
 * Of results `r` with their probe `p` and monitor `m`: a private place among others sees another
 * side than its continent. Rollups keep it in the column of continents.
 */
function seenFrom(sql: Queryable) {
  return sql`case when m.places is null then p.continent
    else coalesce(${placeOf(sql)}::text, p.continent) end`;
}

function slotOf(sql: Queryable, column: string, from: Date, step_s: number) {
  return sql`floor(
    date_part('epoch', ${sql.unsafe(column)} - ${from}::timestamptz) / ${step_s})::int`;
}

/** From hourly rollups; hours that wait for theirs are read from raw results. */
export async function hourlySeries(
  sql: Queryable,
  monitor: number,
  { from, to }: Interval,
  step_s: number,
): Promise<Series> {
  const [begin, end] = [new Date(from), new Date(to)];
  const rows = await sql<SeriesRow[]>`
    with waiting as (select hour from stale_hours where hour >= ${begin} and hour < ${end}),
    hours as (
      select u.continent, u.hour, u.ok, u.failed, u.unknown, u.took_sum, u.took_min, u.took_max
      from rollups u
      where u.monitor_key = ${monitor} and u.hour >= ${begin} and u.hour < ${end}
        and u.hour not in (select hour from waiting)
      union all
      select ${seenFrom(sql)}, w.hour, count(*) filter (where r.outcome = 0), count(*)
      filter (where r.outcome = 1),
        count(*) filter (where r.outcome = 2),
          coalesce(sum(r.took_ms) filter (where r.outcome = 0), 0),
        min(r.took_ms) filter (where r.outcome = 0), max(r.took_ms) filter (where r.outcome = 0)
      from waiting w join results r on r.monitor_key = ${monitor} and r.at >= w.hour
        and r.at < w.hour + interval '1 hour'
        join probes p on p.key = r.probe_key left join monitors m on m.key = r.monitor_key
      group by 1, w.hour)
    select h.continent, ${slotOf(sql, 'h.hour', begin, step_s)} as slot,
      sum(h.ok)::int as ok, sum(h.failed)::int as failed, sum(h.unknown)::int as unknown,
      sum(h.took_sum) / nullif(sum(h.ok), 0) as mean, min(h.took_min) as least,
        max(h.took_max) as most,
      null::float8 as median, null::float8 as p95, null::float8 as p99, null::float8[] as phases
    from hours h group by h.continent, slot order by h.continent, slot`;
  return { rows, whole: null };
}

export type ResultRow = {
  readonly monitor_key: number;
  readonly probe_key: number;
  readonly at: number;
  readonly took_ms: number;
  readonly outcome: Outcome;
  readonly cause_class: string | null;
  readonly phases: Phases | null;
};

export function insertResults(sql: Queryable, rows: readonly ResultRow[]): Statement[] {
  if (rows.length === 0) return [];
  // Each phase is an array of its own: nested arrays take three times as long to write as text.
  const statement = sql`
    insert into results (monitor_key, at, probe_key, took_ms, outcome, cause_class, phases)
    select monitor_key, to_timestamp(at / 1000.0), probe_key, took_ms, outcome, cause_class,
      case when has_phases = 1 then array[dns, tcp, tls, first_byte, total] end
    from unnest(
      ${numbersLiteral(rows.map((row) => row.monitor_key))}::bigint[],
        ${numbersLiteral(rows.map((row) => row.at))}::float8[],
      ${numbersLiteral(rows.map((row) => row.probe_key))}::int[],
        ${numbersLiteral(rows.map((row) => row.took_ms))}::real[],
      ${numbersLiteral(rows.map((row) => outcomeNumbers[row.outcome]))}::smallint[],
      ${textsLiteral(rows.map((row) => row.cause_class))}::text[],
      ${numbersLiteral(rows.map((row) => (row.phases === null ? 0 : 1)))}::smallint[],
      ${phaseOf(rows, 'dns')}::real[], ${phaseOf(rows, 'tcp')}::real[],
        ${phaseOf(rows, 'tls')}::real[],
      ${phaseOf(rows, 'first_byte')}::real[], ${phaseOf(rows, 'total')}::real[]
    ) as t (monitor_key, at, probe_key, took_ms, outcome, cause_class, has_phases, dns, tcp, tls,
      first_byte, total)`;
  return [statement];
}

function phaseOf(rows: readonly ResultRow[], name: keyof Phases): string {
  return numbersLiteral(rows.map(({ phases }) => phases?.[name] ?? null));
}

/**
 * Passes with their times, one list for each column: there are so many that an object for each
 * would cost more than all else. NaN: the phase did not happen.
 */
export type PassColumns = {
  readonly monitor_key: number[];
  readonly probe_key: number[];
  readonly at: number[];
  readonly took_ms: number[];
  readonly dns: number[];
  readonly tcp: number[];
  readonly tls: number[];
  readonly first_byte: number[];
  readonly total: number[];
};

export const noPasses = (): PassColumns => ({
  monitor_key: [],
  probe_key: [],
  at: [],
  took_ms: [],
  dns: [],
  tcp: [],
  tls: [],
  first_byte: [],
  total: [],
});

/** Their outcome is 0 (`outcomeNumbers.ok`), and they have no cause. */
export function insertPasses(sql: Queryable, parts: readonly PassColumns[]): Statement[] {
  const some = parts.filter(({ at }) => at.length > 0);
  if (some.length === 0) return [];
  const all = (name: keyof PassColumns): string =>
    numbersLiteral(...some.map((columns) => columns[name]));
  const statement = sql`
    insert into results (monitor_key, at, probe_key, took_ms, outcome, cause_class, phases)
    select monitor_key, to_timestamp(at / 1000.0), probe_key, took_ms, 0, null, array[dns, tcp, tls,
      first_byte, total]
    from unnest(
      ${all('monitor_key')}::bigint[], ${all('at')}::float8[], ${all('probe_key')}::int[],
        ${all('took_ms')}::real[],
      ${all('dns')}::real[], ${all('tcp')}::real[], ${all('tls')}::real[],
        ${all('first_byte')}::real[], ${all('total')}::real[]
    ) as t (monitor_key, at, probe_key, took_ms, dns, tcp, tls, first_byte, total)`;
  return [statement];
}

const day = 86_400_000;

/** What is kept by the day, with the settings of each day. */
const dayTables = {
  results: '',
  // They are inserted and seldom changed: vacuum follows in small steps, not in a few large ones.
  chunks:
    'with (autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 10000)',
} as const;

/** Creates missing day partitions for this time. Several coordinators may do so at once. */
export async function makeResultDays(sql: Queryable, from: number, to: number): Promise<void> {
  const existing = new Set(await daysIn(sql));
  const missing: string[] = [];
  for (const [table, settings] of Object.entries(dayTables))
    for (let start = Math.floor(from / day) * day; start < to; start += day) {
      const name = nameOfDay(table, start);
      if (existing.has(name)) continue;
      const [begin, end] = [new Date(start).toISOString(), new Date(start + day).toISOString()];
      // A table is created first and attached afterwards. Creating it as a partition would wait
      // until no one reads results, and block all writers meanwhile. Names and bounds are our own;
      // DDL takes no parameters.
      missing.push(`create table ${name} (like ${table} including defaults including constraints including indexes including storage) ${settings};
      alter table ${table} attach partition ${name} for values from ('${begin}') to ('${end}');`);
    }
  if (missing.length > 0) await sql.unsafe(missing.join('\n'));
}

async function daysIn(sql: Queryable): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select relid::regclass::text as name
    from unnest(${Object.keys(dayTables)}::text[]) t, pg_partition_tree(t::regclass)
    where isleaf order by 1`;
  return rows.map(({ name }) => name);
}

function nameOfDay(table: string, start: number): string {
  return `${table}_${new Date(start).toISOString().slice(0, 10).replaceAll('-', '')}`;
}

/** Whether days could not be dropped because results were being read; a later try will succeed. */
export const areBeingRead = (error: unknown): boolean => codeOf(error) === '55P03';

/** Lock timeout of a drop: while it waits for readers of results, it blocks writers. */
const dropTimeoutMs = 300;

/**
 * Drops the days that end before this time, in a transaction of its own. @throws areBeingRead().
 */
export async function dropResultDays(sql: Queryable, before: number): Promise<string[]> {
  const old = (await daysIn(sql)).filter((name) => {
    const [, table = '', date] = /^(\w+)_(\d{8})$/.exec(name) ?? [];
    return date !== undefined && name <= nameOfDay(table, before - day);
  });
  if (old.length > 0) await sql`select set_config('lock_timeout', ${String(dropTimeoutMs)}, true)`;
  for (const name of old) await sql.unsafe(`drop table if exists ${name}`);
  return old;
}

/** Marks hours whose rollup must be made, or made again. */
export const markStale = (sql: Queryable, hours: readonly number[]): Statement[] =>
  hours.length === 0
    ? []
    : [
        sql`insert into stale_hours (hour) select to_timestamp(h / 1000.0)
          from unnest(${numbersLiteral(hours.toSorted((a, b) => a - b))}::float8[]) as t (h)
          on conflict do nothing`,
      ];

const hour = 3_600_000;

/** The start of the hour that a time lies in. */
export const hourOf = (at: number): number => Math.floor(at / hour) * hour;

/** Makes the rollups of the oldest finished hour that waits for it. False when none waits. */
export async function rollUpOneHour(sql: Queryable, finishedBefore: number): Promise<boolean> {
  const [stale] = await sql<{ hour: Date }[]>`
    delete from stale_hours where hour = (
      select hour from stale_hours where hour < ${new Date(finishedBefore)} order by hour limit 1
      for update skip locked)
    returning hour`;
  if (!stale) return false;
  await sql`
    insert into rollups (monitor_key, continent, hour, ok, failed, unknown, took_sum, took_min,
      took_max)
    select r.monitor_key, ${seenFrom(sql)}, ${stale.hour},
      count(*) filter (where outcome = 0), count(*) filter (where outcome = 1), count(*)
      filter (where outcome = 2),
      coalesce(sum(took_ms) filter (where outcome = 0), 0), min(took_ms)
      filter (where outcome = 0), max(took_ms) filter (where outcome = 0)
    from results r join probes p on p.key = r.probe_key left join monitors m on m.key = r.monitor_key
    where r.at >= ${stale.hour} and r.at < ${stale.hour}::timestamptz + interval '1 hour'
    group by 1, 2
    on conflict (monitor_key, hour, continent) do update
    set ok = excluded.ok, failed = excluded.failed, unknown = excluded.unknown,
      took_sum = excluded.took_sum, took_min = excluded.took_min, took_max = excluded.took_max`;
  // Values that lists are sorted by come from the newest hour only: an hour that is rolled up again
  // may be an old one.
  await sql`
    update monitor_status s set response_ms = r.mean
    from (select monitor_key, sum(took_sum) / nullif(sum(ok), 0) as mean from rollups
      where hour = ${stale.hour} group by monitor_key) r
    where r.monitor_key = s.monitor_key and s.response_ms is distinct from r.mean
      and not exists (select 1 from rollups later where later.monitor_key = s.monitor_key
        and later.hour > ${stale.hour})`;
  return true;
}

/** Deletes rollups and closed ledger intervals from before these times. */
export async function forgetOld(
  sql: Queryable,
  rollupsBefore: number,
  ledgerBefore: number,
): Promise<void> {
  await sql`delete from rollups where hour < ${new Date(rollupsBefore)}`;
  await sql`delete from ledger where ended_at < ${new Date(ledgerBefore)}`;
}

/** Deletes a bite of the history of deleted monitors. False when nothing was left. */
export async function forgetMonitors(sql: Queryable, bite: number): Promise<boolean> {
  const [next] = await sql<{ monitor_key: number }[]>`
    select monitor_key from forgotten_monitors order by forgotten_at limit 1
    for update skip locked`;
  if (!next) return false;
  const key = next.monitor_key;
  const raw = await sql`delete from results
      where ctid in (select ctid from results where monitor_key = ${key} limit ${bite})
        and monitor_key = ${key}`;
  const rolled = await sql`delete from rollups where monitor_key = ${key}`;
  if (raw.count === 0 && rolled.count === 0)
    await sql`delete from forgotten_monitors where monitor_key = ${key}`;
  return true;
}
