import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { ConfigurationFault, readEnvironment } from '../shared/base/env.ts';
import { isPublicAddress } from '../shared/base/network.ts';
import { type ProbeCredentials, parseProbeCredentials } from '../shared/bus/identity.ts';
import { busEntryFields, probeBusAddress } from '../shared/bus/setup.ts';
import { proxyAt } from './checks/connection/proxy.ts';
import { unreadableRanges } from './checks/guard.ts';
import { credentialsOf, type Identity, parseIdentity } from './joining/join.ts';

const originAs = z
  .string()
  .regex(/^(AS)?[1-9]\d{0,9}$/i, 'must be the number of an autonomous system, such as AS64500')
  .transform((text) => Number(text.replace(/^AS/i, '')))
  .refine((number) => number <= 4_294_967_295, 'must be at most AS4294967295');

const proxyAddress = z.url({
  protocol: /^https?$/,
  error: 'must be http://host:port, or with http://user:password@host:port',
});

/** The variables that a probe reads. Each also works as NAME_FILE, the way secrets are mounted. */
const variables = z.object({
  /** The credentials that `probe create` printed. */
  PROBE_CREDENTIALS: readable(parseProbeCredentials).optional(),
  /**
   * The identity that `antipode-probe.mjs join` wrote, in place of those credentials; mostly as
   * PROBE_IDENTITY_FILE.
   */
  PROBE_IDENTITY: readable(parseIdentity).optional(),
  /**
   * Holds the assignments, the waiting results, and the probe's own key. Only this probe may use
   * it.
   */
  PROBE_DATA_DIR: z.string().min(1),
  /** Ranges that checks may reach besides public addresses, separated by commas. */
  PROBE_ALLOW_CIDRS: z
    .string()
    .default('')
    .transform((text) => text.split(',').flatMap((range) => range.trim() || []))
    .refine(
      (ranges) => unreadableRanges(ranges).length === 0,
      'must be addresses or CIDR ranges, several with commas',
    )
    .refine((ranges) => ranges.length <= 64, 'has more than 64 ranges'),
  /**
   * The addresses that its requests come from, for the list of public probes: where its host has
   * none of them itself (NAT) and the bus sees another.
   */
  PROBE_ADDRESSES: z
    .string()
    .default('')
    .transform((text) => text.split(',').flatMap((address) => address.trim() || []))
    .refine(
      (addresses) => addresses.every(isPublicAddress),
      'must be public addresses, several with commas',
    )
    .refine((addresses) => addresses.length <= 16, 'has more than 16 addresses'),
  /** Where this probe finds the bus, if its credentials say otherwise. */
  PROBE_NATS_URL: probeBusAddress.optional(),
  /**
   * The authorities that may sign the bus's certificate, instead of those that this machine trusts.
   */
  PROBE_NATS_CA: busEntryFields.ca.optional(),
  /** The autonomous system of its network, such as AS64500. */
  PROBE_ORIGIN_AS: originAs.optional(),
  /** The proxy through which checks connect. Without it they never use one. */
  PROBE_CHECKS_PROXY: readable(proxyAt).optional(),
  /** The proxy to the coordinators' address, and the hosts that need none; also in small letters. */
  HTTPS_PROXY: proxyAddress.optional(),
  https_proxy: proxyAddress.optional(),
  NO_PROXY: z.string().optional(),
  no_proxy: z.string().optional(),
  /** Where it receives heartbeat pings; without a port it receives none. */
  PROBE_PING_HOST: z.string().default('127.0.0.1'),
  PROBE_PING_PORT: z.coerce.number().int().min(0).max(65_535).optional(),
  /** How much of the disk results may take while no one fetches them. */
  PROBE_SPOOL_MB: z.coerce.number().int().min(1).max(1_000_000).default(256),
  /** How many checks may run at once. */
  PROBE_CONCURRENCY: z.coerce.number().int().min(8).max(20_000).default(1_024),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
});

/** A text whose parser says in words what is wrong with it. */
function readable<Value>(parse: (text: string) => Value) {
  return z.string().transform((text, context) => {
    try {
      return parse(text);
    } catch (error) {
      context.addIssue({
        code: 'custom',
        message: error instanceof Error ? error.message : String(error),
      });
      return z.NEVER;
    }
  });
}

/** The settings of a host, without the probe's identity and data folder. */
const settings = variables.omit({
  PROBE_CREDENTIALS: true,
  PROBE_IDENTITY: true,
  PROBE_DATA_DIR: true,
});

/**
 * The given settings, as texts; a setting that names a file has the file's text.
 * @throws ConfigurationFault, which lists every fault at once.
 */
export function settingsGiven(
  environment: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  readEnvironment(settings, environment);
  return Object.fromEntries(
    Object.keys(settings.shape).flatMap((name) => {
      const file = environment[`${name}_FILE`] || undefined;
      const value = environment[name] || (file && readFileSync(file, 'utf8').trim());
      return value ? [[name, value]] : [];
    }),
  );
}

type Variables = Readonly<z.infer<typeof variables>>;

export type Config = Omit<Variables, 'PROBE_CREDENTIALS' | 'PROBE_IDENTITY'> & {
  readonly PROBE_CREDENTIALS: ProbeCredentials;
  readonly authorities?: string;
};

/** @throws ConfigurationFault, which lists every fault at once. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const read = readEnvironment(variables, environment, (isSet) => {
    const [word, identity] = [isSet('PROBE_CREDENTIALS'), isSet('PROBE_IDENTITY')];
    if (word && identity) return ['PROBE_CREDENTIALS and PROBE_IDENTITY are both set; keep one'];
    return word || identity
      ? []
      : [
          'PROBE_CREDENTIALS: is not set, and neither is PROBE_IDENTITY_FILE, the file that join writes',
        ];
  });
  const { PROBE_CREDENTIALS: credentials, PROBE_IDENTITY: identity } = read;
  if (identity !== undefined) return Object.freeze(configOfIdentity(read, identity));
  if (credentials === undefined) throw new ConfigurationFault(['PROBE_CREDENTIALS: is not set']);
  return Object.freeze({ ...read, PROBE_CREDENTIALS: credentials });
}

/**
 * The config from the host's own key and the coordinator's answer. The environment takes
 * precedence.
 */
function configOfIdentity(variables: Variables, { seed, enrolled, authorities }: Identity): Config {
  if (enrolled === null)
    throw new ConfigurationFault([
      'PROBE_IDENTITY: has not joined yet; run antipode-probe.mjs join first',
    ]);
  const { PROBE_IDENTITY: _, ...rest } = variables;
  return {
    ...rest,
    PROBE_CREDENTIALS: parseProbeCredentials(credentialsOf(seed, enrolled)),
    ...(rest.PROBE_NATS_CA === undefined && enrolled.nats_ca !== null
      ? { PROBE_NATS_CA: enrolled.nats_ca }
      : {}),
    ...(authorities === undefined ? {} : { authorities }),
  };
}
