import type { Queryable } from './store-database.ts';
import { numbersLiteral, textsLiteral } from './store-sql-arrays.ts';
import type { Statement } from './store-sql-statements.ts';

/** How far the results of one generation of a probe's spool are committed in a partition. `ahead`: those beyond that are, too. */
export type Watermark = {
  readonly probe_key: number;
  readonly generation: string;
  readonly partition: number;
  readonly seq: number;
  readonly ahead: readonly number[];
};

export const writeWatermarks = (sql: Queryable, rows: readonly Watermark[]): Statement[] => {
  if (rows.length === 0) return [];
  const statement = sql`
    insert into watermarks (probe_key, generation, partition, seq, ahead)
    select probe_key, generation, partition, seq, ahead::bigint[] from unnest(
      ${numbersLiteral(rows.map((row) => row.probe_key))}::int[], ${textsLiteral(rows.map((row) => row.generation))}::uuid[],
      ${numbersLiteral(rows.map((row) => row.partition))}::smallint[], ${numbersLiteral(rows.map((row) => row.seq))}::bigint[],
      ${textsLiteral(rows.map((row) => numbersLiteral(row.ahead)))}::text[]) as t (probe_key, generation, partition, seq, ahead)
    on conflict (probe_key, generation, partition) do update set seq = excluded.seq, ahead = excluded.ahead, changed_at = now()`;
  return [statement];
};

export const watermarksOfPartition = (sql: Queryable, partition: number): Promise<Watermark[]> =>
  sql<Watermark[]>`select probe_key, generation, partition, seq, to_json(ahead) as ahead from watermarks where partition = ${partition}`;

/** Partition → seq, of one generation: what a probe may trim its spool to. */
export const committedOf = async (sql: Queryable, probeKey: number, generation: string): Promise<Record<string, number>> => {
  const rows = await sql<{ partition: number; seq: number }[]>`
    select partition, seq from watermarks where probe_key = ${probeKey} and generation = ${generation}`;
  return Object.fromEntries(rows.map(({ partition, seq }) => [partition, seq]));
};

/** Generations that a probe left behind a month ago; it cannot come back with their results. */
export const forgetWatermarks = async (sql: Queryable): Promise<void> => {
  await sql`delete from watermarks where changed_at < now() - interval '30 days' and exists (
    select 1 from watermarks newer where newer.probe_key = watermarks.probe_key and newer.generation <> watermarks.generation
      and newer.changed_at > watermarks.changed_at)`;
};
