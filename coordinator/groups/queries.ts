import { folded } from '../../shared/base/names.ts';
import type { Queryable } from '../database/connect.ts';
import { countOf, limited } from '../database/sql.ts';
import { insertRows, namesOf, updateRows } from '../database/table.ts';
import { notFound, orNotFound } from '../gate/context.ts';
import { forgetParents } from '../monitors/dependency-queries.ts';
import type { Status } from '../monitors/status.ts';
import { coveredNow } from '../monitors/status-queries.ts';
import type { OpenWarning } from '../warnings/model.ts';
import { warningsOfGroup } from '../warnings/queries.ts';

export type GroupRow = {
  readonly key: number;
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly external_id: string | null;
  readonly created_at: number;
  /** The number of monitors by status, of those that affect the group and of the others. */
  readonly warned: number;
  /** Of its monitors, as many as answers show. */
  readonly warnings: readonly OpenWarning[];
  readonly members: readonly {
    readonly status: Status;
    readonly affects_group_status: boolean;
    readonly count: number;
  }[];
};

/** What people set and see, by column, with its type in the database. */
const settingColumns = { name: 'text', description: 'text', external_id: 'text' } as const;
const changedColumns = { ...settingColumns, name_folded: 'text' } as const;

/** Of `g`, for statements. */
export const shownNames = namesOf({ id: 'uuid', ...settingColumns }, 'g');

/**
 * Statuses are counted in the index of the status that the database keeps of each monitor
 * (monitor_status).
 */
function groupRow(sql: Queryable) {
  return sql`g.key, ${sql.unsafe(shownNames)}, g.created_at, (
    select coalesce(jsonb_agg(jsonb_build_object('status', c.status, 'affects_group_status',
      c.affects, 'count', c.count)), '[]')
    from (select s.status, s.affects, count(*) as count from monitor_status s
      where s.group_id = g.id group by s.status, s.affects) c) as members,
    ${warningsOfGroup(sql)}`;
}

export function groupPage(
  sql: Queryable,
  organisation: string,
  after: number,
  limit: number,
): Promise<GroupRow[]> {
  return sql<GroupRow[]>`
    select ${groupRow(sql)} from groups g where g.organisation_id = ${organisation}
      and g.key > ${after} order by g.key limit ${limit}`;
}

export async function groupById(
  sql: Queryable,
  organisation: string,
  id: string,
): Promise<GroupRow> {
  const [row] = await sql<
    GroupRow[]
  >`select ${groupRow(sql)} from groups g where g.organisation_id = ${organisation}
    and g.id = ${id}`;
  return orNotFound(row, 'group_not_found');
}

/** Every group to choose from, by name; also for statements. */
export function groupChoices(sql: Queryable, organisation: string, limit: number | null = null) {
  return sql<{ id: string; name: string }[]>`
  select id, name from groups where organisation_id = ${organisation}
  order by name_folded ${limit === null ? sql`` : limited(sql, limit)}`;
}

export async function countGroups(sql: Queryable, organisation: string): Promise<number> {
  return countOf(sql`select count(*) from groups where organisation_id = ${organisation}`);
}

/** Names compare after trimming, without case. */
export async function groupNamed(
  sql: Queryable,
  organisation: string,
  name: string,
): Promise<GroupRow | undefined> {
  const [row] = await sql<GroupRow[]>`
    select ${groupRow(sql)} from groups g where g.organisation_id = ${organisation}
      and g.name_folded = ${folded(name)}`;
  return row;
}

export type CoveredInGroup = {
  readonly group: string;
  readonly status: Status;
  readonly count: number;
};

/** How many monitors of each group maintenance covers, by the status that it covers. */
export async function coveredInGroups(
  sql: Queryable,
  organisation: string,
  now: number,
): Promise<readonly CoveredInGroup[]> {
  const covered = await coveredNow(sql, organisation, now);
  return covered.length === 0
    ? []
    : sql<CoveredInGroup[]>`
        select s.group_id as "group", s.status, count(*)::int as count from monitor_status s
        where s.organisation_id = ${organisation} and s.monitor_id = any(${covered}::uuid[])
          and s.group_id is not null
        group by s.group_id, s.status`;
}

export async function groupCalled(
  sql: Queryable,
  organisation: string,
  external: string,
): Promise<GroupRow | undefined> {
  const [row] = await sql<GroupRow[]>`
    select ${groupRow(sql)} from groups g where g.organisation_id = ${organisation}
      and g.external_id = ${external}`;
  return row;
}

/** What people set. */
export type GroupSettings = Pick<GroupRow, 'name' | 'description' | 'external_id'>;

export type WrittenGroup = GroupSettings & Pick<GroupRow, 'id'>;

