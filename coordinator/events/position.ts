import { type FieldPath, valueFault } from '../../shared/api/fields.ts';
import { InvalidInput } from '../../shared/api/operation.ts';
import type { Queryable } from '../database/connect.ts';
import type { Cursors } from '../gate/cursors.ts';
import { installationId } from '../health/meters.ts';
import type { EventRow } from './queries.ts';

/** A place in the list of events: that of its row, or before the first. */
export type EventPosition = Pick<EventRow, 'key' | 'place'>;

/** Before the first transaction. */
export const beginning: EventPosition = { key: 0, place: '0' };

/** Positions of one organisation's list, as programs keep them. */
type EventCursors = {
  readonly make: (position: EventPosition) => Promise<string>;
  /** @throws InvalidInput when the cursor is not of this list. */
  readonly read: (cursor: string, at: FieldPath) => Promise<EventPosition>;
};

/** `monitor`: the list of its events alone. */
export async function eventCursors(
  sql: Queryable,
  cursors: Cursors,
  organisation: string,
  monitor: string | null,
): Promise<EventCursors> {
  // Transaction numbers belong to one database: a restored one starts again.
  const list = ['events', organisation, await installationId(sql), monitor];
  return {
    make: (position) => cursors.make(list, position),
    read: async (cursor, at) => {
      try {
        const { key, place } = await cursors.read(list, cursor);
        return { key, place: place ?? beginning.place };
      } catch (error) {
        if (!(error instanceof InvalidInput)) throw error;
        throw new InvalidInput([
          valueFault(at, 'not an `after` of this list; begin without one', cursor),
        ]);
      }
    },
  };
}
