import { isoText } from '../../shared/base/time.ts';
import type { Queryable } from '../database/connect.ts';
import { jsonText } from '../database/sql.ts';

/** Reports that members asked to be mailed. */

export type Every = 'week' | 'month';

type Mailed = {
  readonly every: Every;
  /** What it is asked, without the period. */
  readonly report: unknown;
  readonly title: string;
  readonly next_at: number;
};

export type ReportMailRow = Mailed & { readonly id: string };

export function reportMails(
  sql: Queryable,
  organisation: string,
  user: string | null,
): Promise<ReportMailRow[]> {
  return sql<ReportMailRow[]>`
    select id, every, report, title, next_at from report_mails
    where organisation_id = ${organisation} and user_id = ${user} order by created_at, id`;
}

/** A report that is mailed already is mailed as often as is asked for now. */
export async function writeReportMail(
  sql: Queryable,
  organisation: string,
  {
    id,
    user,
    at,
    every,
    report,
    title,
    next_at,
  }: ReportMailRow & {
    readonly user: string;
    readonly at: number;
  },
): Promise<void> {
  await sql`
    insert into report_mails (id, organisation_id, user_id, every, report, title, created_at, next_at)
    values (${id}, ${organisation}, ${user}, ${every}, ${jsonText(report)}::text::jsonb, ${title},
      ${isoText(at)}, ${isoText(next_at)})
    on conflict (organisation_id, user_id, md5(report::text)) do update
    set every = excluded.every, title = excluded.title, next_at = excluded.next_at`;
}

export async function removeReportMail(
  sql: Queryable,
  { organisation, user, id }: Readonly<Record<'organisation' | 'user' | 'id', string | null>>,
): Promise<string | undefined> {
  const [row] = await sql<{ title: string }[]>`delete from report_mails
    where organisation_id = ${organisation} and user_id = ${user} and id = ${id} returning title`;
  return row?.title;
}

/** Whom a link is of. */
export async function reportMailOf(
  sql: Queryable,
  id: string,
): Promise<
  { readonly organisation: string; readonly user: string; readonly title: string } | undefined
> {
  const [row] = await sql<{ organisation: string; user: string; title: string }[]>`
    select organisation_id as organisation, user_id as user, title from report_mails
    where id = ${id}`;
  return row;
}

type DueReportMail = ReportMailRow & { readonly organisation: string; readonly time_zone: string };

/** Nothing of an organisation that is about to end. */
export function dueReportMails(
  sql: Queryable,
  now: number,
  except: readonly string[],
  limit: number,
): Promise<DueReportMail[]> {
  return sql<DueReportMail[]>`
    select m.id, m.every, m.report, m.title, m.next_at, m.organisation_id as organisation, o.time_zone
    from report_mails m join organisations o on o.id = m.organisation_id and o.ends_at is null
    where m.next_at <= ${isoText(now)} and m.id <> all(${except}::uuid[])
    order by m.next_at, m.id limit ${limit}`;
}

/** To whom it goes; undefined where somebody else mailed it, or it has ended. */
export async function takeReportMail(
  sql: Queryable,
  { id, next_at }: Pick<ReportMailRow, 'id' | 'next_at'>,
  next: number,
): Promise<string | undefined> {
  const [row] = await sql<{ email: string }[]>`
    update report_mails m set next_at = ${isoText(next)} from users u
    where m.id = ${id} and m.next_at = ${isoText(next_at)} and u.id = m.user_id returning u.email`;
  return row?.email;
}
