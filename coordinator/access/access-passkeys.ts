import type { WebAuthnCredential } from '@simplewebauthn/server';
import { z } from 'zod';
import { Refusal } from '../../shared/base/errors.ts';
import type { PasskeyPlace } from '../domain/passkey-place.ts';
import type { PasskeyRow } from '../store/store-passkeys.ts';

/** What is asked of passkeys, and whether their answers are right (WebAuthn, level 3). Answers come as the browser writes them: JSON in a field of a form. */

/** Loaded only when somebody has to do with a passkey: it knows every kind of certificate there is. */
const library = () => import('@simplewebauthn/server');

type Transport = NonNullable<WebAuthnCredential['transports']>[number];

const transports = ['ble', 'cable', 'hybrid', 'internal', 'nfc', 'smart-card', 'usb'] as const satisfies Transport[];
const transportsIn = (given: readonly string[]): Transport[] => transports.filter((each) => given.includes(each));

const envelope = { id: z.string(), rawId: z.string(), type: z.literal('public-key') };

const createdShape = z.object({
  ...envelope,
  response: z.object({ clientDataJSON: z.string(), attestationObject: z.string(), transports: z.array(z.string()).default([]) }),
});

const signedShape = z.object({
  ...envelope,
  response: z.object({ clientDataJSON: z.string(), authenticatorData: z.string(), signature: z.string() }),
});

const refused = (cause?: unknown): Refusal =>
  Object.assign(new Refusal('passkey_refused', 'The answer of the passkey is not one to what was asked; try again.'), { cause });

const read = <Shape extends z.ZodType>(shape: Shape, text: string): z.infer<Shape> => {
  try {
    return shape.parse(JSON.parse(text));
  } catch (error) {
    throw refused(error);
  }
};

/** What was signed says what it answers to; whether that was asked is known to the database. */
const challengeIn = ({ response }: { readonly response: { readonly clientDataJSON: string } }): string => {
  const text = Buffer.from(response.clientDataJSON, 'base64url').toString();
  return read(z.object({ challenge: z.string() }), text).challenge;
};

/** Ed25519, P-256 and RSA: what every device has, whatever this Node could do besides. */
const supportedAlgorithmIDs = [-8, -7, -257];

type Asked = { readonly place: PasskeyPlace; readonly challenge: string };
const bytesOf = (text: string): Uint8Array<ArrayBuffer> => Uint8Array.from(Buffer.from(text, 'base64url'));

/** For `navigator.credentials.create`: one that its device finds by itself, so that nobody types an address, and that asks its owner for a finger or a PIN. */
export const creationOptions = async (
  { place, challenge }: Asked,
  user: { readonly id: string; readonly email: string; readonly name: string },
  known: readonly Pick<PasskeyRow, 'credential_id'>[],
): Promise<string> => {
  const { generateRegistrationOptions } = await library();
  const options = await generateRegistrationOptions({
    ...{ rpName: 'Antipode', rpID: place.host, challenge: bytesOf(challenge), attestationType: 'none' },
    ...{ userID: Uint8Array.from(Buffer.from(user.id)), userName: user.email, userDisplayName: user.name === '' ? user.email : user.name },
    excludeCredentials: known.map(({ credential_id: id }) => ({ id })),
    supportedAlgorithmIDs,
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  });
  return JSON.stringify(options);
};

/** For `navigator.credentials.get`: any that is for here, or one of these. */
export const requestOptions = async (
  { place, challenge }: Asked,
  of: readonly Pick<PasskeyRow, 'credential_id' | 'transports'>[] = [],
): Promise<string> => {
  const { generateAuthenticationOptions } = await library();
  const allowCredentials = of.map(({ credential_id: id, transports: by }) => ({ id, transports: transportsIn(by) }));
  const options = await generateAuthenticationOptions({
    ...{ rpID: place.host, challenge: bytesOf(challenge), userVerification: 'required' },
    ...(of.length === 0 ? {} : { allowCredentials }),
  });
  return JSON.stringify(options);
};

export type NewPasskey = Pick<PasskeyRow, 'credential_id' | 'public_key' | 'counter' | 'transports' | 'is_synced'>;

/** A passkey that was just made, and what it answers to. @throws Refusal when it is not one for here. */
export const createdPasskey = async (place: PasskeyPlace, text: string): Promise<NewPasskey & { readonly challenge: string }> => {
  const { response, ...rest } = read(createdShape, text);
  const challenge = challengeIn({ response });
  const { verifyRegistrationResponse } = await library();
  const { clientDataJSON, attestationObject } = response;
  const done = await verifyRegistrationResponse({
    response: { ...rest, response: { clientDataJSON, attestationObject }, clientExtensionResults: {} },
    ...{ expectedChallenge: challenge, expectedOrigin: place.origin, expectedRPID: place.host, supportedAlgorithmIDs },
  }).catch((error: unknown) => {
    throw refused(error);
  });
  if (!done.verified) throw refused();
  const { credential, credentialBackedUp: is_synced } = done.registrationInfo;
  const { id: credential_id, publicKey: public_key, counter } = credential;
  return { challenge, credential_id, public_key, counter, transports: transportsIn(response.transports), is_synced };
};

/** Which passkey answers, before it is known whether it is one of ours. @throws Refusal. */
export const credentialOf = (text: string): string => read(signedShape, text).id;

export type PasskeyUse = { readonly challenge: string; readonly counter: number; readonly is_synced: boolean };

/** What a passkey signed, if it did. @throws Refusal when the signature is not its own, or not for here. */
export const signedBy = async (place: PasskeyPlace, passkey: PasskeyRow, text: string): Promise<PasskeyUse> => {
  const { response, ...rest } = read(signedShape, text);
  const challenge = challengeIn({ response });
  const { verifyAuthenticationResponse } = await library();
  const done = await verifyAuthenticationResponse({
    response: { ...rest, response, clientExtensionResults: {} },
    ...{ expectedChallenge: challenge, expectedOrigin: place.origin, expectedRPID: place.host },
    credential: { id: passkey.credential_id, publicKey: Uint8Array.from(passkey.public_key), counter: passkey.counter },
  }).catch((error: unknown) => {
    throw refused(error);
  });
  if (!done.verified) throw refused();
  return { challenge, counter: done.authenticationInfo.newCounter, is_synced: done.authenticationInfo.credentialBackedUp };
};
