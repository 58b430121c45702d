import { clip, type Interval } from '../../shared/base/time.ts';
import { type CoveringWindow, coverOf, type Membership } from '../domain/maintenance-cover.ts';
import type { Caused } from '../domain/uptime-explained.ts';
import type { Queryable } from './store-database.ts';

/** A window as JSON: creation, deletion, whether it names the monitor itself, groups, occurrences; times in milliseconds. */
export type WindowJson = readonly [
  created_at: number,
  deleted_at: number | null,
  direct: boolean,
  groups: readonly string[],
  /** Null when none falls into the range. */
  occurrences: readonly (readonly [number, number])[] | null,
  id: string,
  name: string | null,
];
export type MembershipJson = readonly [group: string, from: number, to: number | null];

/** Milliseconds since the epoch of a timestamptz. date_part counts in floating point, which is exact here, and twice as fast as extract. */
export const ms = (sql: Queryable, column: string) => sql`(date_part('epoch', ${sql.unsafe(column)}) * 1000)::bigint`;

/** Columns of a query over `monitors w`: what covers it between two moments, as coverFrom() reads it. */
export const coverColumns = (sql: Queryable, from: Date, to: Date) => sql`
  (select coalesce(json_agg(json_build_array(${ms(sql, 'v.created_at')}, ${ms(sql, 'v.deleted_at')}, v.direct, v.groups, v.occurrences,
      v.id, v.name)), '[]')
    from (
      select coalesce(mw.version_of, mw.id) as id, mw.name, mw.created_at, mw.deleted_at,
        exists (select 1 from maintenance_monitors mm where mm.window_id = mw.id and mm.monitor_id = w.id) as direct,
        array(select mg.group_id from maintenance_groups mg where mg.window_id = mw.id) as groups,
        (select json_agg(json_build_array(${ms(sql, 'o.began_at')}, ${ms(sql, 'o.ended_at')})) from maintenance_occurrences o
          where o.window_id = mw.id and o.ended_at > ${from} and o.began_at < ${to}) as occurrences
      from maintenance_windows mw
      where (mw.deleted_at is null or mw.deleted_at > ${from}) and mw.id in (
        select mm.window_id from maintenance_monitors mm where mm.monitor_id = w.id
        union select mg.window_id from maintenance_groups mg join group_memberships gm on gm.group_id = mg.group_id
          where gm.monitor_id = w.id and (gm.ended_at is null or gm.ended_at > ${from}))
    ) v) as windows,
  (select coalesce(json_agg(json_build_array(gm.group_id, ${ms(sql, 'gm.began_at')}, ${ms(sql, 'gm.ended_at')})), '[]')
    from group_memberships gm where gm.monitor_id = w.id and (gm.ended_at is null or gm.ended_at > ${from})) as memberships`;

export type CoverRow = { readonly windows: readonly WindowJson[]; readonly memberships: readonly MembershipJson[] };

const windowFrom = ([created_at, deleted_at, direct, groups, occurrences]: WindowJson): CoveringWindow => ({
  ...{ created_at, deleted_at, direct, groups },
  occurrences: (occurrences ?? []).map(([from, to]) => ({ from, to })),
});

const membershipsFrom = (memberships: readonly MembershipJson[]): Membership[] =>
  memberships.map(([group, from, to]) => ({ group, from, to }));

export const coverFrom = ({ windows, memberships }: CoverRow): Interval[] => coverOf(windows.map(windowFrom), membershipsFrom(memberships));

/** The same, each stretch with the window that it is of. */
export const causedCoverFrom = ({ windows, memberships }: CoverRow): Caused[] =>
  windows.flatMap((window) => {
    const [, , , , , id, name] = window;
    return coverOf([windowFrom(window)], membershipsFrom(memberships)).map((covered) => ({
      ...covered,
      cause: { is: 'window', id, name },
    }));
  });

/** When each of these monitors is covered within the range, as things stand now (rules 24 to 26). Those never covered are there, too. */
export const coverOfMonitors = async (
  sql: Queryable,
  monitors: readonly string[],
  range: Interval,
): Promise<ReadonlyMap<string, readonly Interval[]>> => {
  if (monitors.length === 0) return new Map();
  const rows = await sql<(CoverRow & { id: string })[]>`
    select w.id, ${coverColumns(sql, new Date(range.from), new Date(range.to))} from monitors w where w.id = any(${[...monitors]}::uuid[])`;
  return new Map(rows.map((row) => [row.id, clip(coverFrom(row), range)]));
};
