/** The environments that the launcher's processes get: what they need of ours, and of the person's only what is not secret to them. */
import { join } from 'node:path';
import type { BusIdentity } from '../../shared/bus/bus-identity.ts';

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

const dkimVariables = ['MAIL_DKIM_DOMAIN', 'MAIL_DKIM_SELECTOR', 'MAIL_DKIM_KEY'] as const;

/** How people come in, and how mail and messages go out: the coordinator's and the operator's alone. */
const doorVariables = ['SIGN_UP', 'SIGN_UP_PLAN', 'SMTP_URL', 'MAIL_FROM', 'ALERT_ALLOW_CIDRS', ...dkimVariables] as const;

/** Loopback and private networks; link-local ones hold clouds' secrets. */
const ownNetworks = '127.0.0.0/8,::1/128,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,100.64.0.0/10,fc00::/7';

/**
 * What of these the person has set, for the coordinator. Messages reach the person's own networks, as checks do; not where anybody may sign up.
 */
export const doorEnvironment = (
  env: Readonly<Record<string, string | undefined>>,
  { isSignUpOpen }: { readonly isSignUpOpen: boolean },
): Environment => ({
  ...(isSignUpOpen ? {} : { ALERT_ALLOW_CIDRS: ownNetworks }),
  ...Object.fromEntries(
    doorVariables.flatMap((name) => [name, `${name}_FILE`]).flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])),
  ),
});

const secret = new Set(
  [...busVariables, ...doorVariables, 'DATABASE_URL', 'SECRET_KEY', 'SECRET_KEY_PREVIOUS', 'PROBE_CREDENTIALS'].flatMap((name) => [
    name,
    `${name}_FILE`,
  ]),
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

export type ProbeSeat = {
  readonly home: string;
  readonly name: string;
  readonly credentials: string;
  readonly natsUrl: string;
  readonly receiverPort: number;
  readonly allowCidrs: string | undefined;
};

/** How a bus of the person's own is entered; to probes it is told under names of theirs. */
const entrance = ['NATS_TLS_FIRST', 'NATS_CA', 'NATS_CA_FILE'] as const;

export const probeEnvironment = (common: Environment, seat: ProbeSeat): Environment => ({
  ...common,
  ...Object.fromEntries(entrance.flatMap((name) => (common[name] === undefined ? [] : [[`PROBE_${name}`, common[name]]]))),
  PROBE_CREDENTIALS: seat.credentials,
  // The embedded bus may have another port than when the probe was made.
  PROBE_NATS_URL: seat.natsUrl,
  PROBE_DATA_DIR: join(seat.home, 'probes', seat.name),
  // They run on their owner's machine.
  PROBE_ALLOW_CIDRS: seat.allowCidrs ?? ownNetworks,
  PROBE_EAR_HOST: '127.0.0.1',
  PROBE_EAR_PORT: String(seat.receiverPort),
});
