import { Refusal } from '../../shared/base/errors.ts';
import { type AttemptLimit, failuresOf, hostOf } from '../gate/attempts.ts';
import { handle } from '../gate/bind.ts';
import type { AnonymousCaller } from '../gate/caller.ts';
import type { ByAnonymous, Early, SignedOut } from '../gate/context.ts';
import { deadLink } from '../gate/roles.ts';
import { codeSecretOf } from '../secrets/at-rest.ts';
import * as contract from './contract.ts';
import { deleteStartLinks, insertOneTime, lookAtOneTime, useOneTime } from './one-time.ts';
import { issueChallenge, placeOf, requestOptions, signedPasskey, takeSigned } from './passkeys.ts';
import { credentialsByEmail, userNamed } from './queries.ts';
import {
  hasRecoveryCode,
  hasSecondFactor,
  recoveryFingerprint,
  secondFactorOf,
  stepOfCode,
  takeRecoveryCode,
  takeStep,
} from './second-factor.ts';
import { verifyPassword } from './secrets.ts';
import { beginSession, linkLifetimes } from './sessions.ts';

/**
 * The operator vouches for the recipient of the link: it replaces the password and the second step.
 */
export const createSignInLink = handle(contract.createSignInLink)(
  async ({ sql, now, with: { accountSecrets, baseUrl } }, { email, made_for }) => {
    const user = await userNamed(sql, email);
    const { text, fingerprint } = await accountSecrets.mint('sign-in link');
    const expires_at = made_for === 'start' ? null : now + linkLifetimes.operator;
    if (made_for === 'start') await deleteStartLinks(sql);
    await insertOneTime(sql, { kind: `${made_for} link`, fingerprint, user: user.id, expires_at });
    return {
      email: user.email,
      address: `${baseUrl()}/enter/${text}`,
      expires_at,
    };
  },
);

/** A session after the first proof, or after the second step where the account requires one. */
export async function signInAs(
  context: ByAnonymous,
  user: string,
): Promise<{ readonly session: string | null; readonly second_step: string | null }> {
  const { sql, now, note } = context;
  if (!(await hasSecondFactor(sql, user)))
    return { session: await beginSession(context, user), second_step: null };
  const { text, fingerprint } = await context.with.accountSecrets.mint('second step');
  await insertOneTime(sql, {
    kind: 'second step',
    fingerprint,
    user,
    expires_at: now + linkLifetimes.secondStep,
  });
  note({ user, after: { second_step: 'asked for' } });
  return { session: null, second_step: text };
}

export const enter = handle(contract.enter)(async (context, { secret }) => {
  const {
    sql,
    now,
    with: { accountSecrets },
  } = context;
  const link = await useOneTime(sql, await accountSecrets.fingerprint('sign-in link', secret), now);
  if (!link?.user_id) throw deadLink();
  return { session: await beginSession(context, link.user_id) };
});

export const finishSignIn = handle(contract.finishSignIn)({
  /**
   * Counted per account, from all hosts: a guesser here has the password already, and six digits
   * are quickly tried from many hosts.
   */
  before: async (early, { secret, code: typed }) => {
    const { pool, now, visitor } = early;
    const { accountSecrets, attempts } = early.with;
    const fingerprint = await accountSecrets.fingerprint('second step', secret);
    const user = (await lookAtOneTime(pool, fingerprint, now))?.user_id;
    if (!user) throw over();
    const ofAccount = { what: `second step of ${user}`, most: 10 };
    await attempts.count([
      ofAccount,
      { what: `second steps from ${hostOf(visitor.address)}`, most: 60 },
    ]);
    const found = await codeFrom(early, user, typed);
    if (!found) throw wrong();
    await attempts.forget([ofAccount]);
    return { user, fingerprint, ...found };
  },
  act: async (context, _input, { user, fingerprint, code, left }) => {
    const { sql } = context;
    if (!(await useOneTime(sql, fingerprint, context.now))) throw over();
    const isTaken =
      'step' in code
        ? await takeStep(sql, user, code.step)
        : await takeRecoveryCode(sql, user, code.recovery);
    if (!isTaken) throw wrong();
    return {
      session: await beginSession(context, user),
      recovery_codes_left: 'recovery' in code ? left - 1 : null,
    };
  },
});

