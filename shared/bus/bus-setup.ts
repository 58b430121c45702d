/**
 * A bus of one's own, written down: a configuration of nats-server for each of its machines, and the coordinators' settings. Operator mode, TLS before
 * the first word, and streams on every machine. Pure, except for the keys, which are made once and for all.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { readEnvironment } from '../base/env.ts';
import { busFields } from './bus-environment.ts';
import { type BusIdentity, busIdentityOf, createBusIdentity } from './bus-identity.ts';
import { leastServers } from './bus-server-version.ts';

export type BusPlan = {
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

/** What is made once: the bus's own keys, and those that secrets in the database lie under. */
export type SetupKeys = { readonly identity: BusIdentity; readonly secretKey: string; readonly secretKeyPrevious?: string | undefined };

export type SetupFile = { readonly file: string; readonly text: string };

const defaultPort = 443;

const portOf = (address: string): number => Number(/:(\d+)$/.exec(address)?.[1] ?? defaultPort);

const quoted = (text: string): string => JSON.stringify(text);

const clusterOf = ({ routes }: BusPlan, index: number, password: string): string => {
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
};

const configurationOf = (plan: BusPlan, identity: BusIdentity, index: number, password: string): string => {
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
# Whom it lets in: who was signed below this operator. No monitoring port, no leaf nodes, no websocket.
operator: ${identity.operatorJwt}
system_account: ${identity.systemAccount}
resolver { type: full, dir: ${quoted(`${data}/accounts`)}, allow_delete: true, interval: "10s" }
resolver_preload {
  ${identity.systemAccount}: ${identity.systemJwt}
  ${identity.account}: ${identity.accountJwt}
}
jetstream { store_dir: ${quoted(`${data}/store`)}, max_file_store: 20GB, sync_interval: "1s" }
${count > 1 ? clusterOf(plan, index, password) : ''}`;
};

/** A credentials file as one line, which every reader of settings files takes. */
const inOneLine = (credentials: string): string => credentials.trim().replaceAll(/\s*\n\s*/g, ' ');

const settingsOf = (
  { addresses }: BusPlan,
  { identity, secretKey, secretKeyPrevious }: SetupKeys,
): string => `# The coordinators' settings, for all of them the same. Mode 600: whoever has this file can be the bus. Keep a copy that is not on these machines.
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
NATS_TLS_FIRST=true
NATS_REPLICAS=${addresses.length}
NATS_ACCOUNT_PUBLIC=${identity.account}
NATS_ACCOUNT_SEED=${identity.accountSeed}
NATS_OPERATOR_SEED=${identity.operatorSeed}
NATS_CREDENTIALS=${inOneLine(identity.coordinatorCredentials)}
NATS_SYSTEM_CREDENTIALS=${inOneLine(identity.systemCredentials)}
`;

/** Of a new bus: every call makes another one, and they are kept nowhere else than in its files. */
export const newSetupKeys = (now: number): SetupKeys => ({
  identity: createBusIdentity(now),
  secretKey: randomBytes(32).toString('base64url'),
});

const { NATS_OPERATOR_SEED, NATS_ACCOUNT_SEED, NATS_CREDENTIALS, NATS_SYSTEM_CREDENTIALS } = busFields;
const keptKeys = z.object({
  ...{ NATS_OPERATOR_SEED, NATS_ACCOUNT_SEED, NATS_CREDENTIALS, NATS_SYSTEM_CREDENTIALS },
  ...{ SECRET_KEY: z.string(), SECRET_KEY_PREVIOUS: z.string().optional() },
});

/** Those of a bus that there was, from the coordinators' settings. @throws when one is missing, or they are of different buses. */
export const setupKeysIn = (settings: Readonly<Record<string, string | undefined>>): SetupKeys => {
  const kept = readEnvironment(keptKeys, settings);
  const identity = busIdentityOf({
    ...{ operatorSeed: kept.NATS_OPERATOR_SEED, accountSeed: kept.NATS_ACCOUNT_SEED },
    ...{ coordinatorCredentials: kept.NATS_CREDENTIALS, systemCredentials: kept.NATS_SYSTEM_CREDENTIALS },
  });
  return { identity, secretKey: kept.SECRET_KEY, secretKeyPrevious: kept.SECRET_KEY_PREVIOUS };
};

/**
 * What the machines of a bus show one another. It follows from the bus's keys: a machine that was lost and written down again finds the others,
 * which still have theirs from before. Letters and digits alone, as it stands in addresses of routes.
 */
const routesPasswordOf = ({ accountSeed }: BusIdentity): string =>
  createHmac('sha256', accountSeed).update('antipode: routes between the machines of a bus').digest('hex').slice(0, 48);

/** The files of a bus. */
export const setUpBus = (plan: BusPlan, keys: SetupKeys): readonly SetupFile[] => {
  const password = routesPasswordOf(keys.identity);
  return [
    ...plan.addresses.map((_, index) => ({ file: `nats-${index + 1}.conf`, text: configurationOf(plan, keys.identity, index, password) })),
    { file: 'coordinator.env', text: settingsOf(plan, keys) },
  ];
};
