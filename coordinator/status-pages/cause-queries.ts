import type { Queryable } from '../database/connect.ts';
import type { Part } from '../database/statement.ts';
import type { PageLanguage } from './model.ts';

/** What a page shows of a cause: services, and never what the cause is. */
export type PageCause = {
  readonly id: string;
  readonly page: string;
  readonly language: PageLanguage;
  readonly started_at: number;
  /** Null while one of them is down by it. */
  readonly resolved_at: number | null;
  readonly services: readonly { readonly monitor: string; readonly name: string }[];
  /** The report about it. */
  readonly report: string | null;
};

/** Causes of several services of a page: open ones, and those that ended since a moment. */
export function recentCauses(
  sql: Queryable,
  organisation: string,
  page: string,
  since: number,
): Promise<PageCause[]> {
  return several(
    causesOf(
      sql,
      organisation,
      sql`m.page_id = ${page} and n.cause_id in (select id from causes
        where organisation_id = ${organisation}
          and (ended_at is null or ended_at > ${new Date(since)}))`,
    ),
  );
}

/** One is told as the outage that it is. */
async function several(causes: Promise<PageCause[]>): Promise<PageCause[]> {
  return (await causes).filter(({ services }) => services.length > 1);
}

/** The cause of an incident, on each page where it has several services. */
export function causesOfIncident(
  sql: Queryable,
  organisation: string,
  incident: string,
): Promise<PageCause[]> {
  return several(
    causesOf(
      sql,
      organisation,
      sql`n.cause_id = (select cause_id from cause_members where incident_id = ${incident})`,
    ),
  );
}

/** Undefined when it has no service on the page. */
export async function causeOnPage(
  sql: Queryable,
  organisation: string,
  page: string,
  cause: string,
): Promise<PageCause | undefined> {
  const which = sql`m.page_id = ${page} and n.cause_id = ${cause}`;
  return (await causesOf(sql, organisation, which))[0];
}

function causesOf(sql: Queryable, organisation: string, which: Part): Promise<PageCause[]> {
  return sql<PageCause[]>`
    with shown as (
      select n.cause_id, m.page_id, m.monitor_id, m.display_name, m.position,
        min(i.started_at) as started_at,
        case when bool_and(i.resolved_at is not null) then max(i.resolved_at) end as resolved_at
      from cause_members n join incidents i on i.id = n.incident_id
        join status_page_monitors m on m.monitor_id = i.monitor_id
      where n.organisation_id = ${organisation} and ${which}
      group by n.cause_id, m.page_id, m.monitor_id)
    select s.cause_id as id, s.page_id as page, p.language, min(s.started_at) as started_at,
      case when bool_and(s.resolved_at is not null) then max(s.resolved_at) end as resolved_at,
      json_agg(json_build_object('monitor', s.monitor_id, 'name', s.display_name)
        order by s.position, s.display_name) as services,
      (select r.id from status_page_reports r
        where r.cause_id = s.cause_id and r.page_id = s.page_id) as report
    from shown s join status_pages p on p.id = s.page_id
    group by s.cause_id, s.page_id, p.language
    order by bool_and(s.resolved_at is not null), min(s.started_at) desc`;
}
