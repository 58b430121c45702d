import { boolean, dateTime, integer, nullable, object, optional, string, uuid } from './fields.ts';
import { exampleIds, operation, page, pageQuery } from './operation.ts';

/**
 * Ping keys: the address of a heartbeat from a key of the organisation and the external id, known
 * before the monitor exists.
 */

const listed = {
  id: uuid({ example: exampleIds.invitation }),
  name: string({ example: 'Nightly jobs' }),
  shown: string({ description: 'How the key begins, to know it by.', example: 'pk_4fTqZ' }),
  created_at: dateTime({ example: '2026-11-20T12:00:00.000Z' }),
  until: nullable(dateTime(), {
    description: 'When it ends, once it was rotated; null for one in force.',
    example: null,
  }),
  over: boolean({ description: 'Whether it has ended.', example: false }),
};

const PingKeyOut = object('PingKeyOut', listed);

const PingKeyMadeOut = object('PingKeyMadeOut', {
  ...listed,
  key: string({ description: 'It is shown once.', example: 'pk_4fTq00000000000000000000' }),
  address: string({
    description:
      'Where jobs send pings; replace `EXTERNAL_ID`. The endings of every ping address follow it: `/start`, `/fail`, `/log`, an exit code.',
    example: 'https://antipode.example.com/beat/pk_4fTq00000000000000000000/EXTERNAL_ID',
  }),
});

export const createPingKey = operation({
  id: 'createPingKey',
  method: 'POST',
  path: '/api/v1/ping-keys',
  tag: 'Ping keys',
  access: 'manage',
  dangerous: true,
  summary: 'Create a ping key',
  description:
    'Under it every heartbeat that has an `external_id` takes pings, besides its own address. With `?create=1` the first ping under an unknown external id creates the heartbeat, with an interval of a day, as far as the plan allows.',
  body: object('PingKeyIn', {
    name: string({
      minLength: 1,
      limits: { maxLength: 200 },
      meaning: 'What it is for.',
      example: 'Nightly jobs',
    }),
  }),
  response: PingKeyMadeOut,
  success: 201,
  refusals: ['name_invalid', 'ping_keys_full'],
});

export const listPingKeys = operation({
  id: 'listPingKeys',
  method: 'GET',
  path: '/api/v1/ping-keys',
  tag: 'Ping keys',
  access: 'manage',
  does: 'looks',
  summary: 'List ping keys',
  description: 'Newest first; never the keys themselves. One that ended is listed for 30 days.',
  query: pageQuery,
  response: page('PingKeyPage', PingKeyOut),
  columns: ['name', 'shown', 'created_at', 'until', 'id'],
});

export const rotatePingKey = operation({
  id: 'rotatePingKey',
  method: 'POST',
  path: '/api/v1/ping-keys/{ping_key_id}/rotate',
  tag: 'Ping keys',
  access: 'manage',
  dangerous: true,
  summary: 'Replace a ping key',
  description:
    'The new one of the same name counts at once, the old one until the overlap is over.',
  params: { ping_key_id: uuid() },
  body: object('PingKeyRotationIn', {
    overlap_s: optional(
      integer(
        { ge: 0, le: 2_592_000 },
        { meaning: 'How many seconds the old one still counts.', example: 86_400 },
      ),
      86_400,
    ),
  }),
  response: PingKeyMadeOut,
  success: 201,
  refusals: ['ping_key_not_found', 'ping_keys_full'],
});

export const endPingKey = operation({
  id: 'endPingKey',
  method: 'DELETE',
  path: '/api/v1/ping-keys/{ping_key_id}',
  tag: 'Ping keys',
  access: 'manage',
  dangerous: true,
  summary: 'End a ping key',
  description: 'Pings under it get 404 from then on. The own addresses of heartbeats stay.',
  params: { ping_key_id: uuid() },
  refusals: ['ping_key_not_found'],
});
