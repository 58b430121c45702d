import { isoText } from '../../shared/base/time.ts';
import type { Queryable } from '../database/connect.ts';

/** From the list of events to deliveries, and how webhooks fare with them. */

/** Whether there is a webhook that events may go to. */
export async function isAnyOn(sql: Queryable): Promise<boolean> {
  const [row] = await sql<{ is: boolean }[]>`
    select exists (select from webhooks where enabled) as is`;
  return row?.is ?? true;
}

/** How many events one webhook is handed at once, and how many webhooks. */
const eventsAtOnce = 500;
const webhooksAtOnce = 100;

/**
 * Hands events on: writes a delivery for each that comes after a webhook's cursor, and moves the
 * cursor, in one statement. So each is handed on once, whatever crashes. As in the list of
 * events, those that an open transaction could still precede wait. An event that is handed on again
 * (a replay) is sent again. Returns whether there may be more.
 */
export async function handOn(sql: Queryable, at: number): Promise<boolean> {
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
      insert into deliveries (organisation_id, webhook_id, event_key, event_id, event,
        created_at, next_at)
      select organisation_id, webhook_id, id, event_id, what, ${new Date(at)}, ${new Date(at)} from found
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

export type HealthRow = {
  readonly id: string;
  readonly organisation_id: string;
  readonly host: string;
  readonly description: string;
  readonly failing_since: number | null;
  readonly last_failed_at: number | null;
};

/** How those fare that are neither off nor deleted, locked until the transaction ends. */
export function healthOf(sql: Queryable, ids: readonly string[]): Promise<HealthRow[]> {
  return sql<HealthRow[]>`
    select id, organisation_id, host, description,
      (extract(epoch from failing_since) * 1000)::float8 as failing_since,
      (extract(epoch from last_failed_at) * 1000)::float8 as last_failed_at
    from webhooks where id = any(${ids}::uuid[]) and enabled
    order by id for no key update`;
}

/** The row of a busy webhook is not written with each delivery. */
export async function writeHealth(
  sql: Queryable,
  webhooks: readonly (Pick<HealthRow, 'id' | 'failing_since' | 'last_failed_at'> & {
    readonly delivered_at: number | null;
    readonly off: 'gone' | 'failing' | null;
  })[],
): Promise<void> {
  const rows = webhooks.map(({ id, failing_since, last_failed_at, delivered_at, off }) => ({
    id,
    failing_since: isoText(failing_since),
    last_failed_at: isoText(last_failed_at),
    delivered_at: isoText(delivered_at),
    off,
  }));
  await sql`
    update webhooks w set failing_since = h.failing_since, last_failed_at = h.last_failed_at,
      last_delivered_at = coalesce(h.delivered_at, w.last_delivered_at),
      enabled = w.enabled and h.off is null, disabled_because = h.off
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as h (id uuid,
      failing_since timestamptz, last_failed_at timestamptz, delivered_at timestamptz, off text)
    where w.id = h.id and (h.off is not null
      or w.failing_since is distinct from h.failing_since
      or w.last_failed_at is distinct from h.last_failed_at
      or h.delivered_at is not null and (w.last_delivered_at is null
        or w.last_delivered_at < h.delivered_at - interval '1 second'))`;
}
