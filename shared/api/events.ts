import {
  array,
  boolean,
  dateTime,
  grown,
  maybe,
  nullable,
  object,
  string,
  uuid,
} from './fields.ts';
import { exampleIds, nullableString, operation, pageQuery } from './operation.ts';

/** What triggers of the database write, causes and `deploy`. */
export const eventTypes = [
  'incident.opened',
  'incident.confirmed',
  'incident.acknowledged',
  'incident.unacknowledged',
  'incident.resolved',
  'monitor.created',
  'monitor.changed',
  'monitor.paused',
  'monitor.resumed',
  'monitor.deleted',
  'group.created',
  'group.changed',
  'group.deleted',
  'maintenance.created',
  'maintenance.changed',
  'maintenance.deleted',
  'warning.started',
  'warning.changed',
  'warning.ended',
  'cause.found',
  'cause.ended',
  'deploy',
] as const;

export const EventOut = object('EventOut', {
  id: uuid({
    description: 'Of the event: one that is sent twice has the same id.',
    example: exampleIds.post,
  }),
  at: dateTime({ description: 'When it was written down.', example: '2026-11-18T04:03:36.902Z' }),
  event: string({
    description: `${eventTypes.map((type) => `\`${type}\``).join(', ')}. There may be others later: ignore what you do not know.`,
    example: 'incident.confirmed',
  }),
  monitor: nullable(uuid({ example: exampleIds.monitor })),
  incident: nullable(uuid({ meaning: 'The id of the incident.', example: exampleIds.incident })),
  group: nullable(uuid({ example: null })),
  window: nullable(
    uuid({
      meaning: 'The id of the maintenance window; null where it is about none.',
      example: null,
    }),
  ),
  warning: grown(
    nullableString('The code of the warning; null where it is about none.', { example: null }),
    null,
  ),
  cause: grown(
    nullable(
      uuid({
        description: 'The id of the cause: `GET /api/v1/causes/{cause_id}` has the rest.',
        example: null,
      }),
    ),
    null,
  ),
  name: nullableString('The name of the monitor, group, window, cause or deploy at that time.', {
    example: 'Shop',
  }),
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
      limits: { maxLength: 1_000 },
    }),
    monitor: maybe(uuid(), { description: 'Only events of this monitor.' }),
    limit: pageQuery.limit,
  },
  response: object('EventListOut', {
    items: array(EventOut),
    after: string({
      description: 'Where to go on; never null, also when there is nothing new.',
      example: 'b3VyIG93biBwbGFjZSBpbiB0aGUgbGlzdA',
    }),
    more: boolean({ description: 'Whether there is more at once.', example: false }),
  }),
  columns: ['at', 'event', 'name', 'monitor', 'incident', 'id'],
});

const EventIn = object('EventIn', {
  name: string({
    minLength: 1,
    meaning: 'What was deployed: a version, a commit, a sentence.',
    limits: { maxLength: 200 },
    example: 'Shop 4.2.1',
  }),
  monitor: maybe(uuid(), {
    description: 'The monitor whose charts show it; left out, the charts of all monitors do.',
  }),
});

export const createEvent = operation({
  id: 'createEvent',
  method: 'POST',
  path: '/api/v1/events',
  tag: 'Events',
  access: 'write',
  summary: 'Record a deploy',
  description:
    'Call it at the end of a deployment. Response charts show a mark at this moment, and ' +
    '`GET /api/v1/events` lists it as `deploy`. It is kept for 90 days.',
  body: EventIn,
  response: EventOut,
  success: 201,
  refusals: ['name_invalid', 'monitor_not_found'],
});
