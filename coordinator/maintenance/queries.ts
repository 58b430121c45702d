import { newId } from '../../shared/base/crypto.ts';
import { type Interval, isoText, union } from '../../shared/base/time.ts';
import type { Queryable, Sql } from '../database/connect.ts';
import { countOf, inTransaction } from '../database/sql.ts';
import { insertRows, namesOf, updateRows } from '../database/table.ts';
import { orNotFound } from '../gate/context.ts';
import {
  expandAgainBelow,
  expandedAhead,
  isSameSchedule,
  occurrencesOf,
  occurrencesToCome,
  type Schedule,
  type WindowDraft,
} from './window.ts';

/** A window as it is now, with what determines its occurrences. */
export type WindowRow = {
  readonly key: number;
  readonly id: string;
  readonly name: string | null;
  readonly starts_at: number;
  readonly ends_at: number;
  readonly rrule: string | null;
  readonly monitors: readonly string[];
  readonly groups: readonly string[];
  readonly time_zone: string;
  readonly schedule: Schedule;
  readonly cut_at: number | null;
};

/** What determines its occurrences, by column, with its type in the database. */
const scheduleColumns = {
  starts_at: 'timestamptz',
  ends_at: 'timestamptz',
  local_start: 'timestamp',
  local_end: 'timestamp',
  rrule: 'text',
  time_zone: 'text',
} as const;
/** What a past version of it keeps. */
const copiedColumns = { name: 'text', ...scheduleColumns, created_at: 'timestamptz' } as const;

type Row = Omit<WindowRow, 'schedule' | 'cut_at'> & {
  readonly local_start: string;
  readonly local_end: string;
  readonly cut_at: number | null;
};

export function scheduleFrom(row: Pick<Row, keyof typeof scheduleColumns>): Schedule {
  return {
    starts_at: row.starts_at,
    ends_at: row.ends_at,
    local_start: Date.parse(row.local_start),
    local_end: Date.parse(row.local_end),
    rrule: row.rrule,
    time_zone: row.time_zone,
  };
}

export async function windowPage(
  sql: Queryable,
  organisation: string,
  before: number,
  limit: number,
): Promise<WindowRow[]> {
  const rows = await sql<Row[]>`
    select ${shown(sql)} from maintenance_windows w
    where w.organisation_id = ${organisation} and w.deleted_at is null and w.key < ${before}
    order by w.key desc limit ${limit}`;
  return rows.map(shownFrom);
}

/**
 * A deleted group is not listed; its row stays, because what the window covered through it stays
 * covered.
 */
function shown(sql: Queryable) {
  return sql`w.key, w.id, w.name, w.starts_at, w.ends_at, w.rrule, w.time_zone, w.cut_at,
  ${localTimes(sql)},
  array(select m.monitor_id from maintenance_choices m where m.window_id = w.id
    and m.monitor_id is not null order by m.monitor_id) as monitors,
  array(select g.group_id from maintenance_choices g join groups x on x.id = g.group_id
    where g.window_id = w.id order by g.group_id) as groups`;
}

function localTimes(sql: Queryable) {
  const format = 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"';
  return sql`to_char(w.local_start, ${format}) as local_start,
    to_char(coalesce(w.local_end, w.local_start + (w.ends_at - w.starts_at)), ${format}) as local_end`;
}

function shownFrom(row: Row): WindowRow {
  return {
    ...row,
    schedule: scheduleFrom(row),
    cut_at: row.cut_at,
  };
}

export async function windowById(
  sql: Queryable,
  organisation: string,
  id: string,
): Promise<WindowRow> {
  const [row] = await sql<Row[]>`
    select ${shown(sql)} from maintenance_windows w where w.organisation_id = ${organisation}
      and w.id = ${id} and w.deleted_at is null`;
  return shownFrom(orNotFound(row, 'maintenance_window_not_found'));
}

