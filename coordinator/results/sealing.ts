import type { Queryable, Statement } from '../database/connect.ts';
import { type Check, unionOf } from './check.ts';
import { type Chunk, chunksOf, hourMs, hourOf } from './chunk.ts';
import type { Sealing } from './hours.ts';
import { bytesLiteral } from './journal.ts';
import type { MonitorKey, Results } from './reading.ts';
import type { ResultRow } from './table.ts';

/**
 * After an hour its checks move from the journal into chunks, a batch of monitors in each
 * transaction. A chunk is the union of what is there and what is added, so that a batch
 * may be written again after a failure, and late checks come to the others.
 */
export type Seal = {
  readonly hour: number;
  readonly chunks: readonly (Chunk & { readonly monitor: number })[];
  /** Of a monitor whose chunk of this hour is damaged: the chunk is evidence, and stays as it is. */
  readonly rows: readonly ResultRow[];
  /** What the rollups of this hour count, by monitor and probe. */
  readonly counts: readonly Count[];
};

export type Count = {
  readonly monitor: number;
  readonly probe: number;
  readonly ok: number;
  readonly failed: number;
  readonly unknown: number;
  readonly took_sum: number;
  readonly took_min: number | null;
  readonly took_max: number | null;
};

/**
 * What to write for these monitors of the hour that is being sealed. @param stored reads rows and
 * chunks. @param damaged gets the monitors of which it read a damaged one.
 */
export async function sealOf(
  sql: Queryable,
  {
    stored,
    damaged,
  }: { readonly stored: Pick<Results, 'within'>; readonly damaged: ReadonlySet<number> },
  { hour, checksOf }: Sealing,
  monitors: readonly MonitorKey[],
): Promise<Seal> {
  const windows = monitors.map((monitor) => ({ ...monitor, from: hour, to: hour + hourMs }));
  const existing = await stored.within(sql, windows);
  const chunks: Seal['chunks'][number][] = [];
  const rows: ResultRow[] = [];
  const counts: Count[] = [];
  for (const [nth, { key }] of monitors.entries()) {
    const [known, coming] = [existing[nth] ?? [], checksOf(key)];
    const checks = unionOf(known, coming);
    if (damaged.has(key)) rows.push(...rowsBeside(key, known, coming));
    else for (const chunk of chunksOf(hour, checks)) chunks.push({ ...chunk, monitor: key });
    counts.push(...countsOf(key, checks));
  }
  return { hour, chunks, rows, counts };
}

/** The checks that are not known yet. */
function rowsBeside(monitor_key: number, known: readonly Check[], coming: readonly Check[]) {
  const identityOf = ({ probe, at }: Check): string => `${probe} ${at}`;
  const held = new Set(known.map(identityOf));
  return unionOf(coming)
    .filter((check) => !held.has(identityOf(check)))
    .map(
      ({ probe, cause, ...check }): ResultRow => ({
        ...check,
        monitor_key,
        probe_key: probe,
        cause_class: cause,
      }),
    );
}

/** Of one monitor's checks, each once. */
export function countsOf(monitor: number, checks: readonly Check[]): Count[] {
  return Array.from(
    Map.groupBy(checks, ({ probe }) => probe),
    ([probe, its]) => {
      const took = its.filter(({ outcome }) => outcome === 'ok').map(({ took_ms }) => took_ms);
      return {
        monitor,
        probe,
        ok: took.length,
        failed: its.filter(({ outcome }) => outcome === 'fail').length,
        unknown: its.filter(({ outcome }) => outcome === 'unknown').length,
        took_sum: took.reduce((sum, each) => sum + each, 0),
        took_min: took.length === 0 ? null : Math.min(...took),
        took_max: took.length === 0 ? null : Math.max(...took),
      };
    },
  );
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

/**
 * An hour that was one chunk and has grown to several by quarter: where none of them takes its place,
 * the one of before must go.
 */
export function dropWholeHours(
  sql: Queryable,
  chunks: readonly Pick<Seal['chunks'][number], 'monitor' | 'at'>[],
): (Statement & PromiseLike<unknown>)[] {
  const later = chunks.filter(({ at }) => at !== hourOf(at));
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
