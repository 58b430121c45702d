import { integer, literal, nullable, object, optional, string } from '../fields.ts';
import { innerOperation } from '../operation.ts';

/** What somebody asks for who is not signed in. The face puts the session's text into its cookie. */

export const SignedInOut = object('SignedInOut', {
  /** Null while the second step is still to be done. */
  session: nullable(string()),
  second_step: nullable(string()),
});

export const signIn = innerOperation({
  id: 'signIn',
  access: 'read',
  summary: 'Sign in with an e-mail address and a password',
  body: object('SignInIn', { email: string(), password: string() }),
  response: SignedInOut,
  refusals: ['sign_in_failed', 'too_many_attempts'],
});

export const finishSignIn = innerOperation({
  id: 'finishSignIn',
  access: 'read',
  summary: 'Take the second step of signing in, with a code of the app or a recovery code',
  body: object('FinishSignInIn', { secret: string(), code: string() }),
  response: object('FinishedSignInOut', {
    session: string(),
    /** When one of them was used. */
    recovery_codes_left: nullable(integer()),
  }),
  refusals: ['second_step_over', 'code_invalid', 'too_many_attempts'],
});

export const enter = innerOperation({
  id: 'enter',
  access: 'read',
  summary: 'Sign in by a link that is good once',
  body: object('EnterIn', { secret: string() }),
  response: object('EnteredOut', { session: string() }),
  refusals: ['link_invalid', 'too_many_attempts'],
});

export const createSignInLink = innerOperation({
  id: 'createSignInLink',
  access: 'manage',
  summary: 'Make a link that signs a user in once, without password or second step',
  body: object('SignInLinkIn', {
    email: string(),
    made_for: optional(literal(['operator', 'start'], { description: 'For an hour; or until used, or until the next start.' }), 'operator'),
  }),
  response: object('SignInLinkOut', { email: string(), address: string(), expires_at: nullable(string()) }),
  refusals: ['user_not_found'],
});
