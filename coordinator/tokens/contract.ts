import { boolean, maybe, object, optional, string, uuid } from '../../shared/api/fields.ts';
import { moment } from '../../shared/api/moment.ts';
import { innerOperation } from '../../shared/api/operation.ts';

/**
 * Tokens, by which programs act.
 *
 * Operations that only pages and operators call, with who may (`access`). Those of the API are in
 * `shared/api/`.
 */

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
    manage_members: optional(
      boolean({
        description:
          'Whether it may also invite people, change their roles and remove them: for owners.',
      }),
      false,
    ),
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
