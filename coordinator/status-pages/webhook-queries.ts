import type { Queryable } from '../database/connect.ts';
import type { PageLanguage } from './model.ts';
import { pageOfSubscriber, type SubscriberNotice, type SubscriberOfPage } from './subscribers.ts';

/** Subscribers by webhook, and what is still to be sent to them. */

export type NewWebhook = {
  readonly id: string;
  readonly page: string;
  readonly fingerprint: Buffer;
  readonly host: string;
  readonly box: Buffer;
  readonly language: PageLanguage;
  readonly at: Date;
};

export type WebhookPlace = {
  /** The address is subscribed already. */
  readonly isTaken: boolean;
  /** How many webhooks the page has beside it. */
  readonly others: number;
};

export async function webhookPlace(
  sql: Queryable,
  page: string,
  fingerprint: Buffer,
): Promise<WebhookPlace> {
  const [row] = await sql<WebhookPlace[]>`
    select coalesce(bool_or(url_fingerprint = ${fingerprint} and off_at is null), false)
        as "isTaken",
      count(*) filter (where url_fingerprint <> ${fingerprint}) as others
    from status_page_subscribers where page_id = ${page} and url_fingerprint is not null`;
  return row ?? { isTaken: false, others: 0 };
}

/** It takes the place of one that was switched off. False: another was faster. */
export async function insertWebhook(
  sql: Queryable,
  { id, page, fingerprint, host, box, language, at }: NewWebhook,
): Promise<boolean> {
  await sql`delete from status_page_subscribers
    where page_id = ${page} and url_fingerprint = ${fingerprint} and off_at is not null`;
  const { count } = await sql`
    insert into status_page_subscribers (id, page_id, url_fingerprint, host, secrets, language,
      asked_at, confirmed_at)
    values (${id}, ${page}, ${fingerprint}, ${host}, ${box}, ${language}, ${at}, ${at})
    on conflict do nothing`;
  return count > 0;
}

export async function insertDeliveries(
  sql: Queryable,
  notices: readonly (Omit<SubscriberNotice, 'email'> & { readonly id: string })[],
  at: Date,
): Promise<void> {
  if (notices.length === 0) return;
  await sql`
    insert into status_page_deliveries (id, subscriber_id, incident_id, event, post_id, created_at,
      next_at)
    select id, subscriber, incident, event, post, ${at}, ${at}
    from json_to_recordset(${JSON.stringify(notices)}::text::json)
      as n (id uuid, subscriber uuid, incident uuid, event text, post uuid)`;
}

export type Delivery = Omit<SubscriberNotice, 'email'> & {
  readonly id: string;
  readonly created_at: Date;
  readonly attempts: number;
};

/** Claims due ones for a time, as mails are claimed. */
export function takeDeliveries(
  sql: Queryable,
  now: Date,
  forMs: number,
  limit: number,
): Promise<Delivery[]> {
  return sql<Delivery[]>`
  update status_page_deliveries
  set next_at = ${new Date(now.getTime() + forMs)}, attempts = attempts + 1
  where id in (select id from status_page_deliveries where next_at <= ${now}
    order by next_at limit ${limit} for update skip locked)
  returning id, subscriber_id as subscriber, incident_id as incident, event, post_id as post,
    created_at, attempts`;
}

export async function webhookOfPage(
  sql: Queryable,
  id: string,
): Promise<(SubscriberOfPage & { readonly box: Buffer }) | undefined> {
  const [row] = await sql<(SubscriberOfPage & { readonly box: Buffer })[]>`
    select s.secrets as box, ${pageOfSubscriber(sql)}
    join status_page_subscribers s on s.page_id = p.id
    where s.id = ${id} and s.secrets is not null and s.confirmed_at is not null and p.enabled`;
  return row;
}

export async function deleteDelivery(sql: Queryable, id: string): Promise<void> {
  await sql`delete from status_page_deliveries where id = ${id}`;
}

export async function webhookSucceeded(sql: Queryable, { id, subscriber }: Delivery) {
  await deleteDelivery(sql, id);
  await sql`update status_page_subscribers set failing_since = null
    where id = ${subscriber} and failing_since is not null`;
}

/** `again`: when the next attempt is; null gives this delivery up. */
export async function webhookFailed(
  sql: Queryable,
  { id, subscriber }: Delivery,
  {
    at,
    again,
    offBefore,
  }: {
    readonly at: Date;
    readonly again: Date | null;
    /** One that has failed since before then is switched off; what waits for it is deleted. */
    readonly offBefore: Date;
  },
): Promise<void> {
  if (again === null) await deleteDelivery(sql, id);
  else await sql`update status_page_deliveries set next_at = ${again} where id = ${id}`;
  await sql`
    with failed as (
      update status_page_subscribers set failing_since = coalesce(failing_since, ${at}),
        off_at = case when failing_since < ${offBefore} then ${at}::timestamptz end,
        confirmed_at = case when failing_since < ${offBefore} then null else confirmed_at end
      where id = ${subscriber} and off_at is null returning id, off_at)
    delete from status_page_deliveries d using failed f
    where d.subscriber_id = f.id and f.off_at is not null`;
}

/** The server says that the address is gone. */
export async function deleteWebhook(sql: Queryable, id: string): Promise<void> {
  await sql`delete from status_page_subscribers where id = ${id} and secrets is not null`;
}
