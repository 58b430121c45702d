import type { PageLanguage, PostKind } from '../domain/status-page.ts';
import type { Queryable } from './store-database.ts';

export type PostRow = {
  readonly key: number;
  readonly id: string;
  readonly incident_id: string;
  readonly kind: PostKind;
  readonly text: string;
  readonly written_by: string | null;
  readonly written_at: Date;
};

const post = (sql: Queryable) => sql`o.key, o.id, o.incident_id, o.kind, o.text, u.email as written_by, o.written_at
  from status_page_posts o left join users u on u.id = o.written_by`;

export const postPage = (
  sql: Queryable,
  { organisation, page, incident }: { readonly organisation: string; readonly page: string; readonly incident: string | null },
  before: number,
  most: number,
): Promise<PostRow[]> =>
  sql<PostRow[]>`select ${post(sql)} where o.organisation_id = ${organisation} and o.page_id = ${page} and o.key < ${before}
    and (${incident}::uuid is null or o.incident_id = ${incident}) order by o.key desc limit ${most}`;

export const insertPost = async (
  sql: Queryable,
  of: {
    readonly id: string;
    readonly organisation: string;
    readonly page: string;
    readonly incident: string;
    readonly kind: PostKind;
    readonly text: string;
    readonly user: string | null;
    readonly at: Date;
  },
): Promise<void> => {
  const { id, organisation, page, incident, kind, text, user, at } = of;
  await sql`insert into status_page_posts (id, page_id, organisation_id, incident_id, kind, text, written_by, written_at)
    values (${id}, ${page}, ${organisation}, ${incident}, ${kind}, ${text}, ${user}, ${at})`;
};

export const postById = async (sql: Queryable, organisation: string, id: string): Promise<PostRow | undefined> => {
  const [row] = await sql<PostRow[]>`select ${post(sql)} where o.organisation_id = ${organisation} and o.id = ${id}`;
  return row;
};

export const deletePost = async (sql: Queryable, organisation: string, page: string, id: string): Promise<boolean> => {
  const gone = await sql`delete from status_page_posts where organisation_id = ${organisation} and page_id = ${page} and id = ${id}`;
  return gone.count > 0;
};

export const countPosts = async (sql: Queryable, page: string, incident: string): Promise<number> => {
  const [row] = await sql<{ count: number }[]>`
    select count(*) as count from status_page_posts where page_id = ${page} and incident_id = ${incident}`;
  return row?.count ?? 0;
};

/** Under which name a page shows an incident; undefined when it does not: its monitor is not there, or it is not confirmed. */
export const shownIncident = async (
  sql: Queryable,
  page: string,
  incident: string,
): Promise<{ readonly name: string; readonly language: PageLanguage } | undefined> => {
  const [row] = await sql<{ name: string; language: PageLanguage }[]>`
    select m.display_name as name, p.language from incidents i join status_page_monitors m on m.monitor_id = i.monitor_id
    join status_pages p on p.id = m.page_id where p.id = ${page} and i.id = ${incident} and i.confirmed_at is not null`;
  return row;
};

export const countSubscribers = async (sql: Queryable, page: string): Promise<{ readonly confirmed: number; readonly waiting: number }> => {
  const [row] = await sql<{ confirmed: number; waiting: number }[]>`
    select count(confirmed_at) as confirmed, count(*) - count(confirmed_at) as waiting from status_page_subscribers where page_id = ${page}`;
  return row ?? { confirmed: 0, waiting: 0 };
};

type Posted = Omit<PostRow, 'key' | 'written_at'> & { readonly written_at: string };

const postsJson = (sql: Queryable, page: 'p.id' | 'm.page_id') => sql`(
  select coalesce(json_agg(json_build_object('id', o.id, 'incident_id', o.incident_id, 'kind', o.kind, 'text', o.text, 'written_by', u.email,
      'written_at', to_char(o.written_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) order by o.key desc), '[]')
  from status_page_posts o left join users u on u.id = o.written_by
  where o.page_id = ${sql(page)} and o.incident_id = i.id) as posts`;

export type PublishedIncident = {
  readonly id: string;
  readonly display_name: string;
  readonly started_at: Date;
  readonly resolved_at: Date | null;
  readonly posts: readonly Posted[];
};

/** What a page tells of now, and what it told of since; the newest first. */
export const publishedIncidents = (sql: Queryable, page: string, since: Date, most: number): Promise<PublishedIncident[]> =>
  sql<PublishedIncident[]>`
    select i.id, m.display_name, i.started_at, i.resolved_at, ${postsJson(sql, 'm.page_id')}
    from status_page_monitors m join incidents i on i.monitor_id = m.monitor_id
    where m.page_id = ${page} and i.confirmed_at is not null and (i.resolved_at is null or i.resolved_at > ${since})
    order by i.resolved_at is null desc, i.key desc limit ${most}`;

export type IncidentPage = {
  readonly id: string;
  readonly name: string;
  readonly slug: string;
  readonly enabled: boolean;
  readonly language: PageLanguage;
  readonly display_name: string;
  readonly posts: readonly Posted[];
};

/** The pages that show an incident. */
export const pagesOfIncident = (sql: Queryable, organisation: string, incident: string): Promise<IncidentPage[]> =>
  sql<IncidentPage[]>`
    select p.id, p.name, p.slug, p.enabled, p.language, m.display_name, ${postsJson(sql, 'p.id')}
    from incidents i join status_page_monitors m on m.monitor_id = i.monitor_id join status_pages p on p.id = m.page_id
    where i.organisation_id = ${organisation} and i.id = ${incident} and i.confirmed_at is not null and p.organisation_id = ${organisation}
    order by p.key`;

/** What an organisation could publish, by the names that it is known under. */
export const publishable = async (
  sql: Queryable,
  organisation: string,
): Promise<{
  readonly monitors: readonly { readonly id: string; readonly name: string; readonly group: string | null }[];
  readonly groups: readonly { readonly id: string; readonly name: string }[];
}> => {
  const [monitors, groups] = await Promise.all([
    sql<{ id: string; name: string; group: string | null }[]>`
      select id, name, group_id as group from monitors where organisation_id = ${organisation} order by lower(name), key`,
    sql<{ id: string; name: string }[]>`select id, name from groups where organisation_id = ${organisation} order by lower(name), key`,
  ]);
  return { monitors, groups };
};
