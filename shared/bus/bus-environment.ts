/** What describes a bus in the environment: of a coordinator, and of whoever brings a bus of their own to the local service. */
import { z } from 'zod';
import { keyFromSeed, parseCredentials } from './bus-nkeys.ts';

/** A mistyped seed is found here by its checksum, and not by whoever signs first. */
const seedOf = (kind: 'account' | 'operator', form: RegExp) =>
  z
    .string()
    .regex(form, { error: `must be the seed of an ${kind} nkey`, abort: true })
    .refine((seed) => {
      try {
        return keyFromSeed(seed, kind).id !== '';
      } catch {
        return false; // What it says of its insides would not help whoever mistyped it.
      }
    }, `is not a seed of an ${kind}: its checksum does not fit, copy it again`);

const credentials = z
  .string()
  .includes('NATS USER JWT', { error: 'must be the text of a NATS credentials file', abort: true })
  .refine((text) => {
    try {
      return keyFromSeed(parseCredentials(text).seed, 'user').id !== '';
    } catch {
      return false;
    }
  }, 'is not the text of a NATS credentials file as it was written, line breaks and all: the variable with _FILE takes the file itself');

/** How the bus is reached, for coordinators and probes alike. */
export const entranceFields = {
  url: z.string().regex(/^(nats|tls):\/\//, 'must begin with nats:// or tls://'),
  tlsFirst: z
    .enum(['true', 'false'])
    .default('false')
    .transform((word) => word === 'true'),
  ca: z
    .string()
    .includes('-----BEGIN CERTIFICATE-----', { error: 'must be certificates as PEM; the variable with _FILE takes their file' }),
} as const;

/** `cluster=eu,tag=ssd,tag=az:1`: where streams are to lie. */
const placement = z.string().transform((text, context) => {
  const found: { cluster?: string | undefined; tags: string[] } = { tags: [] };
  for (const part of text.split(',')) {
    const [, name, value] = /^\s*(cluster|tag)=(\S+?)\s*$/.exec(part) ?? [];
    if (name === 'cluster' && found.cluster === undefined) found.cluster = value;
    else if (name === 'tag' && value !== undefined) found.tags.push(value);
    else {
      context.addIssue({ code: 'custom', message: 'must be cluster=name, tag=name or both, several tags with commas' });
      return z.NEVER;
    }
  }
  return found;
});

export const busFields = {
  NATS_URL: entranceFields.url,
  /** TLS before the server's greeting, which must be set so, too. */
  NATS_TLS_FIRST: entranceFields.tlsFirst,
  /** The authorities that may sign the bus's certificate, instead of those that this machine trusts. */
  NATS_CA: entranceFields.ca.optional(),
  /** How many servers keep each stream; more than there are now is brought about, fewer never. */
  NATS_REPLICAS: z.coerce.number().int().min(1).max(5).optional(),
  NATS_PLACEMENT: placement.optional(),
  /** The text of the credentials file of the coordinators' user. */
  NATS_CREDENTIALS: credentials,
  NATS_ACCOUNT_PUBLIC: z.string().regex(/^A[A-Z2-7]{55}$/, 'must be the public nkey of an account'),
  /** Signs the users of probes. */
  NATS_ACCOUNT_SEED: seedOf('account', /^SA[A-Z2-7]{56}$/),
  /** Signs the account with its revocations. */
  NATS_OPERATOR_SEED: seedOf('operator', /^SO[A-Z2-7]{56}$/),
  /** Of a user of the system account, which hands revocations to the server. */
  NATS_SYSTEM_CREDENTIALS: credentials,
} as const;