/** A part of a statement: how many of its windows are running or upcoming. */
export function windowsNotOver(sql: Queryable, organisation: string, now: number) {
  return sql`
  select count(*) from maintenance_windows w where w.organisation_id = ${organisation}
    and w.deleted_at is null
    and (w.expanded_until is not null or exists (
      select 1 from maintenance_occurrences o where o.window_id = w.id
        and o.ended_at > ${isoText(now)}))`;
}

export async function countWindows(
  sql: Queryable,
  organisation: string,
  now: number,
): Promise<number> {
  return countOf(sql`${windowsNotOver(sql, organisation, now)}`);
}

/** Occurrences that overlap or follow without a gap are stored as one stretch. */
async function writeOccurrences(
  sql: Queryable,
  window: string,
  occurrences: readonly Interval[],
): Promise<void> {
  if (occurrences.length === 0) return;
  const rows = union(occurrences).map(({ from, to }) => [from, to]);
  await sql`
    insert into maintenance_occurrences (window_id, began_at, ended_at)
    select ${window}, to_timestamp((o ->> 0)::numeric / 1000),
      to_timestamp((o ->> 1)::numeric / 1000)
    from jsonb_array_elements(${JSON.stringify(rows)}::text::jsonb) as o
    on conflict (window_id, began_at) do update
    set ended_at = greatest(maintenance_occurrences.ended_at, excluded.ended_at)`;
}

type NewWindow = {
  readonly id: string;
  readonly organisation: string;
  readonly draft: WindowDraft;
  readonly monitors: readonly string[];
  readonly groups: readonly string[];
};

/**
 * Inserts the window, what it names, and its occurrences of the next months. Occurrences that were
 * over before it was created cover nothing.
 */
export async function insertWindow(
  sql: Queryable,
  { id, organisation, draft, monitors, groups }: NewWindow,
  now: number,
): Promise<void> {
  const { occurrences, ended, until } = occurrencesToCome(draft.schedule, now);
  const row = {
    ...scheduleRecord(draft.schedule),
    id,
    name: draft.name,
    created_at: now,
    expanded_until: ended ? null : until,
  };
  await insertRows(
    sql,
    'maintenance_windows',
    { id: 'uuid', expanded_until: 'timestamptz', ...copiedColumns },
    organisation,
    [row],
  );
  await writeOccurrences(sql, id, occurrences);
  await writeCovered(sql, id, monitors, groups);
}

function scheduleRecord(schedule: Schedule) {
  return {
    starts_at: schedule.starts_at,
    ends_at: schedule.ends_at,
    local_start: isoText(schedule.local_start).slice(0, -1),
    local_end: isoText(schedule.local_end).slice(0, -1),
    rrule: schedule.rrule,
    time_zone: schedule.time_zone,
  };
}

/** What a window names. */
async function writeCovered(
  sql: Queryable,
  id: string,
  monitors: readonly string[],
  groups: readonly string[],
): Promise<void> {
  await sql`insert into maintenance_choices (window_id, monitor_id, group_id)
    select ${id}::uuid, unnest(${monitors}::uuid[]), null
    union all select ${id}, null, unnest(${groups}::uuid[])`;
}

/**
 * What the window covered stays covered, and from now on it covers nothing (rule 24): its past
 * occurrences stay, cut by `deleted_at`. Future occurrences are deleted; otherwise a caller who
 * creates and deletes windows for an hour would leave millions.
 */
export async function deleteWindow(
  sql: Queryable,
  organisation: string,
  id: string,
  now: number,
): Promise<boolean> {
  const gone = await sql`
    update maintenance_windows set deleted_at = ${isoText(now)}, expanded_until = null
    where organisation_id = ${organisation} and id = ${id} and deleted_at is null`;
  if (gone.count === 0) return false;
  await sql`delete from maintenance_occurrences where window_id = ${id}
    and began_at >= ${isoText(now)}`;
  return true;
}

