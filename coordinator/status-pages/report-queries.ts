import { Refusal } from '../../shared/base/errors.ts';
import { isoText } from '../../shared/base/time.ts';
import { isViolationOf, type Queryable } from '../database/connect.ts';
import type { Impact, UpdateKind } from './model.ts';

/** Reports on status pages: what people write beside the incidents that checks confirm. */

export type Affected = { readonly monitor: string; readonly impact: Impact };

type UpdateRow = {
  readonly id: string;
  readonly kind: UpdateKind;
  readonly text: string;
  readonly written_by: string | null;
  readonly written_at: string;
};

export type ReportRow = {
  readonly key: number;
  readonly id: string;
  readonly title: string;
  readonly started_at: number;
  readonly ends_at: number | null;
  readonly affected: readonly Affected[];
  readonly cause: string | null;
  /** Newest first. */
  readonly updates: readonly UpdateRow[];
};

type OfPage = { readonly organisation: string; readonly page: string };

export function reportPage(
  sql: Queryable,
  { organisation, page }: OfPage,
  before: number,
  limit: number,
): Promise<ReportRow[]> {
  return sql<ReportRow[]>`select ${report(sql)} where r.organisation_id = ${organisation}
    and r.page_id = ${page} and r.key < ${before} order by r.key desc limit ${limit}`;
}

function report(sql: Queryable) {
  return sql`r.key, r.id, r.title, r.started_at, r.ends_at, r.cause_id as cause,
  (select coalesce(json_agg(json_build_object('monitor', m.monitor_id, 'impact', m.impact)
    order by m.monitor_id), '[]')
    from status_page_report_monitors m where m.report_id = r.id) as affected,
  (select coalesce(json_agg(json_build_object('id', o.id, 'kind', o.kind, 'text', o.text,
    'written_by', u.email,
    'written_at', to_char(o.written_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
      order by o.key desc), '[]')
    from status_page_report_updates o left join users u on u.id = o.written_by
    where o.report_id = r.id) as updates
  from status_page_reports r`;
}

/** Reports that are open, and those that ended since a moment; open ones first. */
export function recentReports(
  sql: Queryable,
  { organisation, page }: OfPage,
  now: number,
  since: number,
  limit: number,
): Promise<ReportRow[]> {
  return sql<ReportRow[]>`select ${report(sql)} where r.organisation_id = ${organisation}
    and r.page_id = ${page} and (r.ends_at is null or r.ends_at > ${new Date(since)})
    order by r.ends_at is null or r.ends_at > ${new Date(now)} desc, r.key desc limit ${limit}`;
}

export async function reportById(
  sql: Queryable,
  { organisation, page }: OfPage,
  id: string,
): Promise<ReportRow | undefined> {
  const [row] = await sql<ReportRow[]>`select ${report(sql)}
    where r.organisation_id = ${organisation} and r.page_id = ${page} and r.id = ${id}`;
  return row;
}

/** @throws Refusal when the page has a report about the cause. */
export async function insertReport(
  sql: Queryable,
  { organisation, page }: OfPage,
  row: Pick<ReportRow, 'id' | 'title' | 'started_at' | 'ends_at' | 'cause'>,
): Promise<void> {
  const { id, title, started_at, ends_at, cause } = row;
  try {
    await sql`insert into status_page_reports (id, page_id, organisation_id, title, started_at,
        ends_at, cause_id)
      values (${id}, ${page}, ${organisation}, ${title}, ${new Date(started_at)},
        ${isoText(ends_at)}, ${cause})`;
  } catch (error) {
    if (isViolationOf(error, 'status_page_reports_cause'))
      throw new Refusal('report_invalid', {
        cause: 'has a report on this page already; post an update of it.',
      });
    throw error;
  }
}

export async function writeReport(
  sql: Queryable,
  organisation: string,
  row: Pick<ReportRow, 'id' | 'title' | 'started_at' | 'ends_at'>,
): Promise<void> {
  await sql`update status_page_reports
    set title = ${row.title}, started_at = ${new Date(row.started_at)}, ends_at = ${isoText(row.ends_at)}
    where organisation_id = ${organisation} and id = ${row.id}`;
}

/**
 * Replaces what a report affects. Gives how many of the monitors are on the page: the others are
 * not written.
 */
export async function writeAffected(
  sql: Queryable,
  page: string,
  id: string,
  affected: readonly Affected[],
): Promise<number> {
  await sql`delete from status_page_report_monitors where report_id = ${id}`;
  const written = await sql`insert into status_page_report_monitors (report_id, monitor_id, impact)
    select ${id}, m.monitor_id, a.impact
    from unnest(${affected.map(({ monitor }) => monitor)}::uuid[],
      ${affected.map(({ impact }) => impact)}::text[]) as a (monitor, impact)
    join status_page_monitors m on m.page_id = ${page} and m.monitor_id = a.monitor`;
  return written.count;
}

export async function insertUpdate(
  sql: Queryable,
  report: string,
  of: {
    readonly id: string;
    readonly kind: UpdateKind;
    readonly text: string;
    readonly user: string | null;
    readonly at: number;
  },
): Promise<void> {
  await sql`insert into status_page_report_updates (id, report_id, kind, text, written_by,
    written_at)
    values (${of.id}, ${report}, ${of.kind}, ${of.text}, ${of.user}, ${new Date(of.at)})`;
}

export async function deleteReport(
  sql: Queryable,
  { organisation, page }: OfPage,
  id: string,
): Promise<boolean> {
  const gone = await sql`delete from status_page_reports where organisation_id = ${organisation}
    and page_id = ${page} and id = ${id}`;
  return gone.count > 0;
}
