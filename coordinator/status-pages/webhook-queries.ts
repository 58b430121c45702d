import type { Queryable } from '../database/connect.ts';
import type { PageLanguage } from './model.ts';
import { pageOfSubscriber, type SubscriberNotice, type SubscriberOfPage } from './subscribers.ts';

/** Subscribers by webhook, and what is still to be sent to them. */

type NewWebhook = {
  readonly id: string;
  readonly page: string;
  readonly fingerprint: Buffer;
  readonly host: string;
  readonly box: Buffer;
  readonly language: PageLanguage;
  readonly at: number;
};

type WebhookPlace = {
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
    values (${id}, ${page}, ${fingerprint}, ${host}, ${box}, ${language}, ${new Date(at)}, ${new Date(at)})
    on conflict do nothing`;
  return count > 0;
}

export async function insertDeliveries(
  sql: Queryable,
  notices: readonly (Omit<SubscriberNotice, 'email'> & { readonly id: string })[],
  at: number,
): Promise<void> {
  if (notices.length === 0) return;
  await sql`
    insert into deliveries (id, subscriber_id, event, told, created_at, next_at)
    select id, subscriber, event, jsonb_build_object('incident', incident, 'post', post), ${new Date(at)},
      ${new Date(at)}
    from json_to_recordset(${JSON.stringify(notices)}::text::json)
      as n (id uuid, subscriber uuid, incident uuid, event text, post uuid)`;
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

/** Whoever removes a subscriber, or turns one off, locks it before its deliveries. */
export async function lockSubscribers(sql: Queryable, ids: readonly string[]): Promise<void> {
  await sql`select 1 from status_page_subscribers where id = any(${ids}::uuid[])
    order by id for no key update`;
}

export async function webhooksSucceeded(sql: Queryable, ids: readonly string[]): Promise<void> {
  await sql`update status_page_subscribers set failing_since = null
    where id = any(${ids}::uuid[]) and failing_since is not null`;
}

/** Those that have failed since before `offBefore` are switched off, and returned. */
export async function webhooksFailed(
  sql: Queryable,
  ids: readonly string[],
  { at, offBefore }: { readonly at: number; readonly offBefore: number },
): Promise<readonly string[]> {
  const rows = await sql<{ id: string; off_at: number | null }[]>`
    update status_page_subscribers set failing_since = coalesce(failing_since, ${new Date(at)}),
      off_at = case when failing_since < ${new Date(offBefore)} then ${new Date(at)}::timestamptz end,
      confirmed_at = case when failing_since < ${new Date(offBefore)} then null else confirmed_at end
    where id = any(${ids}::uuid[]) and off_at is null returning id, off_at`;
  return rows.flatMap(({ id, off_at }) => (off_at === null ? [] : [id]));
}

/** Their servers say that the addresses are gone. */
export async function deleteWebhooks(sql: Queryable, ids: readonly string[]): Promise<void> {
  await sql`delete from status_page_subscribers
    where id = any(${ids}::uuid[]) and secrets is not null`;
}