type Expanding = Pick<Row, 'id' | keyof typeof scheduleColumns> & {
  readonly expanded_until: number;
};

/**
 * For housekeeping: writes the next occurrences of windows whose stored ones run out, one window
 * per transaction, and returns the number of windows. Several coordinators may do so at once.
 */
export async function expandWindows(sql: Sql, now: number, limit = 500): Promise<number> {
  const due = await sql<{ id: string }[]>`
    select id from maintenance_windows where deleted_at is null
      and expanded_until < ${isoText(now + expandAgainBelow)}
    order by expanded_until limit ${limit}`;
  for (const { id } of due)
    await inTransaction(sql, (transaction) => expandWindow(transaction, id, now));
  return due.length;
}

async function expandWindow(sql: Queryable, id: string, now: number): Promise<void> {
  const [row] = await sql<Expanding[]>`
    select w.id, w.starts_at, w.ends_at, ${localTimes(sql)}, w.rrule, w.time_zone, w.expanded_until
    from maintenance_windows w
    where w.id = ${id} and w.deleted_at is null
      and w.expanded_until < ${isoText(now + expandAgainBelow)} for no key update skip locked`;
  if (!row) return;
  const range = {
    from: row.expanded_until,
    to: Math.max(row.expanded_until, now) + expandedAhead,
  };
  const { occurrences, ended } = occurrencesOf(scheduleFrom(row), range);
  await writeOccurrences(sql, id, occurrences);
  await sql`update maintenance_windows set expanded_until = ${ended ? null : isoText(range.to)}
    where id = ${id}`;
}

/** Windows sorted by time, as people see them. */
export type WindowByTime = {
  readonly id: string;
  readonly name: string | null;
  readonly state: 'running' | 'coming' | 'over';
  /**
   * Of the running, next or last occurrence; null where the next is not stored yet because it is
   * far away.
   */
  readonly began_at: number | null;
  readonly ended_at: number | null;
  readonly starts_at: number;
  readonly ends_at: number;
  readonly local_start: string;
  readonly local_end: string;
  readonly rrule: string | null;
  readonly time_zone: string;
  readonly covers: readonly string[];
  readonly monitors: number;
  readonly groups: number;
};

export async function countByTime(
  sql: Queryable,
  organisation: string,
  now: number,
): Promise<{ readonly running: number; readonly coming: number; readonly over: number }> {
  const [row] = await sql<{ running: number; coming: number; over: number }[]>`
    with placed as (${placed(sql, organisation, now)})
    select count(*) filter (where state = 'running') as running, count(*)
    filter (where state = 'coming') as coming,
      count(*) filter (where state = 'over') as over from placed`;
  return row ?? { running: 0, coming: 0, over: 0 };
}

/**
 * Each window with the occurrence that determines its state: running before upcoming before past.
 */
function placed(sql: Queryable, organisation: string, now: number) {
  return sql`
  select w.*, o.began_at, o.ended_at,
    case when o.began_at <= ${isoText(now)} and o.ended_at > ${isoText(now)} then 'running'
      when o.began_at > ${isoText(now)}
        or (o.began_at is null and w.expanded_until is not null) then 'coming'
          else 'over' end as state
  from maintenance_windows w
  left join lateral (
    select x.began_at, x.ended_at from maintenance_occurrences x
    where x.window_id = w.id and (x.ended_at > ${isoText(now)} or w.expanded_until is null)
    order by x.ended_at <= ${isoText(now)}, case
      when x.ended_at > ${isoText(now)} then x.began_at end, x.began_at desc limit 1) o on true
  where w.organisation_id = ${organisation} and w.deleted_at is null`;
}

