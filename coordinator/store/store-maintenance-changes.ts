import { newId } from '../../shared/base/crypto.ts';
import {
  expandAgainBelow,
  expandedAhead,
  isSameSchedule,
  occurrencesOf,
  occurrencesToCome,
  type WindowDraft,
} from '../domain/maintenance.ts';
import type { Queryable } from './store-database.ts';
import { instant, type ShownWindow, windowById, writeCovered, writeOccurrences } from './store-maintenance.ts';

/** Windows that are changed while they are there: the past that they covered stays as it was (rule 24). */

/** Nobody else changes it meanwhile, nor writes its next occurrences. */
export const lockedWindow = async (sql: Queryable, organisation: string, id: string): Promise<ShownWindow | undefined> => {
  await sql`select 1 from maintenance_windows where organisation_id = ${organisation} and id = ${id} and deleted_at is null for update`;
  return windowById(sql, organisation, id);
};

/** What it covered until now becomes a window of the past; where it covered no time yet there is nothing to keep. */
const keepPast = async (sql: Queryable, id: string, now: number): Promise<void> => {
  const version = newId();
  const kept = await sql`
    insert into maintenance_windows (id, organisation_id, name, starts_at, ends_at, local_start, rrule, time_zone, created_at, deleted_at, version_of)
    select ${version}, organisation_id, name, starts_at, ends_at, local_start, rrule, time_zone, created_at, ${instant(now)}, id
    from maintenance_windows w
    where id = ${id} and created_at < ${instant(now)} and exists (
      select 1 from maintenance_occurrences o where o.window_id = w.id and o.began_at < ${instant(now)} and o.ended_at > w.created_at)`;
  if (kept.count === 0) return;
  await sql`insert into maintenance_occurrences (window_id, began_at, ended_at)
    select ${version}, o.began_at, o.ended_at from maintenance_occurrences o join maintenance_windows w on w.id = o.window_id
    where w.id = ${id} and o.began_at < ${instant(now)} and o.ended_at > w.created_at`;
  await sql`insert into maintenance_monitors (window_id, monitor_id) select ${version}, monitor_id from maintenance_monitors where window_id = ${id}`;
  await sql`insert into maintenance_groups (window_id, group_id) select ${version}, group_id from maintenance_groups where window_id = ${id}`;
};

const sameIds = (a: readonly string[], b: readonly string[]): boolean => {
  const others = new Set(b);
  return a.length === b.length && a.every((each) => others.has(each));
};

export type ChangedWindow = { readonly draft: WindowDraft; readonly monitors: readonly string[]; readonly groups: readonly string[] };

/** The window as it is from now on. What was locked comes from lockedWindow(). */
export const changeWindow = async (sql: Queryable, before: ShownWindow, changed: ChangedWindow, now: number): Promise<void> => {
  const { draft, monitors, groups } = changed;
  const { id } = before;
  const isMoved = !isSameSchedule(before.schedule, draft.schedule);
  const coversOthers = !sameIds(before.monitors, monitors) || !sameIds(before.groups, groups);
  if (isMoved || coversOthers) {
    await keepPast(sql, id, now);
    await sql`update maintenance_windows set created_at = ${instant(now)} where id = ${id}`;
  }
  // The past has the name that it has now, so that one window has one.
  await sql`update maintenance_windows set name = ${draft.name} where id = ${id} or version_of = ${id}`;
  if (isMoved) {
    const { starts_at, ends_at, local_start, rrule, time_zone } = draft.schedule;
    const { occurrences, ended, until } = occurrencesToCome(draft.schedule, now);
    await sql`update maintenance_windows set starts_at = ${instant(starts_at)}, ends_at = ${instant(ends_at)},
        local_start = ${instant(local_start).slice(0, -1)}, rrule = ${rrule}, time_zone = ${time_zone}, cut_at = null,
        expanded_until = ${ended ? null : instant(until)}
      where id = ${id}`;
    await sql`delete from maintenance_occurrences where window_id = ${id}`;
    await writeOccurrences(sql, id, occurrences);
  }
  if (coversOthers) {
    await sql`delete from maintenance_monitors where window_id = ${id}`;
    await sql`delete from maintenance_groups where window_id = ${id}`;
    await writeCovered(sql, id, monitors, groups);
  }
};

/** What runs of it ends now; it goes on with its next occurrence. */
export const cutWindow = async (sql: Queryable, { id, schedule }: ShownWindow, now: number): Promise<void> => {
  const [row] = await sql<{ expanded_until: Date | null }[]>`
    update maintenance_windows set cut_at = ${instant(now)} where id = ${id} returning expanded_until`;
  await sql`update maintenance_occurrences set ended_at = ${instant(now)}
    where window_id = ${id} and began_at <= ${instant(now)} and ended_at > ${instant(now)}`;
  // Where occurrences lie on each other they stood as one stretch, and those that come were cut off with it.
  const to = row?.expanded_until?.getTime() ?? now + expandAgainBelow + expandedAhead;
  await writeOccurrences(sql, id, occurrencesOf(schedule, { from: now + 1, to }).occurrences);
};
