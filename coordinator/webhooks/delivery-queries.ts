import type { Queryable } from '../database/connect.ts';

/** From the list of events to the log of a webhook: what is due, claimed and settled. */

/** How many events one webhook is handed at once, and how many webhooks. */
const eventsAtOnce = 500;
const webhooksAtOnce = 100;

/**
 * Hands events on: writes a delivery for each that comes after a webhook's cursor, and moves the
 * cursor, in one statement. So each is handed on once, whatever crashes. As in the list of
 * events, those that an open transaction could still precede wait. An event that is handed on again
 * (a replay) is sent again. Returns whether there may be more.
 */
export async function handOn(sql: Queryable, at: Date): Promise<boolean> {
  const [row] = await sql<{ found: number }[]>`
    with behind as materialized (
      select c.webhook_id, c.written_by, c.event_key, c.begins, w.organisation_id, w.event_types
      from webhook_cursors c join webhooks w on w.id = c.webhook_id
      where w.enabled and exists (select 1 from events e
        where e.organisation_id = w.organisation_id
          and (e.written_by, e.id) > (c.written_by, c.event_key)
          and e.written_by < pg_snapshot_xmin(pg_current_snapshot()))
      limit ${webhooksAtOnce} for update of c skip locked for key share of w skip locked),
    found as materialized (
      select b.webhook_id, b.organisation_id, e.id, e.written_by, e.event_id, e.what,
        (b.event_types = '{}' or e.what = any(b.event_types))
          and (b.begins is null or not pg_visible_in_snapshot(e.written_by, b.begins)) as is_wanted
      from behind b cross join lateral (
        select * from events e where e.organisation_id = b.organisation_id
          and (e.written_by, e.id) > (b.written_by, b.event_key)
          and e.written_by < pg_snapshot_xmin(pg_current_snapshot())
        order by e.written_by, e.id limit ${eventsAtOnce}) e),
    handed as (
      insert into webhook_deliveries (organisation_id, webhook_id, event_key, event_id, event,
        created_at, next_at)
      select organisation_id, webhook_id, id, event_id, what, ${at}, ${at} from found
      where is_wanted order by webhook_id, written_by, id
      on conflict (webhook_id, event_key) do update
        set state = 'waiting', attempts = 0, next_at = excluded.next_at, settled_at = null),
    moved as (
      update webhook_cursors c set written_by = l.written_by, event_key = l.id
      from (select distinct on (webhook_id) webhook_id, written_by, id from found
        order by webhook_id, written_by desc, id desc) l
      where c.webhook_id = l.webhook_id)
    select count(*) as found from found`;
  return (row?.found ?? 0) > 0;
}

export type DueWebhook = {
  readonly id: string;
  readonly organisation: string;
  readonly isFailing: boolean;
};

/**
 * Webhooks that something is due for and that have no turn yet: at most some of one organisation
 * and of those that fail, with those under way, and each as likely as any other.
 */
export function dueWebhooks(
  sql: Queryable,
  {
    at,
    underWay,
    limit,
    ofOrganisation,
    ofFailing,
  }: {
    readonly at: Date;
    readonly underWay: readonly DueWebhook[];
    readonly limit: number;
    readonly ofOrganisation: number;
    readonly ofFailing: number;
  },
): Promise<DueWebhook[]> {
  return sql<DueWebhook[]>`
  with busy as materialized (
    select * from json_to_recordset(${JSON.stringify(underWay)}::text::json) as b (id uuid,
      organisation uuid)),
  due as materialized (
    select w.id, w.organisation_id as organisation, w.failing_since is not null as "isFailing",
      row_number() over (partition by w.organisation_id order by random()) as of_organisation,
      row_number() over (partition by w.failing_since is null order by random()) as alike
    from webhooks w
    where w.enabled and w.id not in (select id from busy) and exists (
      select 1 from webhook_deliveries d
      where d.webhook_id = w.id and d.state = 'waiting' and d.next_at <= ${at}))
  select id, organisation, "isFailing" from due d
  where of_organisation <= ${ofOrganisation}
      - (select count(*) from busy b where b.organisation = d.organisation)
    and (not "isFailing" or alike <= ${ofFailing})
  order by random() limit ${Math.max(0, limit)}`;
}

export type ClaimedDelivery = {
  readonly id: string;
  readonly event_key: number;
  readonly event_id: string;
  /** Including this one. */
  readonly attempts: number;
};

