import { array, boolean, dateTime, integer, nullable, object, optional, string, uuid } from '../fields.ts';
import { innerOperation } from '../operation.ts';

/** What is a person's own, whatever organisation they act in. */

const SessionOut = object('SessionOut', {
  id: uuid(),
  device: string({ description: 'Such as "Firefox on Linux".' }),
  address: string(),
  created_at: string(),
  last_used_at: string(),
  is_this: boolean(),
});

export const listSessions = innerOperation({
  id: 'listSessions',
  access: 'read',
  summary: 'List where one is signed in, the last used first',
  response: object('SessionsOut', { items: array(SessionOut) }),
});

export const signOut = innerOperation({
  id: 'signOut',
  access: 'read',
  does: 'acts',
  summary: 'End the session of this browser',
  response: object('SignedOutOut', { ended: boolean() }),
});

export const endSession = innerOperation({
  id: 'endSession',
  access: 'read',
  does: 'acts',
  summary: "End one session of one's own",
  params: { session_id: uuid() },
  response: object('EndedSessionOut', { id: uuid(), is_this: boolean() }),
  refusals: ['session_not_found'],
});

export const endOtherSessions = innerOperation({
  id: 'endOtherSessions',
  access: 'read',
  does: 'acts',
  summary: "End all sessions of one's own but this one",
  response: object('EndedSessionsOut', { ended: integer() }),
});

export const proveAgain = innerOperation({
  id: 'proveAgain',
  access: 'read',
  summary: 'Prove with the password that it is still the same person',
  body: object('ProofIn', { password: string() }),
  response: object('ProvenOut', { proven: boolean() }),
  refusals: ['sign_in_failed', 'too_many_attempts'],
});

export const listOwnOrganisations = innerOperation({
  id: 'listOwnOrganisations',
  access: 'read',
  summary: 'List the organisations that one belongs to',
  response: object('OwnOrganisationsOut', {
    items: array(object('OwnOrganisationOut', { id: uuid(), name: string(), role: string(), ends_at: nullable(dateTime()) })),
    may_found: boolean({ description: 'Whether one may make another.' }),
  }),
});

export const foundOrganisation = innerOperation({
  id: 'foundOrganisation',
  access: 'read',
  summary: 'Make another organisation, which one owns',
  body: object('FoundIn', { name: string(), time_zone: string() }),
  response: object('FoundOut', { id: uuid(), name: string() }),
  refusals: ['name_invalid', 'time_zone_invalid', 'organisations_enough', 'email_unproven', 'sign_up_closed'],
});

export const switchOrganisation = innerOperation({
  id: 'switchOrganisation',
  access: 'read',
  summary: 'Act in another organisation that one belongs to, in this session',
  body: object('SwitchIn', { organisation_id: uuid() }),
  response: object('SwitchedOut', { id: uuid() }),
  refusals: ['organisation_not_found'],
});

export const acceptInvitation = innerOperation({
  id: 'acceptInvitation',
  access: 'read',
  summary: 'Join the organisation of an invitation, as whoever is signed in',
  body: object('AcceptIn', { secret: string() }),
  response: object('JoinedOut', { id: uuid(), name: string(), role: string() }),
  refusals: ['link_invalid', 'already_member', 'plan_limit_members'],
});

export const showProfile = innerOperation({
  id: 'showProfile',
  access: 'read',
  summary: 'Tell what is known of oneself',
  response: object('ProfileOut', {
    name: string(),
    email: string(),
    email_verified: boolean(),
    wanted_email: nullable(string({ description: 'The address that waits to be proven.' })),
    mail: boolean({ description: 'Whether this installation can send mail.' }),
  }),
});

export const updateProfile = innerOperation({
  id: 'updateProfile',
  access: 'read',
  summary: 'Be called something else',
  body: object('ProfileIn', { name: string() }),
  response: object('ProfileNameOut', { name: string() }),
  refusals: ['name_invalid'],
});

export const changeEmail = innerOperation({
  id: 'changeEmail',
  access: 'read',
  dangerous: true,
  summary: 'Have another e-mail address, once it is proven; or have the present one proven',
  body: object('EmailIn', { email: string() }),
  response: object('EmailChangedOut', { email: string(), must_confirm: boolean() }),
  refusals: ['email_invalid', 'email_taken', 'too_many_attempts'],
});

export const verifyEmail = innerOperation({
  id: 'verifyEmail',
  access: 'read',
  summary: "Prove by the link of a mail that a mailbox is one's own",
  body: object('VerifyIn', { secret: string() }),
  response: object('VerifiedOut', { email: string() }),
  refusals: ['link_invalid', 'email_taken'],
});

/** What else lets someone act as the user, and ends with the old password only where that is said. */
export const alsoEnded = {
  end_tokens: optional(boolean(), false),
  end_passkeys: optional(boolean(), false),
  end_assistants: optional(boolean(), false),
};

export const changePassword = innerOperation({
  id: 'changePassword',
  access: 'read',
  dangerous: true,
  summary: 'Choose a new password, which ends all sessions; this browser gets a new one',
  body: object('PasswordIn', { password: string(), ...alsoEnded }),
  response: object('PasswordChangedOut', { session: string() }),
  refusals: ['password_invalid'],
});
