import type { Outcome } from '../../shared/checks/result.ts';
import type { Queryable, Statement } from '../database/connect.ts';
import { hourMs, hourOf } from './chunk.ts';
import type { JournalBatch } from './hours.ts';

/**
 * The journal: the batches of a partition as they came, until their checks are in chunks. They are
 * committed with what was decided on them.
 */
export type JournalRow = JournalBatch & {
  readonly partition: number;
  /** How many of its results were taken, by what they count as, and when the first of them ended. */
  readonly counts: Readonly<Record<Outcome, number>>;
  readonly oldest: number;
  readonly signature: Uint8Array | null;
  readonly digests: Uint8Array | null;
};

export function insertJournal(sql: Queryable, rows: readonly JournalRow[]): Statement[] {
  if (rows.length === 0) return [];
  const statement = sql`
    insert into journal (hour, partition, probe_key, data, signature, digests)
    select to_timestamp(hour / 1000.0), partition, probe_key, data, signature, digests
    from unnest(
      ${rows.map(({ arrival }) => arrival)}::float8[],
        ${rows.map(({ partition }) => partition)}::smallint[],
      ${rows.map(({ probe }) => probe)}::int[],
        ${bytesLiteral(rows.map(({ data }) => data))}::bytea[],
      ${bytesLiteral(rows.map(({ signature }) => signature))}::bytea[],
        ${bytesLiteral(withDigestsOnce(rows))}::bytea[]
    ) with ordinality as t (hour, partition, probe_key, data, signature, digests, nth)
    order by nth`;
  return [statement];
}

/** Batches that were signed together have the same list of digests, which is longer than most. */
function withDigestsOnce(rows: readonly JournalRow[]): (Uint8Array | null)[] {
  const known = new Set<string>();
  return rows.map(({ signature, digests }) => {
    if (!signature || !digests) return null;
    const name = Buffer.from(signature).toString('base64');
    if (known.has(name)) return null;
    known.add(name);
    return digests;
  });
}

export function bytesLiteral(values: readonly (Uint8Array | null)[]): string {
  return `{${values.map((value) => (value === null ? 'NULL' : `"\\\\x${hexOf(value)}"`)).join(',')}}`;
}

function hexOf(value: Uint8Array): string {
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex');
}

/** How far a reader has read the journal of a partition. */
export type Position = { readonly partition: number; readonly last: number };

export type BehindRow = {
  readonly partition: number;
  /** What arrived before is in chunks. */
  readonly until: number;
  /** Null: there is nothing behind the position. */
  readonly batch: (JournalBatch & { readonly id: number }) | null;
};

/** How many batches of each of this many partitions are read at once: about 16 MiB in all. */
export function batchesAtOnce(partitions: number): number {
  return Math.max(50, Math.floor(2_000 / partitions));
}

/** What is behind these positions, in order; of a partition `most` at most. */
export async function readBehind(
  sql: Queryable,
  positions: readonly Position[],
  most = batchesAtOnce(positions.length),
): Promise<BehindRow[]> {
  const rows = await sql<
    {
      partition: number;
      until: number;
      id: number | null;
      hour: number;
      probe_key: number;
      data: Uint8Array;
    }[]
  >`
    select s.partition, s.until, j.id, j.hour, j.probe_key, j.data
    from unnest(${positions.map(({ partition }) => partition)}::smallint[],
      ${positions.map(({ last }) => last)}::bigint[]) as t (partition, last)
    join sealed_hours s on s.partition = t.partition
    left join lateral (
      select id, hour, probe_key, data from journal
      where partition = t.partition and id > t.last and hour >= s.until
      order by id limit ${most}) j on true
    order by s.partition, j.id`;
  return rows.map(({ partition, until, id, hour, probe_key, data }) => ({
    partition,
    until,
    batch: id === null ? null : { id, arrival: hour, probe: probe_key, data },
  }));
}

/** The id of the batch that was committed last, as a part of a statement. */
export function newestBatch(sql: Queryable, partition: number) {
  return sql`(select coalesce(max(id), 0) from journal where partition = ${partition})`;
}

/** All that arrived in this partition before is in chunks. */
export function markSealed(sql: Queryable, partition: number, until: number): Statement {
  return sql`update sealed_hours set until = ${new Date(until)} where partition = ${partition}`;
}

/** Creates missing hours of this time. Several coordinators must not do so at once. */
export async function makeJournalHours(sql: Queryable, from: number, to: number): Promise<void> {
  const existing = new Set(await hoursOf(sql));
  const missing: string[] = [];
  for (let start = hourOf(from); start < to; start += hourMs) {
    const name = nameOfHour(start);
    if (existing.has(name)) continue;
    const [begin, end] = [new Date(start).toISOString(), new Date(start + hourMs).toISOString()];
    // Attached afterwards, as days of results are: no writer waits for it.
    missing.push(`create table ${name} (like journal including defaults including storage including constraints including indexes);
      alter table journal attach partition ${name} for values from ('${begin}') to ('${end}');`);
  }
  if (missing.length > 0) await sql.unsafe(missing.join('\n'));
}

/**
 * Drops the hours that every partition has sealed, in a transaction of its own whose wait for
 * readers is short. @throws areBeingRead().
 */
export async function dropJournalHours(sql: Queryable): Promise<string[]> {
  const [row] = await sql<{ until: number }[]>`select min(until) as until from sealed_hours`;
  if (!row) return [];
  const first = nameOfHour(row.until);
  const sealed = (await hoursOf(sql)).filter(
    (name) => /^journal_\d{10}$/.test(name) && name < first,
  );
  if (sealed.length > 0) await sql`select set_config('lock_timeout', '300', true)`;
  for (const name of sealed) await sql.unsafe(`drop table if exists ${name}`);
  return sealed;
}

async function hoursOf(sql: Queryable): Promise<string[]> {
  const rows = await sql<
    { name: string }[]
  >`select relid::regclass::text as name from pg_partition_tree('journal') where isleaf order by 1`;
  return rows.map(({ name }) => name);
}

function nameOfHour(start: number): string {
  return `journal_${new Date(start).toISOString().slice(0, 13).replaceAll(/[-T]/g, '')}`;
}
