import { randomBytes } from 'node:crypto';
import { newId } from '../../shared/base/crypto.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { nameFrom } from '../../shared/base/names.ts';
import { postMail } from '../account-mail/queries.ts';
import { deleteConnectionsOf } from '../assistants/queries.ts';
import { failuresOf, hostOf } from '../gate/attempts.ts';
import { handle } from '../gate/bind.ts';
import type { Context } from '../gate/context.ts';
import { deadLink } from '../gate/roles.ts';
import { timeZoneFrom } from '../maintenance/zones.ts';
import { insertFirstChannel } from '../notifications/queries.ts';
import { emailFrom, passwordFrom } from '../organisations/model.ts';
import { insertOrganisation } from '../organisations/queries.ts';
import { deleteAllTokensOf } from '../tokens/queries.ts';
import * as contract from './contract.ts';
import { join, organisationEnding } from './joining.ts';
import {
  deleteOneTime,
  deleteSignUps,
  insertOneTime,
  lookAtOneTime,
  useOneTime,
} from './one-time.ts';
import {
  createdPasskey,
  creationOptions,
  deletePasskeysOf,
  insertPasskey,
  issueChallenge,
  passkeyPlace,
  placeOf,
  takeAnswer,
} from './passkeys.ts';
import {
  hasOwner,
  hasOwnProviders,
  insertMembers,
  insertUsers,
  invitationBy,
  invitationById,
  markVerified,
  writeEmail,
  writePassword,
} from './queries.ts';
import { hashPassword, verifyPassword } from './secrets.ts';
import { beginSession, deleteSessions, deviceOf, linkLifetimes } from './sessions.ts';
import { signInAs } from './sign-in.ts';

/** Credentials that work without the password, and end only where the user says so. */
export type AlsoEnded = {
  readonly end_tokens: boolean;
  readonly end_passkeys: boolean;
  readonly end_assistants: boolean;
};

/**
 * A new password ends everything that was open under the old one, including changes of address; the
 * user is notified of this, and of what stays.
 */
export async function replacePassword(
  { sql, now, note, with: { door } }: Context,
  { user, email }: { readonly user: string; readonly email: string },
  password_hash: string,
  { end_tokens, end_passkeys, end_assistants }: AlsoEnded,
): Promise<void> {
  await writePassword(sql, user, password_hash);
  await deleteSessions(sql, user, null);
  await deleteOneTime(sql, user, ['second step', 'password reset', 'e-mail']);
  if (end_tokens) await deleteAllTokensOf(sql, user);
  if (end_passkeys) await deletePasskeysOf(sql, user);
  if (end_assistants) await deleteConnectionsOf(sql, user);
  const all = [
    { what: 'API tokens', isEnded: end_tokens },
    { what: 'passkeys', isEnded: end_passkeys },
    { what: 'connected assistants', isEnded: end_assistants },
  ];
  const [ended, kept] = [true, false].map((isEnded) =>
    listed(all.filter((one) => one.isEnded === isEnded).map(({ what }) => what)),
  );
  note({ after: { ended: ended ?? '', kept: kept ?? '' } });
  const detail = [
    ended && `Its ${ended} were revoked.`,
    kept && `Its ${kept}, if there are any, stay valid.`,
  ]
    .filter(Boolean)
    .join(' ');
  if (door.mail)
    await postMail(sql, {
      kind: 'notice',
      recipient: email,
      about: { what: 'password', detail },
      at: now,
    });
}

function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}

export const finishSignUp = handle(contract.finishSignUp)({
  /**
   * Anyone may sign up with an address, but finishing requires the password: no account gets a
   * password that someone else chose.
   */
  before: async (
    { pool, now, visitor, with: { attempts, accountSecrets } },
    { secret, password },
  ) => {
    await attempts.count([{ what: `finished sign-ups from ${hostOf(visitor.address)}`, most: 20 }]);
    const waiting = await lookAtOneTime(
      pool,
      await accountSecrets.fingerprint('sign-up', secret),
      now,
    );
    if (!waiting?.account) throw deadLink();
    if (!(await verifyPassword(password, waiting.account.password_hash)))
      throw new Refusal('sign_in_failed', {
        password:
          'is not the one that this account was asked for with. If someone else asked for it, sign up yourself: that ends theirs.',
      });
  },
  /**
   * The address is proven, so the account is created; if the invitation has ended meanwhile,
   * without an organisation.
   */
  act: async (context, { secret }) => {
    const {
      sql,
      now,
      note,
      with: { accountSecrets, door },
    } = context;
    const waiting = await useOneTime(sql, await accountSecrets.fingerprint('sign-up', secret), now);
    if (!waiting?.email || !waiting.account) throw deadLink();
    const { email, account } = waiting;
    const { name, password_hash, organisation, time_zone } = account;
    const user = newId();
    await insertUsers(sql, {
      id: user,
      email,
      name,
      password_hash,
      email_verified_at: now,
    });
    note({ after: { email, name, organisation } });
    if (organisation !== null) {
      const id = newId();
      await insertOrganisation(sql, {
        id,
        name: organisation,
        plan: door.signUpPlan,
        time_zone: time_zone ?? 'UTC',
      });
      await insertMembers(sql, id, { user, role: 'owner' });
      await insertFirstChannel(sql, { organisation: id, email, at: now });
      note({ organisation: id });
    }
    const invitation =
      account.invitation === null ? undefined : await invitationById(sql, account.invitation, now);
    if (invitation && (await join(context, user, invitation)) === 'joined')
      note({ organisation: invitation.organisation_id });
    return { session: await beginSession(context, user) };
  },
});

