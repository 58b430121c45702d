import { array, boolean, nullable, object, string, uuid } from '../fields.ts';
import { innerOperation } from '../operation.ts';

/** Keys of a phone, a computer or a stick that sign in without a password. Options and answers are as browsers read and write them. */

const OptionsOut = object('PasskeyOptionsOut', { options: string() });

const PasskeyOut = object('PasskeyOut', {
  id: uuid(),
  name: string(),
  is_synced: boolean(),
  created_at: string(),
  last_used_at: nullable(string()),
});

export const listPasskeys = innerOperation({
  id: 'listPasskeys',
  access: 'read',
  summary: "List one's own passkeys, the oldest first",
  response: object('PasskeysOut', {
    items: array(PasskeyOut),
    /** Where they are good; null where there can be none. */
    origin: nullable(string()),
    /** What the next one may be called. */
    suggested_name: string(),
  }),
});

/** It leaves nothing but a challenge, which ends by itself. */
export const beginPasskey = innerOperation({
  id: 'beginPasskey',
  access: 'read',
  does: 'looks',
  dangerous: true,
  summary: 'Ask for what a browser makes a passkey of',
  response: OptionsOut,
  refusals: ['passkeys_impossible'],
});

export const addPasskey = innerOperation({
  id: 'addPasskey',
  access: 'read',
  dangerous: true,
  summary: 'Keep a passkey that a browser made',
  body: object('AddPasskeyIn', { name: string(), answer: string() }),
  response: object('AddedPasskeyOut', { id: uuid(), name: string() }),
  refusals: ['passkeys_impossible', 'passkey_refused', 'name_invalid'],
});

export const removePasskey = innerOperation({
  id: 'removePasskey',
  access: 'read',
  does: 'acts',
  dangerous: true,
  summary: 'Have a passkey sign in no more',
  params: { passkey_id: uuid() },
  response: object('RemovedPasskeyOut', { id: uuid(), name: string() }),
  refusals: ['passkey_not_found'],
});

export const beginProof = innerOperation({
  id: 'beginProof',
  access: 'read',
  does: 'looks',
  summary: "Ask for what one of one's own passkeys is to sign",
  response: OptionsOut,
  refusals: ['passkeys_impossible', 'passkey_unknown'],
});

export const proveByPasskey = innerOperation({
  id: 'proveByPasskey',
  access: 'read',
  summary: 'Prove with a passkey that it is still the same person',
  body: object('PasskeyProofIn', { answer: string() }),
  response: object('PasskeyProvenOut', { proven: boolean() }),
  refusals: ['passkeys_impossible', 'passkey_refused', 'passkey_unknown'],
});

export const beginPasskeySignIn = innerOperation({
  id: 'beginPasskeySignIn',
  access: 'read',
  does: 'looks',
  summary: 'Ask for what a passkey is to sign, of whomever it is',
  response: OptionsOut,
  refusals: ['passkeys_impossible', 'too_many_attempts'],
});

export const signInByPasskey = innerOperation({
  id: 'signInByPasskey',
  access: 'read',
  summary: 'Sign in with a passkey, which takes the place of the password and of the second step',
  body: object('PasskeySignInIn', { answer: string() }),
  response: object('PasskeySignedInOut', { session: string() }),
  refusals: ['passkeys_impossible', 'passkey_refused', 'passkey_unknown'],
});
