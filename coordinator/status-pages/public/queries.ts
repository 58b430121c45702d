import type { Queryable, Sql } from '../../database/connect.ts';
import { ms } from '../../database/sql.ts';
import { witnessesOf } from '../../incidents/writes.ts';
import { monitorHistories } from '../../monitors/status-queries.ts';
import { publishedObjectives } from '../../objectives/queries.ts';
import { figuresOf, readLedger } from '../../objectives/reading.ts';
import type { Results } from '../../results/reading.ts';
import type { AccountSecrets } from '../../secrets/account-secrets.ts';
import { openWarningsOf } from '../../warnings/queries.ts';
import { lookOf, type PageAccess, type PageSettings, type PostKind } from '../model.ts';
import { publishedNames } from '../row.ts';
import {
  figuresWindow,
  inOrder,
  monitorsOf,
  type PublicIncident,
  type PublicPage,
  type PublicPost,
  publicIncidents,
  publicMaintenance,
  publicReports,
  publicRows,
  type Report,
} from './snapshot.ts';

/** What a public page shows beside the histories of its monitors. */

async function zoneOf(sql: Queryable, organisation: string): Promise<string> {
  const [row] = await sql<
    { time_zone: string }[]
  >`select time_zone from organisations where id = ${organisation}`;
  return row?.time_zone ?? 'UTC';
}

type PageIncident = {
  readonly id: string;
  readonly monitor: string;
  readonly startedAt: number;
  readonly resolvedAt: number | null;
  readonly posts: readonly {
    readonly kind: PostKind;
    readonly text: string;
    readonly at: number;
  }[];
  readonly postMortem: PublicIncident['postMortem'];
  readonly cause: string | null;
  readonly witnesses: PublicIncident['witnesses'];
};

/**
 * Confirmed incidents of these monitors that touch a range, newest first, with their posts on this
 * page.
 */
function pageIncidents(
  sql: Queryable,
  {
    organisation,
    page,
    monitors,
  }: { readonly organisation: string; readonly page: string; readonly monitors: readonly string[] },
  { from, to, most: limit }: { readonly from: number; readonly to: number; readonly most: number },
): Promise<PageIncident[]> {
  return sql<PageIncident[]>`
  select i.id, i.monitor_id as monitor, ${ms(sql, 'i.started_at')} as "startedAt",
    ${ms(sql, 'i.resolved_at')} as "resolvedAt",
    (select coalesce(json_agg(json_build_object('kind', p.kind, 'text', p.text, 'at',
      ${ms(sql, 'p.written_at')}) order by p.written_at, p.key), '[]')
      from status_page_posts p where p.incident_id = i.id and p.page_id = ${page}) as posts,
    (select json_build_object('text', t.text, 'at', ${ms(sql, 't.published_at')})
      from post_mortems t where t.incident_id = i.id and t.published_at is not null)
      as "postMortem",
    (select n.cause_id from cause_members n where n.incident_id = i.id) as cause,
    case when i.resolved_at is null then ${witnessesOf(sql, { isPublic: true })} else '[]' end
      as witnesses
  from incidents i
  where i.organisation_id = ${organisation} and i.monitor_id = any(${[...monitors]}::uuid[])
    and i.confirmed_at is not null
    and i.started_at < ${new Date(to)}
    and (i.resolved_at is null or i.resolved_at >= ${new Date(from)})
  order by i.resolved_at is null desc, i.started_at desc limit ${limit}`;
}

/** What people wrote by hand on a page and touches a range, newest first. */
function pageReports(
  sql: Queryable,
  { organisation, page }: { readonly organisation: string; readonly page: string },
  { from, to, most: limit }: { readonly from: number; readonly to: number; readonly most: number },
): Promise<Report[]> {
  return sql<Report[]>`
  select r.id, r.title, ${ms(sql, 'r.started_at')} as "startedAt",
    ${ms(sql, 'r.ends_at')} as "endsAt", r.cause_id is not null as "isMeasured",
    (select coalesce(json_agg(json_build_object('monitor', m.monitor_id, 'impact', m.impact)
      order by m.monitor_id), '[]')
      from status_page_report_monitors m where m.report_id = r.id) as affected,
    (select coalesce(json_agg(json_build_object('kind', o.kind, 'text', o.text, 'at',
      ${ms(sql, 'o.written_at')}) order by o.key), '[]')
      from status_page_report_updates o where o.report_id = r.id) as posts
  from status_page_reports r
  where r.organisation_id = ${organisation} and r.page_id = ${page}
    and r.started_at <= ${new Date(to)}
    and (r.ends_at is null or r.ends_at >= ${new Date(from)})
  order by r.ends_at is null desc, r.started_at desc limit ${limit}`;
}

