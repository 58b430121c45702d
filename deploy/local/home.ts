import { randomBytes, randomInt } from 'node:crypto';
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { readEnvironment } from '../../shared/base/env.ts';
import { codeOf } from '../../shared/base/errors.ts';
import { type Lock, lockFile } from '../../shared/base/lock.ts';
import { postgresAddress } from '../../shared/base/network.ts';
import { listenObstacle, makeFolder } from '../../shared/base/process.ts';
import {
  type BusIdentity,
  busIdentityShape,
  createBusIdentity,
} from '../../shared/bus/identity.ts';
import { busFields } from '../../shared/bus/setup.ts';
import { homeOf, programs } from '../node/layout.mjs';
import { localFile, projectFolder, wantedCache } from '../node/places.mjs';

/**
 * Where `npm start` keeps files: the home (data, secrets), and the cache (what was fetched or
 * copied and can be fetched again).
 */

export { homeOf, localFile, projectFolder };

type Environment = { readonly [name: string]: string | undefined };

export const isRoot = process.getuid?.() === 0;

/** Made by root, it lets others pass: Postgres runs as another user below it. */
export function openHome(env: Environment): string {
  const home = homeOf(env);
  try {
    makeFolder(home, isRoot ? 0o711 : 0o700);
    accessSync(home, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw unwritable(home, 'ANTIPODE_HOME', cause);
  }
  return home;
}

/** The error for a folder that the user chose and that cannot be written. */
function unwritable(
  folder: string,
  variable: 'ANTIPODE_HOME' | 'ANTIPODE_CACHE',
  cause?: unknown,
): Error {
  return new Error(`cannot write to ${folder}: choose another folder with ${variable}`, { cause });
}

/**
 * `ANTIPODE_CACHE`, else the user's own cache folder, which survives the removal of `.antipode`,
 * else a folder in the home for a user without one.
 */
export function openCache(env: Environment, home: string): string {
  const wanted = wantedCache(env);
  if (isUsable(wanted)) return wanted;
  if (!env.ANTIPODE_CACHE) return join(home, 'cache');
  // A cache that others filled may be read-only.
  if (!existsSync(wanted)) throw unwritable(wanted, 'ANTIPODE_CACHE');
  return wanted;
}

function isUsable(folder: string): boolean {
  try {
    makeFolder(folder, 0o755);
    accessSync(folder, constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false; // The next candidate is tried; writing to the last one reports its failure.
  }
}

/**
 * Whether a user with the rights of "others" (or the owner of a folder) may pass through this
 * folder and all above it.
 */
export function isPassableFor(uid: number, folder: string): boolean {
  for (let at = resolve(folder); ; at = dirname(at)) {
    const { mode, uid: owner } = statSync(at);
    if (((owner === uid ? mode >> 6 : mode) & 0o1) === 0) return false;
    if (at === dirname(at)) return true;
  }
}

/** Whether that user may also read and run the file itself. */
export function isRunnableFor(uid: number, file: string): boolean {
  const { mode, uid: owner } = statSync(file);
  return ((owner === uid ? mode >> 6 : mode) & 0o5) === 0o5 && isPassableFor(uid, dirname(file));
}

/** The first of these folders that can be made and that the user may pass through. */
export function firstPassableFor(uid: number, candidates: readonly string[]): string | undefined {
  return candidates.find((folder) => isUsable(folder) && isPassableFor(uid, folder));
}

/** The coordinator's environment of the last start, for the operator's commands. */
export function environmentFile(home: string): string {
  return join(home, 'environment.json');
}

/** What Node is told to run one of our programs: its file, and the program's first words. */
export function commandOf(name: keyof typeof programs): readonly [file: string, ...string[]] {
  const [file, ...words] = programs[name];
  return [join(projectFolder, file), ...words];
}

/**
 * The environments of the launcher's processes: what they need of ours, and of the user's only what
 * is not secret to them.
 *
 * What a coordinator must know of a bus. The embedded bus gives all of it; the user describes
 * another bus completely or not at all.
 */
export const busVariables = [
  'NATS_URL',
  'NATS_CREDENTIALS',
  'NATS_ACCOUNT_PUBLIC',
  'NATS_ACCOUNT_SEED',
  'NATS_OPERATOR_SEED',
  'NATS_SYSTEM_CREDENTIALS',
] as const;

export type BusEnvironment = Readonly<Record<(typeof busVariables)[number], string>>;

type ProcessEnvironment = Readonly<Record<string, string>>;

const dkimVariables = ['MAIL_DKIM_DOMAIN', 'MAIL_DKIM_SELECTOR', 'MAIL_DKIM_KEY'] as const;

/**
 * Sign-up settings, and how mail and messages are sent: for the coordinator and the operator only.
 */
const signUpVariables = [
  'SIGN_UP',
  'SIGN_UP_PLAN',
  'SMTP_URL',
  'MAIL_FROM',
  'ALERT_ALLOW_CIDRS',
  ...dkimVariables,
] as const;

/** Loopback and private networks, without link-local ones, which hold clouds' secrets. */
const ownNetworks =
  '127.0.0.0/8,::1/128,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,100.64.0.0/10,fc00::/7';

/**
 * The user's values of these variables, for the coordinator. Messages may reach the user's own
 * networks, as checks may, unless sign-up is open to anyone.
 */
export function signUpEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  { isSignUpOpen }: { readonly isSignUpOpen: boolean },
): ProcessEnvironment {
  return {
    ...(isSignUpOpen ? {} : { ALERT_ALLOW_CIDRS: ownNetworks }),
    ...Object.fromEntries(
      signUpVariables
        .flatMap((name) => [name, `${name}_FILE`])
        .flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])),
    ),
  };
}

