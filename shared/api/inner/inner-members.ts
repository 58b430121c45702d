import { array, nullable, object, string, uuid } from '../fields.ts';
import { innerOperation } from '../operation.ts';

/** Who is in the organisation, and who was asked in. */

export const listMembers = innerOperation({
  id: 'listMembers',
  access: 'read',
  summary: 'List the members of the organisation',
  response: object('MembersOut', {
    items: array(object('ListedMemberOut', { id: uuid(), email: string(), name: string(), role: string(), joined_at: string() })),
  }),
});

const InvitationOut = object('InvitationOut', {
  id: uuid(),
  email: string(),
  role: string(),
  inviter: nullable(string()),
  expires_at: string(),
});

export const listInvitations = innerOperation({
  id: 'listInvitations',
  access: 'manage',
  does: 'looks',
  summary: 'List the invitations that nobody has followed yet',
  response: object('InvitationsOut', { items: array(InvitationOut) }),
});

export const inviteMember = innerOperation({
  id: 'inviteMember',
  access: 'manage',
  dangerous: true,
  summary: 'Ask somebody in, by mail; without mail the link is shown to whoever invites',
  body: object('InvitationIn', { email: string(), role: string() }),
  response: object('InvitedOut', {
    id: uuid(),
    email: string(),
    role: string(),
    address: nullable(string({ description: 'The link, where there is no mail to send it.' })),
    expires_at: string(),
  }),
  refusals: ['email_invalid', 'role_unknown', 'plan_limit_members', 'already_member'],
});

export const withdrawInvitation = innerOperation({
  id: 'withdrawInvitation',
  access: 'manage',
  summary: 'Take an invitation back',
  params: { invitation_id: uuid() },
  response: object('WithdrawnOut', { id: uuid() }),
  refusals: ['invitation_not_found'],
});
