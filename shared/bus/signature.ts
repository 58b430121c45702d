import { type Key, verify } from './identity.ts';
import type { Headers, Message } from './message.ts';

/** What batches of results and presences carry, so that they prove their sender: the subject that a message came on proves nothing. */
const header = 'Signature';

export const signatureOf = (key: Key, body: Uint8Array): Headers => ({ [header]: Buffer.from(key.sign(body)).toString('base64url') });

/** Whether one of these public keys signed the message's body. */
export const isSignedBy = (keys: readonly string[], message: Message): boolean => {
  const text = message.header(header);
  if (text === undefined) return false;
  const signature = Buffer.from(text, 'base64url');
  return keys.some((key) => verify(key, signature, message.data));
};
