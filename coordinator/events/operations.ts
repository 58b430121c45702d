import type { listEvents as listEventsContract } from '../../shared/api/events.ts';
import { valueFault } from '../../shared/api/fields.ts';
import { type InputOf, InvalidInput, type OutputOf } from '../../shared/api/operation.ts';
import type { Queryable } from '../database/connect.ts';
import type { InOrganisation, OperationResult } from '../gate/context.ts';
import { installationId } from '../health/meters.ts';

/** Changes (migration 038). Triggers write them in the transaction that makes the change. */

export type EventRow = {
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
 * Events after a row, in order. Transactions get their numbers when they begin to write, and end in
 * any order. Only events before the oldest open transaction are returned, so that none can later
 * appear before them.
 */
export const eventsAfter = (
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
): Promise<EventRow[]> => sql<EventRow[]>`
  select e.id as key, e.written_by::text as place, e.event_id as id, e.at, e.what as event,
    e.monitor_id as monitor, e.incident_id as incident,
    e.group_id as "group", e.window_id as "window", e.name
  from events e
  where e.organisation_id = ${organisation}
    and (e.written_by, e.id) > (${after.place}::text::xid8, ${after.key})
    and e.written_by < pg_snapshot_xmin(pg_current_snapshot()) ${monitor === null ? sql`` : sql`and e.monitor_id = ${monitor}`}
  order by e.written_by, e.id limit ${limit}`;

/** Deletes a batch of older events. Returns whether there may be more. */
export const forgetEvents = async (
  sql: Queryable,
  before: Date,
  limit: number,
): Promise<boolean> => {
  const deleted = await sql`delete from events
      where id in (select id from events where at < ${before} order by at limit ${limit})`;
  return deleted.count === limit;
};

/** Before the first transaction. */
const beginning = { key: 0, place: '0' };

const eventJson = ({ key: _, place: __, at, ...rest }: EventRow) => ({
  ...rest,
  at: at.toISOString(),
});

export const listEvents = async (
  { sql, organisation, with: { cursors } }: InOrganisation,
  { after, monitor, limit }: InputOf<typeof listEventsContract>,
): OperationResult<OutputOf<typeof listEventsContract>> => {
  // Transaction numbers belong to one database: a restored one starts again.
  const list = ['events', organisation.id, await installationId(sql), monitor];
  const read = async (cursor: string): Promise<Pick<EventRow, 'key' | 'place'>> => {
    try {
      const { key, place } = await cursors.read(list, cursor);
      return { key, place: place ?? beginning.place };
    } catch (error) {
      if (!(error instanceof InvalidInput)) throw error;
      throw new InvalidInput([
        valueFault(['query', 'after'], 'not an `after` of this list; begin without one', cursor),
      ]);
    }
  };
  const from = after === null ? beginning : await read(after);
  const found = await eventsAfter(sql, organisation.id, { monitor, after: from, most: limit + 1 });
  const items = found.slice(0, limit);
  const { key, place } = items.at(-1) ?? from;
  return {
    items: items.map(eventJson),
    after: await cursors.make(list, { key, place }),
    more: found.length > limit,
  };
};
