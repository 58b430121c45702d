import type { Queryable } from '../database/connect.ts';
import type { EventPosition } from '../events/position.ts';

/** Webhooks, and the log of what was sent to them. */

export type WebhookRow = {
  readonly key: number;
  readonly id: string;
  readonly description: string;
  readonly host: string;
  readonly secrets: Uint8Array;
  /** Empty: of every type. */
  readonly event_types: readonly string[];
  readonly enabled: boolean;
  readonly created_at: number;
  readonly last_delivered_at: number | null;
  readonly failing_since: number | null;
  readonly disabled_because: 'gone' | 'failing' | null;
};

export function webhookPage(
  sql: Queryable,
  organisation: string,
  after: number,
  limit: number,
): Promise<WebhookRow[]> {
  return sql<WebhookRow[]>`
  select ${columns(sql)} from webhooks w
  where w.organisation_id = ${organisation} and w.key > ${after} order by w.key limit ${limit}`;
}

function columns(sql: Queryable) {
  return sql`
  w.key, w.id, w.description, w.host, w.secrets, w.event_types, w.enabled, w.created_at,
  w.last_delivered_at, w.failing_since, w.disabled_because`;
}

export async function webhookById(
  sql: Queryable,
  organisation: string,
  id: string,
): Promise<WebhookRow | undefined> {
  const [row] = await sql<WebhookRow[]>`
    select ${columns(sql)} from webhooks w
    where w.organisation_id = ${organisation} and w.id = ${id}`;
  return row;
}

export async function countWebhooks(sql: Queryable, organisation: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*) as count from webhooks where organisation_id = ${organisation}`;
  return row?.count ?? 0;
}

type WebhookWrite = Pick<WebhookRow, 'id' | 'description' | 'host' | 'event_types' | 'enabled'> & {
  readonly organisation: string;
  readonly secrets: Buffer;
};

export async function insertWebhook(
  sql: Queryable,
  { id, organisation, description, host, secrets, event_types, enabled }: WebhookWrite,
  at: number,
): Promise<void> {
  await sql`
    insert into webhooks (id, organisation_id, description, host, secrets, event_types, enabled,
      created_at)
    values (${id}, ${organisation}, ${description}, ${host}, ${secrets},
      ${[...event_types]}::text[], ${enabled}, ${new Date(at)})`;
  await beginCursors(sql, id);
}

/**
 * Has it begin with what is written from now on, also by transactions that are open already. Null:
 * every webhook that has no cursor yet.
 */
export async function beginCursors(sql: Queryable, webhook: string | null): Promise<void> {
  await sql`
    insert into webhook_cursors (webhook_id, written_by, event_key, begins)
    select id, pg_snapshot_xmin(pg_current_snapshot()), 0, pg_current_snapshot() from webhooks
    where ${webhook === null ? sql`true` : sql`id = ${webhook}`}
    on conflict (webhook_id) do update set written_by = excluded.written_by,
      event_key = excluded.event_key, begins = excluded.begins
      where ${webhook !== null}`;
}

/** `isAnew`: another address, or turned on: what was wrong before no longer counts. */
export async function updateWebhook(
  sql: Queryable,
  { id, organisation, description, host, secrets, event_types, enabled }: WebhookWrite,
  isAnew: boolean,
): Promise<void> {
  await sql`
    update webhooks set description = ${description}, host = ${host}, secrets = ${secrets},
      event_types = ${[...event_types]}::text[], enabled = ${enabled}
      ${isAnew ? sql`, failing_since = null, last_failed_at = null, disabled_because = null` : sql``}
    where organisation_id = ${organisation} and id = ${id}`;
}

export async function writeWebhookSecrets(
  sql: Queryable,
  organisation: string,
  id: string,
  secrets: Buffer,
): Promise<void> {
  await sql`update webhooks set secrets = ${secrets}
    where organisation_id = ${organisation} and id = ${id}`;
}

export async function deleteWebhook(
  sql: Queryable,
  organisation: string,
  id: string,
): Promise<void> {
  await sql`delete from webhooks where organisation_id = ${organisation} and id = ${id}`;
}

const deliveryStates = ['waiting', 'delivered', 'failed', 'cancelled'] as const;
type DeliveryState = (typeof deliveryStates)[number];

export type DeliveryRow = {
  readonly key: number;
  readonly id: string;
  readonly event_id: string;
  readonly event: string;
  readonly state: DeliveryState;
  readonly created_at: number;
  readonly next_at: number;
  readonly attempts: number;
  /** The last attempt that was answered, or that ended without an answer (class). */
  readonly attempted: {
    readonly at: number;
    readonly status: number | null;
    readonly class: string | null;
    readonly took_ms: number;
    readonly answer: string | null;
  } | null;
};

/** Newest first. */
export function deliveryPage(
  sql: Queryable,
  organisation: string,
  { webhook, state }: { readonly webhook: string; readonly state: DeliveryState | null },
  before: number,
  limit: number,
): Promise<DeliveryRow[]> {
  return sql<DeliveryRow[]>`
  select ${deliveryColumns(sql)} from deliveries d
  where d.organisation_id = ${organisation} and d.webhook_id = ${webhook} and d.key < ${before}
    ${state === null ? sql`` : sql`and d.state = ${state}`}
  order by d.key desc limit ${limit}`;
}

function deliveryColumns(sql: Queryable) {
  return sql`
  d.key, d.id, d.event_id, d.event, d.state, d.created_at, d.next_at, d.attempts,
  d.log -> -1 as attempted`;
}

/** Has an event sent again, from the first attempt on. */
export async function resendDelivery(
  sql: Queryable,
  organisation: string,
  webhook: string,
  id: string,
  at: number,
): Promise<DeliveryRow | undefined> {
  const [row] = await sql<DeliveryRow[]>`
    update deliveries d set state = 'waiting', attempts = 0, next_at = ${new Date(at)},
      settled_at = null
    where d.organisation_id = ${organisation} and d.webhook_id = ${webhook} and d.id = ${id}
    returning ${deliveryColumns(sql)}`;
  return row;
}

/** Before the first event at or after a time; undefined when there is none. */
export async function positionSince(
  sql: Queryable,
  organisation: string,
  since: number,
): Promise<EventPosition | undefined> {
  const [row] = await sql<EventPosition[]>`
    select id - 1 as key, written_by::text as place from events
    where organisation_id = ${organisation} and at >= ${new Date(since)} order by written_by, id limit 1`;
  return row;
}

/**
 * Moves the cursor back, so that everything after the position is sent, whether it was sent before
 * or not. A cursor that is before the position stays: a transaction that was open when the webhook
 * was made keeps it there. Returns how many events that is as of now.
 */
export async function moveCursorBack(
  sql: Queryable,
  organisation: string,
  webhook: string,
  { key, place }: EventPosition,
): Promise<number> {
  await sql`
    update webhook_cursors c set written_by = least(c.written_by, ${place}::text::xid8),
      event_key = case when (c.written_by, c.event_key) > (${place}::text::xid8, ${key}::bigint)
        then ${key}::bigint else c.event_key end,
      begins = null
    from webhooks w
    where c.webhook_id = ${webhook} and w.id = c.webhook_id and w.organisation_id = ${organisation}`;
  const [row] = await sql<{ count: number }[]>`
    select count(*) as count from webhooks w
    join events e on e.organisation_id = w.organisation_id
      and (e.written_by, e.id) > (${place}::text::xid8, ${key}::bigint)
      and (w.event_types = '{}' or e.what = any(w.event_types))
    where w.id = ${webhook} and w.organisation_id = ${organisation}`;
  return row?.count ?? 0;
}
