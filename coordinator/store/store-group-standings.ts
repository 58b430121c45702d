import type { Queryable } from './store-database.ts';
import { type ShownGroup, shownGroup } from './store-groups.ts';

/** Groups as pages show them, and what names them. */

/** By name, a page from a place on. */
export const groupsByName = (sql: Queryable, organisation: string, offset: number, most: number): Promise<ShownGroup[]> =>
  sql<ShownGroup[]>`
    select ${shownGroup(sql)} from groups g where g.organisation_id = ${organisation} order by g.name_folded offset ${offset} limit ${most}`;

export const countGroups = async (sql: Queryable, organisation: string): Promise<number> => {
  const [row] = await sql<{ count: number }[]>`select count(*) as count from groups where organisation_id = ${organisation}`;
  return row?.count ?? 0;
};

type Named = { readonly id: string; readonly name: string | null };

/** What names a group and does without it when it is gone. Windows that are over are of the past, which stays. */
export const groupUses = async (
  sql: Queryable,
  organisation: string,
  group: string,
  now: number,
): Promise<{ readonly windows: readonly Named[]; readonly channels: readonly Named[]; readonly pages: readonly Named[] }> => {
  const [windows, channels, pages] = await Promise.all([
    sql<Named[]>`select w.id, w.name from maintenance_groups c join maintenance_windows w on w.id = c.window_id
      where c.group_id = ${group} and w.organisation_id = ${organisation} and w.deleted_at is null and (w.expanded_until is not null
        or exists (select 1 from maintenance_occurrences o where o.window_id = w.id and o.ended_at > ${new Date(now)}))
      order by w.key`,
    sql<Named[]>`select n.id, n.name from channel_groups c join channels n on n.id = c.channel_id
      where c.group_id = ${group} and n.organisation_id = ${organisation} and n.deleted_at is null order by n.name`,
    sql<Named[]>`select p.id, p.name from status_page_groups c join status_pages p on p.id = c.page_id
      where c.group_id = ${group} and p.organisation_id = ${organisation} order by p.name`,
  ]);
  return { windows, channels, pages };
};

export const monitorsOutside = (
  sql: Queryable,
  organisation: string,
  group: string,
): Promise<{ readonly id: string; readonly name: string; readonly group: string | null }[]> =>
  sql<{ id: string; name: string; group: string | null }[]>`
    select m.id, m.name, g.name as "group" from monitors m left join groups g on g.id = m.group_id
    where m.organisation_id = ${organisation} and m.group_id is distinct from ${group} order by m.group_id is not null, lower(m.name), m.id`;
