import { dateTime, nullable, object, string, uuid } from './fields.ts';
import { exampleIds, operation, page } from './operation.ts';

/**
 * Who belongs to the organisation. What changes that is for people who prove who they are, and for
 * tokens that an owner made for it: a stolen token must not give itself company.
 */

const role = string({
  description: '`owner`, `admin`, `member` or `viewer`.',
  limits: { pattern: '^(?:owner|admin|member|viewer)$' },
  example: 'member',
});
const email = string({
  limits: { minLength: 1, maxLength: 254 },
  example: 'ada@harbour.example.com',
});
const id = uuid({ example: exampleIds.member });
const byToken =
  'Needs a token with `manage_members`. A token never makes, changes or removes an owner.';

const MemberOut = object('MemberOut', { id, email, role });

export const listMembers = operation({
  id: 'listMembers',
  method: 'GET',
  path: '/api/v1/members',
  tag: 'Members',
  access: 'read',
  summary: 'List the members of the organisation',
  description: 'By role and address, all on one page.',
  response: page(
    'MembersOut',
    object('ListedMemberOut', {
      id,
      email,
      name: string({ meaning: 'Their name; empty where they gave none.', example: 'Ada' }),
      role,
      joined_at: dateTime({ meaning: 'Since when.', example: '2026-11-02T09:30:00.000Z' }),
    }),
  ),
  columns: ['email', 'role', 'joined_at', 'id'],
});

export const setMemberRole = operation({
  id: 'setMemberRole',
  method: 'PATCH',
  path: '/api/v1/members/{member_id}',
  tag: 'Members',
  access: 'members',
  dangerous: true,
  summary: 'Change the role of a member, which revokes their tokens',
  description: byToken,
  params: { member_id: uuid() },
  body: object('MemberRoleIn', { role }),
  response: MemberOut,
  refusals: ['member_not_found', 'role_unknown', 'last_owner', 'plan_limit_members'],
});

export const removeMember = operation({
  id: 'removeMember',
  method: 'DELETE',
  path: '/api/v1/members/{member_id}',
  tag: 'Members',
  access: 'members',
  dangerous: true,
  summary: 'Remove a member from the organisation, with their tokens',
  description: byToken,
  params: { member_id: uuid() },
  refusals: ['member_not_found', 'last_owner'],
});

const invitations = '/api/v1/members/invitations';

export const listInvitations = operation({
  id: 'listInvitations',
  method: 'GET',
  path: invitations,
  tag: 'Members',
  access: 'manage',
  does: 'looks',
  summary: 'List pending invitations',
  description: 'Oldest first, all on one page; never their links.',
  response: page(
    'InvitationsOut',
    object('InvitationOut', {
      id: uuid({ example: exampleIds.invitation }),
      email,
      role,
      inviter: nullable(string(), {
        meaning: 'The address of who invites; null: the operator.',
        example: 'ben@harbour.example.com',
      }),
      expires_at: dateTime({ example: '2026-11-27T12:00:00.000Z' }),
    }),
  ),
  columns: ['email', 'role', 'inviter', 'expires_at', 'id'],
});

export const inviteMember = operation({
  id: 'inviteMember',
  method: 'POST',
  path: invitations,
  tag: 'Members',
  access: 'members',
  dangerous: true,
  summary: 'Invite a member by e-mail; without e-mail the inviter sees the link',
  description: `It replaces an earlier one to the same address, and ends after a week. ${byToken}`,
  body: object('InvitationIn', { email, role }),
  response: object('InvitedOut', {
    id: uuid({ example: exampleIds.invitation }),
    email,
    role,
    address: nullable(string(), {
      description: 'The link, where there is no mail to send it: shown once.',
      example: null,
    }),
    expires_at: dateTime({ example: '2026-11-27T12:00:00.000Z' }),
  }),
  success: 201,
  refusals: ['email_invalid', 'role_unknown', 'plan_limit_members', 'already_member'],
});

export const withdrawInvitation = operation({
  id: 'withdrawInvitation',
  method: 'DELETE',
  path: `${invitations}/{invitation_id}`,
  tag: 'Members',
  access: 'members',
  summary: 'Revoke an invitation',
  description: 'Its link ends. Needs a token with `manage_members`.',
  params: { invitation_id: uuid() },
  refusals: ['invitation_not_found'],
});
