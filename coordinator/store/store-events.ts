import type { Queryable } from './store-database.ts';

/** What changed (migration 038). Triggers write it, with whatever changes it. */

export type ShownEvent = {
  readonly key: number;
  /** The transaction that wrote it. */
  readonly place: string;
  readonly id: string;
  readonly at: Date;
  readonly event: string;
  readonly monitor: string | null;
  readonly incident: string | null;
  readonly group: string | null;
  readonly window: string | null;
  readonly name: string | null;
};

/**
 * After a row, in their order. Numbers of transactions are given when they begin to write, and they end in any order: what is told lies before the
 * oldest that is still going, so that nothing can come to lie before what was told.
 */
export const eventsAfter = (
  sql: Queryable,
  organisation: string,
  { monitor, after, most }: { readonly monitor: string | null; readonly after: Pick<ShownEvent, 'key' | 'place'>; readonly most: number },
): Promise<ShownEvent[]> => sql<ShownEvent[]>`
  select e.id as key, e.written_by::text as place, e.event_id as id, e.at, e.what as event, e.monitor_id as monitor, e.incident_id as incident,
    e.group_id as "group", e.window_id as "window", e.name
  from events e
  where e.organisation_id = ${organisation} and (e.written_by, e.id) > (${after.place}::text::xid8, ${after.key})
    and e.written_by < pg_snapshot_xmin(pg_current_snapshot()) ${monitor === null ? sql`` : sql`and e.monitor_id = ${monitor}`}
  order by e.written_by, e.id limit ${most}`;

/** A bite of what is older; whether there may be more. */
export const forgetEvents = async (sql: Queryable, before: Date, most: number): Promise<boolean> => {
  const deleted = await sql`delete from events where id in (select id from events where at < ${before} order by at limit ${most})`;
  return deleted.count === most;
};
