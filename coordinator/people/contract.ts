import {
  array,
  boolean,
  dateTime,
  integer,
  literal,
  maybe,
  nullable,
  object,
  optional,
  string,
  uuid,
} from '../../shared/api/fields.ts';
import {
  anonymousOperation,
  installationOperation,
  personOperation,
} from '../../shared/api/operation.ts';

/**
 * Operations of callers who are not signed in. The web puts the session's text into its cookie.
 *
 * Operations that only pages and operators call, with who may (`access`). Those of the API are in
 * `shared/api/`.
 */

export const SignedInOut = object('SignedInOut', {
  /** Null while the second step is pending. */
  session: nullable(string()),
  second_step: nullable(string()),
});

export const signIn = anonymousOperation({
  id: 'signIn',
  access: 'read',
  summary: 'Sign in with an e-mail address and a password',
  body: object('SignInIn', { email: string(), password: string() }),
  response: SignedInOut,
  refusals: ['sign_in_failed', 'too_many_attempts'],
});

export const finishSignIn = anonymousOperation({
  id: 'finishSignIn',
  access: 'read',
  summary: 'Finish signing in with a code from the app or a recovery code',
  body: object('FinishSignInIn', { secret: string(), code: string() }),
  response: object('FinishedSignInOut', {
    session: string(),
    /** When one of them was used. */
    recovery_codes_left: nullable(integer()),
  }),
  refusals: ['second_step_over', 'code_invalid', 'too_many_attempts'],
});

export const enter = anonymousOperation({
  id: 'enter',
  access: 'read',
  summary: 'Sign in with a link that works once',
  body: object('EnterIn', { secret: string() }),
  response: object('EnteredOut', { session: string() }),
  refusals: ['link_invalid', 'too_many_attempts'],
});

export const createSignInLink = installationOperation({
  id: 'createSignInLink',
  access: 'manage',
  summary: 'Create a link that signs a user in once, without password or two-step verification',
  body: object('SignInLinkIn', {
    email: string(),
    made_for: optional(
      literal(['operator', 'start'], {
        description: 'For an hour; or until used, or until the next start.',
      }),
      'operator',
    ),
  }),
  response: object('SignInLinkOut', {
    email: string(),
    address: string(),
    expires_at: nullable(dateTime()),
  }),
  refusals: ['user_not_found'],
});

const OptionsOut = object('PasskeyOptionsOut', { options: string() });

const PasskeyOut = object('PasskeyOut', {
  id: uuid(),
  name: string(),
  is_synced: boolean(),
  created_at: dateTime(),
  last_used_at: nullable(dateTime()),
});

/**
 * Passkeys of a phone, a computer or a security key, which sign in without a password. Options and
 * answers are in the browsers' format.
 */
export const listPasskeys = personOperation({
  id: 'listPasskeys',
  access: 'read',
  summary: 'List your passkeys, oldest first',
  response: object('PasskeysOut', {
    items: array(PasskeyOut),
    /** Where they are valid; null where passkeys are not possible. */
    origin: nullable(string()),
    /** A suggested name for the next one. */
    suggested_name: string(),
  }),
});

/** It leaves nothing but a challenge, which expires by itself. */
export const beginPasskey = personOperation({
  id: 'beginPasskey',
  access: 'read',
  does: 'looks',
  dangerous: true,
  summary: 'Get the options to create a passkey',
  response: OptionsOut,
  refusals: ['passkeys_impossible'],
});

export const addPasskey = personOperation({
  id: 'addPasskey',
  access: 'read',
  dangerous: true,
  summary: 'Add a passkey',
  body: object('AddPasskeyIn', { name: string(), answer: string() }),
  response: object('AddedPasskeyOut', { id: uuid(), name: string() }),
  refusals: ['passkeys_impossible', 'passkey_refused', 'name_invalid'],
});

export const removePasskey = personOperation({
  id: 'removePasskey',
  access: 'read',
  does: 'acts',
  dangerous: true,
  summary: 'Remove a passkey',
  params: { passkey_id: uuid() },
  response: object('RemovedPasskeyOut', { id: uuid(), name: string() }),
  refusals: ['passkey_not_found'],
});

