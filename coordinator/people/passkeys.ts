import type { WebAuthnCredential } from '@simplewebauthn/server';
import { z } from 'zod';
import { Refusal } from '../../shared/base/errors.ts';
import { storable } from '../../shared/base/names.ts';
import type { Queryable, Sql } from '../database/connect.ts';
import type { Context, GateDependencies } from '../gate/context.ts';
import { type ChallengeKind, insertOneTime, useOneTime } from './one-time.ts';
import { linkLifetimes } from './sessions.ts';

/**
 * The site of passkeys: browsers bind them to a host name, and offer them only over secure
 * connections.
 */
type PasskeyPlace = { readonly host: string; readonly origin: string };

/**
 * Null where passkeys are not possible. On the machine itself the name is `localhost`, because an
 * IP address is not allowed.
 */
export function passkeyPlace(baseUrl: string): PasskeyPlace | null {
  if (!URL.canParse(baseUrl)) return null;
  const url = new URL(baseUrl);
  if (url.hostname === '127.0.0.1' || url.hostname === '[::1]') url.hostname = 'localhost';
  const { protocol, hostname: host, origin } = url;
  if (host === 'localhost' || host.endsWith('.localhost')) return { host, origin };
  const isNumber = host.startsWith('[') || /^[\d.]+$/.test(host);
  return protocol === 'https:' && !isNumber ? { host, origin } : null;
}

type PasskeyRow = {
  readonly id: string;
  readonly user_id: string;
  readonly credential_id: string;
  readonly public_key: Uint8Array;
  readonly counter: number;
  readonly transports: readonly string[];
  readonly name: string;
  readonly is_synced: boolean;
  readonly created_at: number;
  readonly last_used_at: number | null;
};

export function passkeysOf(sql: Queryable, user: string): Promise<PasskeyRow[]> {
  return sql<PasskeyRow[]>`select * from passkeys where user_id = ${user} order by created_at, id`;
}

async function passkeyByCredential(
  sql: Queryable,
  credential: string,
): Promise<PasskeyRow | undefined> {
  if (!storable(credential)) return undefined;
  const [row] = await sql<PasskeyRow[]>`select * from passkeys where credential_id = ${credential}`;
  return row;
}

/** False when it belongs to someone already. */
export async function insertPasskey(
  sql: Queryable,
  row: Omit<PasskeyRow, 'last_used_at'>,
): Promise<boolean> {
  return (
    (
      await sql`insert into passkeys (id, user_id, credential_id, public_key, counter, transports,
      name, is_synced, created_at)
      values (${row.id}, ${row.user_id}, ${row.credential_id}, ${Buffer.from(row.public_key)},
        ${row.counter},
        ${row.transports}::text[], ${row.name}, ${row.is_synced},
          ${new Date(row.created_at)})
      on conflict do nothing`
    ).count > 0
  );
}

/** Returns its name, if it was one of the user's. */
export async function deletePasskey(
  sql: Queryable,
  user: string,
  id: string,
): Promise<string | undefined> {
  const [row] = await sql<
    { name: string }[]
  >`delete from passkeys where user_id = ${user} and id = ${id} returning name`;
  return row?.name;
}

export async function deletePasskeysOf(sql: Queryable, user: string): Promise<void> {
  await sql`delete from passkeys where user_id = ${user}`;
}

/** False when it was removed meanwhile. */
async function writePasskeyUse(
  sql: Queryable,
  {
    id,
    counter,
    is_synced,
    at,
  }: {
    readonly id: string;
    readonly counter: number;
    readonly is_synced: boolean;
    readonly at: number;
  },
): Promise<boolean> {
  return (
    (
      await sql`update passkeys
      set counter = greatest(counter, ${counter}), is_synced = ${is_synced}, last_used_at = ${new Date(at)}
      where id = ${id}`
    ).count > 0
  );
}

type Transport = NonNullable<WebAuthnCredential['transports']>[number];

const transports = [
  'ble',
  'cable',
  'hybrid',
  'internal',
  'nfc',
  'smart-card',
  'usb',
] as const satisfies Transport[];

const envelope = { id: z.string(), rawId: z.string(), type: z.literal('public-key') };

