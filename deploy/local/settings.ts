/** What the person who starts the service may choose: which port, which folders, and parts of their own instead of the embedded ones. */
import { z } from 'zod';
import { ConfigurationFault, readEnvironment } from '../../shared/base/env.ts';

/** What a coordinator must know of a bus; the embedded one gives all of it, a foreign one is described by all of it or not at all. */
export const busVariables = [
  'NATS_URL',
  'NATS_CREDENTIALS',
  'NATS_ACCOUNT_PUBLIC',
  'NATS_ACCOUNT_SEED',
  'NATS_OPERATOR_SEED',
  'NATS_SYSTEM_CREDENTIALS',
] as const;

export type BusEnvironment = Readonly<Record<(typeof busVariables)[number], string>>;

const text = z.string().optional();

const variables = z.object({
  PORT: z.coerce.number().int('must be a whole number').min(0).max(65_535).default(8080),
  HOST: z.string().default('127.0.0.1'),
  BASE_URL: z.url({ protocol: /^https?$/ }).optional(),
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must begin with postgres://')
    .optional(),
  NATS_URL: text,
  NATS_CREDENTIALS: text,
  NATS_ACCOUNT_PUBLIC: text,
  NATS_ACCOUNT_SEED: text,
  NATS_OPERATOR_SEED: text,
  NATS_SYSTEM_CREDENTIALS: text,
  SECRET_KEY: z.string().min(32, 'must have at least 32 characters').optional(),
  PROBE_ALLOW_CIDRS: text,
});

export type Settings = {
  readonly port: number;
  readonly host: string;
  readonly baseUrl: string | undefined;
  /** A Postgres of their own instead of the embedded one. */
  readonly databaseUrl: string | undefined;
  /** A bus of their own instead of the embedded one. */
  readonly bus: BusEnvironment | undefined;
  readonly secretKey: string | undefined;
  readonly allowCidrs: string | undefined;
};

/** @throws ConfigurationFault, which names every fault: also a bus that is described by halves. */
export const readSettings = (environment: Readonly<Record<string, string | undefined>>): Settings => {
  const read = readEnvironment(variables, environment);
  const bus: Record<string, string> = {};
  const missing: string[] = [];
  for (const name of busVariables) {
    const value = read[name];
    if (value === undefined) missing.push(name);
    else bus[name] = value;
  }
  const given = busVariables.filter((name) => !missing.includes(name));
  if (given.length > 0 && missing.length > 0) {
    const are = missing.length === 1 ? 'is' : 'are';
    throw new ConfigurationFault([
      `${given.join(', ')} set, but ${missing.join(', ')} ${are} not: set all of them for a bus of your own, or none`,
    ]);
  }
  return {
    port: read.PORT,
    host: read.HOST,
    baseUrl: read.BASE_URL,
    databaseUrl: read.DATABASE_URL,
    bus: missing.length === 0 ? z.record(z.enum(busVariables), z.string()).parse(bus) : undefined,
    secretKey: read.SECRET_KEY,
    allowCidrs: read.PROBE_ALLOW_CIDRS,
  };
};
