import { createPrivateKey } from 'node:crypto';
import { z } from 'zod';
import { readEnvironment } from '../shared/base/env.ts';
import { anchorOf, parseCidr, postgresAddress, unmapped } from '../shared/base/network.ts';
import { busFields, probeBusAddress } from '../shared/bus/setup.ts';
import { busPath } from '../shared/bus/websocket.ts';
import { parseResolver } from '../shared/checks/dns/config.ts';
import { planNames } from './gate/plans.ts';
import { recordReaders } from './health/service-record.ts';
import { readOrigins } from './probes/origins.ts';
import { groupRolesFrom } from './providers/group-roles.ts';
import type { InstallationProvider } from './providers/lookup.ts';

/**
 * Connections outside the pool: one listens for changes, two watch whether the database answers,
 * three are for urgent work, one is for housekeeping.
 */
export const dedicatedConnections = 7;

/** Names that the server knows. */
const proxyNames = ['loopback', 'linklocal', 'uniquelocal'];

/** The variables that the coordinator reads; each also as NAME_FILE, for mounted secrets. */
const variables = z.object({
  DATABASE_URL: postgresAddress,
  /**
   * How many connections to the database this coordinator opens at most, in all. Five coordinators
   * fit a Postgres of default settings (100).
   */
  DATABASE_CONNECTIONS: z.coerce
    .number()
    .int()
    .min(dedicatedConnections + 3)
    .max(1_000)
    .default(18),
  ...busFields,
  /**
   * The websocket listeners of the bus, several with commas: what asks for BASE_URL/bus is passed on
   * there, and probes come in by it.
   */
  NATS_WEBSOCKET_URL: z
    .string()
    .transform((text) => text.split(',').map((server) => URL.parse(server.trim())))
    .refine(
      (servers) => servers.every((server) => server !== null && /^wss?:$/.test(server.protocol)),
      'must be ws://host:port or wss://host:port, several with commas',
    )
    .transform((servers) => servers.filter((server) => server !== null))
    .default([]),
  /** The autonomous systems of probes' networks; mostly as ORIGIN_AS_FILE. */
  ORIGIN_AS: z
    .string()
    .transform((text, context) => {
      try {
        return readOrigins(text);
      } catch (error) {
        context.addIssue({ code: 'custom', message: String(error).replace(/^Error: /, '') });
        return z.NEVER;
      }
    })
    .default([]),
  /** Where probes reach the bus, if it is neither BASE_URL/bus nor where we do. */
  NATS_PUBLIC_URL: probeBusAddress.optional(),
  /** Encrypts secrets in the database, and is the source of the network's keys. */
  SECRET_KEY: z.string().min(32, 'must have at least 32 characters'),
  /**
   * While SECRET_KEY is being replaced: the previous one, until `operator secret-key replace` is
   * done.
   */
  SECRET_KEY_PREVIOUS: z.string().min(32, 'must have at least 32 characters').optional(),
  /**
   * Where this coordinator alone keeps pings while the bus is down; by default among the machine's
   * temporary files.
   */
  DATA_DIR: z.string().min(1).optional(),
  HOST: z.string().default('127.0.0.1'),
  PORT: z.coerce.number().int().min(0).max(65_535).default(8080),
  /** Where metrics are served; none by default. */
  METRICS_PORT: z.coerce.number().int().min(0).max(65_535).optional(),
  METRICS_HOST: z.string().default('127.0.0.1'),
  /**
   * Whether public probes say who they are: they sign their requests, and their names, continents
   * and addresses are at /probes.json and /probes.txt.
   */
  IDENTIFY_PROBES: z
    .enum(['true', 'false'])
    .default('true')
    .transform((word) => word === 'true'),
  /** Who may read the service record at /about. */
  ABOUT_PAGE: z.enum(recordReaders).default('users'),
  /**
   * When it ends, how long it reports that it is not ready before it stops listening, so that load
   * balancers send requests elsewhere meanwhile.
   */
  LEAVING_S: z.coerce.number().int().min(0).max(60).default(0),
  /**
   * Without a slash at its end, which people like to add: addresses are compared exactly, above all
   * by assistants that sign in.
   */
  BASE_URL: z
    .url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' })
    .transform((url) => url.replace(/\/+$/, ''))
    .optional(),
  /**
   * Origins whose pages may call the API from a browser, separated by commas; `*` is any. None by
   * default.
   */
  CORS_ORIGINS: z
    .string()
    .default('')
    .transform((text) =>
      text
        .split(',')
        .map((origin) => origin.trim())
        .filter((origin) => origin !== ''),
    )
    .refine(
      (origins) =>
        origins.every(
          (origin) => origin === '*' || (URL.canParse(origin) && new URL(origin).origin === origin),
        ),
      'must be origins such as https://app.example.org, several with commas, or *',
    ),
  /** The proxies in front of us: only their X-Forwarded-For is trusted for the caller's address. */
  TRUSTED_PROXIES: z
    .string()
    .default('')
    .transform((text) => text.split(',').flatMap((range) => range.trim() || []))
    .refine(
      (ranges) => ranges.every(isProxyRange),
      `must be the addresses or CIDR ranges of your proxies, or ${proxyNames.join(', ')}, several with commas`,
    )
    .refine(
      (ranges) => !ranges.some(isEverybody),
      'must not be everyone (/0), who could then claim any address; name only your proxies',
    ),
  RATE_LIMIT_PER_MINUTE: z.coerce.number().int().min(1).default(120),
  /**
   * host:port, separated by commas, that probes reach to vouch for themselves; by default the
   * coordinator's own address.
   */
  PROBE_ANCHORS: z
    .string()
    .transform((text) => text.split(',').map((anchor) => anchor.trim()))
    .refine(
      (anchors) => anchors.every((anchor) => /^\S+:\d{1,5}$/.test(anchor)),
      'must be host:port, several with commas',
    )
    .optional(),
  /** Who may sign up: anyone, or only invited people. */
  SIGN_UP: z.enum(['open', 'invited']).default('invited'),
  /** The plan of an organisation that signs up. */
  SIGN_UP_PLAN: z.enum(planNames).default('free'),
  /** smtp:// or smtps://, with user and password; without it no mail is sent. */
  SMTP_URL: z
    .url({ protocol: /^smtps?$/, error: 'must be an smtp:// or smtps:// address' })
    .optional(),
  /** The sender of mail, such as "Antipode <antipode@example.org>". */
  MAIL_FROM: z
    .string()
    .regex(
      /^[^<>@\r\n]*<?[^\s<>@]+@[^\s<>@]+>?$/,
      'must be an e-mail address, such as Antipode <antipode@example.org>',
    )
    .optional(),
  /** The provider (OpenID Connect) where people of this installation sign in. */
  OIDC_ISSUER: z.url({ protocol: /^https$/, error: 'must be an https:// address' }).optional(),
  OIDC_CLIENT_ID: z.string().min(1).optional(),
  OIDC_CLIENT_SECRET: z.string().min(1).optional(),
  /** Which roles its groups give, such as `admins=admin; *=viewer`. */
  OIDC_ROLES: z
    .string()
    .transform((text, context) => {
      try {
        return groupRolesFrom(text);
      } catch (error) {
        context.addIssue({ code: 'custom', message: String(error).replace(/^\w+: /, '') });
        return z.NEVER;
      }
    })
    .default([]),
  OIDC_GROUPS_CLAIM: z.string().min(1).default('groups'),
  /** By which the provider says who is there (SCIM). */
  OIDC_SCIM_TOKEN: z
    .string()
    .regex(/^[\x21-\x7e]{32,}$/, 'must have at least 32 characters, and no spaces')
    .optional(),
  /** The organisation in which they get these roles; by default the first one. */
  OIDC_ORGANISATION: z.uuid().optional(),
  /** Whether whoever owns no organisation signs in by it alone. */
  OIDC_ONLY: z
    .enum(['true', 'false'])
    .default('false')
    .transform((word) => word === 'true'),
  /** Who is told of vulnerabilities: an https:// or mailto: address, for `security.txt`. */
  SECURITY_CONTACT: z
    .string()
    .regex(/^(?:https:\/\/|mailto:)[\x21-\x7e]+$/, 'must be an https:// or mailto: address')
    .optional(),
  /** Signs mail for this domain; its DNS has the public key at SELECTOR._domainkey.DOMAIN. */
  MAIL_DKIM_DOMAIN: z
    .string()
    .regex(/^(?:[a-z0-9-]{1,63}\.)+[a-z0-9-]{2,63}$/i, 'must be a domain, such as example.org')
    .optional(),
  MAIL_DKIM_SELECTOR: z
    .string()
    .regex(/^[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63})*$/i, 'must be a name, such as antipode')
    .optional(),
  /** The private key as PEM: best mounted, as MAIL_DKIM_KEY_FILE. */
  MAIL_DKIM_KEY: z.string().refine(isPrivateKey, 'must be an RSA private key as PEM').optional(),
  /**
   * Where messages to channels may go besides public addresses, such as a Gotify inside: addresses
   * or ranges of this host's network.
   */
  ALERT_ALLOW_CIDRS: z
    .string()
    .default('')
    .transform((text) => text.split(',').flatMap((range) => range.trim() || []))
    .refine(
      (ranges) => ranges.every((range) => parseCidr(range) !== undefined),
      'must be addresses or CIDR ranges, several with commas',
    )
    .refine((ranges) => ranges.length <= 64, 'has more than 64 ranges'),
  /**
   * Resolvers for the record that proves a status page's domain; by default those of this machine.
   */
  DNS_RESOLVERS: z
    .string()
    .default('')
    .transform((text) => text.split(',').flatMap((server) => server.trim() || []))
    .refine(
      (servers) => servers.every((server) => parseResolver(server) !== undefined),
      'must be addresses such as 192.0.2.1 or [2001:db8::1]:53, several with commas',
    ),
  /**
   * The heartbeat that hears each minute that this installation decides, best at another one.
   */
  HEARTBEAT_URL: z
    .url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' })
    .refine((url) => !/^https?:\/\/[^/?#]*@/.test(url), 'must hold no user and password')
    .optional(),
  /**
   * The heartbeat that `operator backups nightly` pings with each run, best at another
   * installation.
   */
  BACKUP_HEARTBEAT_URL: z
    .url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' })
    .optional(),
  /** The server that its drill restores on; by default the database's own. */
  BACKUP_TRIAL_URL: postgresAddress.optional(),
  /**
   * IANA's list of the registries' RDAP servers, read once a week where domains are watched; "none"
   * to use the list that this version ships with.
   */
  RDAP_LIST_URL: z
    .union([z.literal('none'), z.url({ protocol: /^https$/ })], {
      error: 'must be an https:// address, or none',
    })
    .default('https://data.iana.org/rdap/dns.json'),
  KEEP_RAW_DAYS: days(7),
  KEEP_ROLLUP_DAYS: days(400),
  KEEP_LEDGER_DAYS: days(400),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
});

function isProxyRange(text: string): boolean {
  return proxyNames.includes(text) || parseCidr(text) !== undefined;
}

/** Trusting everyone would accept an address that a caller makes up for each try. */
function isEverybody(text: string): boolean {
  const [network, bits] = parseCidr(text) ?? [];
  return (
    bits === 0 ||
    (bits !== undefined && bits <= 96 && network !== undefined && unmapped(network) !== network)
  );
}

function isPrivateKey(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyType === 'rsa';
  } catch {
    return false; // Whatever is wrong, it is no key; the error's text could contain it.
  }
}

