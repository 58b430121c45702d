import {
  array,
  boolean,
  dict,
  integer,
  literal,
  maybe,
  nullable,
  object,
  string,
} from '../../../shared/api/fields.ts';
import { innerOperation } from '../../../shared/api/operation.ts';

/** Who is in an organisation, as its provider says by SCIM. Its token alone calls the first three. */

const refusals = ['provider_not_found', 'scim_value_invalid', 'scim_taken'] as const;

export const readProvisioned = innerOperation({
  id: 'readProvisioned',
  access: 'own',
  does: 'looks',
  summary: 'List the users or groups that a provider provisioned',
  body: object('ProvisionedQuery', {
    kind: literal(['User', 'Group']),
    filter: maybe(string()),
    skip: integer(),
    limit: integer(),
    whole: boolean({ description: 'With the groups of users, and the members of groups.' }),
  }),
  response: object('ProvisionedList', { total: integer(), rows: array(dict()) }),
  refusals: ['provider_not_found', 'scim_filter_invalid'],
});

const change = {
  act: literal(['create', 'replace', 'patch', 'remove']),
  id: maybe(string()),
  said: dict(),
} as const;

export const provisionUser = innerOperation({
  id: 'provisionUser',
  access: 'own',
  summary: 'Create, change or remove a user as a provider says',
  body: object('ProvisionUserIn', change),
  response: object('ProvisionedUserOut', { row: nullable(dict()) }),
  refusals: [
    ...refusals,
    ...(['scim_path_invalid', 'scim_syntax_invalid', 'scim_full', 'member_not_found'] as const),
    ...(['last_owner', 'account_exists', 'email_taken', 'plan_limit_members'] as const),
  ],
});

export const provisionGroup = innerOperation({
  id: 'provisionGroup',
  access: 'own',
  summary: 'Create, change or remove a group as a provider says',
  body: object('ProvisionGroupIn', change),
  response: object('ProvisionedGroupOut', { row: nullable(dict()) }),
  refusals: [
    ...refusals,
    ...(['scim_path_invalid', 'scim_syntax_invalid', 'scim_full', 'group_not_found'] as const),
    ...(['account_exists', 'email_taken', 'plan_limit_members'] as const),
  ],
});

export const setScimToken = innerOperation({
  id: 'setScimToken',
  access: 'own',
  does: 'acts',
  dangerous: true,
  summary: 'Make the token by which the sign-in provider provisions people',
  response: object('ScimTokenOut', { token: string() }),
  refusals: ['sign_in_provider_missing'],
});

export const endScimToken = innerOperation({
  id: 'endScimToken',
  access: 'own',
  does: 'acts',
  dangerous: true,
  summary: 'End the token by which the sign-in provider provisions people',
  response: object('EndedScimTokenOut', { ended: boolean() }),
  refusals: ['sign_in_provider_missing'],
});
