import type { listEvents as operation } from '../../../shared/api/events.ts';
import { valueFault } from '../../../shared/api/fields.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { InvalidInput } from '../../../shared/api/operation.ts';
import { eventsAfter, type ShownEvent } from '../../store/store-events.ts';
import { installationId } from '../../store/store-installation-id.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';

/** Before the first transaction. */
const beginning = { key: 0, place: '0' };

const eventOut = ({ key: _, place: __, at, ...rest }: ShownEvent) => ({ ...rest, at: at.toISOString() });

export const listEvents = async (
  { sql, organisation, with: { cursors } }: InOrganisation,
  { after, monitor, limit }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  // Numbers of transactions are those of one database: a restored one counts anew.
  const list = ['events', organisation.id, await installationId(sql), monitor];
  const read = async (cursor: string): Promise<Pick<ShownEvent, 'key' | 'place'>> => {
    try {
      const { key, place } = await cursors.read(list, cursor);
      return { key, place: place ?? beginning.place };
    } catch (error) {
      if (!(error instanceof InvalidInput)) throw error;
      throw new InvalidInput([valueFault(['query', 'after'], 'not an `after` of this list; begin without one', cursor)]);
    }
  };
  const from = after === null ? beginning : await read(after);
  const found = await eventsAfter(sql, organisation.id, { monitor, after: from, most: limit + 1 });
  const items = found.slice(0, limit);
  const { key, place } = items.at(-1) ?? from;
  return { items: items.map(eventOut), after: await cursors.make(list, { key, place }), more: found.length > limit };
};
