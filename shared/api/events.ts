import { array, boolean, dateTime, maybe, nullable, object, string, uuid } from './fields.ts';
import { nullableString, operation, pageQuery } from './operation.ts';

const EventOut = object('EventOut', {
  id: uuid({ description: 'Of the event: one that is told twice is the same.' }),
  at: dateTime({ description: 'When it was written down.' }),
  event: string({
    description:
      '`incident.opened`, `.confirmed`, `.acknowledged`, `.resolved`; `monitor.created`, `.changed`, `.paused`, `.resumed`, `.deleted`; `group.created`, `.changed`, `.deleted`; `maintenance.created`, `.changed`, `.deleted`. There may be others later: ignore what you do not know.',
  }),
  monitor: nullable(uuid()),
  incident: nullable(uuid()),
  group: nullable(uuid()),
  window: nullable(uuid()),
  name: nullableString('What the monitor, the group or the window was called then.'),
});

export const listEvents = operation({
  id: 'listEvents',
  method: 'GET',
  path: '/api/v1/events',
  tag: 'Events',
  access: 'read',
  summary: 'List what changed',
  description:
    'Oldest first, of the last 90 days. Ask again with `after` as it was answered, now or later, and you are told of everything that came since, each once, whatever happens at the same time. An event is told as soon as everything before it is certain. After the service was restored from a backup an older `after` is refused: begin without one.',
  query: {
    after: maybe(string({ minLength: 1 }), {
      description: 'The `after` of the answer before; without it the list begins with the oldest.',
    }),
    monitor: maybe(uuid(), { description: 'Only events of this monitor.' }),
    limit: pageQuery.limit,
  },
  response: object('EventListOut', {
    items: array(EventOut),
    after: string({ description: 'Where to go on; never null, also when there is nothing new.' }),
    more: boolean({ description: 'Whether there is more at once.' }),
  }),
  success: 200,
});
