import { wordsOf } from '../../shared/base/names.ts';
import type { Queryable } from '../database/connect.ts';
import { escapeLike } from '../database/sql.ts';
import type { Dependent } from './dependencies.ts';

/** Who depends on whom in the organisation, and besides the monitors with these ids. */
export async function dependentsOf(
  sql: Queryable,
  organisation: string,
  ids: readonly string[],
): Promise<Map<string, Dependent>> {
  const rows = await sql<(Dependent & { readonly id: string })[]>`
    select id, name, group_id as group, depends_on_monitors, depends_on_groups from monitors
    where organisation_id = ${organisation} and (depends_on_monitors <> '{}' or depends_on_groups <> '{}')
    union
    select id, name, group_id, depends_on_monitors, depends_on_groups from monitors
    where organisation_id = ${organisation} and id = any(${ids}::uuid[])`;
  return new Map(rows.map(({ id, ...row }) => [id, row]));
}

/** What a monitor depends on, by name. */
export function namedParents(sql: Queryable, organisation: string, monitor: string) {
  return sql<{ readonly id: string; readonly name: string; readonly kind: 'monitor' | 'group' }[]>`
    select p.id, p.name, 'monitor' as kind from monitors c
    join monitors p on p.organisation_id = c.organisation_id and p.id = any(c.depends_on_monitors)
    where c.organisation_id = ${organisation} and c.id = ${monitor}
    union all
    select g.id, g.name, 'group' from monitors c
    join groups g on g.organisation_id = c.organisation_id and g.id = any(c.depends_on_groups)
    where c.organisation_id = ${organisation} and c.id = ${monitor}
    order by name, id`;
}

/** Those that are chosen, then the first that have all the words. */
export function parentChoices(
  sql: Queryable,
  organisation: string,
  find: string,
  chosen: readonly string[],
) {
  const words = wordsOf(find);
  const isFound = words
    .map((word) => sql`s.words like ${`%${escapeLike(word)}%`}`)
    .reduce((all, each) => sql`${all} and ${each}`, sql`${words.length > 0}`);
  return sql<{ readonly id: string; readonly name: string; readonly words: string }[]>`
    select m.id, m.name, '' as words from monitor_status s join monitors m on m.id = s.monitor_id
    where s.organisation_id = ${organisation} and (m.id = any(${[...chosen]}::uuid[]) or ${isFound})
    order by m.id = any(${[...chosen]}::uuid[]) desc, s.name_folded
    limit ${chosen.length + mostNamed}`;
}

/** Who depends on a monitor or on its group: the first by name, and how many there are. */
export async function namedDependents(
  sql: Queryable,
  organisation: string,
  monitor: string,
): Promise<{
  readonly first: readonly { readonly id: string; readonly name: string }[];
  readonly count: number;
}> {
  const rows = await sql<{ id: string; name: string; count: number }[]>`
    select c.id, c.name, count(*) over ()::int as count from monitors p
    join monitors c on c.organisation_id = p.organisation_id and c.id <> p.id
      and (c.depends_on_monitors <> '{}' or c.depends_on_groups <> '{}')
      and (p.id = any(c.depends_on_monitors)
        or p.affects_group_status and p.group_id = any(c.depends_on_groups))
    where p.organisation_id = ${organisation} and p.id = ${monitor}
    order by c.name, c.id limit ${mostNamed}`;
  return { first: rows.map(({ id, name }) => ({ id, name })), count: rows[0]?.count ?? 0 };
}

const mostNamed = 10;

/** Nobody depends on these any more. */
export async function forgetParents(
  sql: Queryable,
  organisation: string,
  { monitors = [], groups = [] }: { monitors?: readonly string[]; groups?: readonly string[] },
): Promise<void> {
  await sql`
    update monitors set
      depends_on_monitors = array(select p from unnest(depends_on_monitors) with ordinality u (p, nth)
        where p <> all(${monitors}::uuid[]) order by nth),
      depends_on_groups = array(select p from unnest(depends_on_groups) with ordinality u (p, nth)
        where p <> all(${groups}::uuid[]) order by nth)
    where organisation_id = ${organisation} and (depends_on_monitors <> '{}' or depends_on_groups <> '{}')
      and (depends_on_monitors && ${monitors}::uuid[] or depends_on_groups && ${groups}::uuid[])`;
}

/** Those of their parents that are deleted meanwhile are none any more. */
export async function forgetMissingParents(
  sql: Queryable,
  organisation: string,
  ids: readonly string[],
): Promise<void> {
  await sql`
    update monitors m set
      depends_on_monitors = array(select p from unnest(m.depends_on_monitors) with ordinality u (p, nth)
        join monitors o on o.id = p and o.organisation_id = ${organisation} order by nth),
      depends_on_groups = array(select p from unnest(m.depends_on_groups) with ordinality u (p, nth)
        join groups o on o.id = p and o.organisation_id = ${organisation} order by nth)
    where m.organisation_id = ${organisation} and m.id = any(${ids}::uuid[])
      and (m.depends_on_monitors <> '{}' or m.depends_on_groups <> '{}')`;
}

/**
 * The parents of a monitor `c`, for statements: those that it names, and of groups the members that
 * count for their status (rule 29). `called`: as the monitor names them, a group by its own name.
 */
export function parentsOf(sql: Queryable) {
  return sql`(
    select p.id, p.name as called from monitors p
    where p.organisation_id = c.organisation_id and p.id = any(c.depends_on_monitors)
    union all
    select p.id, g.name from groups g
    join monitors p on p.group_id = g.id and p.affects_group_status
    where g.organisation_id = c.organisation_id and g.id = any(c.depends_on_groups))`;
}

const mostAsked = 20;

/**
 * The parents of these monitors that a probe can be asked about now. Of a large group only some
 * are: what is wrong with the others is known at their own turns.
 */
export function parentsToAsk(sql: Queryable) {
  return sql`(
    select a.id, a.key, a.partition from ${parentsOf(sql)} o join monitors a on a.id = o.id
    where a.paused_at is null and a.type <> 'heartbeat' order by a.key limit ${mostAsked})`;
}