type PageOccurrence = {
  readonly id: string;
  readonly startsAt: number;
  readonly endsAt: number;
  readonly monitors: readonly string[];
};

/** Maintenance of these monitors that is running or begins before `until`, next first. */
function pageMaintenance(
  sql: Queryable,
  organisation: string,
  monitors: readonly string[],
  {
    now,
    until,
    most: limit,
  }: { readonly now: number; readonly until: number; readonly most: number },
): Promise<PageOccurrence[]> {
  return sql<PageOccurrence[]>`
  with covered as (
    select mm.window_id, mm.monitor_id from maintenance_choices mm
    where mm.monitor_id = any(${[...monitors]}::uuid[])
    union
    select mg.window_id, gm.monitor_id from group_memberships gm join maintenance_choices mg
      on mg.group_id = gm.group_id
      where gm.monitor_id = any(${[...monitors]}::uuid[]) and gm.ended_at is null)
  select w.id, ${ms(sql, 'o.began_at')} as "startsAt", ${ms(sql, 'o.ended_at')} as "endsAt",
    array_agg(c.monitor_id) as monitors
  from covered c join maintenance_windows w on w.id = c.window_id join maintenance_occurrences o
    on o.window_id = w.id
  where w.organisation_id = ${organisation} and w.deleted_at is null
    and o.ended_at > ${new Date(now)} and o.began_at < ${new Date(until)}
  group by w.id, o.began_at, o.ended_at order by o.began_at limit ${limit}`;
}

/** The mean over all locations of the newest hour of the last day that has one. */
async function newestResponses(
  sql: Queryable,
  results: Results,
  organisation: string,
  monitors: readonly string[],
  now: number,
): Promise<ReadonlyMap<string, number>> {
  const rows = await sql<{ id: string; key: number }[]>`
    select id, key from monitors where organisation_id = ${organisation}
      and id = any(${[...monitors]}::uuid[])`;
  const means = await results.hourlyMeans.lastDay(
    sql,
    rows.map(({ key }) => key),
    now,
  );
  return new Map(
    rows.flatMap(({ id, key }) => {
      const mean = means.get(key)?.findLast((each) => each !== null) ?? null;
      return mean === null ? [] : [[id, mean]];
    }),
  );
}

/**
 * The pages with a domain of their own, including those not shown right now: their domain must not
 * answer anything else either.
 */
export function pageDomains(
  sql: Queryable,
): Promise<{ readonly domain: string; readonly slug: string }[]> {
  return sql<
    { domain: string; slug: string }[]
  >`select domain, slug from status_pages where domain_proved_at is not null`;
}

/**
 * The data of a public page. It contains no target, no cause, and no name that was not chosen for
 * the public.
 */
type PublishedRow = {
  readonly kind: 'group' | 'monitor';
  /** Of the group or the monitor. */
  readonly id: string;
  readonly name: string;
  /** The group whose heading is above the monitor. */
  readonly under: string | null;
};

export type PublishedPage = Omit<
  PageSettings,
  'enabled' | 'domain' | 'domain_token' | 'domain_proved_at'
> & {
  readonly id: string;
  readonly organisation_id: string;
  readonly link_fingerprint: Uint8Array | null;
  /** A proved domain; a claimed one is null. */
  readonly domain: string | null;
  readonly logo_version: string | null;
  /**
   * From top to bottom: each heading is followed by its monitors; monitors without a heading are in
   * between.
   */
  readonly rows: readonly PublishedRow[];
};

/**
 * By slug or by a domain that it proved; undefined when the page does not exist, is not enabled, or
 * its organisation awaits deletion.
 */
