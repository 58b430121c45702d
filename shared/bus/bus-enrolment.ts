import { z } from 'zod';
import { continents } from '../base/continents.ts';
import type { Key } from './bus-nkeys.ts';
import { verify } from './bus-nkeys.ts';

/**
 * How a host becomes a probe: it makes its keys, and proves with one of them and a join token that it may. The private key never leaves it, so
 * the answer holds nothing secret.
 */

/** Where a host asks, below the coordinator's address. */
export const enrolmentPath = '/enrol';

/**
 * What is signed: the token, so that a proof is good for it alone. No time stands in it, so that a host whose clock is wrong can ask, and be told:
 * whoever says it again gets a JWT for a key that they do not have.
 */
const proven = (token: string): Uint8Array => Buffer.from(`antipode enrol ${token}`);

export const enrolmentProof = (key: Key, token: string): string => Buffer.from(key.sign(proven(token))).toString('base64url');

export const isEnrolmentProof = (key: string, proof: string, token: string): boolean =>
  verify(key, Buffer.from(proof, 'base64url'), proven(token));

/** What a coordinator answers to whoever may. */
export const enrolmentAnswer = z.object({
  probe: z.uuid(),
  name: z.string().min(1).max(200),
  continent: z.enum(continents),
  organisation: z.uuid().nullable(),
  nats_url: z.string().regex(/^(nats|tls):\/\//),
  nats_tls_first: z.boolean(),
  /** The authorities that may have signed the bus's certificate; null where the host's own are asked. */
  nats_ca: z.string().nullable(),
  /** What the public key may do on the bus, and until when. */
  jwt: z.string(),
  base_url: z.string(),
  anchors: z.array(z.string()),
  signing_keys: z.array(z.string()).max(2).default([]),
  require_signed: z.boolean().default(false),
  now: z.number(),
});

export type EnrolmentAnswer = Readonly<z.infer<typeof enrolmentAnswer>>;

/** For so long the bus lets a probe in that made its own key; it is renewed with presence once two thirds are over. */
export const credentialsLiveMs = 30 * 86_400_000;

/** Early enough for a probe that is off for a week, late enough that nobody asks for it often. */
export const isRenewalDue = ({ issued_at, ends_at }: { readonly issued_at: number; readonly ends_at: number }, now: number): boolean =>
  3 * (now - issued_at) >= 2 * (ends_at - issued_at);
