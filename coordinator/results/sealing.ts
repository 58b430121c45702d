import { numbersLiteral, type Queryable, type Statement } from '../database/connect.ts';
import { type Check, unionOf } from './check.ts';
import { type Chunk, chunksOf, hourMs } from './chunk.ts';
import type { Sealing } from './hours.ts';
import { bytesLiteral } from './journal.ts';
import type { MonitorKey, Results } from './reading.ts';

/**
 * After an hour its checks move from the journal into chunks, a bite of monitors in each
 * transaction. A chunk is the union of what is there already and what is to be added, so that a bite
 * may be written again after a failure, and late checks come to the others.
 */
export type Seal = {
  readonly hour: number;
  readonly chunks: readonly (Chunk & { readonly monitor: number })[];
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
 * chunks.
 */
export async function sealOf(
  sql: Queryable,
  stored: Pick<Results, 'within'>,
  { hour, checksOf }: Sealing,
  monitors: readonly MonitorKey[],
): Promise<Seal> {
  const windows = monitors.map((monitor) => ({ ...monitor, from: hour, to: hour + hourMs }));
  const existing = await stored.within(sql, windows);
  const chunks: Seal['chunks'][number][] = [];
  const counts: Count[] = [];
  for (const [nth, { key }] of monitors.entries()) {
    const checks = unionOf(existing[nth] ?? [], checksOf(key));
    for (const chunk of chunksOf(hour, checks)) chunks.push({ ...chunk, monitor: key });
    counts.push(...countsOf(key, checks));
  }
  return { hour, chunks, counts };
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

/** Only of monitors that still exist, and in the order in which all lock chunks. */
export function writeChunks(sql: Queryable, chunks: Seal['chunks']): Statement[] {
  if (chunks.length === 0) return [];
  const statement = sql`
    insert into chunks (monitor_key, at, data)
    select t.monitor_key, to_timestamp(t.at / 1000.0), t.data
    from unnest(${numbersLiteral(chunks.map(({ monitor }) => monitor))}::bigint[],
      ${numbersLiteral(chunks.map(({ at }) => at))}::float8[],
        ${bytesLiteral(chunks.map(({ data }) => data))}::bytea[]) as t (monitor_key, at, data)
    where exists (select from monitors m where m.key = t.monitor_key) order by 1, 2
    on conflict (monitor_key, at) do update set data = excluded.data`;
  return [statement];
}
