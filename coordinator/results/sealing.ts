import type { Log } from '../../shared/base/log.ts';
import type { Queryable, Statement } from '../database/connect.ts';
import { meanOf, unionOf } from './check.ts';
import { type Chunk, chunksOf, hourMs, hourOf, quarterOf } from './chunk.ts';
import type { Sealing } from './hours.ts';
import { bytesLiteral } from './journal.ts';
import { createResults, type MonitorKey, noUnsealedHours } from './reading.ts';

/**
 * After an hour its checks move from the journal into chunks, a batch of monitors in each
 * transaction. A chunk is the union of what is there and what is added, so that a batch
 * may be written again after a failure, and late checks come to the others.
 */
export type Seal = {
  readonly hour: number;
  readonly chunks: readonly (Chunk & { readonly monitor: number })[];
  /** The mean time of each monitor's passes; null without any. */
  readonly means: readonly { readonly monitor: number; readonly mean: number | null }[];
  /** How many checks no chunk had before. */
  readonly added: number;
};

/** What to write for these monitors of the hour that is being sealed. */
export async function sealOf(
  sql: Queryable,
  log: Pick<Log, 'error'>,
  { hour, checksOf }: Sealing,
  monitors: readonly MonitorKey[],
): Promise<Seal> {
  const asides = new Map<number, number>();
  // A damaged chunk is evidence, and stays as it is: what is readable and what comes goes beside it.
  const onDamage = (key: number, at: number): void => {
    asides.set(key, Math.max(asides.get(key) ?? 0, at - quarterOf(at) + 1));
  };
  const stored = createResults({ unsealed: noUnsealedHours, log, onDamage });
  const windows = monitors.map((monitor) => ({ ...monitor, from: hour, to: hour + hourMs }));
  const existing = await stored.within(sql, windows);
  const chunks: Seal['chunks'][number][] = [];
  const means: Seal['means'][number][] = [];
  let added = 0;
  for (const [nth, { key }] of monitors.entries()) {
    const known = existing[nth] ?? [];
    const checks = unionOf(known, checksOf(key));
    for (const chunk of chunksOf(hour, checks, asides.get(key)))
      chunks.push({ ...chunk, monitor: key });
    means.push({ monitor: key, mean: meanOf(checks) });
    added += checks.length - known.length;
  }
  return { hour, chunks, means, added };
}

/**
 * Only of monitors that still exist or can be restored from the trash, and in the order in which all
 * lock chunks.
 */
export function writeChunks(sql: Queryable, chunks: Seal['chunks']): Statement[] {
  if (chunks.length === 0) return [];
  const statement = sql`
    insert into chunks (monitor_key, at, data)
    select t.monitor_key, to_timestamp(t.at / 1000.0), t.data
    from unnest(${chunks.map(({ monitor }) => monitor)}::bigint[],
      ${chunks.map(({ at }) => at)}::float8[],
        ${bytesLiteral(chunks.map(({ data }) => data))}::bytea[]) as t (monitor_key, at, data)
    where exists (select from monitors m where m.key = t.monitor_key)
      or t.monitor_key in (select monitor_key from deleted_monitors) order by 1, 2
    on conflict (monitor_key, at) do update set data = excluded.data`;
  // Afterwards: what is deleted is locked when all that is written is, in order.
  return [statement, ...dropWholeHours(sql, chunks)];
}

/** What lists and the operator read of the newest hour that is in chunks, with its chunks. */
export function writeNewestHour(
  sql: Queryable,
  partition: number,
  { hour, means, added }: Seal,
): Statement[] {
  const [at, next] = [new Date(hour), new Date(hour + hourMs)];
  return [
    sql`
      update sealed_hours set newest = ${at},
        checks = ${added} + case when newest = ${at} then checks else 0 end
      where partition = ${partition} and newest <= ${at}`,
    sql`
      update monitor_status s set response_ms = r.mean
      from unnest(${means.map(({ monitor }) => monitor)}::bigint[],
        ${means.map(({ mean }) => mean)}::float8[]) as r (monitor_key, mean)
      where r.monitor_key = s.monitor_key and s.response_ms is distinct from r.mean
        and not exists (select from chunks c
          where c.monitor_key = s.monitor_key and c.at >= ${next})`,
  ];
}

/**
 * An hour that was one chunk and has grown to several by quarter: where none of them takes its place,
 * the one of before must go.
 */
function dropWholeHours(
  sql: Queryable,
  chunks: readonly Pick<Seal['chunks'][number], 'monitor' | 'at'>[],
): Statement[] {
  const later = chunks.filter(({ at }) => at !== hourOf(at) && at === quarterOf(at));
  if (later.length === 0) return [];
  const nameOf = (monitor: number, at: number): string => `${monitor} ${hourOf(at)}`;
  const replaced = new Set(
    chunks.flatMap(({ monitor, at }) => (at === hourOf(at) ? [nameOf(monitor, at)] : [])),
  );
  const gone = new Map(
    later
      .filter(({ monitor, at }) => !replaced.has(nameOf(monitor, at)))
      .map(({ monitor, at }) => [nameOf(monitor, at), { monitor, hour: hourOf(at) }]),
  );
  if (gone.size === 0) return [];
  const all = [...gone.values()];
  return [
    sql`delete from chunks c
      using unnest(${all.map(({ monitor }) => monitor)}::bigint[],
        ${all.map(({ hour }) => hour)}::float8[]) as t (monitor_key, hour)
      where c.monitor_key = t.monitor_key and c.at = to_timestamp(t.hour / 1000.0)`,
  ];
}
