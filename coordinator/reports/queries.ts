import { isId } from '../../shared/base/crypto.ts';
import type { Cause } from '../../shared/checks/result.ts';
import type { Queryable } from '../database/connect.ts';
import { searchText } from '../database/sql.ts';
import type { MonitorKey } from '../results/reading.ts';

/** What a report is of: monitors to which all that is named applies. */
export type Selection = {
  /** One, or several with commas between. */
  readonly monitor: string | null;
  readonly group: string | null;
  readonly tag: string | null;
  readonly status_page: string | null;
};

/** The different ids; what is none is as an id of nothing. */
export function idsIn(text: string | null): readonly string[] {
  return [...new Set(text?.toLowerCase().split(','))];
}

/** Names of what is selected; null, or one less, where the organisation has no such thing. */
export async function selectedNames(
  sql: Queryable,
  organisation: string,
  { monitor, group, status_page }: Selection,
): Promise<{
  readonly monitors: readonly string[];
  readonly group: string | null;
  readonly page: string | null;
}> {
  const [row] = await sql<{ monitors: string[]; group: string | null; page: string | null }[]>`
    select
      array(select name from monitors where organisation_id = ${organisation}
        and id = any(${idsIn(monitor).filter(isId)}::uuid[])) as monitors,
      (select name from groups where organisation_id = ${organisation} and id = ${group}) as group,
      (select name from status_pages where organisation_id = ${organisation}
        and id = ${status_page}) as page`;
  return row ?? { monitors: [], group: null, page: null };
}

type ReportedMonitor = MonitorKey & { readonly id: string; readonly name: string };

/** In order of name; on a status page that of the page. */
export function reportedMonitors(
  sql: Queryable,
  organisation: string,
  { monitor, group, tag, status_page }: Selection,
  limit: number,
): Promise<ReportedMonitor[]> {
  return sql<ReportedMonitor[]>`
    select m.id, m.key, m.partition, coalesce(p.display_name, m.name) as name
    from monitors m left join status_page_monitors p
      on p.monitor_id = m.id and p.page_id = ${status_page}
    where m.organisation_id = ${organisation}
      ${monitor === null ? sql`` : sql`and m.id = any(${idsIn(monitor).filter(isId)}::uuid[])`}
      ${group === null ? sql`` : sql`and m.group_id = ${group}`}
      ${tag === null ? sql`` : sql`and m.tags @> array[${searchText(tag)}::text]`}
      ${status_page === null ? sql`` : sql`and p.page_id is not null`}
    order by lower(coalesce(p.display_name, m.name)), m.id limit ${limit}`;
}

type IncidentCause = {
  readonly id: string;
  readonly cause: Cause | null;
  readonly resolved_at: number | null;
};

export function incidentCauses(
  sql: Queryable,
  organisation: string,
  incidents: readonly string[],
): Promise<IncidentCause[]> {
  return sql<IncidentCause[]>`
    select id, cause, resolved_at from incidents
    where organisation_id = ${organisation} and id = any(${incidents}::uuid[])`;
}
