import { codeOf } from '../../shared/base/errors.ts';
import type { Queryable } from '../database/connect.ts';

const day = 86_400_000;

/** Creates missing days of chunks for this time. Several coordinators may do so at once. */
export async function makeResultDays(sql: Queryable, from: number, to: number): Promise<void> {
  const existing = new Set(await daysIn(sql));
  const missing: string[] = [];
  for (let start = Math.floor(from / day) * day; start < to; start += day) {
    const name = nameOfDay(start);
    if (existing.has(name)) continue;
    const [begin, end] = [new Date(start).toISOString(), new Date(start + day).toISOString()];
    // A table is created first and attached afterwards. Creating it as a partition would wait until
    // no one reads chunks, and block all writers meanwhile. Names and bounds are our own; DDL takes
    // no parameters. Chunks are inserted and seldom changed: vacuum follows in small steps, not in
    // a few large ones.
    missing.push(`create table ${name} (like chunks including defaults including constraints including indexes including storage)
        with (autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 10000);
      alter table chunks attach partition ${name} for values from ('${begin}') to ('${end}');`);
  }
  if (missing.length > 0) await sql.unsafe(missing.join('\n'));
}

async function daysIn(sql: Queryable): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select relid::regclass::text as name from pg_partition_tree('chunks') where isleaf order by 1`;
  return rows.map(({ name }) => name);
}

function nameOfDay(start: number): string {
  return `chunks_${new Date(start).toISOString().slice(0, 10).replaceAll('-', '')}`;
}

/** Whether days could not be dropped because results were being read; a later try will succeed. */
export function areBeingRead(error: unknown): boolean {
  return codeOf(error) === '55P03';
}

/** Lock timeout of a drop: while it waits for readers of results, it blocks writers. */
const dropTimeoutMs = 300;

/**
 * Drops the days that end before this time, in a transaction of its own. @throws areBeingRead().
 */
export async function dropResultDays(sql: Queryable, before: number): Promise<string[]> {
  const last = nameOfDay(before - day);
  const old = (await daysIn(sql)).filter((name) => /^chunks_\d{8}$/.test(name) && name <= last);
  if (old.length > 0) await sql`select set_config('lock_timeout', ${String(dropTimeoutMs)}, true)`;
  for (const name of old) await sql.unsafe(`drop table if exists ${name}`);
  return old;
}

/** Deletes a batch of the history of deleted monitors. False when nothing was left. */
export async function forgetMonitors(sql: Queryable): Promise<boolean> {
  const [next] = await sql<{ monitor_key: number }[]>`
    select monitor_key from forgotten_monitors order by forgotten_at limit 1
    for update skip locked`;
  if (!next) return false;
  const key = next.monitor_key;
  const chunks = await sql`delete from chunks where monitor_key = ${key}`;
  // The primary key begins with the day: each day is a search of its own.
  const days = await sql`delete from days where monitor_key = ${key} and day = any(array(
    select generate_series(min(day), max(day), '1 day')::date from days))`;
  await sql`delete from stale_days where monitor_key = ${key} and day = any(array(
    select generate_series(min(day), max(day), '1 day')::date from stale_days))`;
  await sql`delete from months where monitor_key = ${key} and month = any(array(
    select generate_series(min(month), max(month), '1 month')::date from months))`;
  await sql`delete from stale_months where monitor_key = ${key}`;
  const left = [chunks, days].some(({ count }) => count > 0);
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
  batchSize: number,
): Promise<number | null> {
  const monitors = await sql<{ key: number; plan: string }[]>`
    select m.key, o.plan from monitors m join organisations o on o.id = m.organisation_id
    where m.key > ${after} and o.plan = any(${ends.map(({ plan }) => plan)}::text[])
    order by m.key limit ${batchSize}`;
  for (const { plan, before } of ends) {
    const keys = monitors.flatMap((each) => (each.plan === plan ? [each.key] : []));
    if (keys.length === 0) continue;
    await sql`delete from chunks where at < ${new Date(before)}
      and monitor_key = any(${keys}::bigint[])`;
  }
  return monitors.at(-1)?.key ?? null;
}