const secret = new Set(
  [
    ...busVariables,
    ...signUpVariables,
    'DATABASE_URL',
    'SECRET_KEY',
    'SECRET_KEY_PREVIOUS',
    'PROBE_CREDENTIALS',
  ].flatMap((name) => [name, `${name}_FILE`]),
);

/** glibc else keeps an arena for each thread, and what was freed below its growing threshold. */
const frugalAllocation = { MALLOC_ARENA_MAX: '1', MALLOC_MMAP_THRESHOLD_: '131072' };

/**
 * What a child inherits: the user's environment without npm's own variables, and without secrets
 * that not every process may have.
 */
export function inherited(env: Environment, cache: string): ProcessEnvironment {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(env))
    if (value !== undefined && !secret.has(name) && !/^(npm_|INIT_CWD$|PORT$)/.test(name))
      kept[name] = value;
  return { NODE_COMPILE_CACHE: join(cache, 'compile'), ...frugalAllocation, ...kept };
}

export function busEnvironment(identity: BusIdentity, url: string): BusEnvironment {
  return {
    NATS_URL: url,
    NATS_CREDENTIALS: identity.coordinatorCredentials,
    NATS_ACCOUNT_PUBLIC: identity.account,
    NATS_ACCOUNT_SEED: identity.accountSeed,
    NATS_OPERATOR_SEED: identity.operatorSeed,
    NATS_SYSTEM_CREDENTIALS: identity.systemCredentials,
  };
}

type ProbeSeat = {
  readonly home: string;
  readonly name: string;
  readonly credentials: string;
  readonly natsUrl: string;
  readonly receiverPort: number;
};

/** How to connect to the user's own bus; probes get these under other names. */
const entrance = ['NATS_CA', 'NATS_CA_FILE'] as const;

/** Of the process of all probes here: what they share, and in PROBE_SEATS what each has besides. */
export function probesEnvironment(
  common: ProcessEnvironment,
  seats: readonly ProbeSeat[],
  allowCidrs: string | undefined,
): ProcessEnvironment {
  return {
    ...common,
    ...Object.fromEntries(
      entrance.flatMap((name) =>
        common[name] === undefined ? [] : [[`PROBE_${name}`, common[name]]],
      ),
    ),
    // They run on their owner's machine.
    PROBE_ALLOW_CIDRS: allowCidrs ?? ownNetworks,
    PROBE_PING_HOST: '127.0.0.1',
    PROBE_SEATS: JSON.stringify(
      seats.map(({ home, name, credentials, natsUrl, receiverPort }) => ({
        PROBE_CREDENTIALS: credentials,
        // The embedded bus may have another port than when the probe was made.
        PROBE_NATS_URL: natsUrl,
        PROBE_DATA_DIR: join(home, 'probes', name),
        PROBE_PING_PORT: String(receiverPort),
      })),
    ),
  };
}

/**
 * Small JSON files that only the owner can read, replaced atomically: a reader sees the old text or
 * the new one, never half.
 *
 * Synchronous, because the file must be on disk before the next process starts.
 */
