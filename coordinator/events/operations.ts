import type * as api from '../../shared/api/events.ts';
import { valueFault } from '../../shared/api/fields.ts';
import { type InputOf, InvalidInput, type OutputOf } from '../../shared/api/operation.ts';
import { nameFrom } from '../../shared/base/names.ts';
import { type InOrganisation, type OperationResult, orNotFound } from '../gate/context.ts';
import { installationId } from '../health/meters.ts';
import { monitorKey } from '../monitors/queries.ts';
import { type EventRow, eventsAfter, insertDeploy } from './queries.ts';

/** Before the first transaction. */
const beginning = { key: 0, place: '0' };

const eventJson = ({ key: _, place: __, at, ...rest }: EventRow) => ({
  ...rest,
  at: at.toISOString(),
});

export const listEvents = async (
  { sql, organisation, with: { cursors } }: InOrganisation,
  { after, monitor, limit }: InputOf<typeof api.listEvents>,
): OperationResult<OutputOf<typeof api.listEvents>> => {
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

export const createEvent = async (
  { sql, organisation, note }: InOrganisation,
  { name: input, monitor }: InputOf<typeof api.createEvent>,
): OperationResult<OutputOf<typeof api.createEvent>> => {
  const name = nameFrom(input);
  if (monitor !== null)
    orNotFound(await monitorKey(sql, organisation.id, monitor), 'monitor_not_found');
  const { id, at } = await insertDeploy(sql, organisation.id, { name, monitor });
  note({ after: { name, monitor } });
  return {
    id,
    at: at.toISOString(),
    event: 'deploy',
    monitor,
    incident: null,
    group: null,
    window: null,
    warning: null,
    name,
  };
};