export const requestPasswordReset = handle(contract.requestPasswordReset)({
  before: async ({ visitor, with: { attempts, door } }, { email }) => {
    if (!door.mail)
      throw new Refusal(
        'mail_missing',
        `This installation sends no e-mail. Its operator can create a sign-in link for you: npm run operator -- user sign-in-link --email ${email.trim()}`,
      );
    // Counted apart from other mails to the address, which anyone can cause: otherwise they could
    // block the only way to sign in to an account that someone guesses at.
    await attempts.count([
      { what: `reset mails to ${emailFrom(email).toLowerCase()}`, most: 5 },
      { what: `resets from ${hostOf(visitor.address)}`, most: 20 },
    ]);
  },
  /**
   * Whether the account exists is checked only when the mail is made, so that nothing here reveals
   * it.
   */
  act: async ({ sql, now }, { email }) => {
    await postMail(sql, {
      kind: 'password-reset',
      recipient: email.trim(),
      about: {},
      at: now,
    });
    return { sent: true };
  },
});

export const resetPassword = handle(contract.resetPassword)({
  before: async ({ visitor, with: { attempts } }, input) => {
    const password = passwordFrom(input.password);
    await attempts.count([{ what: `resets from ${hostOf(visitor.address)}`, most: 20 }]);
    return hashPassword(password);
  },
  /**
   * The link signs its owner in at once, however many passwords are guessed meanwhile. The second
   * step stays: access to a mailbox does not prove the person.
   */
  act: async (context, { secret, ...also }, password_hash) => {
    const {
      sql,
      now,
      note,
      with: { accountSecrets, attempts },
    } = context;
    const link = await useOneTime(
      sql,
      await accountSecrets.fingerprint('password reset', secret),
      now,
    );
    const user = link?.user_id;
    const email = user ? await markVerified(sql, user, now) : undefined;
    if (!user || email === undefined) throw deadLink();
    note({ user });
    await replacePassword(context, { user, email }, password_hash, also);
    await attempts.forget([failuresOf(email)]);
    return signInAs(context, user);
  },
});

export const showLink = handle(contract.showLink)(
  async ({ sql, now, with: { accountSecrets } }, { kind, secret }) => {
    const found = await lookAtOneTime(sql, await accountSecrets.fingerprint(kind, secret), now);
    const { name = null, organisation = null } = found?.account ?? {};
    return { email: found?.email ?? null, name, organisation };
  },
);

export const showInvitation = handle(contract.showInvitation)(
  async ({ sql, now, with: { accountSecrets, baseUrl, door } }, { secret }) => {
    const invitation = await invitationBy(
      sql,
      await accountSecrets.fingerprint('invitation', secret),
      now,
    );
    if (!invitation) throw deadLink();
    const { organisation, email, role, inviter, mailed } = invitation;
    const passkeys = mailed || !door.mail ? (passkeyPlace(baseUrl())?.origin ?? null) : null;
    return { organisation, email, role, inviter, passkeys };
  },
);

export const beginJoin = handle(contract.beginJoin)({
  before: ({ visitor, with: { attempts } }) =>
    attempts.count([{ what: `passkeys from ${hostOf(visitor.address)}`, most: 60 }]),
  act: async (context, { secret }) => {
    const { sql, now, with: instruments } = context;
    const place = placeOf(instruments);
    const fingerprint = await instruments.accountSecrets.fingerprint('invitation', secret);
    const invitation = await invitationBy(sql, fingerprint, now);
    if (!invitation) throw deadLink();
    const challenge = await issueChallenge(sql, instruments, {
      kind: 'add passkey',
      user: null,
      now,
    });
    return {
      options: await creationOptions({ place, challenge }, { ...invitation, name: '' }, []),
    };
  },
});

export const showSignUpPolicy = handle(contract.showSignUpPolicy)(
  async ({ sql, with: { baseUrl, door, providers } }) => ({
    sign_up: door.signUp === 'open' && door.mail && (await hasOwner(sql)) ? 'open' : 'invited',
    mail: door.mail,
    passkeys: passkeyPlace(baseUrl())?.origin ?? null,
    own_providers: await hasOwnProviders(sql),
    provider: providers.installation && new URL(providers.installation.issuer).host,
  }),
);

