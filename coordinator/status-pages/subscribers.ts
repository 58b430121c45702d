import { storable } from '../../shared/base/names.ts';
import type { Queryable, Transaction } from '../database/connect.ts';
import type { PageLanguage, UpdateKind } from './model.ts';

/** Subscribers: the mailboxes that are mailed about a status page; webhooks are beside this. */

type NewSubscriber = {
  readonly id: string;
  readonly page: string;
  readonly email: string;
  readonly language: PageLanguage;
  readonly at: number;
  /**
   * An address that was asked since then, by this page or by the maximum of its organisation's
   * pages, gets no further mail.
   */
  readonly notSince: number;
};

/**
 * How many pages of one organisation may ask one mailbox by mail within an hour. Further pages
 * share these questions: each of their links shows and confirms all. Pages of others do not count:
 * their owners could block subscriptions of the mailbox.
 */
const maxQuestions = 3;

/**
 * The subscriber to ask by mail; undefined: they are subscribed already, or a mail that asks was
 * sent just now.
 */
export async function insertUnconfirmed(
  sql: Transaction,
  { id, page, email, language, at, notSince }: NewSubscriber,
): Promise<string | undefined> {
  // Without this lock, two concurrent requests for one address on two pages would each be the
  // first.
  await sql`select pg_advisory_xact_lock(hashtextextended(${`page subscriber ${email.toLowerCase()}`},
    0))`;
  const [row] = await sql<{ id: string; asked: number }[]>`
    insert into status_page_subscribers as s (id, page_id, email, language, asked_at)
    select ${id}, ${page}, ${email}, ${language}, ${new Date(at)}
    where not exists (select 1 from status_page_subscribers where page_id = ${page}
      and lower(email) = lower(${email}) and asked_at > ${new Date(notSince)})
    on conflict (page_id, lower(email)) do update
    set asked_at = excluded.asked_at, language = excluded.language where s.confirmed_at is null
    returning id,
      (select count(*)::int from status_page_subscribers a join status_pages p on p.id = a.page_id
      where lower(a.email) = lower(${email}) and a.asked_at > ${new Date(notSince)}
        and p.organisation_id = (select organisation_id from status_pages
          where id = ${page})) as asked`;
  return row && row.asked < maxQuestions ? row.id : undefined;
}

export type SubscriberOfPage = {
  readonly language: PageLanguage;
  readonly slug: string;
  readonly domain: string | null;
  readonly title: string;
  readonly organisation: string;
  readonly time_zone: string;
};

/** The page of the subscriber `s`; pages of an organisation that is about to end are not there. */
export function pageOfSubscriber(sql: Queryable) {
  return sql`s.language, p.slug, case
  when p.domain_proved_at is not null then p.domain end as domain,
  p.name as title, p.organisation_id as organisation, o.time_zone
  from status_pages p join organisations o on o.id = p.organisation_id and o.ends_at is null`;
}

/** Stores what the confirmation link is valid for. Undefined: there is nothing to ask any more. */
export async function linkSubscriber(
  sql: Queryable,
  id: string,
  fingerprint: Buffer,
): Promise<(SubscriberOfPage & { readonly email: string }) | undefined> {
  const [row] = await sql<(SubscriberOfPage & { readonly email: string })[]>`
    with s as (update status_page_subscribers set confirm_fingerprint = ${fingerprint}
      where id = ${id} and confirmed_at is null
      returning email, language, page_id)
    select s.email, ${pageOfSubscriber(sql)} join s on s.page_id = p.id where p.enabled`;
  return row;
}

export async function subscriberOfPage(
  sql: Queryable,
  id: string,
): Promise<(SubscriberOfPage & { readonly email: string }) | undefined> {
  const [row] = await sql<(SubscriberOfPage & { readonly email: string })[]>`
    select s.email, ${pageOfSubscriber(sql)} join status_page_subscribers s on s.page_id = p.id
    where s.id = ${id} and s.email is not null and s.confirmed_at is not null and p.enabled`;
  return row;
}

export type ConfirmationLink = {
  readonly page: string;
  readonly fingerprint: Buffer;
  readonly askedSince: number;
};

export type WaitingPage = { readonly slug: string; readonly title: string };

