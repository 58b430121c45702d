import type { Log } from '../../shared/base/log.ts';
import type { Queryable, Statement, Transaction } from '../database/connect.ts';
import { bytesText } from '../database/table.ts';
import { type Check, unionOf } from './check.ts';
import { type Chunk, chunksOf, hourMs, hourOf, readChunk } from './chunk.ts';
import { storedRows } from './reading.ts';
import { dropWholeHours } from './sealing.ts';

/**
 * Puts rows of results into chunks, a day after the other, so that days from before the journal
 * have one form with those after it. The rows stay until their day is dropped: what is in both
 * counts once. How far it is stands in `converted_results`; a batch that is done again changes
 * nothing, so rows that come late set it back.
 */

const dayMs = 24 * hourMs;
/** Results of a day may arrive this long after it. */
const settledMs = 2 * hourMs;

type Progress = { readonly day: number; readonly monitor: number };

/**
 * Converts the rows of some monitors. False when no day with rows is over that was not converted.
 * In a transaction.
 */
export async function convertResults(
  sql: Transaction,
  {
    now,
    keptFrom,
    batchSize,
    log,
  }: {
    readonly now: number;
    readonly keptFrom: number;
    readonly batchSize: number;
    readonly log: Pick<Log, 'error'>;
  },
): Promise<boolean> {
  const progress = await nextOf(sql, keptFrom, now - settledMs);
  if (progress === undefined) return false;
  const { day, monitor } = progress;
  const rows = await sql<{ key: number }[]>`
    select distinct monitor_key as key from results
    where at >= ${new Date(day)} and at < ${new Date(day + dayMs)} and monitor_key > ${monitor}
    order by 1 limit ${batchSize}`;
  const keys = rows.map(({ key }) => key);
  await convertDay(sql, keys, day, log);
  const last = keys.at(-1);
  await writeProgress(
    sql,
    last === undefined || keys.length < batchSize
      ? { day: day + dayMs, monitor: 0 }
      : { day, monitor: last },
  );
  return true;
}

/**
 * Has days from this one on converted again. Before chunks are written, which a conversion locks
 * after its progress.
 */
export function convertAgain(sql: Queryable, days: readonly number[]): Statement[] {
  if (days.length === 0) return [];
  const first = new Date(Math.min(...days));
  return [sql`update converted_results set day = ${first}, monitor_key = 0 where day >= ${first}`];
}

/** The first day with rows that is over and not converted, and from which monitor on. */
async function nextOf(
  sql: Queryable,
  keptFrom: number,
  settledBefore: number,
): Promise<Progress | undefined> {
  // Locked: rows that come meanwhile set the progress back after this batch.
  const [done] = await sql<{ day: Date; monitor_key: number }[]>`
    select day, monitor_key from converted_results for update`;
  const first = Math.max(done?.day.getTime() ?? 0, Math.floor(keptFrom / dayMs) * dayMs);
  const [next] = await sql<{ day: Date }[]>`
    select d as day from generate_series(${new Date(first)}::timestamptz,
      ${new Date(settledBefore - dayMs)}::timestamptz, interval '24 hours') d
    where exists (select from results r where r.at >= d and r.at < d + interval '24 hours')
    order by d limit 1`;
  if (next === undefined) return undefined;
  const day = next.day.getTime();
  return { day, monitor: day === done?.day.getTime() ? done.monitor_key : 0 };
}

async function writeProgress(sql: Queryable, { day, monitor }: Progress): Promise<void> {
  await sql`
    insert into converted_results (day, monitor_key) values (${new Date(day)}, ${monitor})
    on conflict (only_row) do update set day = excluded.day, monitor_key = excluded.monitor_key`;
}

async function convertDay(
  sql: Queryable,
  keys: readonly number[],
  day: number,
  log: Pick<Log, 'error'>,
): Promise<void> {
  if (keys.length === 0) return;
  // Locked, so that nothing that is merged meanwhile is overwritten.
  const existing = await sql<{ monitor_key: number; at: Date; data: Uint8Array }[]>`
    select monitor_key, at, data from chunks
    where monitor_key = any(${keys}::bigint[])
      and at >= ${new Date(day)} and at < ${new Date(day + dayMs)}
    order by monitor_key, at for update`;
  const known = Map.groupBy(existing, ({ monitor_key }) => monitor_key);
  const made: MadeChunk[] = [];
  for (const { key, checks } of await storedRows(sql, keys, { from: day, to: day + dayMs })) {
    const before = new Map<number, Check[]>();
    const damaged = new Set<number>();
    for (const { at, data } of known.get(key) ?? []) {
      const { checks: some, fault } = readChunk(at.getTime(), data);
      const hour = hourOf(at.getTime());
      before.getOrInsertComputed(hour, () => []).push(...some);
      if (fault !== null) {
        damaged.add(hour);
        log.error(
          { monitor_key: key, at: at.toISOString(), fault },
          'a chunk of results is damaged',
        );
      }
    }
    // A damaged chunk is evidence: it stays as it is, beside the rows.
    for (const [hour, some] of Map.groupBy(checks, ({ at }) => hourOf(at)))
      if (!damaged.has(hour))
        for (const chunk of chunksOf(hour, unionOf(some, before.get(hour) ?? [])))
          made.push({ ...chunk, key });
  }
  const isKnown = ({ key, at }: Pick<MadeChunk, 'key' | 'at'>): boolean =>
    known.get(key)?.some((chunk) => chunk.at.getTime() === at) === true;
  const isNew = (chunk: MadeChunk): boolean => !isKnown(chunk);
  // Only one that was there, and is locked: another may have been sealed since we read.
  const grown = made.filter(({ key, at }) => isKnown({ key, at: hourOf(at) }));
  for (const statement of dropWholeHours(
    sql,
    grown.map(({ key, at }) => ({ monitor: key, at })),
  ))
    await statement;
  await updateChunks(sql, made.filter(isKnown));
  await insertChunks(sql, made.filter(isNew));
}

type MadeChunk = Chunk & { readonly key: number };

async function updateChunks(sql: Queryable, chunks: readonly MadeChunk[]): Promise<void> {
  if (chunks.length === 0) return;
  await sql`update chunks c set data = m.data ${fromMade(sql, chunks)}
    where c.monitor_key = m.monitor_key and c.at = m.at and c.data <> m.data`;
}

/** One that was sealed since we read is not touched: its hour keeps the rows beside it. */
async function insertChunks(sql: Queryable, chunks: readonly MadeChunk[]): Promise<void> {
  if (chunks.length === 0) return;
  await sql`insert into chunks (monitor_key, at, data)
    select monitor_key, at, data ${fromMade(sql, chunks)} on conflict do nothing`;
}

function fromMade(sql: Queryable, chunks: readonly MadeChunk[]) {
  return sql`from (
  select monitor_key, to_timestamp(at / 1000.0) as at, data::bytea
  from unnest(${chunks.map(({ key }) => key)}::bigint[],
    ${chunks.map(({ at }) => at)}::float8[],
    ${chunks.map(({ data }) => bytesText(data))}::text[])
    as u (monitor_key, at, data)) m`;
}
