import { hash } from 'node:crypto';
import { createRecentCache } from '../base/recent-cache.ts';
import type { Headers, Message } from './bus-incoming-message.ts';
import { type Key, verify } from './bus-nkeys.ts';

/**
 * What batches of results and presences carry, so that they prove their sender: the subject that a message came on proves nothing.
 *
 * A signature costs as much as the hash of a hundred kilobytes, on both sides. Bodies that leave in the same moment therefore share one,
 * over the digests of all of them, which each carries along: whoever reads several of them verifies it once.
 */
const header = 'Signature';
const sharedHeader = 'Signed';

/** More digests would cost more on the way than they save. */
const mostTogether = 16;
const digestLength = 43;

const digestOf = (body: Uint8Array): string => hash('sha256', body, 'base64url');

/** No body begins so: bodies are JSON. What was signed as a list can never be taken for a body, nor a body for a list. */
const listOf = (digests: string): Uint8Array => Buffer.from(`digests ${digests}`);

/** No base64url has a dot: while a key is being replaced, the signatures of both stand side by side. */
const between = '.';
const mostSignatures = 2;

const signed = (keys: readonly Key[], bytes: Uint8Array): string =>
  keys.map((key) => Buffer.from(key.sign(bytes)).toString('base64url')).join(between);

export const signatureOf = (key: Key, body: Uint8Array): Headers => ({ [header]: signed([key], body) });

/** The headers of each of these bodies, in their order, signed by each of the keys. */
export const signaturesOf = (keys: readonly Key[], bodies: readonly Uint8Array[]): readonly Headers[] => {
  const [only] = bodies;
  if (only && bodies.length === 1) return [{ [header]: signed(keys, only) }];
  const all: Headers[] = [];
  for (let from = 0; from < bodies.length; from += mostTogether) {
    const together = bodies.slice(from, from + mostTogether);
    const digests = together.map(digestOf).join('.');
    const headers = { [header]: signed(keys, listOf(digests)), [sharedHeader]: digests };
    for (const _ of together) all.push(headers);
  }
  return all;
};

/** Which of these public keys made one of the signatures. */
const signerOf = (keys: readonly string[], text: string, bytes: Uint8Array): string | undefined => {
  const signatures = text.split(between, mostSignatures).map((one) => Buffer.from(one, 'base64url'));
  return keys.find((key) => signatures.some((signature) => verify(key, signature, bytes)));
};

/**
 * Lists that were found to be signed, by their signature: the same few come again within a moment. One for the whole process, whoever reads, because
 * what it holds is true whatever else happens: this key made this signature of this list. Whether the key may speak is asked each time.
 *
 * Modes of a list: `unknown` (or not signed: the next that carries it is verified anew) → `found` → `unknown` (many others were found since).
 */
const found = createRecentCache<string, { readonly key: string; readonly digests: string }>(1_024);

const signedList = (keys: readonly string[], text: string, digests: string): boolean => {
  const known = found.find(text);
  if (known?.digests === digests && keys.includes(known.key)) return true;
  const key = signerOf(keys, text, listOf(digests));
  if (key === undefined) return false;
  found.keep(text, { key, digests });
  return true;
};

/** What can be signed: a message of the bus, or a call. */
export type Signed = Pick<Message, 'data' | 'header'>;

/** Whether anyone signed it at all. */
export const hasSignature = ({ header: headerOf }: Signed): boolean => headerOf(header) !== undefined;

/** Whether one of these public keys signed the message's body. */
export const isSignedBy = (keys: readonly string[], message: Signed): boolean => {
  const text = message.header(header);
  if (text === undefined) return false;
  const digests = message.header(sharedHeader);
  if (digests === undefined) return signerOf(keys, text, message.data) !== undefined;
  if (digests.length >= mostTogether * (digestLength + 1)) return false;
  return digests.split('.').includes(digestOf(message.data)) && signedList(keys, text, digests);
};
