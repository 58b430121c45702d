import type { Queryable } from './store-database.ts';
import { instant } from './store-maintenance.ts';

/** Windows by when they are, as people look at them. */

export type WindowByTime = {
  readonly id: string;
  readonly name: string | null;
  readonly state: 'running' | 'coming' | 'over';
  /** Of the occurrence that runs, comes next or was the last; null where the next is not written down yet, being far away. */
  readonly began_at: Date | null;
  readonly ended_at: Date | null;
  readonly starts_at: Date;
  readonly ends_at: Date;
  readonly local_start: string;
  readonly rrule: string | null;
  readonly time_zone: string;
  readonly covers: readonly string[];
  readonly monitors: number;
  readonly groups: number;
};

/** Each window with its occurrence that tells its state: what runs before what comes before what was. */
const placed = (sql: Queryable, organisation: string, now: number) => sql`
  select w.*, o.began_at, o.ended_at,
    case when o.began_at <= ${instant(now)} and o.ended_at > ${instant(now)} then 'running'
      when o.began_at > ${instant(now)} or (o.began_at is null and w.expanded_until is not null) then 'coming' else 'over' end as state
  from maintenance_windows w
  left join lateral (
    select x.began_at, x.ended_at from maintenance_occurrences x
    where x.window_id = w.id and (x.ended_at > ${instant(now)} or w.expanded_until is null)
    order by x.ended_at <= ${instant(now)}, case when x.ended_at > ${instant(now)} then x.began_at end, x.began_at desc limit 1) o on true
  where w.organisation_id = ${organisation} and w.deleted_at is null`;

export const countByTime = async (
  sql: Queryable,
  organisation: string,
  now: number,
): Promise<{ readonly running: number; readonly coming: number; readonly over: number }> => {
  const [row] = await sql<{ running: number; coming: number; over: number }[]>`
    with placed as (${placed(sql, organisation, now)})
    select count(*) filter (where state = 'running') as running, count(*) filter (where state = 'coming') as coming,
      count(*) filter (where state = 'over') as over from placed`;
  return row ?? { running: 0, coming: 0, over: 0 };
};

export const windowsByTime = (
  sql: Queryable,
  organisation: string,
  { over, now, offset, most }: { readonly over: boolean; readonly now: number; readonly offset: number; readonly most: number },
): Promise<WindowByTime[]> => sql<WindowByTime[]>`
  with placed as (${placed(sql, organisation, now)}),
  page as (
    select * from placed where (state = 'over') = ${over}
    order by state = 'running' desc, case when state = 'running' then ended_at end, case when state = 'coming' then began_at end nulls last,
      ended_at desc, key desc
    offset ${offset} limit ${most})
  select w.id, w.name, w.state, w.began_at, w.ended_at, w.starts_at, w.ends_at,
    to_char(w.local_start, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as local_start, w.rrule, w.time_zone,
    (select count(*) from maintenance_monitors m where m.window_id = w.id) as monitors,
    (select count(*) from maintenance_groups g join groups x on x.id = g.group_id where g.window_id = w.id) as groups,
    array(select c.name from (
      select 0 as place, x.name from maintenance_groups g join groups x on x.id = g.group_id where g.window_id = w.id
      union all select 1, m.name from maintenance_monitors c join monitors m on m.id = c.monitor_id where c.window_id = w.id) c
      order by c.place, c.name limit 3) as covers
  from page w
  order by w.state = 'running' desc, case when w.state = 'running' then w.ended_at end, case when w.state = 'coming' then w.began_at end nulls last,
    w.ended_at desc, w.key desc`;

type Named = { readonly id: string; readonly name: string };

/** The names of what a window covers. A group that is gone by now is covered no longer. */
export const coveredNames = async (
  sql: Queryable,
  organisation: string,
  window: string,
): Promise<{ readonly monitors: readonly Named[]; readonly groups: readonly Named[] }> => {
  const [monitors, groups] = await Promise.all([
    sql<Named[]>`select m.id, m.name from maintenance_monitors c join monitors m on m.id = c.monitor_id
      where c.window_id = ${window} and m.organisation_id = ${organisation} order by lower(m.name)`,
    sql<Named[]>`select g.id, g.name from maintenance_groups c join groups g on g.id = c.group_id
      where c.window_id = ${window} and g.organisation_id = ${organisation} order by g.name_folded`,
  ]);
  return { monitors, groups };
};

/** When the last occurrence of a window was over that is. */
export const lastEnded = async (sql: Queryable, window: string, now: number): Promise<Date | null> => {
  const [row] = await sql<{ at: Date | null }[]>`
    select max(ended_at) as at from maintenance_occurrences where window_id = ${window} and ended_at <= ${instant(now)}`;
  return row?.at ?? null;
};