/** The pages of the organisation that wait for an answer of the same mailbox. */
export function waitingPages(sql: Queryable, link: ConfirmationLink): Promise<WaitingPage[]> {
  return sql<WaitingPage[]>`
  with l as (${linked(sql, link)})
  select p.slug, p.name as title from l join status_pages p on p.organisation_id = l.organisation_id
    and p.enabled
    join status_page_subscribers s on s.page_id = p.id and lower(s.email) = lower(l.email)
  where s.confirmed_at is null and s.asked_at > ${new Date(link.askedSince)}
  order by p.id <> l.page_id, p.name, p.id`;
}

/**
 * The mailbox and the organisation that a confirmation link is for; no row: it is invalid or
 * expired.
 */
function linked(sql: Queryable, { page, fingerprint, askedSince }: ConfirmationLink) {
  return sql`
  select s.email, p.organisation_id, s.page_id from status_page_subscribers s join status_pages p
    on p.id = s.page_id
  where s.page_id = ${page} and s.confirm_fingerprint = ${fingerprint} and s.confirmed_at is null
    and s.asked_at > ${new Date(askedSince)}`;
}

/**
 * Confirms the link's own page, and those of `slugs` that the link showed as waiting.
 * False: the link is invalid or expired.
 */
export async function confirmSubscriber(
  sql: Queryable,
  link: ConfirmationLink,
  at: number,
  slugs: readonly string[],
): Promise<boolean> {
  const rows = await sql`
    with l as (${linked(sql, link)})
    update status_page_subscribers s set confirmed_at = ${new Date(at)}, confirm_fingerprint = null
    from l join status_pages p on p.organisation_id = l.organisation_id
    where s.page_id = p.id and lower(s.email) = lower(l.email) and s.confirmed_at is null
      and s.asked_at > ${new Date(link.askedSince)}
      and (p.id = l.page_id or (p.enabled and p.slug = any(${slugs.filter(storable)})))`;
  return rows.count > 0;
}

export async function removeSubscriber(sql: Queryable, page: string, id: string): Promise<void> {
  await sql`delete from status_page_subscribers where page_id = ${page} and id = ${id}`;
}

type SubscriberRow = {
  /** The list is in the order of its ids, which grow with time. */
  readonly key: 0;
  readonly place: string;
  readonly id: string;
  readonly email: string | null;
  readonly host: string | null;
  readonly asked_at: number;
  readonly confirmed_at: number | null;
  readonly failing_since: number | null;
  readonly off_at: number | null;
};

export function subscriberPage(
  sql: Queryable,
  page: string,
  after: string | null,
  limit: number,
): Promise<SubscriberRow[]> {
  return sql<SubscriberRow[]>`
  select 0 as key, id::text as place, id, email, host, asked_at, confirmed_at, failing_since, off_at
  from status_page_subscribers
  where page_id = ${page} and (${after}::uuid is null or id > ${after}::uuid)
  order by id limit ${limit}`;
}

/** Deletes those who never answered; a webhook that was switched off had answered. */
export async function forgetUnconfirmed(sql: Queryable, before: number): Promise<void> {
  await sql`delete from status_page_subscribers where confirmed_at is null and off_at is null
    and asked_at < ${new Date(before)}`;
}

export type SubscriberNotice = {
  readonly subscriber: string;
  /** Null: a webhook. */
  readonly email: string | null;
  /** Or the report. */
  readonly incident: string;
  readonly event: 'began' | 'over' | 'post';
  readonly post: string | null;
};

/**
 * Posts that were not sent yet, for each subscriber of their page who had confirmed by then. They
 * are marked as sent.
 */
export function takeUnsentPosts(
  sql: Queryable,
  at: number,
  limit: number,
): Promise<SubscriberNotice[]> {
  return sql<SubscriberNotice[]>`
  with fresh as (
    update status_page_posts set told_at = ${new Date(at)}
    where id in (select id from status_page_posts where told_at is null order by key limit ${limit}
      for update skip locked)
    returning id, page_id, incident_id, written_at)
  select s.id as subscriber, s.email, f.incident_id as incident, 'post' as event, f.id as post
  from fresh f join status_pages p on p.id = f.page_id and p.enabled join status_page_subscribers s
    on s.page_id = p.id
  where s.confirmed_at <= f.written_at order by s.id`;
}