export function writeJson(file: string, value: unknown): void {
  const half = `${file}.${process.pid}.new`;
  writeFileSync(half, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
  renameSync(half, file);
}

/** undefined when the file does not exist. @throws when it does not have the shape. */
export function readJson<Shape extends z.ZodType>(
  file: string,
  shape: Shape,
): z.infer<Shape> | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return shape.parse(JSON.parse(text));
  } catch (cause) {
    throw new Error(
      `${file} cannot be read as this version writes it: move it away to start fresh`,
      { cause },
    );
  }
}

/**
 * What a home remembers from one start to the next: keys, passwords, ports, and what the first
 * start made. The launcher never deletes it.
 */
export const sites = [
  { name: 'Frankfurt', continent: 'Europe' },
  { name: 'Virginia', continent: 'North America' },
  { name: 'Singapore', continent: 'Asia' },
] as const;

export type Site = (typeof sites)[number];

/**
 * What the first start made in a database so far: an organisation, its owner, a token, and the
 * probes.
 */
export const madeShape = z.object({
  organisation: z.string().optional(),
  owner: z.object({ email: z.string(), password: z.string() }).optional(),
  apiToken: z.string().optional(),
  /** Whether its demo was monitored once: what was deleted since stays deleted. */
  demo: z.boolean().optional(),
  /** The credentials of each probe. */
  probes: z.record(z.string(), z.string()),
});

export type FirstStartRecord = z.infer<typeof madeShape>;

export const stateShape = z.object({
  v: z.literal(1),
  secretKey: z.string(),
  postgresPassword: z.string(),
  bus: busIdentityShape,
  ports: z
    .object({
      http: z.number(),
      postgres: z.number(),
      nats: z.number(),
      websocket: z.number(),
      demo: z.number(),
      ears: z.record(z.string(), z.number()),
    })
    .partial(),
  /** For each pair of database and bus with which this home was started. */
  made: z.record(z.string(), madeShape),
});

export type HomeState = z.infer<typeof stateShape>;

export function openState(home: string, now: number): HomeState {
  const known = readJson(stateFile(home), stateShape);
  if (known !== undefined) return known;
  const fresh: HomeState = {
    v: 1,
    secretKey: randomBytes(32).toString('base64url'),
    postgresPassword: randomBytes(24).toString('base64url'),
    bus: createBusIdentity(now),
    ports: {},
    made: {},
  };
  keepState(home, fresh);
  return fresh;
}

/** Logs grow over many starts; this keeps only the previous one. */
export function openLogs(home: string): string {
  const logs = join(home, 'logs');
  mkdirSync(logs, { recursive: true, mode: 0o700 });
  for (const part of ['coordinator', 'nats', 'postgres', 'probes']) {
    const file = join(logs, `${part}.log`);
    if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > largestLog)
      renameSync(file, `${file}.old`);
  }
  return logs;
}

const largestLog = 20_000_000;

/** What a home remembers; the file exists after the first start. */
export function stateFile(home: string): string {
  return join(home, 'state.json');
}

export function keepState(home: string, state: HomeState): void {
  writeJson(stateFile(home), state);
}

/** Ensures one launcher for a home; undefined when another has it. */
export function lockHome(home: string): Lock | undefined {
  try {
    return lockFile(join(home, 'launcher.lock'));
  } catch (cause) {
    // Root appears to have write access everywhere, even where the system lets no one make a file.
    throw unwritable(home, 'ANTIPODE_HOME', cause);
  }
}

/** Why nothing can listen there, and the remedy; undefined when listening works. */
export async function obstacleTo(port: number, host: string): Promise<string | undefined> {
  const fault = await listenFault(port, host);
  if (fault === undefined) return undefined;
  const obstacle = listenObstacle(fault, port, host) ?? fault.message;
  return obstacle.startsWith('port')
    ? `${obstacle}: choose another with PORT=…, or PORT=0 for any free one`
    : obstacle;
}

/** The error of listening there, if it fails. */
async function listenFault(port: number, host: string): Promise<Error | undefined> {
  const { promise, resolve } = Promise.withResolvers<Error | undefined>();
  const probe = createServer();
  probe.once('error', resolve);
  probe.listen(port, host, () => probe.close(() => resolve(undefined)));
  return await promise;
}

/**
 * A port that was free a moment ago. Tries `preferred` ones first, to keep addresses the same from
 * one start to the next.
 */
export async function freePort(...preferred: readonly (number | undefined)[]): Promise<number> {
  for (const port of preferred) if (port !== undefined && (await isFree(port))) return port;
  for (let tries = 0; tries < 200; tries++) {
    const port = randomInt(20_000, 32_768);
    if (await isFree(port)) return port;
  }
  throw new Error('found no free port between 20000 and 32767 on 127.0.0.1');
}