export function windowsByTime(
  sql: Queryable,
  organisation: string,
  {
    over,
    now,
    offset,
    most: limit,
  }: {
    readonly over: boolean;
    readonly now: number;
    readonly offset: number;
    readonly most: number;
  },
): Promise<WindowByTime[]> {
  return sql<WindowByTime[]>`
  with placed as (${placed(sql, organisation, now)}),
  page as (
    select * from placed where (state = 'over') = ${over}
    order by state = 'running' desc, case when state = 'running' then ended_at end, case
      when state = 'coming' then began_at end nulls last,
      ended_at desc, key desc
    offset ${offset} limit ${limit})
  select w.id, w.name, w.state, w.began_at, w.ended_at, w.starts_at, w.ends_at,
    ${localTimes(sql)}, w.rrule, w.time_zone,
    (select count(m.monitor_id) from maintenance_choices m where m.window_id = w.id) as monitors,
    (select count(*) from maintenance_choices g join groups x on x.id = g.group_id
      where g.window_id = w.id) as groups,
    array(select c.name from (
      select 0 as place, x.name from maintenance_choices g join groups x on x.id = g.group_id
      where g.window_id = w.id
      union all select 1, m.name from maintenance_choices c join monitors m on m.id = c.monitor_id
      where c.window_id = w.id) c
      order by c.place, c.name limit 3) as covers
  from page w
  order by w.state = 'running' desc, case when w.state = 'running' then w.ended_at end, case
    when w.state = 'coming' then w.began_at end nulls last,
    w.ended_at desc, w.key desc`;
}

type Named = { readonly id: string; readonly name: string };

/** The names of what a window covers. A deleted group is no longer covered. */
export async function coveredNames(
  sql: Queryable,
  organisation: string,
  window: string,
): Promise<{ readonly monitors: readonly Named[]; readonly groups: readonly Named[] }> {
  const [monitors, groups] = await Promise.all([
    sql<
      Named[]
    >`select m.id, m.name from maintenance_choices c join monitors m on m.id = c.monitor_id
      where c.window_id = ${window} and m.organisation_id = ${organisation} order by lower(m.name)`,
    sql<Named[]>`select g.id, g.name from maintenance_choices c join groups g on g.id = c.group_id
      where c.window_id = ${window} and g.organisation_id = ${organisation} order by g.name_folded`,
  ]);
  return { monitors, groups };
}

type AffectedMonitor = Named & {
  readonly target: string;
  readonly group: string | null;
  readonly status: string;
};

/** The monitors that a window covers by now, itself or through a group. */
export function affectedMonitors(
  sql: Queryable,
  organisation: string,
  window: string,
  limit: number,
): Promise<AffectedMonitor[]> {
  return sql<AffectedMonitor[]>`
    with covered as (
      select monitor_id from maintenance_choices where window_id = ${window}
      union select s.monitor_id from maintenance_choices c
        join monitor_status s on s.group_id = c.group_id where c.window_id = ${window})
    select m.id, m.name, m.target, g.name as group, s.status from covered c
      join monitors m on m.id = c.monitor_id and m.organisation_id = ${organisation}
      join monitor_status s on s.monitor_id = m.id left join groups g on g.id = m.group_id
    order by s.name_folded limit ${limit}`;
}

/** When the last past occurrence of a window ended. */
export async function lastEnded(
  sql: Queryable,
  window: string,
  now: number,
): Promise<number | null> {
  const [row] = await sql<{ at: number | null }[]>`
    select max(ended_at) as at from maintenance_occurrences where window_id = ${window}
      and ended_at <= ${isoText(now)}`;
  return row?.at ?? null;
}

/** Locks the window: no one else changes it meanwhile, or writes its next occurrences. */
export async function lockedWindow(
  sql: Queryable,
  organisation: string,
  id: string,
): Promise<WindowRow> {
  await sql`select 1 from maintenance_windows where organisation_id = ${organisation} and id = ${id}
    and deleted_at is null for update`;
  return windowById(sql, organisation, id);
}

type ChangedWindow = {
  readonly draft: WindowDraft;
  readonly monitors: readonly string[];
  readonly groups: readonly string[];
};

