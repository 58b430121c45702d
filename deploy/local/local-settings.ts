/** What the person who starts the service may choose: which port, which folders, and parts of their own instead of the embedded ones. */
import { z } from 'zod';
import { readEnvironment } from '../../shared/base/env.ts';
import { postgresAddress } from '../../shared/base/postgres-address.ts';
import type { Entrance } from '../../shared/bus/bus-dialling.ts';
import { busFields } from '../../shared/bus/bus-environment.ts';
import { type BusEnvironment, busVariables } from './local-environments.ts';

const variables = z.object({
  PORT: z.coerce.number().int('must be a whole number').min(0).max(65_535).default(8080),
  HOST: z.string().default('127.0.0.1'),
  BASE_URL: z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' }).optional(),
  DATABASE_URL: postgresAddress.optional(),
  NATS_URL: busFields.NATS_URL.optional(),
  NATS_CREDENTIALS: busFields.NATS_CREDENTIALS.optional(),
  NATS_ACCOUNT_PUBLIC: busFields.NATS_ACCOUNT_PUBLIC.optional(),
  NATS_ACCOUNT_SEED: busFields.NATS_ACCOUNT_SEED.optional(),
  NATS_OPERATOR_SEED: busFields.NATS_OPERATOR_SEED.optional(),
  NATS_SYSTEM_CREDENTIALS: busFields.NATS_SYSTEM_CREDENTIALS.optional(),
  NATS_TLS_FIRST: busFields.NATS_TLS_FIRST,
  NATS_CA: busFields.NATS_CA,
  SECRET_KEY: z.string().min(32, 'must have at least 32 characters').optional(),
  SECRET_KEY_PREVIOUS: z.string().min(32, 'must have at least 32 characters').optional(),
  PROBE_ALLOW_CIDRS: z.string().optional(),
  SIGN_UP: z.enum(['open', 'invited']).default('invited'),
});

export type Settings = {
  readonly port: number;
  readonly host: string;
  readonly baseUrl: string | undefined;
  /** A Postgres of their own instead of the embedded one. */
  readonly databaseUrl: string | undefined;
  /** A bus of their own instead of the embedded one. */
  readonly bus: BusEnvironment | undefined;
  /** How that is entered where it has TLS. */
  readonly busTls: Pick<Entrance, 'tlsFirst' | 'ca'>;
  readonly secretKey: string | undefined;
  readonly previousKey: string | undefined;
  readonly isSignUpOpen: boolean;
  /** What its probes may reach beyond public addresses; undefined: the person's own networks. */
  readonly allowCidrs: string | undefined;
};

const halfSetBus = (isSet: (name: string) => boolean): readonly string[] => {
  const given = busVariables.filter(isSet);
  const forTls = ['NATS_CA', 'NATS_TLS_FIRST'].filter(isSet);
  if (given.length === 0 && forTls.length > 0) return [`${forTls.join(', ')} set, but no NATS_URL: the bus of this machine has no TLS`];
  const missing = busVariables.filter((name) => !isSet(name));
  if (given.length === 0 || missing.length === 0) return [];
  const are = missing.length === 1 ? 'is' : 'are';
  return [`${given.join(', ')} set, but ${missing.join(', ')} ${are} not: set all of them for a bus of your own, or none`];
};

/** @throws ConfigurationFault, which names every fault: also a bus that is described by halves. */
export const readSettings = (environment: Readonly<Record<string, string | undefined>>): Settings => {
  const read = readEnvironment(variables, environment, halfSetBus);
  const isSignUpOpen = read.SIGN_UP === 'open';
  const bus: Record<string, string> = {};
  for (const name of busVariables) if (read[name] !== undefined) bus[name] = read[name];
  return {
    port: read.PORT,
    host: read.HOST,
    baseUrl: read.BASE_URL,
    databaseUrl: read.DATABASE_URL,
    bus: Object.keys(bus).length > 0 ? z.record(z.enum(busVariables), z.string()).parse(bus) : undefined,
    busTls: { tlsFirst: read.NATS_TLS_FIRST, ca: read.NATS_CA },
    secretKey: read.SECRET_KEY,
    previousKey: read.SECRET_KEY_PREVIOUS,
    isSignUpOpen,
    // Where anyone may sign up, a stranger's check would read what lies inside.
    allowCidrs: read.PROBE_ALLOW_CIDRS ?? (isSignUpOpen ? '' : undefined),
  };
};
