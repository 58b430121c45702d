import { codeOf } from '../../shared/base/errors.ts';
import type { Interval } from '../../shared/base/time.ts';
import type { Outcome, Phases } from '../../shared/checks/result.ts';
import {
  executeAll,
  numbersLiteral,
  type Queryable,
  type Statement,
  textsLiteral,
} from '../database/connect.ts';
import { placeOf } from '../probes/places.ts';
import { outcomeNumbers } from '../results/check.ts';
import { hourMs, hourOf } from '../results/chunk.ts';
import type { MonitorKey, Results } from '../results/reading.ts';
import { type Count, countsOf, type Seal } from '../results/sealing.ts';
import { type Series, type SeriesRow, seriesOf } from '../results/series.ts';

export type { Percentiles, Series, SeriesRow } from '../results/series.ts';

/** From single checks, as far as they are kept, with percentiles and phases. */
export async function rawSeries(
  sql: Queryable,
  results: Results,
  monitor: MonitorKey,
  window: Interval,
  step_s: number,
): Promise<Series> {
  const [[checks = []], places] = await Promise.all([
    results.within(sql, [{ ...monitor, ...window }]),
    placesOfProbes(sql, monitor.key),
  ]);
  return seriesOf(checks, places, window, step_s);
}

/** Where each probe that may have checked it sees a monitor from. */
export async function placesOfProbes(
  sql: Queryable,
  monitor: number,
): Promise<ReadonlyMap<number, string>> {
  const rows = await sql<{ key: number; place: string }[]>`
    select p.key, ${seenFrom(sql)} as place from monitors m
      join probes p on p.organisation_id is null or p.organisation_id = m.organisation_id
    where m.key = ${monitor}`;
  return new Map(rows.map(({ key, place }) => [key, place]));
}

/**
 * Of results `r` with their probe `p` and monitor `m`: a private place among others sees another
 * side than its continent. Rollups keep it in the column of continents.
 */
function seenFrom(sql: Queryable) {
  return sql`case when m.places is null then p.continent
    else coalesce(${placeOf(sql)}::text, p.continent) end`;
}

/** From hourly rollups; hours that have none yet, or an old one, are read from single checks. */
export async function hourlySeries(
  sql: Queryable,
  results: Results,
  monitor: MonitorKey,
  { from, to }: Interval,
  step_s: number,
): Promise<Series> {
  const [begin, end] = [new Date(from), new Date(to)];
  const [recent, stale, places] = await Promise.all([
    results.recent(monitor, { from, to }),
    sql<{ hour: Date }[]>`select hour from stale_hours where hour >= ${begin} and hour < ${end}`,
    placesOfProbes(sql, monitor.key),
  ]);
  const waiting = new Set([
    ...stale.map(({ hour }) => hour.getTime()),
    ...recent.map(({ at }) => hourOf(at)),
  ]);
  const [rollups, [checks = []]] = await Promise.all([
    sql<RollupRow[]>`
      select u.continent, floor(date_part('epoch', u.hour - ${begin}::timestamptz) / ${step_s})::int
          as slot,
        sum(u.ok)::int as ok, sum(u.failed)::int as failed, sum(u.unknown)::int as unknown,
        sum(u.took_sum) as sum, min(u.took_min) as least, max(u.took_max) as most
      from rollups u
      where u.monitor_key = ${monitor.key} and u.hour >= ${begin} and u.hour < ${end}
        and date_part('epoch', u.hour) * 1000 <> all(${numbersLiteral([...waiting])}::float8[])
      group by 1, 2`,
    results.within(
      sql,
      waiting.size === 0
        ? []
        : [{ ...monitor, from: Math.min(...waiting), to: Math.max(...waiting) + hourMs }],
    ),
  ]);
  const unrolled = checks.filter(({ at }) => waiting.has(hourOf(at)));
  const { rows } = seriesOf(unrolled, places, { from }, step_s);
  return { rows: together([...rollups, ...rows.map(rollupOf)]), whole: null };
}

type RollupRow = Pick<SeriesRow, 'continent' | 'slot' | 'ok' | 'failed' | 'unknown'> &
  Pick<SeriesRow, 'least' | 'most'> & { readonly sum: number };

