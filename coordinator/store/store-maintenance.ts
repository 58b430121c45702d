import { type Interval, union } from '../../shared/base/time.ts';
import {
  expandAgainBelow,
  expandedAhead,
  occurrencesOf,
  occurrencesToCome,
  type Schedule,
  type WindowDraft,
} from '../domain/maintenance.ts';
import type { Queryable, Sql } from './store-database.ts';
import { inTransaction } from './store-sql-transactions.ts';

/** A window as it is now, with what its occurrences follow from. */
export type ShownWindow = {
  readonly key: number;
  readonly id: string;
  readonly name: string | null;
  readonly starts_at: Date;
  readonly ends_at: Date;
  readonly rrule: string | null;
  readonly monitors: readonly string[];
  readonly groups: readonly string[];
  readonly time_zone: string;
  readonly schedule: Schedule;
  readonly cut_at: number | null;
};

type Row = Omit<ShownWindow, 'schedule' | 'cut_at'> & { readonly local_start: string; readonly cut_at: Date | null };

const localStart = (sql: Queryable) => sql`to_char(w.local_start, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as local_start`;

export const scheduleFrom = (row: Pick<Row, 'starts_at' | 'ends_at' | 'local_start' | 'rrule' | 'time_zone'>): Schedule => ({
  starts_at: row.starts_at.getTime(),
  ends_at: row.ends_at.getTime(),
  local_start: Date.parse(row.local_start),
  rrule: row.rrule,
  time_zone: row.time_zone,
});

const shownFrom = (row: Row): ShownWindow => ({ ...row, schedule: scheduleFrom(row), cut_at: row.cut_at?.getTime() ?? null });

/** A deleted group is listed no more; its row stays, as what the window covered through it stays covered. */
const shown = (sql: Queryable) => sql`w.key, w.id, w.name, w.starts_at, w.ends_at, w.rrule, w.time_zone, w.cut_at, ${localStart(sql)},
  array(select m.monitor_id from maintenance_monitors m where m.window_id = w.id order by m.monitor_id) as monitors,
  array(select g.group_id from maintenance_groups g join groups x on x.id = g.group_id where g.window_id = w.id order by g.group_id) as groups`;

export const windowPage = async (sql: Queryable, organisation: string, before: number, most: number): Promise<ShownWindow[]> => {
  const rows = await sql<Row[]>`
    select ${shown(sql)} from maintenance_windows w
    where w.organisation_id = ${organisation} and w.deleted_at is null and w.key < ${before} order by w.key desc limit ${most}`;
  return rows.map(shownFrom);
};

export const windowById = async (sql: Queryable, organisation: string, id: string): Promise<ShownWindow | undefined> => {
  const [row] = await sql<Row[]>`
    select ${shown(sql)} from maintenance_windows w where w.organisation_id = ${organisation} and w.id = ${id} and w.deleted_at is null`;
  return row && shownFrom(row);
};

/** How many windows of it run, or are still to come, as a part of a statement. */
export const windowsNotOver = (sql: Queryable, organisation: string, now: number) => sql`
  select count(*) from maintenance_windows w where w.organisation_id = ${organisation} and w.deleted_at is null
    and (w.expanded_until is not null or exists (
      select 1 from maintenance_occurrences o where o.window_id = w.id and o.ended_at > ${instant(now)}))`;

export const countWindows = async (sql: Queryable, organisation: string, now: number): Promise<number> => {
  const [row] = await sql<{ count: number }[]>`${windowsNotOver(sql, organisation, now)}`;
  return row?.count ?? 0;
};

export const instant = (at: number): string => new Date(at).toISOString();

/** Those that lie on each other or follow without a gap are written as the one stretch that they cover. */
export const writeOccurrences = async (sql: Queryable, window: string, occurrences: readonly Interval[]): Promise<void> => {
  if (occurrences.length === 0) return;
  const rows = union(occurrences).map(({ from, to }) => [from, to]);
  await sql`
    insert into maintenance_occurrences (window_id, began_at, ended_at)
    select ${window}, to_timestamp((o ->> 0)::numeric / 1000), to_timestamp((o ->> 1)::numeric / 1000)
    from jsonb_array_elements(${JSON.stringify(rows)}::text::jsonb) as o
    on conflict (window_id, began_at) do update set ended_at = greatest(maintenance_occurrences.ended_at, excluded.ended_at)`;
};

