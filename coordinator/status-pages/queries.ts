import { Refusal } from '../../shared/base/errors.ts';
import { isViolationOf, type Queryable } from '../database/connect.ts';
import { countOf } from '../database/sql.ts';
import { insertRows, updateRows } from '../database/table.ts';
import { notFound, orNotFound } from '../gate/context.ts';
import type { PageAccess, PageLanguage, PageSettings, PostKind, RowIn } from './model.ts';
import {
  type PageGroup,
  type PageMonitor,
  type PageSummary,
  type PostRow,
  settingColumns,
  settingNames,
  type WholePage,
} from './row.ts';

export function postPage(
  sql: Queryable,
  {
    organisation,
    page,
    incident,
  }: { readonly organisation: string; readonly page: string; readonly incident: string | null },
  before: number,
  limit: number,
): Promise<PostRow[]> {
  return sql<
    PostRow[]
  >`select ${post(sql)} where o.organisation_id = ${organisation} and o.page_id = ${page}
    and o.key < ${before}
    and (${incident}::uuid is null or o.incident_id = ${incident}) order by o.key desc
    limit ${limit}`;
}

function post(sql: Queryable) {
  return sql`o.key, o.id, o.incident_id as incident, o.kind, o.text, u.email as written_by, o.written_at
  from status_page_posts o left join users u on u.id = o.written_by`;
}

export async function insertPost(
  sql: Queryable,
  of: {
    readonly id: string;
    readonly organisation: string;
    readonly page: string;
    readonly incident: string;
    readonly kind: PostKind;
    readonly text: string;
    readonly user: string | null;
    readonly at: number;
  },
): Promise<void> {
  const { id, organisation, page, incident, kind, text, user, at } = of;
  await sql`insert into status_page_posts (id, page_id, organisation_id, incident_id, kind, text,
    written_by, written_at)
    values (${id}, ${page}, ${organisation}, ${incident}, ${kind}, ${text}, ${user}, ${new Date(at)})`;
}

export async function postById(
  sql: Queryable,
  organisation: string,
  id: string,
): Promise<PostRow | undefined> {
  const [row] = await sql<
    PostRow[]
  >`select ${post(sql)} where o.organisation_id = ${organisation} and o.id = ${id}`;
  return row;
}

export async function deletePost(
  sql: Queryable,
  organisation: string,
  page: string,
  id: string,
): Promise<boolean> {
  const gone = await sql`delete from status_page_posts where organisation_id = ${organisation}
      and page_id = ${page} and id = ${id}`;
  return gone.count > 0;
}

export async function countPosts(sql: Queryable, page: string, incident: string): Promise<number> {
  return countOf(sql`
    select count(*) from status_page_posts where page_id = ${page}
      and incident_id = ${incident}`);
}

/**
 * The name under which a page shows an incident; undefined when it does not: its monitor is not on
 * the page, or the incident is not confirmed.
 */
export async function shownIncident(
  sql: Queryable,
  page: string,
  incident: string,
): Promise<{ readonly name: string; readonly language: PageLanguage } | undefined> {
  const [row] = await sql<{ name: string; language: PageLanguage }[]>`
    select m.display_name as name, p.language from incidents i join status_page_monitors m
      on m.monitor_id = i.monitor_id
    join status_pages p on p.id = m.page_id where p.id = ${page} and i.id = ${incident}
      and i.confirmed_at is not null`;
  return row;
}

export async function countSubscribers(sql: Queryable, page: string): Promise<Subscribers> {
  const [row] = await sql<Subscribers[]>`
    select count(confirmed_at) as confirmed, count(*) - count(confirmed_at) as waiting,
      count(*) filter (where confirmed_at is not null and email is null) as webhooks
    from status_page_subscribers where page_id = ${page} and off_at is null`;
  return row ?? { confirmed: 0, waiting: 0, webhooks: 0 };
}

type Subscribers = {
  readonly confirmed: number;
  /** Who were asked by mail and have not answered. */
  readonly waiting: number;
  /** Of the confirmed ones, those that no mail is for. */
  readonly webhooks: number;
};

type Posted = Omit<PostRow, 'key' | 'written_at'> & { readonly written_at: string };

type PublishedIncident = {
  readonly id: string;
  readonly display_name: string;
  readonly started_at: number;
  readonly resolved_at: number | null;
  readonly posts: readonly Posted[];
};