export const beginProof = personOperation({
  id: 'beginProof',
  access: 'read',
  does: 'looks',
  summary: 'Get the options to confirm with a passkey',
  response: OptionsOut,
  refusals: ['passkeys_impossible', 'passkey_unknown'],
});

export const proveByPasskey = personOperation({
  id: 'proveByPasskey',
  access: 'read',
  summary: 'Confirm your identity with a passkey',
  body: object('PasskeyProofIn', { answer: string() }),
  response: object('PasskeyProvenOut', { proven: boolean() }),
  refusals: ['passkeys_impossible', 'passkey_refused', 'passkey_unknown'],
});

export const beginPasskeySignIn = anonymousOperation({
  id: 'beginPasskeySignIn',
  access: 'read',
  does: 'looks',
  summary: 'Get the options to sign in with a passkey',
  response: OptionsOut,
  refusals: ['passkeys_impossible', 'too_many_attempts'],
});

export const signInByPasskey = anonymousOperation({
  id: 'signInByPasskey',
  access: 'read',
  summary: 'Sign in with a passkey instead of a password',
  body: object('PasskeySignInIn', { answer: string() }),
  response: object('PasskeySignedInOut', { session: string() }),
  refusals: ['passkeys_impossible', 'passkey_refused', 'passkey_unknown'],
});

const SessionOut = object('SessionOut', {
  id: uuid(),
  device: string({ description: 'Such as "Firefox on Linux".' }),
  address: string(),
  created_at: dateTime(),
  last_used_at: dateTime(),
  is_this: boolean(),
});

/** A user's own data, whatever organisation they act in. */
export const listSessions = personOperation({
  id: 'listSessions',
  access: 'read',
  summary: 'List your sessions, last used first',
  response: object('SessionsOut', { items: array(SessionOut) }),
});

export const signOut = personOperation({
  id: 'signOut',
  access: 'read',
  does: 'acts',
  summary: 'Sign out of this browser',
  response: object('SignedOutOut', { ended: boolean() }),
});

export const endSession = personOperation({
  id: 'endSession',
  access: 'read',
  does: 'acts',
  summary: 'Sign out one of your sessions',
  params: { session_id: uuid() },
  response: object('EndedSessionOut', { id: uuid(), is_this: boolean() }),
  refusals: ['session_not_found'],
});

export const endOtherSessions = personOperation({
  id: 'endOtherSessions',
  access: 'read',
  does: 'acts',
  summary: 'Sign out all your other sessions',
  response: object('EndedSessionsOut', { ended: integer() }),
});

export const proveAgain = personOperation({
  id: 'proveAgain',
  access: 'read',
  summary: 'Confirm your identity with your password',
  body: object('ProofIn', { password: string() }),
  response: object('ProvenOut', { proven: boolean() }),
  refusals: ['sign_in_failed', 'too_many_attempts'],
});

export const listOwnOrganisations = personOperation({
  id: 'listOwnOrganisations',
  access: 'read',
  summary: 'List your organisations',
  response: object('OwnOrganisationsOut', {
    items: array(
      object('OwnOrganisationOut', {
        id: uuid(),
        name: string(),
        role: string(),
        ends_at: nullable(dateTime()),
        /** The provider to sign in with before it opens; null: it is open. */
        wants: nullable(string()),
      }),
    ),
    may_found: boolean({ description: 'Whether you may create another.' }),
  }),
});

export const createOwnOrganisation = personOperation({
  id: 'foundOrganisation',
  access: 'read',
  summary: 'Create an organisation that you own',
  body: object('FoundIn', { name: string(), time_zone: string() }),
  response: object('FoundOut', { id: uuid(), name: string() }),
  refusals: [
    'name_invalid',
    'time_zone_invalid',
    'organisations_enough',
    'email_unproven',
    'sign_up_closed',
  ],
});

export const switchOrganisation = personOperation({
  id: 'switchOrganisation',
  access: 'read',
  summary: 'Switch to another of your organisations in this session',
  body: object('SwitchIn', { organisation_id: uuid() }),
  response: object('SwitchedOut', { id: uuid() }),
  refusals: ['organisation_not_found'],
});

export const acceptInvitation = personOperation({
  id: 'acceptInvitation',
  access: 'read',
  summary: 'Accept an invitation',
  body: object('AcceptIn', { secret: string() }),
  response: object('JoinedOut', { id: uuid(), name: string(), role: string() }),
  refusals: ['link_invalid', 'already_member', 'plan_limit_members'],
});