const rollupOf = ({ mean, ...row }: SeriesRow): RollupRow => ({
  ...row,
  sum: (mean ?? 0) * row.ok,
});

/** Steps longer than an hour may have both. */
function together(rows: readonly RollupRow[]): SeriesRow[] {
  const known = (values: readonly (number | null)[]): number[] =>
    values.filter((each) => each !== null);
  return Map.groupBy(rows, ({ continent, slot }) => `${slot} ${continent}`)
    .values()
    .map((same): SeriesRow => {
      const [{ continent, slot } = { continent: '', slot: 0 }] = same;
      const sumOf = (name: 'ok' | 'failed' | 'unknown' | 'sum'): number =>
        same.reduce((sum, row) => sum + row[name], 0);
      const ok = sumOf('ok');
      const [least, most] = [
        known(same.map((row) => row.least)),
        known(same.map((row) => row.most)),
      ];
      return {
        continent,
        slot,
        ok,
        failed: sumOf('failed'),
        unknown: sumOf('unknown'),
        mean: ok === 0 ? null : sumOf('sum') / ok,
        least: least.length === 0 ? null : Math.min(...least),
        most: most.length === 0 ? null : Math.max(...most),
        median: null,
        p95: null,
        p99: null,
        phases: null,
      };
    })
    .toArray()
    .toSorted((a, b) =>
      a.continent === b.continent ? a.slot - b.slot : a.continent < b.continent ? -1 : 1,
    );
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

/**
 * Makes the rollups of the oldest finished hour that waits for it, of all that is in rows and
 * chunks. False when none waits. @param stored reads both.
 */
export async function rollUpOneHour(
  sql: Queryable,
  finishedBefore: number,
  stored: Pick<Results, 'within'>,
): Promise<boolean> {
  const [stale] = await sql<{ hour: Date }[]>`
    delete from stale_hours where hour = (
      select hour from stale_hours where hour < ${new Date(finishedBefore)} order by hour limit 1
      for update skip locked)
    returning hour`;
  if (!stale) return false;
  const begin = stale.hour.getTime();
  const isOfHour = (name: string) =>
    sql`${sql.unsafe(name)} >= ${stale.hour} and ${sql.unsafe(name)} < ${new Date(begin + hourMs)}`;
  const hasChunk = sql`exists (select from chunks c
    where c.monitor_key = r.monitor_key and ${isOfHour('c.at')})`;
  await sql`
    insert into rollups (monitor_key, continent, hour, ok, failed, unknown, took_sum, took_min,
      took_max)
    select r.monitor_key, ${seenFrom(sql)}, ${stale.hour},
      count(*) filter (where outcome = 0), count(*) filter (where outcome = 1), count(*)
      filter (where outcome = 2),
      coalesce(sum(took_ms) filter (where outcome = 0), 0), min(took_ms)
      filter (where outcome = 0), max(took_ms) filter (where outcome = 0)
    from results r join probes p on p.key = r.probe_key left join monitors m on m.key = r.monitor_key
    where ${isOfHour('r.at')} and not ${hasChunk}
    group by 1, 2 ${putRollup(sql)}`;
  const both = await sql<{ key: number }[]>`
    select distinct r.monitor_key as key from results r where ${isOfHour('r.at')} and ${hasChunk}`;
  const window = { partition: 0, from: begin, to: begin + hourMs };
  for (let from = 0; from < both.length; from += monitorsAtOnce) {
    const monitors = both.slice(from, from + monitorsAtOnce);
    const checks = await stored.within(
      sql,
      monitors.map(({ key }) => ({ ...window, key })),
    );
    const counts = monitors.flatMap(({ key }, nth) => countsOf(key, checks[nth] ?? []));
    await executeAll(writeRollups(sql, { hour: begin, counts }));
  }
  await setResponseTimes(sql, stale.hour, sql``);
  return true;
}

/** How many monitors' checks of an hour are in memory at once. */
const monitorsAtOnce = 1_000;

/** Rollups of checks that are counted already. */
export function writeRollups(
  sql: Queryable,
  { hour: begin, counts }: Pick<Seal, 'hour' | 'counts'>,
): Statement[] {
  if (counts.length === 0) return [];
  const all = (name: keyof Count): string => numbersLiteral(counts.map((count) => count[name]));
  const at = new Date(begin);
  return [
    sql`
      insert into rollups (monitor_key, continent, hour, ok, failed, unknown, took_sum, took_min,
        took_max)
      select r.monitor_key, ${seenFrom(sql)}, ${at}, sum(r.ok), sum(r.failed), sum(r.unknown),
        sum(r.took_sum), min(r.took_min), max(r.took_max)
      from unnest(${all('monitor')}::bigint[], ${all('probe')}::int[], ${all('ok')}::int[],
        ${all('failed')}::int[], ${all('unknown')}::int[], ${all('took_sum')}::float8[],
        ${all('took_min')}::real[], ${all('took_max')}::real[]
      ) as r (monitor_key, probe_key, ok, failed, unknown, took_sum, took_min, took_max)
      join probes p on p.key = r.probe_key join monitors m on m.key = r.monitor_key
      group by 1, 2 ${putRollup(sql)}`,
    setResponseTimes(sql, at, sql`and monitor_key = any(${all('monitor')}::bigint[])`),
  ];
}

/**
 * A rollup that counts fewer checks is of a moment before: rows alone, while others are sealed.
 */
const putRollup = (sql: Queryable) => sql`
  on conflict (monitor_key, hour, continent) do update
  set ok = excluded.ok, failed = excluded.failed, unknown = excluded.unknown,
    took_sum = excluded.took_sum, took_min = excluded.took_min, took_max = excluded.took_max
  where rollups.ok + rollups.failed + rollups.unknown
    <= excluded.ok + excluded.failed + excluded.unknown`;

/**
 * Values that lists are sorted by come from the newest hour only: an hour that is rolled up again
 * may be an old one.
 */
const setResponseTimes = (
  sql: Queryable,
  at: Date,
  ofMonitors: ReturnType<typeof putRollup>,
): Statement & PromiseLike<unknown> => sql`
    update monitor_status s set response_ms = r.mean
    from (select monitor_key, sum(took_sum) / nullif(sum(ok), 0) as mean from rollups
      where hour = ${at} ${ofMonitors} group by monitor_key) r
    where r.monitor_key = s.monitor_key and s.response_ms is distinct from r.mean
      and not exists (select 1 from rollups later where later.monitor_key = s.monitor_key
        and later.hour > ${at})`;

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
  const chunks = await sql`delete from chunks where monitor_key = ${key}`;
  const rolled = await sql`delete from rollups where monitor_key = ${key}`;
  // The primary key begins with the day: each day is a search of its own.
  const days = await sql`delete from daily_rollups where monitor_key = ${key} and day = any(array(
    select generate_series(min(day), max(day), '1 day')::date from daily_rollups))`;
  await sql`delete from stale_days where monitor_key = ${key} and day = any(array(
    select generate_series(min(day), max(day), '1 day')::date from stale_days))`;
  const left = [raw, chunks, rolled, days].some(({ count }) => count > 0);
  if (!left) await sql`delete from forgotten_monitors where monitor_key = ${key}`;
  return true;
}

/** Until when the checks of a plan's organisations are no longer kept. */
export type PlanEnd = { readonly plan: string; readonly before: number };

/**
 * Deletes the checks of the next monitors that their plan keeps no longer. Returns the key of the
 * last of them; null when there is none after this key. In a transaction.
 */
export async function pruneChecks(
  sql: Queryable,
  ends: readonly PlanEnd[],
  after: number,
  bite: number,
): Promise<number | null> {
  const monitors = await sql<{ key: number; plan: string }[]>`
    select m.key, o.plan from monitors m join organisations o on o.id = m.organisation_id
    where m.key > ${after} and o.plan = any(${ends.map(({ plan }) => plan)}::text[])
    order by m.key limit ${bite}`;
  for (const { plan, before } of ends) {
    const keys = monitors.flatMap((each) => (each.plan === plan ? [each.key] : []));
    if (keys.length === 0) continue;
    const old = sql`at < ${new Date(before)}
      and monitor_key = any(${numbersLiteral(keys)}::bigint[])`;
    await sql`delete from chunks where ${old}`;
    await sql`delete from results where ${old}`;
  }
  return monitors.at(-1)?.key ?? null;
}
