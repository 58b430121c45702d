import {
  array,
  boolean,
  dateTime,
  integer,
  maybe,
  nullable,
  object,
  optional,
  string,
  uuid,
} from '../../shared/api/fields.ts';
import { innerOperation, installationOperation } from '../../shared/api/operation.ts';
import { OrganisationOut } from '../../shared/api/organisations.ts';

/**
 * Organisations and their members.
 *
 * Operations that only pages and operators call, with who may (`access`). Those of the API are in
 * `shared/api/`.
 */

const role = string({ description: '`owner`, `admin`, `member` or `viewer`.' });

const MemberOut = object('MemberOut', { id: uuid(), email: string(), role: string() });

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
  response: MemberOut,
  refusals: [
    'email_invalid',
    'email_taken',
    'password_invalid',
    'role_unknown',
    'plan_limit_members',
  ],
});

export const setMemberRole = innerOperation({
  id: 'setMemberRole',
  access: 'manage',
  dangerous: true,
  summary: 'Change the role of a member, which revokes their tokens',
  body: object('MemberRoleIn', { email: string(), role }),
  response: MemberOut,
  refusals: [
    'user_not_found',
    'member_not_found',
    'role_unknown',
    'last_owner',
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

export const removeMember = innerOperation({
  id: 'removeMember',
  access: 'manage',
  dangerous: true,
  summary: 'Remove a member from the organisation, with their tokens',
  body: object('MemberIn', { email: string() }),
  response: object('RemovedOut', { id: uuid() }),
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

/** Members and invitations. */
export const listMembers = innerOperation({
  id: 'listMembers',
  access: 'read',
  summary: 'List the members of the organisation',
  response: object('MembersOut', {
    items: array(
      object('ListedMemberOut', {
        id: uuid(),
        email: string(),
        name: string(),
        role: string(),
        joined_at: dateTime(),
      }),
    ),
  }),
});

const InvitationOut = object('InvitationOut', {
  id: uuid(),
  email: string(),
  role: string(),
  inviter: nullable(string()),
  expires_at: dateTime(),
});

export const listInvitations = innerOperation({
  id: 'listInvitations',
  access: 'manage',
  does: 'looks',
  summary: 'List pending invitations',
  response: object('InvitationsOut', { items: array(InvitationOut) }),
});

export const inviteMember = innerOperation({
  id: 'inviteMember',
  access: 'manage',
  dangerous: true,
  summary: 'Invite a member by e-mail; without e-mail the inviter sees the link',
  body: object('InvitationIn', { email: string(), role: string() }),
  response: object('InvitedOut', {
    id: uuid(),
    email: string(),
    role: string(),
    address: nullable(string({ description: 'The link, where there is no mail to send it.' })),
    expires_at: dateTime(),
  }),
  refusals: ['email_invalid', 'role_unknown', 'plan_limit_members', 'already_member'],
});

export const withdrawInvitation = innerOperation({
  id: 'withdrawInvitation',
  access: 'manage',
  summary: 'Revoke an invitation',
  params: { invitation_id: uuid() },
  response: object('WithdrawnOut', { id: uuid() }),
  refusals: ['invitation_not_found'],
});

export const showOrganisation = innerOperation({
  id: 'showOrganisation',
  access: 'read',
  summary: 'Get the organisation, its plan and its usage',
  response: object('ShownOrganisationOut', {
    id: uuid(),
    name: string(),
    time_zone: string(),
    plan: string(),
    created_at: dateTime(),
    ends_at: nullable(dateTime(), {
      description: 'When it will be deleted; null: never.',
    }),
    least_interval_s: integer({}, { description: 'How often the plan checks at most.' }),
    used: array(
      object('UsedOut', {
        what: string({
          description:
            '`monitors`, `status_pages`, `members`, `private_probes`, `channels`, `webhooks`, `groups` or `windows`.',
        }),
        count: integer(),
        most: nullable(integer(), { description: 'null where the plan has no limit.' }),
      }),
    ),
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