export async function publishedPage(
  sql: Queryable,
  by:
    | { readonly slug: string }
    | { readonly domain: string }
    /** For its own people, also while it is not enabled. */
    | { readonly id: string; readonly organisation: string },
): Promise<PublishedPage | undefined> {
  const is =
    'slug' in by
      ? sql`p.enabled and p.slug = ${by.slug}`
      : 'domain' in by
        ? sql`p.enabled and p.domain = ${by.domain} and p.domain_proved_at is not null`
        : sql`p.id = ${by.id} and p.organisation_id = ${by.organisation}`;
  const [row] = await sql<PublishedPage[]>`
    select p.id, p.organisation_id, ${sql.unsafe(publishedNames)}, p.link_fingerprint,
      case when p.domain_proved_at is not null then p.domain end as domain,
      p.logo_version,
      ${rowsOf(sql)} as rows
    from status_pages p join organisations o on o.id = p.organisation_id and o.ends_at is null
    where ${is}`;
  return row;
}

/**
 * Headings and monitors without one share one order; the monitors of a heading follow it. A page
 * that was never ordered has equal positions.
 */
function rowsOf(sql: Queryable) {
  return sql`(select coalesce(json_agg(json_build_object('kind', r.kind, 'id', r.id, 'name', r.name,
  'under', r.under)
    order by r.top, r.is_loose desc, r.of, r.kind, r.position, r.name, r.id), '[]') from (
  select 'group' as kind, g.group_id as id, g.display_name as name, g.position as top,
    false as is_loose, g.group_id as of, g.position,
      null::uuid as under
    from status_page_groups g where g.page_id = p.id
  union all
  select 'monitor', m.monitor_id, m.display_name, coalesce(g.position, m.position),
    g.group_id is null, coalesce(g.group_id, m.monitor_id),
      m.position, g.group_id
    from status_page_monitors m left join status_page_groups g on g.page_id = p.id
      and g.group_id = m.group_id
    where m.page_id = p.id) as r)`;
}

export type PageLogo = {
  readonly type: string;
  readonly bytes: Uint8Array;
  readonly version: string;
};

export async function logoOfPage(sql: Queryable, page: string): Promise<PageLogo | undefined> {
  const [row] = await sql<
    PageLogo[]
  >`select logo_type as type, logo as bytes, logo_version as version from status_pages
    where id = ${page} and logo is not null`;
  return row;
}

/** The rows of a page in order, regardless of access. */
export async function rowsOfPage(sql: Queryable, page: string): Promise<readonly PublishedRow[]> {
  const [row] = await sql<
    { rows: readonly PublishedRow[] }[]
  >`select ${rowsOf(sql)} as rows from status_pages p where p.id = ${page}`;
  return row?.rows ?? [];
}

const day = 86_400_000;
const recentDays = 14;
const maintenanceAheadDays = 30;
/** Those of one cause are shown as one. */
const maxIncidents = 200;
const maxOccurrences = 20;

/** Other texts in an address are no page's, and some of them the database would not accept. */
const slugShape = /^[a-z0-9-]{1,60}$/;

/** Who may see a page. */
type Lock = {
  readonly access: PageAccess;
  readonly passwordHash: string | null;
  readonly linkFingerprint: Uint8Array | null;
  readonly version: number;
};

/** A page as it was read, with its private parts. */
export type ReadPage = {
  readonly id: string;
  readonly organisation: string;
  readonly domain: string | null;
  readonly lock: Lock;
  readonly page: PublicPage;
  /** From ids of monitors to those of their rows. */
  readonly publicIds: ReadonlyMap<string, string>;
};

type Ids = Pick<AccountSecrets, 'fingerprint'>;

/**
 * Undefined: it does not exist, or is not enabled. Two round trips, however many monitors it has;
 * with objectives of response times more.
 */
export async function readPage(
  sql: Sql,
  results: Results,
  ids: Ids,
  slug: string,
  now: number,
): Promise<ReadPage | undefined> {
  if (!slugShape.test(slug)) return undefined;
  const found = await publishedPage(sql, { slug });
  return found && readPublished(sql, results, ids, found, now);
}

/** What nobody has saved yet, for a preview: a report, or a post to an incident. */
export type Unsaved = {
  readonly report?: Report | undefined;
  readonly post?: { readonly incident: string; readonly post: PublicPost } | undefined;
};

