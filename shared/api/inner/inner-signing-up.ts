import { boolean, literal, maybe, nullable, object, string } from '../fields.ts';
import { innerOperation } from '../operation.ts';
import { SignedInOut } from './inner-coming-in.ts';
import { alsoEnded } from './inner-people.ts';

/** How somebody gets an account, and a new password; asked for by people who are not signed in. */

export const signUp = innerOperation({
  id: 'signUp',
  access: 'read',
  summary: "Ask for an account, with an organisation of one's own or by an invitation",
  body: object('SignUpIn', {
    email: string(),
    password: string(),
    name: string(),
    organisation: maybe(string(), { description: 'What the new organisation is called; not with an invitation.' }),
    time_zone: maybe(string()),
    invitation_secret: maybe(string()),
  }),
  response: object('SignedUpOut', {
    /** Null where a mail must be followed first. */
    session: nullable(string()),
    must_confirm: boolean(),
  }),
  refusals: [
    ...(['sign_up_closed', 'email_invalid', 'password_invalid', 'name_invalid', 'time_zone_invalid'] as const),
    ...(['link_invalid', 'email_taken', 'plan_limit_members', 'too_many_attempts'] as const),
  ],
});

export const finishSignUp = innerOperation({
  id: 'finishSignUp',
  access: 'read',
  summary: 'Make the account whose address the link proves',
  body: object('FinishIn', { secret: string(), password: string() }),
  response: object('FinishedOut', { session: string() }),
  refusals: ['link_invalid', 'email_taken', 'plan_limit_members', 'sign_in_failed', 'too_many_attempts'],
});

export const requestPasswordReset = innerOperation({
  id: 'requestPasswordReset',
  access: 'read',
  summary: "Have a link for a new password sent to the account's own address",
  body: object('ResetRequestIn', { email: string() }),
  response: object('ResetRequestedOut', { sent: boolean() }),
  refusals: ['mail_missing', 'email_invalid', 'too_many_attempts'],
});

export const resetPassword = innerOperation({
  id: 'resetPassword',
  access: 'read',
  summary: 'Choose a new password by the link of a mail, which ends all sessions and signs in',
  body: object('ResetIn', { secret: string(), password: string(), ...alsoEnded }),
  response: SignedInOut,
  refusals: ['link_invalid', 'password_invalid', 'too_many_attempts'],
});

export const keepEmail = innerOperation({
  id: 'keepEmail',
  access: 'read',
  summary: 'End a change of address by the link that the old mailbox got',
  body: object('KeepIn', { secret: string() }),
  response: object('KeptOut', { wanted: string() }),
  refusals: ['link_invalid'],
});

export const showLink = innerOperation({
  id: 'showLink',
  access: 'read',
  does: 'looks',
  summary: 'Tell whether a link of a mail is still good, and what address it is about; it stays good',
  body: object('LinkIn', { kind: literal(['sign-up', 'e-mail', 'e-mail kept', 'password reset']), secret: string() }),
  response: object('LinkOut', {
    email: nullable(string()),
    /** What is about to be made, of a sign-up. */
    name: nullable(string()),
    organisation: nullable(string()),
  }),
});

export const showInvitation = innerOperation({
  id: 'showInvitation',
  access: 'read',
  does: 'looks',
  summary: 'Tell what an invitation is to; it stays good',
  body: object('InvitationLinkIn', { secret: string() }),
  response: object('InvitationShownOut', { organisation: string(), role: string(), inviter: nullable(string()) }),
  refusals: ['link_invalid'],
});

export const showDoor = innerOperation({
  id: 'showDoor',
  access: 'read',
  does: 'looks',
  summary: 'Tell how one comes in here: whether people may sign up, whether there is mail, and where passkeys are good',
  response: object('DoorOut', { sign_up: literal(['open', 'invited']), mail: boolean(), passkeys: nullable(string()) }),
});
