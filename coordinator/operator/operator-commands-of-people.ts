import { innerOperations, installationOperations } from '../../shared/api/inner/inner-index.ts';
import { rawInput } from '../../shared/api/operation.ts';
import type { OperatorCommand } from './operator-command.ts';
import { email, id, onInstallation, organisation, required, today, upon, within } from './operator-command-parts.ts';

/** Users, members and their tokens. */
export const commandsOfPeople: readonly OperatorCommand[] = [
  {
    ...today,
    words: ['user', 'create'],
    what: 'Create a user as a member of an organisation',
    flags: { email, password: required('at least 10 characters'), organisation, role: required('owner, admin, member or viewer') },
    run: within(innerOperations.createUser),
  },
  {
    ...today,
    words: ['user', 'sign-in-link'],
    what: 'Make a link that signs a user in once, without password or second step; it is good for an hour',
    flags: { email, 'for-start': { what: 'good until it is used or the next such link is made, as npm start prints it', alone: true } },
    run: ({ gate }, given) => {
      const operation = installationOperations.createSignInLink;
      const flat = { email: given.get('email'), made_for: given.has('for-start') ? 'start' : 'operator' };
      return gate.executeForInstallation(operation, rawInput(operation, flat)).then(({ body }) => body);
    },
  },
  {
    ...today,
    words: ['user', 'mark'],
    what: 'Let a user see the operator’s page: organisations, probes, notices, refused, set aside, figures',
    flags: { email },
    run: onInstallation(installationOperations.markOperator),
  },
  {
    ...today,
    words: ['user', 'unmark'],
    what: 'Take the operator’s page from a user, from their next request on',
    flags: { email },
    run: onInstallation(installationOperations.unmarkOperator),
  },
  {
    ...today,
    words: ['member', 'role'],
    what: 'Give a user another role in an organisation, which ends their tokens there',
    flags: { email, organisation, role: required('owner, admin, member or viewer') },
    run: within(innerOperations.setMemberRole),
  },
  {
    ...today,
    words: ['member', 'remove'],
    what: 'Take a user out of an organisation, and their tokens with them',
    flags: { email, organisation },
    run: within(innerOperations.removeMember),
  },
  {
    ...today,
    words: ['token', 'create'],
    what: 'Create an API token of a member; it is shown once',
    flags: {
      email,
      organisation,
      name: required('what the token is for'),
      scope: required('read or read_write'),
      'expires-at': { what: 'when it ends; default never' },
    },
    run: within(innerOperations.createToken),
  },
  {
    ...today,
    words: ['token', 'list'],
    what: 'List the API tokens of an organisation, the newest first: whose, for what, last used when; never the tokens',
    flags: { organisation, cursor: { what: 'what an earlier list gave as next_cursor' } },
    run: within(innerOperations.listTokens, { limit: 200 }),
  },
  {
    ...today,
    words: ['token', 'revoke'],
    what: 'End an API token',
    flags: { id: id('token') },
    run: upon('token', innerOperations.revokeToken),
  },
];