const createdShape = z.object({
  ...envelope,
  response: z.object({
    clientDataJSON: z.string(),
    attestationObject: z.string(),
    transports: z.array(z.string()).default([]),
  }),
});

const signedShape = z.object({
  ...envelope,
  response: z.object({
    clientDataJSON: z.string(),
    authenticatorData: z.string(),
    signature: z.string(),
  }),
});

/** Ed25519, P-256 and RSA: what every device supports, whatever else this Node could do. */
const supportedAlgorithmIDs = [-8, -7, -257];

type PasskeyChallenge = { readonly place: PasskeyPlace; readonly challenge: string };

/**
 * Options for passkeys, and verification of their answers (WebAuthn, level 3). Answers have the
 * browser's format: JSON in a field of a form.
 *
 * For `navigator.credentials.create`: a discoverable passkey, so that no one types an address, and
 * one that asks its owner for a finger or a PIN.
 */
export async function creationOptions(
  { place, challenge }: PasskeyChallenge,
  user: { readonly id: string; readonly email: string; readonly name: string },
  known: readonly Pick<PasskeyRow, 'credential_id'>[],
): Promise<string> {
  const { generateRegistrationOptions } = await library();
  const options = await generateRegistrationOptions({
    rpName: 'Antipode',
    rpID: place.host,
    challenge: bytesOf(challenge),
    attestationType: 'none',
    userID: Uint8Array.from(Buffer.from(user.id)),
    userName: user.email,
    userDisplayName: user.name === '' ? user.email : user.name,
    excludeCredentials: known.map(({ credential_id: id }) => ({ id })),
    supportedAlgorithmIDs,
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  });
  return JSON.stringify(options);
}

/** Loaded only when someone uses a passkey: it knows every kind of certificate there is. */
function library() {
  return import('@simplewebauthn/server');
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(Buffer.from(text, 'base64url'));
}

/** For `navigator.credentials.get`: any passkey for this site, or one of these. */
export async function requestOptions(
  { place, challenge }: PasskeyChallenge,
  of: readonly Pick<PasskeyRow, 'credential_id' | 'transports'>[] = [],
): Promise<string> {
  const { generateAuthenticationOptions } = await library();
  const allowCredentials = of.map(({ credential_id: id, transports: by }) => ({
    id,
    transports: transportsIn(by),
  }));
  const options = await generateAuthenticationOptions({
    rpID: place.host,
    challenge: bytesOf(challenge),
    userVerification: 'required',
    ...(of.length === 0 ? {} : { allowCredentials }),
  });
  return JSON.stringify(options);
}

function transportsIn(given: readonly string[]): Transport[] {
  return transports.filter((each) => given.includes(each));
}

type NewPasskey = Pick<
  PasskeyRow,
  'credential_id' | 'public_key' | 'counter' | 'transports' | 'is_synced'
>;

/**
 * A passkey that was just created, and its challenge. @throws Refusal when it is not one for this
 * site.
 */
export async function createdPasskey(
  place: PasskeyPlace,
  text: string,
): Promise<NewPasskey & { readonly challenge: string }> {
  const { response, ...rest } = read(createdShape, text);
  const challenge = challengeIn({ response });
  const { verifyRegistrationResponse } = await library();
  const { clientDataJSON, attestationObject } = response;
  const done = await verifyRegistrationResponse({
    response: {
      ...rest,
      response: { clientDataJSON, attestationObject },
      clientExtensionResults: {},
    },
    expectedChallenge: challenge,
    expectedOrigin: place.origin,
    expectedRPID: place.host,
    supportedAlgorithmIDs,
  }).catch((error: unknown) => {
    throw refused(error);
  });
  if (!done.verified) throw refused();
  const { credential, credentialBackedUp: is_synced } = done.registrationInfo;
  const { id: credential_id, publicKey: public_key, counter } = credential;
  return {
    challenge,
    credential_id,
    public_key,
    counter,
    transports: transportsIn(response.transports),
    is_synced,
  };
}

function read<Shape extends z.ZodType>(shape: Shape, text: string): z.infer<Shape> {
  try {
    return shape.parse(JSON.parse(text));
  } catch (error) {
    throw refused(error);
  }
}

function refused(cause?: unknown): Refusal {
  return Object.assign(
    new Refusal(
      'passkey_refused',
      'The answer of the passkey is not one to what was asked; try again.',
    ),
    { cause },
  );
}