/** A page's open incidents, and those since a moment, but not of these causes; newest first. */
export function publishedIncidents(
  sql: Queryable,
  page: string,
  causes: readonly string[],
  since: number,
  limit: number,
): Promise<PublishedIncident[]> {
  return sql<PublishedIncident[]>`
    select i.id, m.display_name, i.started_at, i.resolved_at, ${postsJson(sql, 'm.page_id')}
    from status_page_monitors m join incidents i on i.monitor_id = m.monitor_id
    where m.page_id = ${page} and i.confirmed_at is not null
      and (i.resolved_at is null or i.resolved_at > ${new Date(since)})
      and not exists (select 1 from cause_members n
        where n.incident_id = i.id and n.cause_id = any(${[...causes]}::uuid[]))
    order by i.resolved_at is null desc, i.key desc limit ${limit}`;
}

function postsJson(sql: Queryable, page: 'p.id' | 'm.page_id') {
  return sql`(
  select coalesce(json_agg(json_build_object('id', o.id, 'incident', o.incident_id, 'kind',
    o.kind, 'text', o.text, 'written_by', u.email,
      'written_at', to_char(o.written_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
      order by o.key desc), '[]')
  from status_page_posts o left join users u on u.id = o.written_by
  where o.page_id = ${sql(page)} and o.incident_id = i.id) as posts`;
}

type IncidentPage = {
  readonly id: string;
  readonly name: string;
  readonly slug: string;
  readonly enabled: boolean;
  readonly language: PageLanguage;
  readonly display_name: string;
  readonly posts: readonly Posted[];
};

/** The pages that show an incident. */
export function pagesOfIncident(
  sql: Queryable,
  organisation: string,
  incident: string,
): Promise<IncidentPage[]> {
  return sql<IncidentPage[]>`
    select p.id, p.name, p.slug, p.enabled, p.language, m.display_name, ${postsJson(sql, 'p.id')}
    from incidents i join status_page_monitors m on m.monitor_id = i.monitor_id join status_pages p
      on p.id = m.page_id
    where i.organisation_id = ${organisation} and i.id = ${incident} and i.confirmed_at is not null
      and p.organisation_id = ${organisation}
    order by p.key`;
}

/** What an organisation could publish, by internal name. */
export async function publishable(
  sql: Queryable,
  organisation: string,
): Promise<{
  readonly monitors: readonly {
    readonly id: string;
    readonly name: string;
    readonly group: string | null;
    readonly tags: readonly string[];
  }[];
  readonly groups: readonly { readonly id: string; readonly name: string }[];
}> {
  const [monitors, groups] = await Promise.all([
    sql<{ id: string; name: string; group: string | null; tags: string[] }[]>`
      select id, name, group_id as group, tags from monitors where organisation_id = ${organisation}
      order by lower(name), key`,
    sql<
      { id: string; name: string }[]
    >`select id, name from groups where organisation_id = ${organisation}
    order by lower(name), key`,
  ]);
  return { monitors, groups };
}

export function statusPagePage(
  sql: Queryable,
  organisation: string,
  after: number,
  limit: number,
): Promise<PageSummary[]> {
  return sql<PageSummary[]>`
    select key, id, name, slug, enabled, created_at from status_pages
    where organisation_id = ${organisation} and key > ${after} order by key limit ${limit}`;
}

export type PageOverview = Omit<PageSummary, 'created_at'> & {
  readonly access: PageAccess;
  readonly language: PageLanguage;
  readonly domain: string | null;
  readonly monitors: number;
  readonly down: number;
  readonly subscribers: number;
};

export function pageOverviews(
  sql: Queryable,
  organisation: string,
  after: number,
  limit: number,
): Promise<PageOverview[]> {
  return sql<PageOverview[]>`
    select p.key, p.id, p.name, p.slug, p.enabled, p.access, p.language, case
      when p.domain_proved_at is not null then p.domain end as domain,
      (select count(*) from status_page_monitors m where m.page_id = p.id) as monitors,
      (select count(*) from status_page_monitors m join monitor_status s
        on s.monitor_id = m.monitor_id and s.status = 'down' where m.page_id = p.id) as down,
      (select count(*) from status_page_subscribers s where s.page_id = p.id
        and s.confirmed_at is not null and s.off_at is null) as subscribers
    from status_pages p where p.organisation_id = ${organisation} and p.key > ${after}
    order by p.key limit ${limit}`;
}

