import type { PostKind } from '../domain/status-page.ts';
import type { Queryable } from './store-database.ts';
import { ms } from './store-maintenance-cover.ts';

/** What a public page shows beside the histories of its monitors. */

export const zoneOf = async (sql: Queryable, organisation: string): Promise<string> => {
  const [row] = await sql<{ time_zone: string }[]>`select time_zone from organisations where id = ${organisation}`;
  return row?.time_zone ?? 'UTC';
};

export type PageIncident = {
  readonly id: string;
  readonly monitor: string;
  readonly startedAt: number;
  readonly resolvedAt: number | null;
  readonly posts: readonly { readonly kind: PostKind; readonly text: string; readonly at: number }[];
};

/** Confirmed ones of these monitors that touch a range, the newest first, with what was posted to them on this page. */
export const pageIncidents = (
  sql: Queryable,
  { organisation, page, monitors }: { readonly organisation: string; readonly page: string; readonly monitors: readonly string[] },
  { from, to, most }: { readonly from: number; readonly to: number; readonly most: number },
): Promise<PageIncident[]> => sql<PageIncident[]>`
  select i.id, i.monitor_id as monitor, ${ms(sql, 'i.started_at')} as "startedAt", ${ms(sql, 'i.resolved_at')} as "resolvedAt",
    (select coalesce(json_agg(json_build_object('kind', p.kind, 'text', p.text, 'at', ${ms(sql, 'p.written_at')}) order by p.written_at, p.key), '[]')
      from status_page_posts p where p.incident_id = i.id and p.page_id = ${page}) as posts
  from incidents i
  where i.organisation_id = ${organisation} and i.monitor_id = any(${[...monitors]}::uuid[]) and i.confirmed_at is not null
    and i.started_at < ${new Date(to)} and (i.resolved_at is null or i.resolved_at >= ${new Date(from)})
  order by i.resolved_at is null desc, i.started_at desc limit ${most}`;

export type PageOccurrence = {
  readonly id: string;
  readonly startsAt: number;
  readonly endsAt: number;
  readonly monitors: readonly string[];
};

/** Maintenance of these monitors that runs or begins before `until`, the next first. */
export const pageMaintenance = (
  sql: Queryable,
  organisation: string,
  monitors: readonly string[],
  { now, until, most }: { readonly now: number; readonly until: number; readonly most: number },
): Promise<PageOccurrence[]> => sql<PageOccurrence[]>`
  with covered as (
    select mm.window_id, mm.monitor_id from maintenance_monitors mm where mm.monitor_id = any(${[...monitors]}::uuid[])
    union
    select mg.window_id, gm.monitor_id from group_memberships gm join maintenance_groups mg on mg.group_id = gm.group_id
      where gm.monitor_id = any(${[...monitors]}::uuid[]) and gm.ended_at is null)
  select w.id, ${ms(sql, 'o.began_at')} as "startsAt", ${ms(sql, 'o.ended_at')} as "endsAt", array_agg(c.monitor_id) as monitors
  from covered c join maintenance_windows w on w.id = c.window_id join maintenance_occurrences o on o.window_id = w.id
  where w.organisation_id = ${organisation} and w.deleted_at is null and o.ended_at > ${new Date(now)} and o.began_at < ${new Date(until)}
  group by w.id, o.began_at, o.ended_at order by o.began_at limit ${most}`;

/** The mean of the newest hour of the last day that has one, from everywhere. */
export const newestResponses = async (
  sql: Queryable,
  organisation: string,
  monitors: readonly string[],
  now: number,
): Promise<ReadonlyMap<string, number>> => {
  const rows = await sql<{ id: string; mean: number | null }[]>`
    select m.id, (select sum(r.took_sum) / nullif(sum(r.ok), 0) from rollups r
      where r.monitor_key = m.key and r.hour >= ${new Date(now - 86_400_000)} and r.ok > 0 group by r.hour order by r.hour desc limit 1) as mean
    from monitors m where m.organisation_id = ${organisation} and m.id = any(${[...monitors]}::uuid[])`;
  return new Map(rows.flatMap(({ id, mean }) => (mean === null ? [] : [[id, mean]])));
};

/** Which pages have a domain of their own; also those that are not shown right now: their domain answers nothing else either. */
export const pageDomains = (sql: Queryable): Promise<{ readonly domain: string; readonly slug: string }[]> =>
  sql<{ domain: string; slug: string }[]>`select domain, slug from status_pages where domain_proved_at is not null`;
