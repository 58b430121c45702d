import { z } from 'zod';
import { readEnvironment } from '../shared/base/env.ts';

const days = (fallback: number) => z.coerce.number().int().min(1).max(36_500).default(fallback);

/** The variables that the coordinator reads; each also as NAME_FILE, as secrets are mounted. */
const variables = z.object({
  DATABASE_URL: z.string().regex(/^postgres(ql)?:\/\//, 'must begin with postgres://'),
  NATS_URL: z.string().regex(/^(nats|tls):\/\//, 'must begin with nats:// or tls://'),
  /** Where probes reach the bus, if it is not where we do. */
  NATS_PUBLIC_URL: z
    .string()
    .regex(/^(nats|tls):\/\//, 'must begin with nats:// or tls://')
    .optional(),
  /** The text of the credentials file of the coordinators' user. */
  NATS_CREDENTIALS: z.string().includes('NATS USER JWT', { error: 'must be the text of a NATS credentials file' }),
  NATS_ACCOUNT_PUBLIC: z.string().regex(/^A[A-Z2-7]{55}$/, 'must be the public nkey of an account'),
  /** Signs the users of probes. */
  NATS_ACCOUNT_SEED: z.string().regex(/^SA[A-Z2-7]{56}$/, 'must be the seed of an account nkey'),
  /** Signs the account with its revocations. */
  NATS_OPERATOR_SEED: z.string().regex(/^SO[A-Z2-7]{56}$/, 'must be the seed of an operator nkey'),
  /** Of a user of the system account, which hands revocations to the server. */
  NATS_SYSTEM_CREDENTIALS: z.string().includes('NATS USER JWT', { error: 'must be the text of a NATS credentials file' }),
  /** What secrets in the database are encrypted with, and what the keys of the network are derived from. */
  SECRET_KEY: z.string().min(32, 'must have at least 32 characters'),
  /** Where beats are kept while the bus is away, of this coordinator alone; without it among the machine's temporary files. */
  DATA_DIR: z.string().min(1).optional(),
  HOST: z.string().default('127.0.0.1'),
  PORT: z.coerce.number().int().min(0).max(65_535).default(8080),
  BASE_URL: z.url({ protocol: /^https?$/ }).optional(),
  RATE_LIMIT_PER_MINUTE: z.coerce.number().int().min(1).default(120),
  /** host:port, several with commas, that probes reach to vouch for themselves; without it the coordinator's own address. */
  PROBE_ANCHORS: z
    .string()
    .transform((text) => text.split(',').map((anchor) => anchor.trim()))
    .refine((anchors) => anchors.every((anchor) => /^\S+:\d{1,5}$/.test(anchor)), 'must be host:port, several with commas')
    .optional(),
  KEEP_RAW_DAYS: days(7),
  KEEP_ROLLUP_DAYS: days(400),
  KEEP_LEDGER_DAYS: days(400),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
});

export type Config = Readonly<z.infer<typeof variables>>;

/** @throws ConfigurationFault, which lists every fault at once. */
export const readConfig = (environment: Readonly<Record<string, string | undefined>>): Config => readEnvironment(variables, environment);
