import { clip, type Interval, union } from '../../shared/base/time.ts';
import type { Caused } from '../core/uptime.ts';
import type { Queryable } from '../database/connect.ts';
import { ms } from '../database/sql.ts';

/**
 * When each of these monitors is covered within the range, as things are now (rules 24 to 26).
 * Monitors that are never covered are included.
 */
export async function coverOfMonitors(
  sql: Queryable,
  monitors: readonly string[],
  range: Interval,
): Promise<ReadonlyMap<string, readonly Interval[]>> {
  if (monitors.length === 0) return new Map();
  const rows = await sql<(CoverRow & { id: string })[]>`
    select w.id, ${coverColumns(sql, range.from, range.to)} from monitors w
    where w.id = any(${monitors}::uuid[])`;
  return new Map(rows.map((row) => [row.id, clip(coverFrom(row), range)]));
}

/**
 * The part of a maintenance window that determines cover: its creation, deletion, occurrences, and
 * what it names.
 */
export type CoveringWindow = {
  readonly created_at: number;
  readonly deleted_at: number | null;
  readonly occurrences: readonly Interval[];
  /** Whether it names the monitor itself. */
  readonly direct: boolean;
  readonly groups: readonly string[];
};

/** A monitor's time in a group; `to` is null while it lasts. */
export type Membership = {
  readonly group: string;
  readonly from: number;
  readonly to: number | null;
};

/**
 * When a monitor was, is and will be covered. Cover begins at the later of the window's start and
 * its creation, and ends when the window is deleted (rule 24); through a group it lasts as long as
 * the membership (rule 26).
 */
export function coverOf(
  windows: readonly CoveringWindow[],
  memberships: readonly Membership[],
): Interval[] {
  const covered = windows.flatMap(({ created_at, deleted_at, occurrences, direct, groups }) => {
    const life = clip(occurrences, {
      from: created_at,
      to: deleted_at ?? Number.POSITIVE_INFINITY,
    });
    if (direct) return life;
    const inside = memberships.filter(({ group }) => groups.includes(group));
    return inside.flatMap(({ from, to }) =>
      clip(life, { from, to: to ?? Number.POSITIVE_INFINITY }),
    );
  });
  return union(covered);
}

/**
 * A window as JSON: creation, deletion, whether it names the monitor itself, groups, occurrences;
 * times in milliseconds.
 */
type WindowJson = readonly [
  created_at: number,
  deleted_at: number | null,
  direct: boolean,
  groups: readonly string[],
  /** Null when none is in the range. */
  occurrences: readonly (readonly [number, number])[] | null,
  id: string,
  name: string | null,
];

type MembershipJson = readonly [group: string, from: number, to: number | null];

/**
 * Columns of a query over `monitors w`: what covers it between two moments, as coverFrom() reads
 * it.
 */
export function coverColumns(sql: Queryable, from: number, to: number) {
  return sql`
  (select coalesce(json_agg(json_build_array(${ms(sql, 'v.created_at')}, ${ms(sql, 'v.deleted_at')},
    v.direct, v.groups, v.occurrences,
      v.id, v.name)), '[]')
    from (
      select coalesce(mw.version_of, mw.id) as id, mw.name, mw.created_at, mw.deleted_at,
        exists (select 1 from maintenance_choices mm where mm.window_id = mw.id
          and mm.monitor_id = w.id) as direct,
        array(select mg.group_id from maintenance_choices mg where mg.window_id = mw.id
          and mg.group_id is not null) as groups,
        (select json_agg(json_build_array(${ms(sql, 'o.began_at')}, ${ms(sql, 'o.ended_at')}))
          from maintenance_occurrences o
          where o.window_id = mw.id and o.ended_at > ${new Date(from)} and o.began_at < ${new Date(to)}) as occurrences
      from maintenance_windows mw
      where (mw.deleted_at is null or mw.deleted_at > ${new Date(from)}) and mw.id in (
        select mm.window_id from maintenance_choices mm where mm.monitor_id = w.id
        union select mg.window_id from maintenance_choices mg join group_memberships gm
          on gm.group_id = mg.group_id
          where gm.monitor_id = w.id and (gm.ended_at is null or gm.ended_at > ${new Date(from)}))
    ) v) as windows,
  (select coalesce(json_agg(json_build_array(gm.group_id, ${ms(sql, 'gm.began_at')},
    ${ms(sql, 'gm.ended_at')})), '[]')
    from group_memberships gm where gm.monitor_id = w.id
      and (gm.ended_at is null or gm.ended_at > ${new Date(from)})) as memberships`;
}

export type CoverRow = {
  readonly windows: readonly WindowJson[];
  readonly memberships: readonly MembershipJson[];
};

export function coverFrom({ windows, memberships }: CoverRow): Interval[] {
  return coverOf(windows.map(windowFrom), membershipsFrom(memberships));
}

function windowFrom([
  created_at,
  deleted_at,
  direct,
  groups,
  occurrences,
]: WindowJson): CoveringWindow {
  return {
    created_at,
    deleted_at,
    direct,
    groups,
    occurrences: (occurrences ?? []).map(([from, to]) => ({ from, to })),
  };
}

function membershipsFrom(memberships: readonly MembershipJson[]): Membership[] {
  return memberships.map(([group, from, to]) => ({ group, from, to }));
}

/** Like coverFrom(), each stretch with its window. */
export function causedCoverFrom({ windows, memberships }: CoverRow): Caused[] {
  return windows.flatMap((window) => {
    const [, , , , , id, name] = window;
    return coverOf([windowFrom(window)], membershipsFrom(memberships)).map((covered) => ({
      ...covered,
      cause: { is: 'window', id, name },
    }));
  });
}