type Code = { readonly step: number } | { readonly recovery: Buffer };

function over(): Refusal {
  return new Refusal('second_step_over', 'This took too long or was already done. Sign in again.');
}

async function codeFrom(
  { pool, now, with: { accountSecrets, secrets } }: Early<SignedOut>,
  user: string,
  typed: string,
): Promise<{ readonly code: Code; readonly left: number } | undefined> {
  const there = await secondFactorOf(pool, user);
  if (!there) throw over();
  const step = stepOfCode(
    await secrets.open(pool, there.secret, codeSecretOf(user)),
    typed.replaceAll(/\s/g, ''),
    now,
  );
  const left = there.recovery_codes_left;
  if (step !== undefined) return step > there.last_step ? { code: { step }, left } : undefined;
  const recovery = await recoveryFingerprint(accountSecrets, user, typed);
  return recovery && (await hasRecoveryCode(pool, user, recovery))
    ? { code: { recovery }, left }
    : undefined;
}

function wrong(): Refusal {
  return new Refusal('code_invalid', { code: 'is wrong, or was used already.' });
}

export const beginPasskeySignIn = handle(contract.beginPasskeySignIn)({
  /**
   * A signature cannot be guessed; but each challenge is stored until it is answered, and no one
   * should fill the storage with them.
   */
  before: ({ visitor, with: { attempts } }) =>
    attempts.count([{ what: `passkeys from ${hostOf(visitor.address)}`, most: 60 }]),
  act: async (context) => {
    const place = placeOf(context.with);
    const challenge = await issueChallenge(context.sql, context.with, {
      kind: 'sign in by passkey',
      user: null,
      now: context.now,
    });
    return { options: await requestOptions({ place, challenge }) };
  },
});

export const signInByPasskey = handle(contract.signInByPasskey)({
  before: ({ pool, with: instruments }, { answer }) => signedPasskey(pool, instruments, answer),
  act: async (context, _input, signed) => {
    await takeSigned(context, signed, { kind: 'sign in by passkey', user: null });
    context.note({ after: { passkey: signed.passkey.name } });
    return { session: await beginSession(context, signed.passkey.user_id) };
  },
});

export const signIn = handle(contract.signIn)({
  /** The same answer after the same work, whether the account exists or not. */
  before: async ({ pool, visitor, with: { attempts, door } }, { email, password }) => {
    const tried = triesAt(email, visitor);
    // Without mail there is no other way to sign in, and a guesser with many hosts could lock the
    // owner out.
    const everywhere = door.mail ? [failuresOf(email)] : [];
    await attempts.count(tried);
    // Counted separately, so that attempts that were refused to their host count for no account:
    // otherwise one host could force the owner to use the mailbox.
    if (everywhere.length > 0) await attempts.count(everywhere);
    const user = await credentialsByEmail(pool, email.trim());
    const isRight = await verifyPassword(password, user?.password_hash ?? null);
    if (!user || !isRight)
      throw new Refusal('sign_in_failed', 'The e-mail address or the password is wrong.');
    // The host's count stays: signing in to one's own account must not allow more guesses at
    // others.
    await attempts.forget([tried[0], ...everywhere]);
    return user.id;
  },
  act: (context, _input, user) => signInAs(context, user),
});

/** For an account from one host, and for a host at all accounts: this slows down guessing. */
function triesAt(
  email: string,
  { address }: AnonymousCaller,
): readonly [AttemptLimit, AttemptLimit] {
  return [
    { what: `password of ${email.trim().toLowerCase()} from ${hostOf(address)}`, most: 10 },
    { what: `passwords from ${hostOf(address)}`, most: 60 },
  ];
}
