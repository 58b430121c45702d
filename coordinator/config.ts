import { z } from 'zod';
import { readEnvironment } from '../shared/base/env.ts';
import { postgresAddress } from '../shared/base/postgres-address.ts';
import { busFields } from '../shared/bus/bus-variables.ts';

const days = (fallback: number) => z.coerce.number().int().min(1).max(36_500).default(fallback);

/** The variables that the coordinator reads; each also as NAME_FILE, as secrets are mounted. */
const variables = z.object({
  DATABASE_URL: postgresAddress,
  ...busFields,
  /** Where probes reach the bus, if it is not where we do. */
  NATS_PUBLIC_URL: busFields.NATS_URL.optional(),
  /** What secrets in the database are encrypted with, and what the keys of the network are derived from. */
  SECRET_KEY: z.string().min(32, 'must have at least 32 characters'),
  /** While SECRET_KEY is being replaced: the one before it, until `operator secret-key replace` is done. */
  SECRET_KEY_PREVIOUS: z.string().min(32, 'must have at least 32 characters').optional(),
  /** Where beats are kept while the bus is away, of this coordinator alone; without it among the machine's temporary files. */
  DATA_DIR: z.string().min(1).optional(),
  HOST: z.string().default('127.0.0.1'),
  PORT: z.coerce.number().int().min(0).max(65_535).default(8080),
  BASE_URL: z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' }).optional(),
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