export const showProfile = personOperation({
  id: 'showProfile',
  access: 'read',
  summary: 'Get your profile',
  response: object('ProfileOut', {
    name: string(),
    email: string(),
    email_verified: boolean(),
    wanted_email: nullable(string({ description: 'The address that is not confirmed yet.' })),
    mail: boolean({ description: 'Whether this installation can send mail.' }),
    providers: boolean({ description: 'Whether a provider can sign you in.' }),
  }),
});

export const updateProfile = personOperation({
  id: 'updateProfile',
  access: 'read',
  summary: 'Change your name',
  body: object('ProfileIn', { name: string() }),
  response: object('ProfileNameOut', { name: string() }),
  refusals: ['name_invalid'],
});

export const changeEmail = personOperation({
  id: 'changeEmail',
  access: 'read',
  dangerous: true,
  summary: 'Change your e-mail address once it is confirmed, or confirm the current one',
  body: object('EmailIn', { email: string() }),
  response: object('EmailChangedOut', { email: string(), must_confirm: boolean() }),
  refusals: ['email_invalid', 'email_taken', 'too_many_attempts'],
});

export const verifyEmail = personOperation({
  id: 'verifyEmail',
  access: 'read',
  summary: 'Confirm your e-mail address with the link of a mail',
  body: object('VerifyIn', { secret: string() }),
  response: object('VerifiedOut', { email: string() }),
  refusals: ['link_invalid', 'email_taken'],
});

/** Other credentials of the user, which end with the old password only on request. */
export const alsoEnded = {
  end_tokens: optional(boolean(), false),
  end_passkeys: optional(boolean(), false),
  end_assistants: optional(boolean(), false),
};

export const changePassword = personOperation({
  id: 'changePassword',
  access: 'read',
  dangerous: true,
  summary: 'Change your password, which signs out all other browsers',
  body: object('PasswordIn', { password: string(), ...alsoEnded }),
  response: object('PasswordChangedOut', { session: string() }),
  refusals: ['password_invalid'],
});

const RecoveryCodesOut = object('RecoveryCodesOut', { recovery_codes: array(string()) });

/**
 * The second step of signing in: codes of an app, and recovery codes for when it is unavailable.
 */
export const showSecondFactor = personOperation({
  id: 'showSecondFactor',
  access: 'read',
  summary: 'Get whether two-step verification is on',
  response: object('SecondFactorOut', {
    on_since: nullable(dateTime()),
    recovery_codes_left: integer(),
  }),
});

export const proposeSecondFactor = personOperation({
  id: 'proposeSecondFactor',
  access: 'read',
  dangerous: true,
  summary: 'Create a secret for an authenticator app, without storing it',
  response: object('ProposedSecondFactorOut', { secret: string() }),
  refusals: ['second_factor_on'],
});

export const startSecondFactor = personOperation({
  id: 'startSecondFactor',
  access: 'read',
  dangerous: true,
  summary: 'Turn on two-step verification with a first code from the app',
  body: object('StartSecondFactorIn', { secret: string(), code: string() }),
  response: RecoveryCodesOut,
  refusals: ['second_factor_on', 'code_invalid'],
});

export const replaceRecoveryCodes = personOperation({
  id: 'replaceRecoveryCodes',
  access: 'read',
  does: 'acts',
  dangerous: true,
  summary: 'Create ten new recovery codes, which revokes the old ones',
  response: RecoveryCodesOut,
  refusals: ['second_factor_off'],
});

export const endSecondFactor = personOperation({
  id: 'endSecondFactor',
  access: 'read',
  does: 'acts',
  dangerous: true,
  summary: 'Turn off two-step verification',
  response: object('EndedSecondFactorOut', { ended: boolean() }),
  refusals: ['second_factor_off'],
});

