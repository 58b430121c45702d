import { type Interval, isoText } from '../../shared/base/time.ts';
import type { Queryable } from '../database/connect.ts';

/**
 * Changes. Triggers, and who finds causes, write them in the transaction that makes the change; a
 * program records a deploy.
 */

export type EventRow = {
  readonly key: number;
  /** The transaction that wrote it. */
  readonly place: string;
  readonly id: string;
  readonly at: number;
  readonly event: string;
  readonly monitor: string | null;
  readonly incident: string | null;
  readonly group: string | null;
  readonly window: string | null;
  readonly warning: string | null;
  readonly cause: string | null;
  readonly name: string | null;
};

/** An event as programs get it. */
export function eventJson({ key: _, place: __, at, ...rest }: EventRow) {
  return {
    ...rest,
    at: isoText(at),
  };
}

/**
 * Events after a row, in order. Transactions get their numbers when they begin to write, and end in
 * any order. Only events before the oldest open transaction are returned, so that none can later
 * appear before them.
 */
export function eventsAfter(
  sql: Queryable,
  organisation: string,
  {
    monitor,
    after,
    most: limit,
  }: {
    readonly monitor: string | null;
    readonly after: Pick<EventRow, 'key' | 'place'>;
    readonly most: number;
  },
): Promise<EventRow[]> {
  return sql<EventRow[]>`
  select ${eventColumns(sql)} from events e
  where e.organisation_id = ${organisation}
    and (e.written_by, e.id) > (${after.place}::text::xid8, ${after.key})
    and e.written_by < pg_snapshot_xmin(pg_current_snapshot()) ${monitor === null ? sql`` : sql`and e.monitor_id = ${monitor}`}
  order by e.written_by, e.id limit ${limit}`;
}

/** Of an event `e`. */
export function eventColumns(sql: Queryable) {
  return sql`
  e.id as key, e.written_by::text as place, e.event_id as id, e.at, e.what as event,
  e.monitor_id as monitor, e.incident_id as incident,
  e.group_id as "group", e.window_id as "window", e.warning,
  e.cause_id as cause, e.name`;
}

/** Deletes a batch of older events. Returns whether there may be more. */
export async function forgetEvents(
  sql: Queryable,
  before: number,
  limit: number,
): Promise<boolean> {
  const deleted = await sql`delete from events
      where id in (select id from events where at < ${new Date(before)} order by at limit ${limit})`;
  return deleted.count === limit;
}

/** A deploy, of one monitor or of all. */
export async function insertDeploy(
  sql: Queryable,
  organisation: string,
  { name, monitor }: { readonly name: string; readonly monitor: string | null },
): Promise<{ readonly id: string; readonly at: number }> {
  const [row] = await sql<{ id: string; at: number }[]>`
    insert into events (organisation_id, what, monitor_id, name)
    values (${organisation}, 'deploy', ${monitor}, ${name})
    returning event_id as id, at`;
  if (row === undefined) throw new Error('the deploy was not written');
  return row;
}

/** The newest deploys that a monitor's chart shows, newest first. */
export function deploysWithin(
  sql: Queryable,
  organisation: string,
  monitor: string,
  { from, to }: Interval,
): Promise<{ readonly at: number; readonly name: string }[]> {
  return sql<{ at: number; name: string }[]>`
  select at, name from events
  where organisation_id = ${organisation} and what = 'deploy'
    and (monitor_id is null or monitor_id = ${monitor})
    and at >= ${new Date(from)} and at < ${new Date(to)}
  order by at desc limit 50`;
}
