import type { Outcome } from '../../shared/checks/result.ts';
import type { Queryable } from './store-database.ts';
import { outcomeOf } from './store-results.ts';
import { numbersLiteral } from './store-sql-arrays.ts';

/** What a partition's owner reads once, when it takes the partition over. */

export type NewestResult = {
  readonly probe_key: number;
  readonly at: number;
  readonly took_ms: number;
  readonly outcome: Outcome;
  readonly cause_class: string | null;
};

type Packed = readonly (readonly [probe_key: number, at: number, took_ms: number, outcome: number, cause_class: string | null])[];

const unpacked = ([probe_key, at, took_ms, outcome, cause_class]: Packed[number]): NewestResult => ({
  ...{ probe_key, at, took_ms, cause_class },
  outcome: outcomeOf(outcome),
});

/**
 * The newest pass and the newest failure of each probe for each of these monitors since a time, by the monitor's key. One row for each
 * monitor: hundreds of thousands of rows would cost a start more memory than everything that it keeps.
 */
export const newestResults = async (
  sql: Queryable,
  monitorKeys: readonly number[],
  since: number,
): Promise<ReadonlyMap<number, readonly NewestResult[]>> => {
  if (monitorKeys.length === 0) return new Map();
  const rows = await sql<{ monitor_key: number; results: Packed }[]>`
    select monitor_key, json_agg(json_build_array(probe_key, (extract(epoch from at) * 1000)::bigint, took_ms, outcome, cause_class)) as results
    from (
      select distinct on (monitor_key, probe_key, outcome) monitor_key, probe_key, at, took_ms, outcome, cause_class
      from results
      where monitor_key = any(${numbersLiteral(monitorKeys)}::bigint[]) and at >= ${new Date(since)} and outcome < 2
      order by monitor_key, probe_key, outcome, at desc
    ) newest group by monitor_key`;
  return new Map(rows.map(({ monitor_key, results }) => [monitor_key, results.map(unpacked)]));
};

export type Within = { readonly monitor_key: number; readonly from: number; readonly to: number };

/** The passes and failures of monitors that started in a time of each, by the monitor's key: the newest so many, in order of start. */
export const resultsWithin = async (
  sql: Queryable,
  times: readonly Within[],
  most: number,
): Promise<ReadonlyMap<number, readonly NewestResult[]>> => {
  if (times.length === 0) return new Map();
  const rows = await sql<{ monitor_key: number; results: Packed }[]>`
    select t.monitor_key, json_agg(
      json_build_array(r.probe_key, (extract(epoch from r.at) * 1000)::bigint, r.took_ms, r.outcome, r.cause_class) order by r.at) as results
    from unnest(${numbersLiteral(times.map(({ monitor_key }) => monitor_key))}::bigint[],
      ${numbersLiteral(times.map(({ from }) => from))}::float8[], ${numbersLiteral(times.map(({ to }) => to))}::float8[]
    ) as t (monitor_key, since, until), lateral (
      select * from results
      where monitor_key = t.monitor_key and at between to_timestamp(t.since / 1000.0) and to_timestamp(t.until / 1000.0) and outcome < 2
      order by at desc limit ${most}) r
    group by t.monitor_key`;
  return new Map(rows.map(({ monitor_key, results }) => [monitor_key, results.map(unpacked)]));
};

export type Pause = { readonly began_at: number; readonly ended_at: number | null };

/** The last pause of each monitor of a partition that had one, as the engine wrote it; the row of the monitor may be ahead of it. */
export const lastPauses = async (sql: Queryable, partition: number): Promise<ReadonlyMap<string, Pause>> => {
  const rows = await sql<{ monitor_id: string; began_at: Date; ended_at: Date | null }[]>`
    select distinct on (l.monitor_id) l.monitor_id, l.began_at, l.ended_at from ledger l join monitors m on m.id = l.monitor_id
    where m.partition = ${partition} and l.kind = 'paused' order by l.monitor_id, l.began_at desc`;
  return new Map(
    rows.map(({ monitor_id, began_at, ended_at }) => [monitor_id, { began_at: began_at.getTime(), ended_at: ended_at?.getTime() ?? null }]),
  );
};