/** Accounts and new passwords, for people who are not signed in. */
export const signUp = anonymousOperation({
  id: 'signUp',
  access: 'read',
  summary: 'Sign up, with a new organisation or an invitation',
  body: object('SignUpIn', {
    email: string(),
    password: optional(string(), ''),
    passkey: maybe(string(), {
      description:
        'The answer of a new passkey in place of a password; with an invitation that proves the address.',
    }),
    name: string(),
    organisation: maybe(string(), {
      description: 'The name of the new organisation; not with an invitation.',
    }),
    time_zone: maybe(string()),
    invitation_secret: maybe(string()),
  }),
  response: object('SignedUpOut', {
    /** Null where they must follow a mail's link first. */
    session: nullable(string()),
    must_confirm: boolean(),
  }),
  refusals: [
    ...([
      'sign_up_closed',
      'email_invalid',
      'password_invalid',
      'name_invalid',
      'time_zone_invalid',
    ] as const),
    ...(['link_invalid', 'email_taken', 'plan_limit_members', 'too_many_attempts'] as const),
    ...(['passkeys_impossible', 'passkey_refused'] as const),
  ],
});

export const finishSignUp = anonymousOperation({
  id: 'finishSignUp',
  access: 'read',
  summary: 'Finish signing up with the link of a mail',
  body: object('FinishIn', { secret: string(), password: string() }),
  response: object('FinishedOut', { session: string() }),
  refusals: [
    'link_invalid',
    'email_taken',
    'plan_limit_members',
    'sign_in_failed',
    'too_many_attempts',
  ],
});

export const requestPasswordReset = anonymousOperation({
  id: 'requestPasswordReset',
  access: 'read',
  summary: 'Request a link for a new password by e-mail',
  body: object('ResetRequestIn', { email: string() }),
  response: object('ResetRequestedOut', { sent: boolean() }),
  refusals: ['mail_missing', 'email_invalid', 'too_many_attempts'],
});

export const resetPassword = anonymousOperation({
  id: 'resetPassword',
  access: 'read',
  summary: 'Choose a new password with the link of a mail, which signs out all browsers',
  body: object('ResetIn', { secret: string(), password: string(), ...alsoEnded }),
  response: SignedInOut,
  refusals: ['link_invalid', 'password_invalid', 'too_many_attempts'],
});

export const keepEmail = anonymousOperation({
  id: 'keepEmail',
  access: 'read',
  summary: 'Cancel a change of e-mail address with the link sent to the old one',
  body: object('KeepIn', { secret: string() }),
  response: object('KeptOut', { wanted: string() }),
  refusals: ['link_invalid'],
});

export const showLink = anonymousOperation({
  id: 'showLink',
  access: 'read',
  does: 'looks',
  summary: 'Get whether a link of a mail still works, and its address, without using it',
  body: object('LinkIn', {
    kind: literal(['sign-up', 'e-mail', 'e-mail kept', 'password reset']),
    secret: string(),
  }),
  response: object('LinkOut', {
    email: nullable(string()),
    /** The data of a sign-up that waits to be completed. */
    name: nullable(string()),
    organisation: nullable(string()),
  }),
});

export const showInvitation = anonymousOperation({
  id: 'showInvitation',
  access: 'read',
  does: 'looks',
  summary: 'Get what an invitation is for, without using it',
  body: object('InvitationLinkIn', { secret: string() }),
  response: object('InvitationShownOut', {
    organisation: string(),
    email: string({ description: 'The invited address.' }),
    role: string(),
    inviter: nullable(string()),
    passkeys: nullable(string(), {
      description: 'Where a passkey can be created in place of a password.',
    }),
  }),
  refusals: ['link_invalid'],
});

export const beginJoin = anonymousOperation({
  id: 'beginJoin',
  access: 'read',
  does: 'looks',
  summary: 'Get the options to join with a new passkey instead of a password',
  body: object('JoinOptionsIn', { secret: string() }),
  response: OptionsOut,
  refusals: ['link_invalid', 'passkeys_impossible', 'too_many_attempts'],
});

export const showSignUpPolicy = anonymousOperation({
  id: 'showDoor',
  access: 'read',
  does: 'looks',
  summary: 'Get the sign-up policy, whether mail is set up, where passkeys work, and the provider',
  response: object('DoorOut', {
    sign_up: literal(['open', 'invited']),
    mail: boolean(),
    passkeys: nullable(string()),
    provider: nullable(string({ description: "The installation's own, by its host." })),
    own_providers: boolean({ description: 'Whether organisations have some.' }),
  }),
});
