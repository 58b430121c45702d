/** The environments that the launcher's processes get: what they need of ours, and of the person's only what is not secret to them. */
import { join } from 'node:path';
import type { BusIdentity } from './nats.ts';

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

type Environment = Readonly<Record<string, string>>;

const secret = new Set(
  [...busVariables, 'DATABASE_URL', 'SECRET_KEY', 'SECRET_KEY_PREVIOUS', 'PROBE_CREDENTIALS'].flatMap((name) => [name, `${name}_FILE`]),
);

/** What a child inherits: the person's environment without npm's own variables, and without secrets that are not for everybody. */
export const inherited = (env: Readonly<Record<string, string | undefined>>, compileCache: string): Environment => {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(env))
    if (value !== undefined && !secret.has(name) && !/^(npm_|INIT_CWD$|PORT$)/.test(name)) kept[name] = value;
  return { ...kept, NODE_COMPILE_CACHE: compileCache };
};

export const busEnvironment = (identity: BusIdentity, url: string): BusEnvironment => ({
  NATS_URL: url,
  NATS_CREDENTIALS: identity.coordinatorCredentials,
  NATS_ACCOUNT_PUBLIC: identity.account,
  NATS_ACCOUNT_SEED: identity.accountSeed,
  NATS_OPERATOR_SEED: identity.operatorSeed,
  NATS_SYSTEM_CREDENTIALS: identity.systemCredentials,
});

/** Loopback and private networks, which these probes may reach because they run on their owner's machine; link-local ones hold clouds' secrets. */
const ownNetworks = '127.0.0.0/8,::1/128,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,100.64.0.0/10,fc00::/7';

export type ProbeSeat = {
  readonly home: string;
  readonly name: string;
  readonly credentials: string;
  readonly natsUrl: string;
  readonly earPort: number;
  readonly allowCidrs: string | undefined;
};

export const probeEnvironment = (common: Environment, seat: ProbeSeat): Environment => ({
  ...common,
  PROBE_CREDENTIALS: seat.credentials,
  // The embedded bus may have another port than when the probe was made.
  PROBE_NATS_URL: seat.natsUrl,
  PROBE_DATA_DIR: join(seat.home, 'probes', seat.name),
  PROBE_ALLOW_CIDRS: seat.allowCidrs ?? ownNetworks,
  PROBE_EAR_HOST: '127.0.0.1',
  PROBE_EAR_PORT: String(seat.earPort),
});