/**
 * Claims what is due for a webhook, for a time: no other coordinator sends it meanwhile, and the
 * claim of one that was killed ends by itself.
 */
export function claimDeliveries(
  sql: Queryable,
  {
    webhook,
    at,
    until,
    limit,
  }: {
    readonly webhook: string;
    readonly at: Date;
    readonly until: Date;
    readonly limit: number;
  },
): Promise<ClaimedDelivery[]> {
  return sql<ClaimedDelivery[]>`
  update webhook_deliveries set attempts = attempts + 1, next_at = ${until}
  where key in (
    select d.key from webhook_deliveries d
    join webhooks w on w.id = d.webhook_id and w.enabled
    where d.webhook_id = ${webhook} and d.state = 'waiting' and d.next_at <= ${at}
    order by d.next_at, d.key limit ${limit} for update of d skip locked)
  returning id, event_key, event_id, attempts`;
}

export type SendingWebhook = {
  readonly organisation_id: string;
  readonly secrets: Uint8Array;
};

export async function webhookToSend(
  sql: Queryable,
  id: string,
): Promise<SendingWebhook | undefined> {
  const [row] = await sql<SendingWebhook[]>`
    select organisation_id, secrets from webhooks where id = ${id} and enabled`;
  return row;
}

export type Settled = {
  readonly id: string;
  /** The attempt that this resulted from; another that began later is not touched. */
  readonly attempts: number;
  readonly state: 'waiting' | 'delivered' | 'failed' | 'cancelled';
  readonly at: Date;
  /** When the next attempt is due; null when there is none. */
  readonly next_at: Date | null;
  readonly status: number | null;
  readonly class: string | null;
  readonly took_ms: number;
  readonly answer: string | null;
};

export async function settleDelivery(
  sql: Queryable,
  { id, attempts, state, at, next_at, status, class: kind, took_ms, answer }: Settled,
): Promise<void> {
  await sql`
    update webhook_deliveries set state = ${state}, attempted_at = ${at},
      next_at = coalesce(${next_at}::timestamptz, next_at), status = ${status}, class = ${kind},
      took_ms = ${took_ms}, answer = ${answer},
      settled_at = ${state === 'waiting' ? null : at}::timestamptz
    where id = ${id} and state = 'waiting' and attempts = ${attempts}`;
}

export type HealthRow = {
  readonly organisation_id: string;
  readonly host: string;
  readonly description: string;
  readonly failing_since: Date | null;
  readonly last_failed_at: Date | null;
};

/** How it fares, locked until the transaction ends; undefined once it is off or deleted. */
export async function healthOf(sql: Queryable, id: string): Promise<HealthRow | undefined> {
  const [row] = await sql<HealthRow[]>`
    select organisation_id, host, description, failing_since, last_failed_at from webhooks
    where id = ${id} and enabled for no key update`;
  return row;
}

export async function writeHealth(
  sql: Queryable,
  id: string,
  {
    failing_since,
    last_failed_at,
    delivered_at,
    off,
  }: {
    readonly failing_since: Date | null;
    readonly last_failed_at: Date | null;
    readonly delivered_at: Date | null;
    readonly off: 'gone' | 'failing' | null;
  },
): Promise<void> {
  await sql`
    update webhooks set failing_since = ${failing_since}, last_failed_at = ${last_failed_at},
      last_delivered_at = coalesce(${delivered_at}::timestamptz, last_delivered_at),
      enabled = enabled and ${off === null}, disabled_because = ${off}
    where id = ${id} and (${off !== null}
      or failing_since is distinct from ${failing_since}::timestamptz
      or last_failed_at is distinct from ${last_failed_at}::timestamptz
      or last_delivered_at is null or last_delivered_at < ${secondBefore(delivered_at)})`;
}

/** The row of a busy webhook is not written with each delivery. */
function secondBefore(at: Date | null): Date {
  return new Date(at === null ? 0 : at.getTime() - 1_000);
}

/** Deletes a batch of the log. Returns whether there may be more. */
export async function forgetDeliveries(
  sql: Queryable,
  before: Date,
  limit: number,
): Promise<boolean> {
  const deleted = await sql`delete from webhook_deliveries
    where key in (select key from webhook_deliveries
      where state <> 'waiting' and settled_at < ${before} order by settled_at limit ${limit})`;
  return deleted.count === limit;
}
