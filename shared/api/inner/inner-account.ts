import { object, optional, string, uuid } from '../fields.ts';
import { innerOperation } from '../operation.ts';
import { OrganisationOut } from '../organisations.ts';

/** Organisations, and the people in them. */

const MemberOut = object('MemberOut', { id: uuid(), email: string(), role: string() });

export const createOrganisation = innerOperation({
  id: 'createOrganisation',
  access: 'manage',
  summary: 'Create an organisation',
  body: object('OrganisationIn', { name: string(), plan: optional(string(), 'self_hosted'), time_zone: optional(string(), 'UTC') }),
  response: OrganisationOut,
  refusals: ['name_invalid', 'plan_unknown', 'time_zone_invalid'],
});

export const createUser = innerOperation({
  id: 'createUser',
  access: 'manage',
  dangerous: true,
  summary: 'Create a user as a member of the organisation',
  body: object('UserIn', { email: string(), password: string(), role: string() }),
  response: MemberOut,
  refusals: ['email_invalid', 'email_taken', 'password_invalid', 'role_unknown', 'plan_limit_members'],
});

export const setMemberRole = innerOperation({
  id: 'setMemberRole',
  access: 'manage',
  dangerous: true,
  summary: 'Give a member another role, which ends their tokens',
  body: object('MemberRoleIn', { email: string(), role: string() }),
  response: MemberOut,
  refusals: ['user_not_found', 'member_not_found', 'role_unknown', 'last_owner', 'plan_limit_members'],
});

export const leaveOrganisation = innerOperation({
  id: 'leaveOrganisation',
  access: 'read',
  does: 'acts',
  dangerous: true,
  whileEnding: true,
  summary: 'Leave the organisation, which ends what is one’s own in it: tokens, assistants, channels',
  response: object('LeftOut', { id: uuid() }),
  refusals: ['member_not_found', 'last_owner'],
});

export const removeMember = innerOperation({
  id: 'removeMember',
  access: 'manage',
  dangerous: true,
  summary: 'Take a member out of the organisation, and their tokens with them',
  body: object('MemberIn', { email: string() }),
  response: object('RemovedOut', { id: uuid() }),
  refusals: ['member_not_found', 'last_owner'],
});
