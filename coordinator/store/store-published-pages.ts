import type { PageAccess, PageLanguage, PostKind } from '../domain/status-page.ts';
import type { Queryable } from './store-database.ts';

/** What a public page is made of, for whoever shows it. Nothing here is a target, a cause or a name that was not chosen for its audience. */

export type PublishedRow = {
  readonly kind: 'group' | 'monitor';
  /** Of the group or the monitor. */
  readonly id: string;
  readonly name: string;
  /** The group under whose heading a monitor stands. */
  readonly under: string | null;
};

export type PublishedPage = {
  readonly id: string;
  readonly organisation_id: string;
  readonly slug: string;
  readonly name: string;
  readonly description: string | null;
  readonly language: PageLanguage;
  readonly accent: string | null;
  readonly access: PageAccess;
  readonly password_hash: string | null;
  readonly link_fingerprint: Uint8Array | null;
  /** What was let in under another version is let in no more. */
  readonly access_version: number;
  /** Proved; an address that is only claimed is none. */
  readonly domain: string | null;
  readonly logo_version: string | null;
  /** From top to bottom: a heading, then what stands under it; what stands under none is between them. */
  readonly rows: readonly PublishedRow[];
};

/** Headings and what stands under none are in one order; what stands under a heading follows it. A page that was never ordered has equal places. */
const rowsOf = (
  sql: Queryable,
) => sql`(select coalesce(json_agg(json_build_object('kind', r.kind, 'id', r.id, 'name', r.name, 'under', r.under)
    order by r.top, r.is_loose desc, r.of, r.kind, r.position, r.name, r.id), '[]') from (
  select 'group' as kind, g.group_id as id, g.display_name as name, g.position as top, false as is_loose, g.group_id as of, g.position,
      null::uuid as under
    from status_page_groups g where g.page_id = p.id
  union all
  select 'monitor', m.monitor_id, m.display_name, coalesce(g.position, m.position), g.group_id is null, coalesce(g.group_id, m.monitor_id),
      m.position, g.group_id
    from status_page_monitors m left join status_page_groups g on g.page_id = p.id and g.group_id = m.group_id
    where m.page_id = p.id) as r)`;

/** By the last part of its address, or by a domain that it proved; undefined when there is none, it is not enabled, or its organisation is about to end. */
export const publishedPage = async (
  sql: Queryable,
  by: { readonly slug: string } | { readonly domain: string },
): Promise<PublishedPage | undefined> => {
  const is = 'slug' in by ? sql`p.slug = ${by.slug}` : sql`p.domain = ${by.domain} and p.domain_proved_at is not null`;
  const [row] = await sql<PublishedPage[]>`
    select p.id, p.organisation_id, p.slug, p.name, p.description, p.language, p.accent, p.access, p.password_hash, p.link_fingerprint,
      p.access_version, case when p.domain_proved_at is not null then p.domain end as domain,
      (select version from status_page_logos l where l.page_id = p.id) as logo_version,
      ${rowsOf(sql)} as rows
    from status_pages p join organisations o on o.id = p.organisation_id and o.ends_at is null where p.enabled and ${is}`;
  return row;
};

export type PageLogo = { readonly type: string; readonly bytes: Uint8Array; readonly version: string };

export const logoOfPage = async (sql: Queryable, page: string): Promise<PageLogo | undefined> => {
  const [row] = await sql<PageLogo[]>`select type, bytes, version from status_page_logos where page_id = ${page}`;
  return row;
};

export type PublishedPost = { readonly incident_id: string; readonly kind: PostKind; readonly text: string; readonly written_at: Date };

/** What was posted to these incidents on a page, the oldest first. */
export const postsOfIncidents = (sql: Queryable, page: string, incidents: readonly string[]): Promise<PublishedPost[]> =>
  sql<PublishedPost[]>`
    select incident_id, kind, text, written_at from status_page_posts
    where page_id = ${page} and incident_id = any(${[...incidents]}::uuid[]) order by written_at, key`;

/** The rows of a page in their order, whoever may see it. */
export const rowsOfPage = async (sql: Queryable, page: string): Promise<readonly PublishedRow[]> => {
  const [row] = await sql<{ rows: readonly PublishedRow[] }[]>`select ${rowsOf(sql)} as rows from status_pages p where p.id = ${page}`;
  return row?.rows ?? [];
};
