import { Refusal } from '../../shared/base/errors.ts';
import { credentialOf, type PasskeyUse, signedBy } from '../access/access-passkeys.ts';
import { type PasskeyPlace, passkeyPlace } from '../domain/passkey-place.ts';
import { linkLives } from '../domain/signed-in-session.ts';
import type { Queryable, Sql } from '../store/store-database.ts';
import {
  type ChallengePurpose,
  insertChallenge,
  type PasskeyRow,
  passkeyByCredential,
  useChallenge,
  writePasskeyUse,
} from '../store/store-passkeys.ts';
import type { Context, Instruments } from './operation-context.ts';

/** What is asked of passkeys, and what their answers are good for. */

/** @throws Refusal where there can be none. */
export const placeOf = ({ baseUrl }: Pick<Instruments, 'baseUrl'>): PasskeyPlace => {
  const place = passkeyPlace(baseUrl());
  if (place) return place;
  throw new Refusal('passkeys_impossible', `Passkeys need an address with a name, and https; this installation is at ${baseUrl()}.`);
};

export const unknownPasskey = (): Refusal => new Refusal('passkey_unknown', 'This passkey is not known here, or was removed.');
const stale = (): Refusal => new Refusal('passkey_refused', 'This took too long, or was done already; try again.');

type Asking = { readonly purpose: ChallengePurpose; readonly user: string | null };

/** Something new to sign. */
export const askPasskey = async (
  sql: Queryable,
  { accountSecrets }: Instruments,
  { purpose, user, now }: Asking & { readonly now: number },
): Promise<string> => {
  const { text, fingerprint } = await accountSecrets.mint('passkey challenge');
  await insertChallenge(sql, { fingerprint, purpose, user, expires_at: new Date(now + linkLives.passkey) });
  return text;
};

/** What was asked is answered once. @throws Refusal. */
export const takeAnswer = async ({ sql, now, with: { accountSecrets } }: Context, challenge: string, asking: Asking): Promise<void> => {
  const fingerprint = await accountSecrets.fingerprint('passkey challenge', challenge);
  if (!(await useChallenge(sql, { ...asking, fingerprint, now: new Date(now) }))) throw stale();
};

export type Signed = { readonly passkey: PasskeyRow; readonly use: PasskeyUse };

/** Which passkey signed: looked at before any transaction, because the check takes long the first time. @throws Refusal. */
export const signedPasskey = async (pool: Sql, instruments: Instruments, answer: string): Promise<Signed> => {
  const place = placeOf(instruments);
  const passkey = await passkeyByCredential(pool, credentialOf(answer));
  if (!passkey) throw unknownPasskey();
  return { passkey, use: await signedBy(place, passkey, answer) };
};

/** @throws Refusal when it was used for something else, or before, or the passkey is gone. */
export const takeSigned = async (context: Context, { passkey, use }: Signed, asking: Asking): Promise<void> => {
  await takeAnswer(context, use.challenge, asking);
  const { counter, is_synced } = use;
  if (!(await writePasskeyUse(context.sql, { id: passkey.id, counter, is_synced, at: new Date(context.now) }))) throw unknownPasskey();
};