/** The window as it is from now on. `before` comes from lockedWindow(). */
export async function changeWindow(
  sql: Queryable,
  organisation: string,
  before: WindowRow,
  changed: ChangedWindow,
  now: number,
): Promise<void> {
  const { draft, monitors, groups } = changed;
  const { id } = before;
  const isMoved = !isSameSchedule(before.schedule, draft.schedule);
  const coversOthers = !sameIds(before.monitors, monitors) || !sameIds(before.groups, groups);
  if (isMoved || coversOthers) {
    await keepPast(sql, id, now);
    await sql`update maintenance_windows set created_at = ${isoText(now)} where id = ${id}`;
  }
  // The past gets the new name too, so that one window has one name.
  await sql`update maintenance_windows set name = ${draft.name} where id = ${id}
    or version_of = ${id}`;
  if (isMoved) {
    const { occurrences, ended, until } = occurrencesToCome(draft.schedule, now);
    const row = {
      ...scheduleRecord(draft.schedule),
      id,
      cut_at: null,
      expanded_until: ended ? null : until,
    };
    const columns = {
      ...scheduleColumns,
      cut_at: 'timestamptz',
      expanded_until: 'timestamptz',
    } as const;
    await updateRows(sql, 'maintenance_windows', columns, organisation, [row]);
    await sql`delete from maintenance_occurrences where window_id = ${id}`;
    await writeOccurrences(sql, id, occurrences);
  }
  if (coversOthers) {
    await sql`delete from maintenance_choices where window_id = ${id}`;
    await writeCovered(sql, id, monitors, groups);
  }
}

function sameIds(a: readonly string[], b: readonly string[]): boolean {
  const others = new Set(b);
  return a.length === b.length && a.every((each) => others.has(each));
}

/**
 * What it covered until now becomes a past window; if it covered no time yet, there is nothing to
 * keep.
 */
async function keepPast(sql: Queryable, id: string, now: number): Promise<void> {
  const version = newId();
  const kept = await sql`
    insert into maintenance_windows (id, organisation_id, ${sql.unsafe(namesOf(copiedColumns))},
      deleted_at, version_of)
    select ${version}, organisation_id, ${sql.unsafe(namesOf(copiedColumns))}, ${isoText(now)}, id
    from maintenance_windows w
    where id = ${id} and created_at < ${isoText(now)} and exists (
      select 1 from maintenance_occurrences o where o.window_id = w.id
        and o.began_at < ${isoText(now)} and o.ended_at > w.created_at)`;
  if (kept.count === 0) return;
  await sql`insert into maintenance_occurrences (window_id, began_at, ended_at)
    select ${version}, o.began_at, o.ended_at from maintenance_occurrences o
    join maintenance_windows w on w.id = o.window_id
    where w.id = ${id} and o.began_at < ${isoText(now)} and o.ended_at > w.created_at`;
  await sql`insert into maintenance_choices (window_id, monitor_id, group_id)
    select ${version}, monitor_id, group_id from maintenance_choices where window_id = ${id}`;
}

/** Ends the running occurrence now; the window goes on with its next occurrence. */
export async function cutWindow(
  sql: Queryable,
  { id, schedule }: WindowRow,
  now: number,
): Promise<void> {
  const [row] = await sql<{ expanded_until: number | null }[]>`
    update maintenance_windows set cut_at = ${isoText(now)} where id = ${id}
    returning expanded_until`;
  await sql`update maintenance_occurrences set ended_at = ${isoText(now)}
    where window_id = ${id} and began_at <= ${isoText(now)} and ended_at > ${isoText(now)}`;
  // Overlapping occurrences were stored as one stretch, so future ones were cut with it.
  const to = row?.expanded_until ?? now + expandAgainBelow + expandedAhead;
  await writeOccurrences(sql, id, occurrencesOf(schedule, { from: now + 1, to }).occurrences);
}