function days(fallback: number) {
  return z.coerce.number().int().min(1).max(36_500).default(fallback);
}

const oidcNames = ['OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET'] as const;
const dkimNames = ['MAIL_DKIM_DOMAIN', 'MAIL_DKIM_SELECTOR', 'MAIL_DKIM_KEY'] as const;

export type Config = Readonly<z.infer<typeof variables>>;

/** @throws ConfigurationFault, which lists every fault at once. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  return readEnvironment(variables, environment, (isSet) => [
    ...(isSet('SMTP_URL') === isSet('MAIL_FROM')
      ? []
      : ['SMTP_URL and MAIL_FROM belong together; set both, or neither']),
    ...(new Set(dkimNames.map(isSet)).size === 1
      ? []
      : [`${dkimNames.join(', ')} belong together; set all of them, or none`]),
    ...(new Set(oidcNames.map(isSet)).size === 1
      ? []
      : [`${oidcNames.join(', ')} belong together; set all of them, or none`]),
    ...(isSet('OIDC_SCIM_TOKEN') && !isSet('OIDC_ISSUER')
      ? ['OIDC_SCIM_TOKEN belongs to a provider; set OIDC_ISSUER']
      : []),
    // Metrics reveal all organisations.
    ...(environment.METRICS_PORT &&
    environment.METRICS_PORT !== '0' &&
    environment.METRICS_PORT === (environment.PORT || '8080')
      ? ['METRICS_PORT: is the public port (PORT); choose another']
      : []),
    // A sign-up proves its address by mail; otherwise anyone could take anyone's.
    ...(environment.SIGN_UP === 'open' && !isSet('SMTP_URL')
      ? ['SIGN_UP: open needs mail; set SMTP_URL and MAIL_FROM']
      : []),
  ]);
}

/** The hosts that probes reach to vouch for themselves. */
export function anchorsOf(
  { PROBE_ANCHORS: named }: Pick<Config, 'PROBE_ANCHORS'>,
  baseUrl: string,
): readonly string[] {
  return named ?? [anchorOf(baseUrl)].filter((anchor) => anchor !== undefined);
}

