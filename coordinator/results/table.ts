import { codeOf } from '../../shared/base/errors.ts';
import type { Outcome, Phases } from '../../shared/checks/result.ts';
import type { Queryable, Statement } from '../database/connect.ts';
import { outcomeNumbers } from './check.ts';

export type ResultRow = {
  readonly monitor_key: number;
  readonly probe_key: number;
  readonly at: number;
  readonly took_ms: number;
  readonly outcome: Outcome;
  readonly cause_class: string | null;
  readonly phases: Phases | null;
};

export function insertResults(sql: Queryable, rows: readonly ResultRow[]): Statement[] {
  if (rows.length === 0) return [];
  // Each phase is an array of its own: nested arrays take three times as long to write as text.
  const statement = sql`
    insert into results (monitor_key, at, probe_key, took_ms, outcome, cause_class, phases)
    select monitor_key, to_timestamp(at / 1000.0), probe_key, took_ms, outcome, cause_class,
      case when has_phases = 1 then array[dns, tcp, tls, first_byte, total] end
    from unnest(
      ${rows.map((row) => row.monitor_key)}::bigint[],
        ${rows.map((row) => row.at)}::float8[],
      ${rows.map((row) => row.probe_key)}::int[],
        ${rows.map((row) => row.took_ms)}::real[],
      ${rows.map((row) => outcomeNumbers[row.outcome])}::smallint[],
      ${rows.map((row) => row.cause_class)}::text[],
      ${rows.map((row) => (row.phases === null ? 0 : 1))}::smallint[],
      ${phaseOf(rows, 'dns')}::real[], ${phaseOf(rows, 'tcp')}::real[],
        ${phaseOf(rows, 'tls')}::real[],
      ${phaseOf(rows, 'first_byte')}::real[], ${phaseOf(rows, 'total')}::real[]
    ) as t (monitor_key, at, probe_key, took_ms, outcome, cause_class, has_phases, dns, tcp, tls,
      first_byte, total)`;
  return [statement];
}

function phaseOf(rows: readonly ResultRow[], name: keyof Phases): (number | null)[] {
  return rows.map(({ phases }) => phases?.[name] ?? null);
}

const day = 86_400_000;

/** What is kept by the day, with the settings of each day. */
const dayTables = {
  results: '',
  // They are inserted and seldom changed: vacuum follows in small steps, not in a few large ones.
  chunks:
    'with (autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 10000)',
} as const;

/** Creates missing day partitions for this time. Several coordinators may do so at once. */
export async function makeResultDays(sql: Queryable, from: number, to: number): Promise<void> {
  const existing = new Set(await daysIn(sql));
  const missing: string[] = [];
  for (const [table, settings] of Object.entries(dayTables))
    for (let start = Math.floor(from / day) * day; start < to; start += day) {
      const name = nameOfDay(table, start);
      if (existing.has(name)) continue;
      const [begin, end] = [new Date(start).toISOString(), new Date(start + day).toISOString()];
      // A table is created first and attached afterwards. Creating it as a partition would wait
      // until no one reads results, and block all writers meanwhile. Names and bounds are our own;
      // DDL takes no parameters.
      missing.push(`create table ${name} (like ${table} including defaults including constraints including indexes including storage) ${settings};
      alter table ${table} attach partition ${name} for values from ('${begin}') to ('${end}');`);
    }
  if (missing.length > 0) await sql.unsafe(missing.join('\n'));
}

async function daysIn(sql: Queryable): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select relid::regclass::text as name
    from unnest(${Object.keys(dayTables)}::text[]) t, pg_partition_tree(t::regclass)
    where isleaf order by 1`;
  return rows.map(({ name }) => name);
}

function nameOfDay(table: string, start: number): string {
  return `${table}_${new Date(start).toISOString().slice(0, 10).replaceAll('-', '')}`;
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
  const old = (await daysIn(sql)).filter((name) => {
    const [, table = '', date] = /^(\w+)_(\d{8})$/.exec(name) ?? [];
    return date !== undefined && name <= nameOfDay(table, before - day);
  });
  if (old.length > 0) await sql`select set_config('lock_timeout', ${String(dropTimeoutMs)}, true)`;
  for (const name of old) await sql.unsafe(`drop table if exists ${name}`);
  return old;
}

/** Deletes a batch of the history of deleted monitors. False when nothing was left. */
export async function forgetMonitors(sql: Queryable, batchSize: number): Promise<boolean> {
  const [next] = await sql<{ monitor_key: number }[]>`
    select monitor_key from forgotten_monitors order by forgotten_at limit 1
    for update skip locked`;
  if (!next) return false;
  const key = next.monitor_key;
  const raw = await sql`delete from results
      where ctid in (select ctid from results where monitor_key = ${key} limit ${batchSize})
        and monitor_key = ${key}`;
  const chunks = await sql`delete from chunks where monitor_key = ${key}`;
  const rolled = await sql`delete from rollups where monitor_key = ${key}`;
  // The primary key begins with the day: each day is a search of its own.
  const days = await sql`delete from daily_rollups where monitor_key = ${key} and day = any(array(
    select generate_series(min(day), max(day), '1 day')::date from daily_rollups))`;
  await sql`delete from stale_days where monitor_key = ${key} and day = any(array(
    select generate_series(min(day), max(day), '1 day')::date from stale_days))`;
  const left = [raw, chunks, rolled, days].some(({ count }) => count > 0);
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
    const old = sql`at < ${new Date(before)}
      and monitor_key = any(${keys}::bigint[])`;
    await sql`delete from chunks where ${old}`;
    await sql`delete from results where ${old}`;
  }
  return monitors.at(-1)?.key ?? null;
}