export async function readPublished(
  sql: Queryable,
  results: Results,
  ids: Ids,
  found: PublishedPage,
  now: number,
  { report, post }: Unsaved = {},
): Promise<ReadPage> {
  const { id, organisation_id: organisation, rows, domain } = found;
  const monitors = rows.flatMap((row) => (row.kind === 'monitor' ? [row.id] : []));
  const publicIds = new Map(
    await Promise.all(
      monitors.map(
        async (monitor): Promise<[string, string]> => [monitor, await publicIdOf(ids, id, monitor)],
      ),
    ),
  );
  const names = new Map(
    rows.flatMap((row) => (row.kind === 'monitor' ? [[row.id, row.name]] : [])),
  );
  const recent = { from: now - recentDays * day, to: now, most: maxIncidents };
  const [zone, histories, responses, warnings, saved, written, occurrences, promised] =
    await Promise.all([
      zoneOf(sql, organisation),
      monitorHistories(sql, results, organisation, monitors, figuresWindow(now)),
      newestResponses(sql, results, organisation, monitors, now),
      openWarningsOf(sql, organisation, monitors),
      pageIncidents(sql, { organisation, page: id, monitors }, recent),
      pageReports(sql, { organisation, page: id }, recent),
      pageMaintenance(sql, organisation, monitors, {
        now,
        until: now + maintenanceAheadDays * day,
        most: maxOccurrences,
      }),
      publishedObjectives(sql, organisation, monitors),
    ]);
  const ledger = await readLedger(sql, results, { zone, now }, promised, histories);
  const slow = new Map(
    warnings.flatMap(({ monitor, code, since }) => (code === 'slow' ? [[monitor, since]] : [])),
  );
  const reports = [
    ...written.filter((each) => each.id !== report?.id),
    ...(report ? [report] : []),
  ];
  const incidents = saved.map((each) =>
    each.id === post?.incident ? { ...each, posts: [...each.posts, post.post] } : each,
  );
  const page: PublicPage = {
    ...lookOf(found),
    slug: found.slug,
    title: found.name,
    hasLogo: found.logo_version !== null,
    zone,
    now,
    rows: publicRows({ now, zone, rows, publicIds, histories, responses, slow, reports }),
    incidents: inOrder([
      ...publicIncidents(incidents, { names, publicIds, histories, now }),
      ...publicReports(reports, { names, publicIds, now }),
    ]),
    maintenance: publicMaintenance(occurrences, rows),
    objectives: promised.map((row) => {
      const { name, target, latency_ms, period } = row;
      const { percent, left } = figuresOf(row, ledger);
      return { name, target, latency_ms, period, percent, left };
    }),
  };
  const lock = {
    access: found.access,
    passwordHash: found.password_hash,
    linkFingerprint: found.link_fingerprint,
    version: found.access_version,
  };
  return { id, organisation, domain, lock, page, publicIds };
}

/**
 * Stable for ever, even when SECRET_KEY is replaced; the same monitor has a different id on another
 * page. A UUID of version 8.
 */
async function publicIdOf(ids: Ids, page: string, monitor: string): Promise<string> {
  const bytes = (await ids.fingerprint('page row', `${page} ${monitor}`)).subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}

/** The page's incidents between two moments, newest first. */
export async function readIncidents(
  sql: Sql,
  results: Results,
  { id, organisation, page, publicIds }: ReadPage,
  from: number,
  to: number,
): Promise<readonly PublicIncident[]> {
  const monitors = [...publicIds.keys()];
  const nameOf = new Map(monitorsOf(page).map((row) => [row.id, row.name]));
  const names = new Map([...publicIds].map(([monitor, row]) => [monitor, nameOf.get(row) ?? '']));
  const range = { from, to, most: maxIncidents };
  const [incidents, reports, histories] = await Promise.all([
    pageIncidents(sql, { organisation, page: id, monitors }, range),
    pageReports(sql, { organisation, page: id }, range),
    monitorHistories(sql, results, organisation, monitors, { from, to: page.now }),
  ]);
  const { now } = page;
  return inOrder([
    ...publicIncidents(incidents, { names, publicIds, histories, now }),
    ...publicReports(reports, { names, publicIds, now }),
  ]);
}
