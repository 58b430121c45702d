import type { Interval } from '../../shared/base/time.ts';
import type { Queryable } from './store-database.ts';

/** What the checks of one continent came to in one stretch of time. */
export type SeriesRow = {
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
};

const slotOf = (sql: Queryable, column: string, from: Date, step_s: number) =>
  sql`floor(date_part('epoch', ${sql.unsafe(column)} - ${from}::timestamptz) / ${step_s})::int`;

/** From the raw results, as far as they are kept, with percentiles. */
export const rawSeries = (sql: Queryable, monitor: number, { from, to }: Interval, step_s: number): Promise<SeriesRow[]> => {
  const [begin, end] = [new Date(from), new Date(to)];
  return sql<SeriesRow[]>`
    select p.continent, ${slotOf(sql, 'r.at', begin, step_s)} as slot,
      (count(*) filter (where r.outcome = 0))::int as ok, (count(*) filter (where r.outcome = 1))::int as failed,
      (count(*) filter (where r.outcome = 2))::int as unknown,
      avg(r.took_ms) filter (where r.outcome = 0) as mean,
      min(r.took_ms) filter (where r.outcome = 0) as least, max(r.took_ms) filter (where r.outcome = 0) as most,
      percentile_cont(0.5) within group (order by r.took_ms) filter (where r.outcome = 0) as median,
      percentile_cont(0.95) within group (order by r.took_ms) filter (where r.outcome = 0) as p95
    from results r join probes p on p.key = r.probe_key
    where r.monitor_key = ${monitor} and r.at >= ${begin} and r.at < ${end}
    group by p.continent, slot order by p.continent, slot`;
};

/** From the hours as they were rolled up; hours that wait for that are read from their raw results. */
export const hourlySeries = (sql: Queryable, monitor: number, { from, to }: Interval, step_s: number): Promise<SeriesRow[]> => {
  const [begin, end] = [new Date(from), new Date(to)];
  return sql<SeriesRow[]>`
    with waiting as (select hour from stale_hours where hour >= ${begin} and hour < ${end}),
    hours as (
      select u.continent, u.hour, u.ok, u.failed, u.unknown, u.took_sum, u.took_min, u.took_max from rollups u
      where u.monitor_key = ${monitor} and u.hour >= ${begin} and u.hour < ${end} and u.hour not in (select hour from waiting)
      union all
      select p.continent, w.hour, count(*) filter (where r.outcome = 0), count(*) filter (where r.outcome = 1),
        count(*) filter (where r.outcome = 2), coalesce(sum(r.took_ms) filter (where r.outcome = 0), 0),
        min(r.took_ms) filter (where r.outcome = 0), max(r.took_ms) filter (where r.outcome = 0)
      from waiting w join results r on r.monitor_key = ${monitor} and r.at >= w.hour and r.at < w.hour + interval '1 hour'
        join probes p on p.key = r.probe_key
      group by p.continent, w.hour)
    select h.continent, ${slotOf(sql, 'h.hour', begin, step_s)} as slot,
      sum(h.ok)::int as ok, sum(h.failed)::int as failed, sum(h.unknown)::int as unknown,
      sum(h.took_sum) / nullif(sum(h.ok), 0) as mean, min(h.took_min) as least, max(h.took_max) as most,
      null::float8 as median, null::float8 as p95
    from hours h group by h.continent, slot order by h.continent, slot`;
};