/** A page with its rows in order, all of one moment. */
export async function statusPageById(
  sql: Queryable,
  organisation: string,
  id: string,
): Promise<WholePage> {
  const [row] = await sql<WholePage[]>`
    select p.key, p.id, p.created_at, ${sql.unsafe(settingNames)},
      p.link_fingerprint is not null as has_link,
      p.logo_version as logo,
      (select count(*) from status_page_subscribers s where s.page_id = p.id
        and s.confirmed_at is not null and s.off_at is null)::int as subscribers,
      (select coalesce(json_agg(json_build_object('monitor', m.id, 'group', m.group_id)
        order by g.position, m.key), '[]')
        from status_page_groups g join monitors m on m.group_id = g.group_id
          and m.organisation_id = p.organisation_id
        where g.page_id = p.id and not exists (
          select 1 from status_page_monitors o where o.page_id = p.id
            and o.monitor_id = m.id)) as offered,
      (select coalesce(json_agg(json_build_object('monitor', m.monitor_id, 'display_name',
        m.display_name, 'group', m.group_id,
          'position', m.position) order by m.position, m.display_name, m.monitor_id), '[]')
        from status_page_monitors m where m.page_id = p.id) as monitors,
      (select coalesce(json_agg(json_build_object('group', g.group_id, 'display_name',
        g.display_name, 'position', g.position)
          order by g.position, g.display_name, g.group_id), '[]')
        from status_page_groups g where g.page_id = p.id) as groups
    from status_pages p where p.organisation_id = ${organisation} and p.id = ${id}`;
  return orNotFound(row, 'status_page_not_found');
}

export async function requirePage(sql: Queryable, organisation: string, id: string): Promise<void> {
  const [row] =
    await sql`select 1 from status_pages where organisation_id = ${organisation} and id = ${id}`;
  orNotFound(row, 'status_page_not_found');
}

export async function countStatusPages(sql: Queryable, organisation: string): Promise<number> {
  return countOf(sql`select count(*) from status_pages where organisation_id = ${organisation}`);
}

export function insertStatusPage(
  sql: Queryable,
  organisation: string,
  id: string,
  settings: PageSettings,
): Promise<void> {
  return refusingWhatIsTaken(settings, () =>
    insertRows(sql, 'status_pages', { id: 'uuid', ...settingColumns }, organisation, [
      { id, ...settings },
    ]),
  );
}

/**
 * Slugs and domains of pages are shared by all organisations. @throws Refusal `slug_taken`,
 * `domain_taken`.
 */
async function refusingWhatIsTaken(
  { slug, domain }: PageSettings,
  write: () => Promise<void>,
): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (isViolationOf(error, 'status_pages_slug_key'))
      throw new Refusal('slug_taken', { slug: `"${slug}" is taken; choose another.` });
    if (isViolationOf(error, 'status_pages_domain'))
      throw new Refusal('domain_taken', {
        domain: `another page proved that ${domain ?? 'it'} is its own; take it away there first.`,
      });
    throw error;
  }
}

export function updateStatusPage(
  sql: Queryable,
  organisation: string,
  id: string,
  settings: PageSettings,
): Promise<void> {
  return refusingWhatIsTaken(settings, () =>
    updateRows(sql, 'status_pages', settingColumns, organisation, [{ ...settings, id }]),
  );
}

/** Makes a page visible only by a link, and only by this one. */
export async function writePageLink(
  sql: Queryable,
  organisation: string,
  id: string,
  fingerprint: Buffer,
): Promise<boolean> {
  const written = await sql`
    update status_pages
    set access = 'link', link_fingerprint = ${fingerprint}, access_version = access_version + 1
    where organisation_id = ${organisation} and id = ${id}`;
  return written.count > 0;
}

export async function deleteStatusPage(
  sql: Queryable,
  organisation: string,
  id: string,
): Promise<boolean> {
  const gone =
    await sql`delete from status_pages where organisation_id = ${organisation} and id = ${id}`;
  return gone.count > 0;
}

