import { array, boolean, maybe, object, optional, string, uuid } from '../../shared/api/fields.ts';
import { innerOperation, installationOperation } from '../../shared/api/operation.ts';
import { OrganisationOut } from '../../shared/api/organisations.ts';

/**
 * Organisations and their members.
 *
 * Operations that only pages and operators call, with who may (`access`). Those of the API are in
 * `shared/api/`.
 */

const role = string({ description: '`owner`, `admin`, `member` or `viewer`.' });

export const createOrganisation = installationOperation({
  id: 'createOrganisation',
  access: 'manage',
  summary: 'Create an organisation',
  body: object('OrganisationIn', {
    name: string(),
    plan: optional(
      string({ description: 'free, team, business or self_hosted; self_hosted when not given.' }),
      'self_hosted',
    ),
    time_zone: optional(string({ description: 'Its IANA time zone; UTC when not given.' }), 'UTC'),
  }),
  response: OrganisationOut,
  refusals: ['name_invalid', 'plan_unknown', 'time_zone_invalid'],
});

export const createUser = innerOperation({
  id: 'createUser',
  access: 'manage',
  dangerous: true,
  summary: 'Create a user as a member of the organisation',
  body: object('UserIn', {
    email: string(),
    password: string({ description: 'At least 10 characters.' }),
    role,
  }),
  response: object('CreatedUserOut', { id: uuid(), email: string(), role: string() }),
  refusals: [
    'email_invalid',
    'email_taken',
    'password_invalid',
    'role_unknown',
    'plan_limit_members',
  ],
});

export const leaveOrganisation = innerOperation({
  id: 'leaveOrganisation',
  access: 'read',
  does: 'acts',
  dangerous: true,
  whileEnding: true,
  summary: 'Leave the organisation, which deletes your tokens, assistants and channels in it',
  response: object('LeftOut', { id: uuid() }),
  refusals: ['member_not_found', 'last_owner'],
});

/** Who changed what in the organisation. */
export const getAuditChoices = innerOperation({
  id: 'getAuditChoices',
  access: 'manage',
  does: 'looks',
  summary: 'List the people and operations in the audit log',
  response: object('AuditChoicesOut', {
    who: array(string()),
    operations: array(object('AuditedOperationOut', { id: string(), what: string() })),
  }),
});

export const showFirstSteps = innerOperation({
  id: 'showFirstSteps',
  access: 'read',
  summary: 'Get which of the first steps the organisation has done',
  response: object('FirstStepsOut', {
    is_hidden: boolean(),
    monitor: boolean(),
    channel: boolean({ description: 'A message or a test was delivered to one.' }),
    colleague: boolean({ description: 'There is a second member, or an invitation.' }),
    continent: boolean({ description: 'Probes of two continents check.' }),
  }),
});

export const hideFirstSteps = innerOperation({
  id: 'hideFirstSteps',
  access: 'write',
  summary: 'Hide the first steps of the organisation',
  response: object('HiddenFirstStepsOut', { is_hidden: boolean() }),
});

export const updateOrganisation = innerOperation({
  id: 'updateOrganisation',
  access: 'manage',
  summary: 'Change the name or the time zone of the organisation',
  body: object('OrganisationChangeIn', { name: maybe(string()), time_zone: maybe(string()) }),
  response: object('ChangedOrganisationOut', { id: uuid(), name: string(), time_zone: string() }),
  refusals: ['name_invalid', 'time_zone_invalid'],
});
