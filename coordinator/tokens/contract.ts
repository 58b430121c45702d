import {
  boolean,
  dateTime,
  maybe,
  nullable,
  object,
  string,
  uuid,
} from '../../shared/api/fields.ts';
import { moment } from '../../shared/api/moment.ts';
import { innerOperation, page, pageQuery } from '../../shared/api/operation.ts';

/**
 * Tokens, by which programs act.
 *
 * Operations that only pages and operators call, with who may (`access`). Those of the API are in
 * `shared/api/`.
 */

const listed = {
  id: uuid(),
  kind: string({ description: '`token`: what a program was given by hand.' }),
  name: string(),
  shown: string({ description: 'How the token begins, to know it by.' }),
  scope: string(),
  owner: object('TokenOwnerOut', { email: string(), name: string() }),
  own: boolean({ description: 'Whether it is the caller’s.' }),
  created_at: dateTime(),
  expires_at: nullable(dateTime()),
  over: boolean({ description: 'Whether it has ended by itself.' }),
  last_used_at: nullable(dateTime()),
};

export const listTokens = innerOperation({
  id: 'listTokens',
  access: 'read',
  summary: 'List API tokens, newest first: your own, or all for owners and admins',
  query: pageQuery,
  response: page('TokensOut', object('ListedTokenOut', listed)),
});

export const getToken = innerOperation({
  id: 'getToken',
  access: 'read',
  summary: 'Get an API token, never its secret',
  params: { token_id: uuid() },
  response: object('ShownTokenOut', listed),
  refusals: ['token_not_found'],
});

export const createToken = innerOperation({
  id: 'createToken',
  access: 'read',
  dangerous: true,
  summary: 'Create an API token; it is shown once',
  body: object('TokenIn', {
    email: maybe(string(), {
      description: 'The owner; only the operator can create one for another user.',
    }),
    name: string({ description: 'What the token is for.' }),
    scope: string({ description: '`read` or `read_write`.' }),
    expires_at: maybe(moment(), { description: 'When it ends; never when not given.' }),
  }),
  response: object('TokenOut', { id: uuid(), name: string(), scope: string(), token: string() }),
  refusals: [
    'member_not_found',
    'name_invalid',
    'scope_unknown',
    'expiry_invalid',
    'role_insufficient',
  ],
});

export const revokeToken = innerOperation({
  id: 'revokeToken',
  access: 'read',
  does: 'acts',
  dangerous: true,
  whileEnding: true,
  summary: 'Revoke an API token',
  params: { token_id: uuid() },
  response: object('RevokedTokenOut', { id: uuid() }),
  refusals: ['token_not_found'],
});