export async function writePageLogo(
  sql: Queryable,
  page: string,
  {
    type,
    bytes,
    version,
  }: { readonly type: string; readonly bytes: Uint8Array; readonly version: string },
): Promise<void> {
  await sql`update status_pages set logo = ${Buffer.from(bytes)}, logo_type = ${type},
    logo_version = ${version} where id = ${page}`;
}

export async function removePageLogo(sql: Queryable, page: string): Promise<void> {
  await sql`update status_pages set logo = null, logo_type = null, logo_version = null
    where id = ${page}`;
}

/** One position after the last of the page's rows. */
export async function nextPosition(sql: Queryable, page: string): Promise<number> {
  const [row] = await sql<{ next: number }[]>`select coalesce(max(position) + 1, 0) as next from (
    select position from status_page_monitors where page_id = ${page}
    union all select position from status_page_groups where page_id = ${page}) as rows`;
  return row?.next ?? 0;
}

/** All rows, in the given order. */
export async function writeOrder(
  sql: Queryable,
  page: string,
  rows: readonly string[],
): Promise<void> {
  const places = sql`unnest(${rows}::uuid[]) with ordinality as r (id, place)`;
  await sql`update status_page_groups set position = r.place - 1 from ${places}
    where page_id = ${page} and group_id = r.id`;
  await sql`update status_page_monitors set position = r.place - 1 from ${places}
    where page_id = ${page} and monitor_id = r.id`;
}

export async function renamePageMonitor(
  sql: Queryable,
  page: string,
  monitor: string,
  name: string,
): Promise<PageMonitor | undefined> {
  const [row] = await sql<PageMonitor[]>`
    update status_page_monitors set display_name = ${name} where page_id = ${page}
      and monitor_id = ${monitor}
    returning monitor_id as monitor, display_name, group_id as "group", position`;
  return row;
}

export async function renamePageGroup(
  sql: Queryable,
  page: string,
  group: string,
  name: string,
): Promise<PageGroup | undefined> {
  const [row] = await sql<PageGroup[]>`
    update status_page_groups set display_name = ${name} where page_id = ${page}
      and group_id = ${group}
    returning group_id as "group", display_name, position`;
  return row;
}

/** False when the page shows the monitor already. */
export async function insertPageMonitor(
  sql: Queryable,
  page: string,
  row: PageMonitor,
): Promise<boolean> {
  const { monitor, display_name, group, position } = row;
  const written = await sql`
    insert into status_page_monitors (page_id, monitor_id, display_name, group_id, position)
    values (${page}, ${monitor}, ${display_name}, ${group}, ${position}) on conflict
    do nothing`;
  return written.count > 0;
}

export async function insertPageGroup(
  sql: Queryable,
  page: string,
  row: PageGroup,
): Promise<boolean> {
  const written = await sql`
    insert into status_page_groups (page_id, group_id, display_name, position)
    values (${page}, ${row.group}, ${row.display_name}, ${row.position}) on conflict do nothing`;
  return written.count > 0;
}

/**
 * The group's monitors are added below its heading; those that the page had already move there and
 * keep their names.
 */
export async function publishMembers(
  sql: Queryable,
  page: string,
  group: string,
  from: number,
): Promise<void> {
  await sql`
    insert into status_page_monitors (page_id, monitor_id, display_name, group_id, position)
    select ${page}, m.id, m.name, ${group}, ${from} - 1 + row_number() over (order by m.key)
    from monitors m where m.group_id = ${group}
    on conflict (page_id, monitor_id) do update set group_id = excluded.group_id`;
}

/**
 * Makes these the rows of a page. A monitor stays under its heading, or comes under that of its
 * group. @throws Refusal for what is not the organisation's.
 */
