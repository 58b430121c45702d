import { boolean, dateTime, nullable, object, string, uuid } from '../../shared/api/fields.ts';
import { innerOperation, page, pageQuery, personOperation } from '../../shared/api/operation.ts';

/**
 * Assistants that act as the user who connected them.
 *
 * Operations that only pages and operators call, with who may (`access`). Those of the API are in
 * `shared/api/`.
 */

const listed = {
  id: uuid(),
  client: string({ description: 'The name that the assistant gave itself; unverified.' }),
  redirect_host: string({ description: 'Where it went back to when it was connected.' }),
  scope: string({ description: 'What it was granted.' }),
  may_change: boolean({
    description: 'Whether it may change something now: it was granted, and its owner may.',
  }),
  owner: object('ConnectionOwnerOut', { email: string(), name: string() }),
  own: boolean({ description: 'Whether it is the caller’s.' }),
  created_at: dateTime(),
  last_used_at: nullable(dateTime()),
};

export const listConnections = innerOperation({
  id: 'listConnections',
  access: 'read',
  summary: 'List connected assistants, newest first: your own, or all for owners and admins',
  query: pageQuery,
  response: page('ConnectionsOut', object('ListedConnectionOut', listed)),
});

export const getConnection = innerOperation({
  id: 'getConnection',
  access: 'read',
  summary: 'Get a connected assistant',
  params: { connection_id: uuid() },
  response: object('ShownConnectionOut', listed),
  refusals: ['connection_not_found'],
});

export const disconnectAssistant = innerOperation({
  id: 'disconnectAssistant',
  access: 'read',
  does: 'acts',
  whileEnding: true,
  summary: 'Disconnect an assistant',
  params: { connection_id: uuid() },
  response: object('DisconnectedOut', { id: uuid() }),
  refusals: ['connection_not_found'],
});

export const connectAssistant = personOperation({
  id: 'connectAssistant',
  access: 'read',
  dangerous: true,
  summary: 'Let an assistant act as you in one of your organisations',
  body: object('ConnectIn', {
    organisation_id: uuid(),
    scope: string({ description: '`read`, or `read_write` where one may change something.' }),
    client_id: string(),
    client: string(),
    redirect_host: string(),
  }),
  response: object('ConnectedOut', { id: uuid(), scope: string() }),
  refusals: ['organisation_not_found', 'scope_unknown', 'role_insufficient', 'organisation_ending'],
});