/** The signed data contains its challenge; the database knows whether we issued it. */
function challengeIn({
  response,
}: {
  readonly response: { readonly clientDataJSON: string };
}): string {
  const text = Buffer.from(response.clientDataJSON, 'base64url').toString();
  return read(z.object({ challenge: z.string() }), text).challenge;
}

/**
 * The id of the answering passkey, before it is known whether it is registered. @throws Refusal.
 */
function credentialOf(text: string): string {
  return read(signedShape, text).id;
}

type PasskeyUse = {
  readonly challenge: string;
  readonly counter: number;
  readonly is_synced: boolean;
};

/**
 * The data that a passkey signed. @throws Refusal when the signature is not its own, or not for
 * this site.
 */
async function signedBy(
  place: PasskeyPlace,
  passkey: PasskeyRow,
  text: string,
): Promise<PasskeyUse> {
  const { response, ...rest } = read(signedShape, text);
  const challenge = challengeIn({ response });
  const { verifyAuthenticationResponse } = await library();
  const done = await verifyAuthenticationResponse({
    response: { ...rest, response, clientExtensionResults: {} },
    expectedChallenge: challenge,
    expectedOrigin: place.origin,
    expectedRPID: place.host,
    credential: {
      id: passkey.credential_id,
      publicKey: Uint8Array.from(passkey.public_key),
      counter: passkey.counter,
    },
  }).catch((error: unknown) => {
    throw refused(error);
  });
  if (!done.verified) throw refused();
  return {
    challenge,
    counter: done.authenticationInfo.newCounter,
    is_synced: done.authenticationInfo.credentialBackedUp,
  };
}

/** @throws Refusal where passkeys are not possible. */
export function placeOf({ baseUrl }: Pick<GateDependencies, 'baseUrl'>): PasskeyPlace {
  const place = passkeyPlace(baseUrl());
  if (place) return place;
  throw new Refusal(
    'passkeys_impossible',
    `Passkeys need an address with a name, and https; this installation is at ${baseUrl()}.`,
  );
}

export function unknownPasskey(): Refusal {
  return new Refusal('passkey_unknown', 'This passkey is not known here, or was removed.');
}

type Asking = { readonly kind: ChallengeKind; readonly user: string | null };

export async function issueChallenge(
  sql: Queryable,
  { accountSecrets }: GateDependencies,
  { kind, user, now }: Asking & { readonly now: number },
): Promise<string> {
  const { text, fingerprint } = await accountSecrets.mint('passkey challenge');
  await insertOneTime(sql, {
    fingerprint,
    kind,
    user,
    expires_at: now + linkLifetimes.passkey,
  });
  return text;
}

/** A challenge is answered once. @throws Refusal. */
export async function takeAnswer(
  { sql, now, with: { accountSecrets } }: Context,
  challenge: string,
  asking: Asking,
): Promise<void> {
  const fingerprint = await accountSecrets.fingerprint('passkey challenge', challenge);
  if (!(await useOneTime(sql, fingerprint, now, asking))) throw stale();
}

function stale(): Refusal {
  return new Refusal('passkey_refused', 'This took too long, or was done already; try again.');
}

type Signed = { readonly passkey: PasskeyRow; readonly use: PasskeyUse };

/**
 * The passkey that signed, verified before any transaction, because verification is slow the first
 * time. @throws Refusal.
 */
export async function signedPasskey(
  pool: Sql,
  instruments: GateDependencies,
  answer: string,
): Promise<Signed> {
  const place = placeOf(instruments);
  const passkey = await passkeyByCredential(pool, credentialOf(answer));
  if (!passkey) throw unknownPasskey();
  return { passkey, use: await signedBy(place, passkey, answer) };
}

/**
 * @throws Refusal when it was issued for another purpose, was used before, or the passkey is gone.
 */
export async function takeSigned(
  context: Context,
  { passkey, use }: Signed,
  asking: Asking,
): Promise<void> {
  await takeAnswer(context, use.challenge, asking);
  const { counter, is_synced } = use;
  if (
    !(await writePasskeyUse(context.sql, {
      id: passkey.id,
      counter,
      is_synced,
      at: context.now,
    }))
  )
    throw unknownPasskey();
}