export function insertGroups(
  sql: Queryable,
  organisation: string,
  groups: readonly WrittenGroup[],
): Promise<void> {
  return insertRows(
    sql,
    'groups',
    { id: 'uuid', ...changedColumns },
    organisation,
    groups.map(recordOf),
  );
}

function recordOf(group: WrittenGroup) {
  return { ...group, name_folded: folded(group.name) };
}

export function updateGroups(
  sql: Queryable,
  organisation: string,
  groups: readonly WrittenGroup[],
): Promise<void> {
  return updateRows(sql, 'groups', changedColumns, organisation, groups.map(recordOf));
}

/** Frees the names of groups that get others, so that one may get what another had. */
export async function freeNames(
  sql: Queryable,
  organisation: string,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  await sql`update groups set name_folded = chr(1) || id where organisation_id = ${organisation}
    and id = any(${ids}::uuid[])`;
}

/** The groups that are one of these, or called like one. */
export function groupsConcerned(
  sql: Queryable,
  organisation: string,
  wanted: readonly (GroupSettings & { readonly id: string | null })[],
): Promise<WrittenGroup[]> {
  return sql<WrittenGroup[]>`
    select ${sql.unsafe(shownNames)} from groups g where g.organisation_id = ${organisation}
      and (g.id = any(${wanted.flatMap(({ id }) => id ?? [])}::uuid[])
        or g.name_folded = any(${wanted.map(({ name }) => folded(name))}::text[])
        or g.external_id = any(${wanted.flatMap(({ external_id }) => external_id ?? [])}::text[]))`;
}

/** Its monitors stay, without a group; cover through it ends. */
export async function removeGroup(sql: Queryable, organisation: string, id: string): Promise<void> {
  await sql`update group_memberships set ended_at = now() where organisation_id = ${organisation}
    and group_id = ${id} and ended_at is null`;
  await sql`update status_page_monitors set group_id = null where group_id = ${id}`;
  await forgetParents(sql, organisation, { groups: [id] });
  await sql`delete from groups where id = ${id} and organisation_id = ${organisation}`;
}

/** Which of these ids are groups of the organisation. */
export async function groupsAmong(
  sql: Queryable,
  organisation: string,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (ids.length === 0) return new Set();
  const rows = await sql<{ id: string }[]>`
    select id from groups where organisation_id = ${organisation}
      and id = any(${ids}::uuid[])`;
  return new Set(rows.map(({ id }) => id));
}

/** @throws Refusal when one of them is not. */
export async function requireGroups(
  sql: Queryable,
  organisation: string,
  ids: readonly string[],
): Promise<void> {
  if ((await groupsAmong(sql, organisation, ids)).size < new Set(ids).size)
    throw notFound('group_not_found');
}

/** By name, a page from an offset. */
export function groupsByName(
  sql: Queryable,
  organisation: string,
  offset: number,
  limit: number,
): Promise<GroupRow[]> {
  return sql<GroupRow[]>`
    select ${groupRow(sql)} from groups g where g.organisation_id = ${organisation}
    order by g.name_folded offset ${offset} limit ${limit}`;
}

type Named = { readonly id: string; readonly name: string | null };

/**
 * What names a group and loses it when it is deleted. Windows that are over belong to the past,
 * which stays.
 */
export async function groupUses(
  sql: Queryable,
  organisation: string,
  group: string,
  now: number,
): Promise<{
  readonly windows: readonly Named[];
  readonly channels: readonly Named[];
  readonly pages: readonly Named[];
}> {
  const [windows, channels, pages] = await Promise.all([
    sql<
      Named[]
    >`select w.id, w.name from maintenance_choices c join maintenance_windows w on w.id = c.window_id
      where c.group_id = ${group} and w.organisation_id = ${organisation} and w.deleted_at is null
        and (w.expanded_until is not null
        or exists (select 1 from maintenance_occurrences o where o.window_id = w.id
          and o.ended_at > ${new Date(now)}))
      order by w.key`,
    sql<Named[]>`select n.id, n.name from channel_choices c join channels n on n.id = c.channel_id
      where c.group_id = ${group} and n.organisation_id = ${organisation} and n.deleted_at is null
      order by n.name`,
    sql<
      Named[]
    >`select p.id, p.name from status_page_groups c join status_pages p on p.id = c.page_id
      where c.group_id = ${group} and p.organisation_id = ${organisation} order by p.name`,
  ]);
  return { windows, channels, pages };
}

export function monitorsOutside(
  sql: Queryable,
  organisation: string,
  group: string,
): Promise<{ readonly id: string; readonly name: string; readonly group: string | null }[]> {
  return sql<{ id: string; name: string; group: string | null }[]>`
    select m.id, m.name, g.name as "group" from monitors m left join groups g on g.id = m.group_id
    where m.organisation_id = ${organisation} and m.group_id is distinct from ${group}
    order by m.group_id is not null, lower(m.name), m.id`;
}