export type NewWindow = {
  readonly id: string;
  readonly organisation: string;
  readonly draft: WindowDraft;
  readonly monitors: readonly string[];
  readonly groups: readonly string[];
};

/** The window with what it names and its occurrences of the next months. Those that were over before it was made cover nothing. */
export const insertWindow = async (
  sql: Queryable,
  { id, organisation, draft, monitors, groups }: NewWindow,
  now: number,
): Promise<void> => {
  const { name, schedule } = draft;
  const { starts_at, ends_at, local_start, rrule, time_zone } = schedule;
  const { occurrences, ended, until } = occurrencesToCome(schedule, now);
  await sql`
    insert into maintenance_windows (id, organisation_id, name, starts_at, ends_at, local_start, rrule, time_zone, created_at, expanded_until)
    values (${id}, ${organisation}, ${name}, ${instant(starts_at)}, ${instant(ends_at)}, ${instant(local_start).slice(0, -1)}, ${rrule},
      ${time_zone}, ${instant(now)}, ${ended ? null : instant(until)})`;
  await writeOccurrences(sql, id, occurrences);
  await writeCovered(sql, id, monitors, groups);
};

/** What a window names. */
export const writeCovered = async (sql: Queryable, id: string, monitors: readonly string[], groups: readonly string[]): Promise<void> => {
  await sql`insert into maintenance_monitors (window_id, monitor_id) select ${id}, unnest(${[...monitors]}::uuid[])`;
  await sql`insert into maintenance_groups (window_id, group_id) select ${id}, unnest(${[...groups]}::uuid[])`;
};

/**
 * What the window covered stays covered and from now on it covers nothing (rule 24): its occurrences of the past stay, cut by `deleted_at`. Those
 * that had not begun go, or whoever made and deleted windows for an hour would leave millions.
 */
export const deleteWindow = async (sql: Queryable, organisation: string, id: string, now: number): Promise<boolean> => {
  const gone = await sql`
    update maintenance_windows set deleted_at = ${instant(now)}, expanded_until = null
    where organisation_id = ${organisation} and id = ${id} and deleted_at is null`;
  if (gone.count === 0) return false;
  await sql`delete from maintenance_occurrences where window_id = ${id} and began_at >= ${instant(now)}`;
  return true;
};

type Expanding = {
  readonly id: string;
  readonly starts_at: Date;
  readonly ends_at: Date;
  readonly local_start: string;
  readonly rrule: string | null;
  readonly time_zone: string;
  readonly expanded_until: Date;
};

/**
 * For the housekeeper: writes the occurrences that come next of windows whose written ones run out, one window in a transaction,
 * and says how many windows it was. Several coordinators may do it at once.
 */
export const expandWindows = async (sql: Sql, now: number, most = 500): Promise<number> => {
  const due = await sql<{ id: string }[]>`
    select id from maintenance_windows where deleted_at is null and expanded_until < ${instant(now + expandAgainBelow)}
    order by expanded_until limit ${most}`;
  for (const { id } of due) await inTransaction(sql, (transaction) => expandWindow(transaction, id, now));
  return due.length;
};

const expandWindow = async (sql: Queryable, id: string, now: number): Promise<void> => {
  const [row] = await sql<Expanding[]>`
    select w.id, w.starts_at, w.ends_at, ${localStart(sql)}, w.rrule, w.time_zone, w.expanded_until from maintenance_windows w
    where w.id = ${id} and w.deleted_at is null and w.expanded_until < ${instant(now + expandAgainBelow)} for no key update skip locked`;
  if (!row) return;
  const range = { from: row.expanded_until.getTime(), to: Math.max(row.expanded_until.getTime(), now) + expandedAhead };
  const { occurrences, ended } = occurrencesOf(scheduleFrom(row), range);
  await writeOccurrences(sql, id, occurrences);
  await sql`update maintenance_windows set expanded_until = ${ended ? null : instant(range.to)} where id = ${id}`;
};