export async function publishRows(
  sql: Queryable,
  organisation: string,
  page: string,
  rows: readonly RowIn[],
): Promise<void> {
  const of = (kind: RowIn['kind']) => {
    const own = rows.flatMap((row, place) => (row.kind === kind ? [{ ...row, place }] : []));
    return {
      count: own.length,
      ids: own.map(({ id }) => id),
      rows: sql`jsonb_to_recordset(${JSON.stringify(own)}::text::jsonb)
        as r (id uuid, name text, place int)`,
    };
  };
  const [groups, monitors] = [of('group'), of('monitor')];
  await sql`delete from status_page_groups where page_id = ${page}
    and group_id <> all(${groups.ids}::uuid[])`;
  await sql`delete from status_page_monitors where page_id = ${page}
    and monitor_id <> all(${monitors.ids}::uuid[])`;
  const headings = await sql`
    insert into status_page_groups (page_id, group_id, display_name, position)
    select ${page}, o.id, coalesce(r.name, p.display_name, o.name), r.place
    from ${groups.rows} join groups o on o.id = r.id and o.organisation_id = ${organisation}
    left join status_page_groups p on p.page_id = ${page} and p.group_id = r.id
    on conflict (page_id, group_id) do update set position = excluded.position,
      display_name = excluded.display_name`;
  if (headings.count < groups.count) throw notFound('group_not_found');
  const published = await sql`
    insert into status_page_monitors (page_id, monitor_id, display_name, group_id, position)
    select ${page}, o.id, coalesce(r.name, p.display_name, o.name),
      (select g.group_id from status_page_groups g where g.page_id = ${page}
        and g.group_id in (p.group_id, o.group_id) order by g.group_id <> p.group_id limit 1),
      r.place
    from ${monitors.rows} join monitors o on o.id = r.id and o.organisation_id = ${organisation}
    left join status_page_monitors p on p.page_id = ${page} and p.monitor_id = r.id
    on conflict (page_id, monitor_id) do update set position = excluded.position,
      group_id = excluded.group_id, display_name = excluded.display_name`;
  if (published.count < monitors.count) throw notFound('monitor_not_found');
}

/** Moves the group's monitors that the page has already below its heading. */
export async function gatherMembers(sql: Queryable, page: string, group: string): Promise<void> {
  await sql`update status_page_monitors set group_id = ${group} from monitors m
    where page_id = ${page} and m.id = monitor_id and m.group_id = ${group}`;
}

export async function removePageMonitor(
  sql: Queryable,
  page: string,
  monitor: string,
): Promise<boolean> {
  const gone =
    await sql`delete from status_page_monitors where page_id = ${page} and monitor_id = ${monitor}`;
  return gone.count > 0;
}

/** Removes the heading; its monitors stay, without one. */
export async function removePageGroup(
  sql: Queryable,
  page: string,
  group: string,
): Promise<boolean> {
  const gone =
    await sql`delete from status_page_groups where page_id = ${page} and group_id = ${group}`;
  await sql`update status_page_monitors set group_id = null where page_id = ${page}
    and group_id = ${group}`;
  return gone.count > 0;
}

/** The heading for a monitor that is added to a page: that of its group, if the page has it. */
export async function headingFor(
  sql: Queryable,
  page: string,
  monitor: string,
): Promise<string | null> {
  const [row] = await sql<{ group_id: string }[]>`
    select g.group_id from status_page_groups g join monitors m on m.group_id = g.group_id
    where g.page_id = ${page} and m.id = ${monitor}`;
  return row?.group_id ?? null;
}

type ProvenDomain = {
  readonly id: string;
  readonly domain: string;
  readonly domain_token: string;
  /** When its month without a record began. */
  readonly seen_at: number;
  readonly checked_at: number | null;
};

/** Proven domains whose last check was before this moment. */
export function domainsToProve(
  sql: Queryable,
  before: number,
  limit: number,
): Promise<ProvenDomain[]> {
  return sql<ProvenDomain[]>`
    select id, domain, domain_token, greatest(domain_seen_at, domain_proved_at) as seen_at,
      domain_checked_at as checked_at from status_pages
    where domain_proved_at is not null and domain_token is not null
      and greatest(domain_checked_at, domain_proved_at) < ${new Date(before)}
    order by greatest(domain_checked_at, domain_proved_at) limit ${limit}`;
}

/** A domain that was changed meanwhile stays as it is. */
export async function writeDomainCheck(
  sql: Queryable,
  id: string,
  {
    domain,
    at,
    isSeen,
    isOver,
  }: {
    readonly domain: string;
    readonly at: number;
    readonly isSeen: boolean;
    readonly isOver: boolean;
  },
): Promise<void> {
  await sql`update status_pages
    set domain_checked_at = ${new Date(at)}, domain_seen_at = ${isSeen ? new Date(at) : sql`domain_seen_at`},
    domain_proved_at = ${isOver ? null : sql`domain_proved_at`} where id = ${id}
      and domain = ${domain}`;
}
