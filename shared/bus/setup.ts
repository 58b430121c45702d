import { createHmac, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { readEnvironment } from '../base/env.ts';
import { type BusIdentity, busIdentityOf, createBusIdentity } from './identity.ts';
import { leastServers } from './jetstream.ts';
import { keyFromSeed, parseCredentials } from './nkeys.ts';

/**
 * What describes a bus in the environment: of a coordinator, and of whoever brings a bus of their
 * own to the local service.
 */

const credentials = z
  .string()
  .includes('NATS USER JWT', { error: 'must be the text of a NATS credentials file', abort: true })
  .refine((text) => {
    try {
      return keyFromSeed(parseCredentials(text).seed, 'user').id !== '';
    } catch {
      return false;
    }
  }, 'is not the text of a NATS credentials file as it was written, line breaks and all: the ' +
    'variable with _FILE takes the file itself');

/** Where probes reach the bus: also by a websocket. */
export const probeBusAddress = z
  .string()
  .regex(/^(nats|tls|wss?):\/\//, 'must begin with wss://, tls:// or nats://');

/** How the bus is reached, for coordinators and probes alike. */
export const busEntryFields = {
  url: z.string().regex(/^(nats|tls):\/\//, 'must begin with nats:// or tls://'),
  ca: z.string().includes('-----BEGIN CERTIFICATE-----', {
    error: 'must be certificates as PEM; the variable with _FILE takes their file',
  }),
} as const;

/** `cluster=eu,tag=ssd,tag=az:1`: where streams are to lie. */
const placement = z.string().transform((text, context) => {
  const found: { cluster?: string | undefined; tags: string[] } = { tags: [] };
  for (const part of text.split(',')) {
    const [, name, value] = /^\s*(cluster|tag)=(\S+?)\s*$/.exec(part) ?? [];
    if (name === 'cluster' && found.cluster === undefined) found.cluster = value;
    else if (name === 'tag' && value !== undefined) found.tags.push(value);
    else {
      context.addIssue({
        code: 'custom',
        message: 'must be cluster=name, tag=name or both, several tags with commas',
      });
      return z.NEVER;
    }
  }
  return found;
});

export const busFields = {
  NATS_URL: busEntryFields.url,
  /**
   * The authorities that may sign the bus's certificate, instead of those that this machine trusts.
   */
  NATS_CA: busEntryFields.ca.optional(),
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

/** A mistyped seed is found here by its checksum, and not by whoever signs first. */
function seedOf(kind: 'account' | 'operator', form: RegExp) {
  return z
    .string()
    .regex(form, { error: `must be the seed of an ${kind} nkey`, abort: true })
    .refine((seed) => {
      try {
        return keyFromSeed(seed, kind).id !== '';
      } catch {
        return false; // What it says of its insides would not help whoever mistyped it.
      }
    }, `is not a seed of an ${kind}: its checksum does not fit, copy it again`);
}

/**
 * A bus of one's own, written down: a configuration of nats-server for each of its machines, and
 * the coordinators' settings. Operator mode, TLS first, and streams on every machine. Pure, except
 * for the keys, which are made once and for all.
 */
type BusPlan = {
  /** Where clients reach each machine, `tls://host:port`, in their order. */
  readonly addresses: readonly string[];
  /** Where the machines reach one another, `host:port`, in the same order. */
  readonly routes: readonly string[];
  /** The address of a machine that its nats-server takes clients on. */
  readonly listen: string;
  /** The folder of its data, and the files of its certificate and key. */
  readonly data: string;
  readonly certificate: string;
  readonly key: string;
};

/** What is made once: the bus's own keys, and those that encrypt secrets in the database. */
export type SetupKeys = {
  readonly identity: BusIdentity;
  readonly secretKey: string;
  readonly secretKeyPrevious?: string | undefined;
};

export type SetupFile = { readonly file: string; readonly text: string };

/** Of a new bus: every call makes another one, and they are kept nowhere else than in its files. */
export function newSetupKeys(now: number): SetupKeys {
  return {
    identity: createBusIdentity(now),
    secretKey: randomBytes(32).toString('base64url'),
  };
}

const { NATS_OPERATOR_SEED, NATS_ACCOUNT_SEED, NATS_CREDENTIALS, NATS_SYSTEM_CREDENTIALS } =
  busFields;
const keptKeys = z.object({
  NATS_OPERATOR_SEED,
  NATS_ACCOUNT_SEED,
  NATS_CREDENTIALS,
  NATS_SYSTEM_CREDENTIALS,
  SECRET_KEY: z.string(),
  SECRET_KEY_PREVIOUS: z.string().optional(),
});

/**
 * Those of a bus that there was, from the coordinators' settings. @throws when one is missing, or
 * they are of different buses.
 */
export function setupKeysIn(settings: Readonly<Record<string, string | undefined>>): SetupKeys {
  const kept = readEnvironment(keptKeys, settings);
  const identity = busIdentityOf({
    operatorSeed: kept.NATS_OPERATOR_SEED,
    accountSeed: kept.NATS_ACCOUNT_SEED,
    coordinatorCredentials: kept.NATS_CREDENTIALS,
    systemCredentials: kept.NATS_SYSTEM_CREDENTIALS,
  });
  return { identity, secretKey: kept.SECRET_KEY, secretKeyPrevious: kept.SECRET_KEY_PREVIOUS };
}

/** The files of a bus. */
export function setUpBus(plan: BusPlan, keys: SetupKeys): readonly SetupFile[] {
  const password = routesPasswordOf(keys.identity);
  return [
    ...plan.addresses.map((_, index) => ({
      file: `nats-${index + 1}.conf`,
      text: configurationOf(plan, keys.identity, index, password),
    })),
    { file: 'coordinator.env', text: settingsOf(plan, keys) },
  ];
}

/**
 * What the machines of a bus show one another. It follows from the bus's keys: a machine that was
 * lost and written down again finds the others, which still have theirs from before. Letters and
 * digits alone, as it stands in addresses of routes.
 */
function routesPasswordOf({ accountSeed }: BusIdentity): string {
  return createHmac('sha256', accountSeed)
    .update('antipode: routes between the machines of a bus')
    .digest('hex')
    .slice(0, 48);
}

function configurationOf(
  plan: BusPlan,
  identity: BusIdentity,
  index: number,
  password: string,
): string {
  const { addresses, listen, data, certificate, key } = plan;
  const count = addresses.length;
  return `# Machine ${index + 1} of ${count} of the bus. Needs nats-server ${leastServers} or newer: Debian 12's refuses TLS first, and older ones have known holes.
# Start: nats-server -c nats-${index + 1}.conf, as a user of its own that may write ${data}.
server_name: nats-${index + 1}
listen: ${quoted(`${listen}:${portOf(addresses[index] ?? '')}`)}
# TLS before the first word. The certificate names the host of ${addresses[index]}; after its renewal: start nats-server again, one machine after the other.
tls { cert_file: ${quoted(certificate)}, key_file: ${quoted(key)}, handshake_first: true }
max_connections: 10000
write_deadline: "5s"
# Probes come in at BASE_URL/bus, which the coordinators pass on to here; nobody else needs to reach this port.
websocket { listen: ${quoted(`${listen}:${websocketPortOf(addresses[index] ?? '')}`)}, tls { cert_file: ${quoted(certificate)}, key_file: ${quoted(key)} }, handshake_timeout: "5s" }
# Whom it lets in: who was signed below this operator. No monitoring port, no leaf nodes.
operator: ${identity.operatorJwt}
system_account: ${identity.systemAccount}
resolver { type: full, dir: ${quoted(`${data}/accounts`)}, allow_delete: true, interval: "10s" }
resolver_preload {
  ${identity.systemAccount}: ${identity.systemJwt}
  ${identity.account}: ${identity.accountJwt}
}
jetstream { store_dir: ${quoted(`${data}/store`)}, max_file_store: 20GB, sync_interval: "1s" }
${count > 1 ? clusterOf(plan, index, password) : ''}`;
}

function quoted(text: string): string {
  return JSON.stringify(text);
}

const defaultPort = 443;

function portOf(address: string): number {
  return Number(/:(\d+)$/.exec(address)?.[1] ?? defaultPort);
}

function websocketPortOf(address: string): number {
  return portOf(address) + 1;
}

/** `tls://host:port` → where its websockets are. */
function websocketAt(address: string): string {
  return `${address.replace(/^tls/, 'wss').replace(/:\d+$/, '')}:${websocketPortOf(address)}`;
}

function clusterOf({ routes }: BusPlan, index: number, password: string): string {
  const others = routes.map((route) => `    nats-route://antipode:${password}@${route}`);
  return `
# The machines among themselves. These lines travel in the clear: a network of your own (a VPC, WireGuard), or give this block a tls {} of its own.
cluster {
  name: antipode
  listen: ${quoted(`0.0.0.0:${portOf(routes[index] ?? '')}`)}
  authorization { user: antipode, password: ${quoted(password)}, timeout: 5 }
  # What the machines tell others of themselves would name addresses that clients cannot reach.
  no_advertise: true
  routes: [
${others.join('\n')}
  ]
}
`;
}

function settingsOf(
  { addresses }: BusPlan,
  { identity, secretKey, secretKeyPrevious }: SetupKeys,
): string {
  return `# The coordinators' settings, for all of them the same. Mode 600: anyone with this file can act as the bus. Keep a copy that is not on these machines.
# Read by systemd (EnvironmentFile), docker and podman (--env-file), and node --env-file; no value is in quotes.

# To be filled in: the database, the address that people and probes reach, and the bus's authority where it is your own.
DATABASE_URL=
BASE_URL=
#NATS_CA_FILE=/etc/antipode/bus-authority.pem
# The proxies before the coordinators, which must write X-Forwarded-For; the unit for systemd and the compose file name the one on their own machine.
#TRUSTED_PROXIES=loopback

# What secrets in the database lie under. Without it no backup can be opened.
SECRET_KEY=${secretKey}
${secretKeyPrevious === undefined ? '' : `SECRET_KEY_PREVIOUS=${secretKeyPrevious}\n`}
NATS_URL=${addresses.join(',')}
NATS_WEBSOCKET_URL=${addresses.map(websocketAt).join(',')}
NATS_REPLICAS=${addresses.length}
NATS_ACCOUNT_PUBLIC=${identity.account}
NATS_ACCOUNT_SEED=${identity.accountSeed}
NATS_OPERATOR_SEED=${identity.operatorSeed}
NATS_CREDENTIALS=${inOneLine(identity.coordinatorCredentials)}
NATS_SYSTEM_CREDENTIALS=${inOneLine(identity.systemCredentials)}
`;
}

/** A credentials file as one line, which every reader of settings files takes. */
function inOneLine(credentials: string): string {
  return credentials.trim().replaceAll(/\s*\n\s*/g, ' ');
}