export const signUp = handle(contract.signUp)({
  /**
   * Validates everything before the address is looked up, and hashes the password whether the
   * account exists or not.
   */
  before: async ({ pool, now, visitor, with: instruments }, input) => {
    const { attempts, accountSecrets, door } = instruments;
    const { invitation_secret: secret } = input;
    const invitation =
      secret === null
        ? undefined
        : await invitationBy(pool, await accountSecrets.fingerprint('invitation', secret), now);
    if (secret !== null && !invitation) throw deadLink();
    if (!invitation && (door.signUp !== 'open' || !door.mail || !(await hasOwner(pool))))
      throw closed();
    const email = emailFrom(input.email);
    const own = invitation
      ? { organisation: null, time_zone: null }
      : {
          organisation: nameFrom(input.organisation ?? '', 'organisation'),
          time_zone: timeZoneFrom(input.time_zone ?? ''),
        };
    const name = nameFrom(input.name);
    const passkey =
      input.passkey === null ? null : await createdPasskey(placeOf(instruments), input.passkey);
    // Nobody knows that password, so only the passkey signs in until one is chosen by mail.
    const password =
      passkey === null ? passwordFrom(input.password) : randomBytes(32).toString('base64url');
    await attempts.count([
      { what: `mails to ${email.toLowerCase()}`, most: 5 },
      { what: `sign-ups from ${hostOf(visitor.address)}`, most: 20 },
    ]);
    return {
      email,
      name,
      ...own,
      password_hash: await hashPassword(password),
      invitation,
      passkey,
    };
  },
  /**
   * With mail, nothing is created before the address is proven, so the answer is the same for an
   * address with an account. The link of a mailed invitation proves the address that it was sent
   * to. Without mail, only someone with an invitation gets this far, and learns that an address is
   * taken.
   */
  act: async (context, _input, prepared) => {
    const {
      sql,
      now,
      note,
      visitor,
      with: { door },
    } = context;
    const { invitation, passkey, email, ...wanted } = prepared;
    const { name, password_hash } = wanted;
    // A passkey was created for that id, before there was an account.
    const id = passkey && invitation ? invitation.id : newId();
    note({ after: { email, name, organisation: wanted.organisation } });
    const isProven =
      invitation?.mailed === true && invitation.email.toLowerCase() === email.toLowerCase();
    if (door.mail && !isProven) {
      if (passkey) throw needsPassword();
      await deleteSignUps(sql, email);
      await insertOneTime(sql, {
        id,
        kind: 'sign-up',
        user: null,
        email,
        account: { ...wanted, invitation: invitation?.id ?? null },
        fingerprint: null,
        expires_at: now + linkLifetimes.signUp,
      });
      await postMail(sql, { kind: 'sign-up', recipient: email, about: { sign_up: id }, at: now });
      return { session: null, must_confirm: true };
    }
    if (!invitation) throw closed();
    const verified = isProven ? { email_verified_at: now } : {};
    await insertUsers(sql, { id, email, name, password_hash, ...verified });
    if (passkey) {
      const { challenge, ...made } = passkey;
      await takeAnswer(context, challenge, { kind: 'add passkey', user: null });
      const row = {
        ...made,
        id: newId(),
        user_id: id,
        name: deviceOf(visitor.device),
        created_at: now,
      };
      if (!(await insertPasskey(sql, row))) throw needsPassword();
    }
    const joined = await join(context, id, invitation);
    if (joined === 'ending') throw organisationEnding(invitation);
    if (joined !== 'joined') throw deadLink();
    note({ organisation: invitation.organisation_id });
    return { session: await beginSession(context, id), must_confirm: false };
  },
});

function needsPassword(): Refusal {
  return new Refusal('passkey_refused', 'This passkey cannot be used to join. Choose a password.');
}

function closed(): Refusal {
  return new Refusal(
    'sign_up_closed',
    'Sign-up is by invitation only. Ask the operator of this installation for one.',
  );
}

/**
 * Proves a mailbox, only for the signed-in user who requested it. If it replaces another address,
 * that one is notified.
 */
export const verifyEmail = handle(contract.verifyEmail)(
  async ({ sql, now, note, person, with: { accountSecrets } }, { secret }) => {
    const link = await useOneTime(sql, await accountSecrets.fingerprint('e-mail', secret), now, {
      kind: 'e-mail',
      user: person.user,
    });
    const email = link?.email;
    if (!email) throw deadLink();
    await writeEmail(sql, person.user, email, now);
    note({ before: { email: person.email }, after: { email } });
    if (person.email.toLowerCase() !== email.toLowerCase())
      await postMail(sql, {
        kind: 'notice',
        recipient: person.email,
        about: { what: 'e-mail', detail: email },
        at: now,
      });
    return { email };
  },
);

/** The old mailbox can end a change of address, whoever requested it. */
export const keepEmail = handle(contract.keepEmail)(
  async ({ sql, now, note, with: { accountSecrets } }, { secret }) => {
    const ended = await useOneTime(
      sql,
      await accountSecrets.fingerprint('e-mail kept', secret),
      now,
    );
    if (!ended?.user_id || !ended.email) throw deadLink();
    note({
      user: ended.user_id,
      after: { email_change: 'ended by the old mailbox', wanted: ended.email },
    });
    return { wanted: ended.email };
  },
);
