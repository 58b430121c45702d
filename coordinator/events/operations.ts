import * as api from '../../shared/api/events.ts';
import { nameFrom } from '../../shared/base/names.ts';
import { isoText } from '../../shared/base/time.ts';
import { handle } from '../gate/bind.ts';
import { monitorKey } from '../gate/records.ts';
import { beginning, eventCursors } from './position.ts';
import { eventJson, eventsAfter, insertDeploy } from './queries.ts';

export const listEvents = handle(api.listEvents)(
  async ({ sql, organisation, with: { cursors } }, { after, monitor, limit }) => {
    const places = await eventCursors(sql, cursors, organisation.id, monitor);
    const from = after === null ? beginning : await places.read(after, ['query', 'after']);
    const found = await eventsAfter(sql, organisation.id, {
      monitor,
      after: from,
      most: limit + 1,
    });
    const items = found.slice(0, limit);
    const { key, place } = items.at(-1) ?? from;
    return {
      items: items.map(eventJson),
      after: await places.make({ key, place }),
      more: found.length > limit,
    };
  },
);

export const createEvent = handle(api.createEvent)(
  async ({ sql, organisation, note }, { name: input, monitor }) => {
    const name = nameFrom(input);
    if (monitor !== null) await monitorKey(sql, organisation.id, monitor);
    const { id, at } = await insertDeploy(sql, organisation.id, { name, monitor });
    note({ after: { name, monitor } });
    return {
      id,
      at: isoText(at),
      event: 'deploy',
      monitor,
      incident: null,
      group: null,
      window: null,
      warning: null,
      cause: null,
      name,
    };
  },
);
