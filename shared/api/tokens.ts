import { boolean, dateTime, nullable, object, string, uuid } from './fields.ts';
import { exampleIds, operation, page, pageQuery } from './operation.ts';

/**
 * Tokens, by which programs act. A program lists and revokes them; pages and the operator alone
 * make them, so that a stolen token cannot outlive its own end.
 */

const listed = {
  id: uuid({ example: exampleIds.invitation }),
  kind: string({
    description: '`token`: what a program was given by hand.',
    example: 'token',
  }),
  name: string({ example: 'deploy' }),
  shown: string({ description: 'How the token begins, to know it by.', example: 'svc_k3Fa' }),
  scope: string({ description: '`read` or `read_write`.', example: 'read_write' }),
  manage_members: boolean({
    description: 'Whether it may also invite people, change their roles and remove them.',
    example: false,
  }),
  owner: object('TokenOwnerOut', {
    email: string({ example: 'ada@harbour.example.com' }),
    name: string({ meaning: 'Their name; empty where they gave none.', example: 'Ada' }),
  }),
  own: boolean({ description: 'Whether it is the caller’s.', example: true }),
  created_at: dateTime({ example: '2026-11-02T09:30:00.000Z' }),
  expires_at: nullable(dateTime(), {
    meaning: 'When it ends; null: never.',
    example: null,
  }),
  over: boolean({ description: 'Whether it has ended by itself.', example: false }),
  last_used_at: nullable(dateTime(), {
    meaning: 'When it was last used, to the minute.',
    example: '2026-11-20T12:00:00.000Z',
  }),
};

const TokenOut = object('ListedTokenOut', listed);

export const listTokens = operation({
  id: 'listTokens',
  method: 'GET',
  path: '/api/v1/tokens',
  tag: 'Tokens',
  access: 'read',
  summary: 'List API tokens, newest first: your own, or all for owners and admins',
  description: 'Never the tokens themselves. They are made on the page API & assistants.',
  query: pageQuery,
  response: page('TokensOut', TokenOut),
  columns: ['name', 'scope', 'last_used_at', 'id'],
});

export const getToken = operation({
  id: 'getToken',
  method: 'GET',
  path: '/api/v1/tokens/{token_id}',
  tag: 'Tokens',
  access: 'read',
  summary: 'Get an API token, never its secret',
  params: { token_id: uuid() },
  response: TokenOut,
  refusals: ['token_not_found'],
});

export const revokeToken = operation({
  id: 'revokeToken',
  method: 'DELETE',
  path: '/api/v1/tokens/{token_id}',
  tag: 'Tokens',
  access: 'self',
  dangerous: true,
  whileEnding: true,
  summary: 'Revoke an API token',
  description:
    'It stops working at once. Everyone may revoke their own, owners and admins all; a token may revoke itself.',
  params: { token_id: uuid() },
  refusals: ['token_not_found'],
});
