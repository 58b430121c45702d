import type { Interval } from '../../shared/base/time.ts';
import { executeAll, type Queryable, type Statement } from '../database/connect.ts';
import { placesOfProbes, seenFrom } from '../probes/places.ts';
import { hourMs, hourOf } from './chunk.ts';
import type { MonitorKey, Results } from './reading.ts';
import { type Count, countsOf, type Seal } from './sealing.ts';
import { type Series, type SeriesRow, seriesOf } from './series.ts';

/**
 * From hourly rollups; hours that have none yet, or an old one, are read from single checks.
 * `ranges` are in order; slots count from the first of them.
 */
export async function hourlySeries(
  sql: Queryable,
  results: Results,
  monitor: MonitorKey,
  ranges: readonly Interval[],
  step_s: number,
): Promise<Series> {
  const [first, last] = [ranges[0], ranges.at(-1)];
  if (first === undefined || last === undefined) return { rows: [], whole: null };
  const { from } = first;
  const { to } = last;
  const [begin, end] = [new Date(from), new Date(to)];
  const [recent, stale, places] = await Promise.all([
    results.recent(monitor, { from, to }),
    sql<{ hour: Date }[]>`select hour from stale_hours where hour >= ${begin} and hour < ${end}`,
    placesOfProbes(sql, monitor.key),
  ]);
  const waiting = new Set(
    [...stale.map(({ hour }) => hour.getTime()), ...recent.map(({ at }) => hourOf(at))].filter(
      (hour) => ranges.some((range) => hour >= range.from && hour < range.to),
    ),
  );
  const [rollups, [checks = []]] = await Promise.all([
    // "offset 0" keeps each range a search of its own. Joined, all hours of the monitor are read.
    sql<RollupRow[]>`
      select u.continent, floor(date_part('epoch', u.hour - ${begin}::timestamptz) / ${step_s})::int
          as slot,
        sum(u.ok)::int as ok, sum(u.failed)::int as failed, sum(u.unknown)::int as unknown,
        sum(u.took_sum) as sum, min(u.took_min) as least, max(u.took_max) as most
      from unnest(${ranges.map((range) => range.from)}::float8[],
          ${ranges.map((range) => range.to)}::float8[]) as w (since, until),
        lateral (select * from rollups where monitor_key = ${monitor.key}
          and hour >= to_timestamp(w.since / 1000.0) and hour < to_timestamp(w.until / 1000.0)
          and date_part('epoch', hour) * 1000 <> all(${[...waiting]}::float8[])
          offset 0) u
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

function rollupOf({ mean, ...row }: SeriesRow): RollupRow {
  return {
    ...row,
    sum: (mean ?? 0) * row.ok,
  };
}

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

/** Marks hours whose rollup must be made, or made again. */
export function markStale(sql: Queryable, hours: readonly number[]): Statement[] {
  return hours.length === 0
    ? []
    : [
        sql`insert into stale_hours (hour) select to_timestamp(h / 1000.0)
          from unnest(${hours.toSorted((a, b) => a - b)}::float8[]) as t (h)
          on conflict do nothing`,
      ];
}

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
  const all = (name: keyof Count) => counts.map((count) => count[name]);
  const at = new Date(begin);
  // In the trash a monitor keeps its places, in case it is restored.
  const hasPlaces = sql`coalesce(t.has_places, m.places is not null)`;
  return [
    sql`
      insert into rollups (monitor_key, continent, hour, ok, failed, unknown, took_sum, took_min,
        took_max)
      select r.monitor_key, ${seenFrom(sql, hasPlaces)}, ${at}, sum(r.ok), sum(r.failed), sum(r.unknown),
        sum(r.took_sum), min(r.took_min), max(r.took_max)
      from unnest(${all('monitor')}::bigint[], ${all('probe')}::int[], ${all('ok')}::int[],
        ${all('failed')}::int[], ${all('unknown')}::int[], ${all('took_sum')}::float8[],
        ${all('took_min')}::real[], ${all('took_max')}::real[]
      ) as r (monitor_key, probe_key, ok, failed, unknown, took_sum, took_min, took_max)
      join probes p on p.key = r.probe_key left join monitors m on m.key = r.monitor_key
      left join lateral (
        select x.row->>'places' is not null as has_places from deleted_monitors d
          join deleted_rows x on x.monitor_id = d.monitor_id and x.source = 'monitors'
        where m.key is null and d.monitor_key = r.monitor_key) t on true
      where m.key is not null or t.has_places is not null
      group by 1, 2 ${putRollup(sql)}`,
    setResponseTimes(sql, at, sql`and monitor_key = any(${all('monitor')}::bigint[])`),
  ];
}

/**
 * A rollup that counts fewer checks is of a moment before: rows alone, while others are sealed.
 */
function putRollup(sql: Queryable) {
  return sql`
  on conflict (monitor_key, hour, continent) do update
  set ok = excluded.ok, failed = excluded.failed, unknown = excluded.unknown,
    took_sum = excluded.took_sum, took_min = excluded.took_min, took_max = excluded.took_max
  where rollups.ok + rollups.failed + rollups.unknown
    <= excluded.ok + excluded.failed + excluded.unknown`;
}

/**
 * Values that lists are sorted by come from the newest hour only: an hour that is rolled up again
 * may be an old one.
 */
function setResponseTimes(
  sql: Queryable,
  at: Date,
  ofMonitors: ReturnType<typeof putRollup>,
): Statement & PromiseLike<unknown> {
  return sql`
    update monitor_status s set response_ms = r.mean
    from (select monitor_key, sum(took_sum) / nullif(sum(ok), 0) as mean from rollups
      where hour = ${at} ${ofMonitors} group by monitor_key) r
    where r.monitor_key = s.monitor_key and s.response_ms is distinct from r.mean
      and not exists (select 1 from rollups later where later.monitor_key = s.monitor_key
        and later.hour > ${at})`;
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
