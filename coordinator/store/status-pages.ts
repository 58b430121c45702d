import { Refusal } from '../../shared/base/refusal.ts';
import { isViolationOf, type Queryable } from './database.ts';

export type PageSummary = {
  readonly key: number;
  readonly id: string;
  readonly name: string;
  readonly slug: string;
  readonly enabled: boolean;
  readonly created_at: Date;
};
export type PageMonitor = {
  readonly monitor_id: string;
  readonly display_name: string;
  readonly group_id: string | null;
  readonly position: number;
};
export type PageGroup = { readonly group_id: string; readonly display_name: string; readonly position: number };
export type WholePage = PageSummary & {
  readonly description: string | null;
  readonly monitors: readonly PageMonitor[];
  readonly groups: readonly PageGroup[];
};

export const statusPagePage = (sql: Queryable, organisation: string, after: number, most: number): Promise<PageSummary[]> =>
  sql<PageSummary[]>`
    select key, id, name, slug, enabled, created_at from status_pages
    where organisation_id = ${organisation} and key > ${after} order by key limit ${most}`;

/** A page with its rows in the order of their places, of one moment. */
export const statusPageById = async (sql: Queryable, organisation: string, id: string): Promise<WholePage | undefined> => {
  const [row] = await sql<WholePage[]>`
    select p.key, p.id, p.name, p.slug, p.description, p.enabled, p.created_at,
      (select coalesce(json_agg(json_build_object('monitor_id', m.monitor_id, 'display_name', m.display_name, 'group_id', m.group_id,
          'position', m.position) order by m.position, m.display_name, m.monitor_id), '[]')
        from status_page_monitors m where m.page_id = p.id) as monitors,
      (select coalesce(json_agg(json_build_object('group_id', g.group_id, 'display_name', g.display_name, 'position', g.position)
          order by g.position, g.display_name, g.group_id), '[]')
        from status_page_groups g where g.page_id = p.id) as groups
    from status_pages p where p.organisation_id = ${organisation} and p.id = ${id}`;
  return row;
};

export const statusPageExists = async (sql: Queryable, organisation: string, id: string): Promise<boolean> => {
  const rows = await sql`select 1 from status_pages where organisation_id = ${organisation} and id = ${id}`;
  return rows.length > 0;
};

export const countStatusPages = async (sql: Queryable, organisation: string): Promise<number> => {
  const [row] = await sql<{ count: number }[]>`select count(*) as count from status_pages where organisation_id = ${organisation}`;
  return row?.count ?? 0;
};

export type NewPage = { readonly id: string; readonly organisation: string; readonly name: string; readonly slug: string };

/** @throws Refusal `slug_taken`: addresses of pages are shared by all organisations. */
export const insertStatusPage = async (sql: Queryable, { id, organisation, name, slug }: NewPage): Promise<void> => {
  try {
    await sql`insert into status_pages (id, organisation_id, name, slug) values (${id}, ${organisation}, ${name}, ${slug})`;
  } catch (error) {
    if (isViolationOf(error, 'status_pages_slug_key')) throw new Refusal('slug_taken', `slug: "${slug}" is taken; choose another.`);
    throw error;
  }
};

/** One place behind the last of the page's rows of this sort. */
export const nextPosition = async (sql: Queryable, of: 'monitors' | 'groups', page: string): Promise<number> => {
  const table = of === 'monitors' ? sql`status_page_monitors` : sql`status_page_groups`;
  const [row] = await sql<{ next: number }[]>`select coalesce(max(position) + 1, 0) as next from ${table} where page_id = ${page}`;
  return row?.next ?? 0;
};

/** False when the monitor is published on that page already. */
export const insertPageMonitor = async (sql: Queryable, page: string, row: PageMonitor): Promise<boolean> => {
  const { monitor_id, display_name, group_id, position } = row;
  const written = await sql`
    insert into status_page_monitors (page_id, monitor_id, display_name, group_id, position)
    values (${page}, ${monitor_id}, ${display_name}, ${group_id}, ${position}) on conflict do nothing`;
  return written.count > 0;
};

export const insertPageGroup = async (sql: Queryable, page: string, row: PageGroup): Promise<boolean> => {
  const written = await sql`
    insert into status_page_groups (page_id, group_id, display_name, position)
    values (${page}, ${row.group_id}, ${row.display_name}, ${row.position}) on conflict do nothing`;
  return written.count > 0;
};

/** The group's monitors stand under its heading; those that the page had already move there and keep their names. */
export const publishMembers = async (sql: Queryable, page: string, group: string, from: number): Promise<void> => {
  await sql`
    insert into status_page_monitors (page_id, monitor_id, display_name, group_id, position)
    select ${page}, m.id, m.name, ${group}, ${from} - 1 + row_number() over (order by m.key) from monitors m where m.group_id = ${group}
    on conflict (page_id, monitor_id) do update set group_id = excluded.group_id`;
};

export const removePageMonitor = async (sql: Queryable, page: string, monitor: string): Promise<boolean> => {
  const gone = await sql`delete from status_page_monitors where page_id = ${page} and monitor_id = ${monitor}`;
  return gone.count > 0;
};

/** The heading goes; the monitors that stood under it stay, under none. */
export const removePageGroup = async (sql: Queryable, page: string, group: string): Promise<boolean> => {
  const gone = await sql`delete from status_page_groups where page_id = ${page} and group_id = ${group}`;
  await sql`update status_page_monitors set group_id = null where page_id = ${page} and group_id = ${group}`;
  return gone.count > 0;
};

/** The heading that a monitor stands under when it is published on a page: that of its group, if the page has it. */
export const headingFor = async (sql: Queryable, page: string, monitor: string): Promise<string | null> => {
  const [row] = await sql<{ group_id: string }[]>`
    select g.group_id from status_page_groups g join monitors m on m.group_id = g.group_id where g.page_id = ${page} and m.id = ${monitor}`;
  return row?.group_id ?? null;
};