async function isFree(port: number): Promise<boolean> {
  return (await listenFault(port, '127.0.0.1')) === undefined;
}

const variables = z.object({
  PORT: z.coerce.number().int('must be a whole number').min(0).max(65_535).default(8080),
  HOST: z.string().default('127.0.0.1'),
  BASE_URL: z
    .url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' })
    .optional(),
  DATABASE_URL: postgresAddress.optional(),
  NATS_URL: busFields.NATS_URL.optional(),
  NATS_CREDENTIALS: busFields.NATS_CREDENTIALS.optional(),
  NATS_ACCOUNT_PUBLIC: busFields.NATS_ACCOUNT_PUBLIC.optional(),
  NATS_ACCOUNT_SEED: busFields.NATS_ACCOUNT_SEED.optional(),
  NATS_OPERATOR_SEED: busFields.NATS_OPERATOR_SEED.optional(),
  NATS_SYSTEM_CREDENTIALS: busFields.NATS_SYSTEM_CREDENTIALS.optional(),
  NATS_CA: busFields.NATS_CA,
  NATS_SERVER: z.string().optional(),
  SECRET_KEY: z.string().min(32, 'must have at least 32 characters').optional(),
  SECRET_KEY_PREVIOUS: z.string().min(32, 'must have at least 32 characters').optional(),
  PROBE_ALLOW_CIDRS: z.string().optional(),
  SIGN_UP: z.enum(['open', 'invited']).default('invited'),
  ANTIPODE_DEMO: z.enum(['0', '1']).default('0'),
  ANTIPODE_PLACES: z.coerce
    .number()
    .int('must be a whole number')
    .min(1)
    .max(sites.length)
    .default(sites.length),
});

/**
 * What the user may choose at a start: the port, the folders, and their own services instead of the
 * embedded ones.
 */
export type Settings = {
  readonly port: number;
  readonly host: string;
  readonly baseUrl: string | undefined;
  /** The user's own Postgres instead of the embedded one. */
  readonly databaseUrl: string | undefined;
  /** The user's own bus instead of the embedded one. */
  readonly bus: BusEnvironment | undefined;
  readonly busAuthority: string | undefined;
  /** The program of the embedded bus, or a folder that has it. */
  readonly natsServer: string | undefined;
  readonly secretKey: string | undefined;
  readonly previousKey: string | undefined;
  readonly isSignUpOpen: boolean;
  /** Whether it has targets that fail on demand. */
  readonly hasDemo: boolean;
  /** At how many places it has a probe of its own. */
  readonly places: number;
  /** What its probes may reach beyond public addresses; undefined: the user's own networks. */
  readonly allowCidrs: string | undefined;
};

/**
 * @throws ConfigurationFault, which names every fault, including an incomplete description of a
 * bus.
 */
export function readSettings(environment: Readonly<Record<string, string | undefined>>): Settings {
  const read = readEnvironment(variables, environment, halfSetBus);
  const isSignUpOpen = read.SIGN_UP === 'open';
  const bus: Record<string, string> = {};
  for (const name of busVariables) if (read[name] !== undefined) bus[name] = read[name];
  return {
    port: read.PORT,
    host: read.HOST,
    baseUrl: read.BASE_URL,
    databaseUrl: read.DATABASE_URL,
    bus:
      Object.keys(bus).length > 0
        ? z.record(z.enum(busVariables), z.string()).parse(bus)
        : undefined,
    busAuthority: read.NATS_CA,
    natsServer: read.NATS_SERVER,
    secretKey: read.SECRET_KEY,
    previousKey: read.SECRET_KEY_PREVIOUS,
    isSignUpOpen,
    hasDemo: read.ANTIPODE_DEMO === '1',
    places: read.ANTIPODE_PLACES,
    // Where anyone may sign up, another user's check could read the internal network.
    allowCidrs: read.PROBE_ALLOW_CIDRS ?? (isSignUpOpen ? '' : undefined),
  };
}

function halfSetBus(isSet: (name: string) => boolean): readonly string[] {
  const given = busVariables.filter(isSet);
  if (given.length === 0 && isSet('NATS_CA'))
    return ['NATS_CA set, but no NATS_URL: the bus of this machine has no TLS'];
  const missing = busVariables.filter((name) => !isSet(name));
  if (given.length === 0 || missing.length === 0) return [];
  const are = missing.length === 1 ? 'is' : 'are';
  return [
    `${given.join(', ')} set, but ${missing.join(', ')} ${are} not: set all of them for a bus of your own, or none`,
  ];
}
