/** What describes a bus in the environment: of a coordinator, and of whoever brings a bus of their own to the local service. */
import { z } from 'zod';
import { keyFromSeed, parseCredentials } from './identity.ts';

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

export const busFields = {
  NATS_URL: z.string().regex(/^(nats|tls):\/\//, 'must begin with nats:// or tls://'),
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