/** The same for updates of reports. */
export function takeUnsentUpdates(
  sql: Queryable,
  at: number,
  limit: number,
): Promise<SubscriberNotice[]> {
  return sql<SubscriberNotice[]>`
  with fresh as (
    update status_page_report_updates set told_at = ${new Date(at)}
    where id in (select id from status_page_report_updates where told_at is null order by key
      limit ${limit} for update skip locked)
    returning id, report_id, written_at)
  select s.id as subscriber, s.email, f.report_id as incident, 'post' as event, f.id as post
  from fresh f join status_page_reports r on r.id = f.report_id
    join status_pages p on p.id = r.page_id and p.enabled
    join status_page_subscribers s on s.page_id = p.id
  where s.confirmed_at <= f.written_at order by s.id`;
}

/**
 * Incidents for subscribers, begun or ended since `from`, on pages with subscribers; without
 * maintenance and unconfirmed ones. Each is taken once per page, by whichever coordinator, for
 * those who had confirmed before the outage, so that its end goes to the recipients of its
 * beginning. Where someone posted about it, the post is sent instead.
 */
export function takeUnsentIncidents(
  sql: Queryable,
  at: number,
  from: number,
): Promise<SubscriberNotice[]> {
  return sql<SubscriberNotice[]>`
  with fresh as (
    select a.organisation_id, a.monitor_id, a.incident_id, i.confirmed_at, case
      when a.event = 'down' then 'began' else 'over' end as event
    from alerts a join incidents i on i.id = a.incident_id
    where a.id > coalesce((select id from alerts where created_at < ${new Date(from)} order by id desc
      limit 1), 0) and a.state in ('due', 'sent')),
  told as (
    insert into status_page_told (page_id, incident_id, event, told_at)
    select distinct p.id, f.incident_id, f.event, ${new Date(at)}::timestamptz from fresh f
    join status_page_monitors m on m.monitor_id = f.monitor_id
    join status_pages p on p.id = m.page_id and p.organisation_id = f.organisation_id and p.enabled
    where exists (select 1 from status_page_subscribers s where s.page_id = p.id
      and s.confirmed_at <= f.confirmed_at)
      and (f.event = 'began' or exists (
        select 1 from status_page_told t where t.page_id = p.id and t.incident_id = f.incident_id
          and t.event = 'began'))
    -- In one order: two coordinators that wait for each other's rows would else do so for ever.
    order by 1, 2, 3
    on conflict do nothing returning page_id, incident_id, event)
  select s.id as subscriber, s.email, t.incident_id as incident, t.event, null::uuid as post
  from told t join incidents i on i.id = t.incident_id
    join status_page_subscribers s on s.page_id = t.page_id and s.confirmed_at <= i.confirmed_at
  where not exists (select 1 from status_page_posts o
    where o.page_id = t.page_id and o.incident_id = t.incident_id and (t.event = 'began' or o.kind = 'resolved'))
  order by s.id`;
}

export type NotifiedIncident = {
  /** The public name of its monitor; of a report, its title. */
  readonly name: string;
  readonly started_at: number;
  readonly resolved_at: number | null;
  readonly kind: UpdateKind | null;
  readonly text: string | null;
};

/**
 * What is said about an incident or a report; undefined when the page no longer shows the
 * monitor, or what was written was deleted.
 */
export async function sentIncident(
  sql: Queryable,
  subscriber: string,
  incident: string,
  post: string | null,
): Promise<NotifiedIncident | undefined> {
  const [row] = await sql<NotifiedIncident[]>`
    select m.display_name as name, i.started_at, i.resolved_at, p.kind, p.text
    from status_page_subscribers s join incidents i on i.id = ${incident}
      and i.confirmed_at is not null
    join status_page_monitors m on m.page_id = s.page_id and m.monitor_id = i.monitor_id
    left join status_page_posts p on p.id = ${post} and p.page_id = s.page_id
    where s.id = ${subscriber} and (${post}::uuid is null or p.id is not null)
    union all
    select r.title, r.started_at, r.ends_at, u.kind, u.text
    from status_page_subscribers s join status_page_reports r on r.page_id = s.page_id
    join status_page_report_updates u on u.report_id = r.id and u.id = ${post}
    where s.id = ${subscriber}`;
  return row;
}