/** Where probes reach the bus. */
export function busAddressOf(
  {
    NATS_PUBLIC_URL: named,
    NATS_WEBSOCKET_URL: websockets,
    NATS_URL: own,
  }: Pick<Config, 'NATS_PUBLIC_URL' | 'NATS_WEBSOCKET_URL' | 'NATS_URL'>,
  baseUrl: string,
): string {
  return named ?? (websockets.length === 0 ? own : `${baseUrl.replace(/^http/, 'ws')}${busPath}`);
}

/** Every way to the bus: also through this coordinator, for whoever can reach it. */
export function busReachedAt(
  config: Parameters<typeof busAddressOf>[0] & Pick<Config, 'HOST'>,
  baseUrl: string,
): readonly string[] {
  const { NATS_URL: own, NATS_WEBSOCKET_URL: websockets, HOST: host } = config;
  const here = `http://${host.includes(':') ? `[${host}]` : host}`;
  return [own, busAddressOf(config, baseUrl), ...(websockets.length === 0 ? [] : [here])];
}

/** The signing options of mail; undefined when mail is not signed. */
export function dkimOf(
  config: Pick<Config, (typeof dkimNames)[number]>,
): { readonly domain: string; readonly selector: string; readonly key: string } | undefined {
  const { MAIL_DKIM_DOMAIN: domain, MAIL_DKIM_SELECTOR: selector, MAIL_DKIM_KEY: key } = config;
  return domain === undefined || selector === undefined || key === undefined
    ? undefined
    : { domain, selector, key };
}

/** The provider of the whole installation; null without one. */
export function installationProviderOf(config: Config): InstallationProvider | null {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: client_id } = config;
  const { OIDC_CLIENT_SECRET: client_secret } = config;
  return issuer === undefined || client_id === undefined || client_secret === undefined
    ? null
    : {
        issuer,
        client_id,
        client_secret,
        groups_claim: config.OIDC_GROUPS_CLAIM,
        group_roles: config.OIDC_ROLES,
        organisation: config.OIDC_ORGANISATION ?? null,
        only_way: config.OIDC_ONLY,
        scim_token: config.OIDC_SCIM_TOKEN,
      };
}
