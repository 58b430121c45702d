import { fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { ConfigurationFault } from '../../shared/base/env.ts';
import { busPath } from '../../shared/bus/websocket.ts';
import { typed } from '../node/layout.mjs';
import { demoPath, demoTargets } from './demo.ts';
import {
  commandOf,
  environmentFile,
  type FirstStartRecord,
  freePort,
  type HomeState,
  inherited,
  keepState,
  localFile,
  lockHome,
  obstacleTo,
  openCache,
  openHome,
  openLogs,
  openState,
  probesEnvironment,
  projectFolder,
  readJson,
  readSettings,
  type Settings,
  type Site,
  signUpEnvironment,
  sites,
  writeJson,
} from './home.ts';
import { faultsOfOwnDependencies, type LocalServices, startLocalServices } from './nats.ts';
import { endLeftPostgres } from './postgres.ts';
import { createProcesses, type Processes } from './processes.ts';
import type { Order, Report } from './setup.ts';

type Environment = Readonly<Record<string, string | undefined>>;
type Say = (line: string) => void;

const readyWithinMs = 60_000;

/**
 * `npm start`: every service as a process of its own, the probes in one, kept running until it is
 * told to stop. A start that fails stops what it had begun.
 * @throws the error of a failed start, in words for the user.
 */
export async function launch(environment: Environment, stop: AbortSignal, say: Say): Promise<void> {
  const since = performance.now();
  const settings = readSettings(environment);
  const home = openHome(environment);
  const lock = lockHome(home);
  if (lock === undefined) {
    const other = readJson(
      localFile(home),
      z.object({ base_url: z.string(), pids: z.object({ launcher: z.number() }) }),
    );
    const where = other === undefined ? '' : ` (process ${other.pids.launcher}, ${other.base_url})`;
    throw new Error(
      `Antipode already runs on ${home}${where}: stop that one first, or choose another folder with ANTIPODE_HOME`,
    );
  }
  rmSync(localFile(home), { force: true });
  let rewrite = (): void => undefined;
  const processes = createProcesses({ say, onStarted: () => rewrite() });
  const stopped = new Promise<void>((resolve) =>
    stop.addEventListener('abort', () => resolve(), { once: true }),
  );

  const raise = async (): Promise<void> => {
    const started = await startAll({ environment, settings, home, processes, stop, say });
    if (stop.aborted) return;
    rewrite = () => writeJson(localFile(home), describe(started, processes));
    rewrite();
    processes.settle();
    say(readyText(started, localFile(home), performance.now() - since));
  };

  try {
    await Promise.race([raise(), processes.trouble, stopped]);
    await stopped;
    say('stopping');
  } finally {
    rewrite = () => undefined;
    await processes.dismiss();
    rmSync(localFile(home), { force: true });
    lock.release();
  }
}

/** Of a small house: less room for new objects, and one helper thread of V8 instead of four. */
const frugal = ['--max-semi-space-size=4', '--v8-pool-size=1'];

type Start = {
  readonly environment: Environment;
  readonly settings: Settings;
  readonly home: string;
  readonly processes: Processes;
  readonly stop: AbortSignal;
  readonly say: Say;
};

/** What was started, as users and programs need to know it. */
type Started = {
  readonly base: string;
  readonly signInUrl: string;
  readonly network: Network;
  readonly services: LocalServices;
  readonly sites: readonly Site[];
  /** The port of targets that fail on demand. */
  readonly demo: number | null;
};

async function startAll({
  environment,
  settings,
  home,
  processes,
  stop,
  say,
}: Start): Promise<Started> {
  await endLeftovers(home);
  const state = openState(home, Date.now());
  const cache = openCache(environment, home);
  const logs = openLogs(home);
  mkdirSync(join(home, 'coordinator'), { recursive: true, mode: 0o700 });
  const faults = await faultsOfOwnDependencies(settings);
  if (faults.length > 0) throw new ConfigurationFault(faults);
  const port = await choosePort(settings, state);
  // What it once made it keeps: a probe that is missing would be an alarm.
  const made = Object.values(state.made).map(({ probes }) => Object.keys(probes).length);
  const here = sites.slice(0, Math.max(settings.places, ...made));
  const receivers = await choosePingReceivers(here, state);
  Object.assign(state.ports, { http: port, ears: Object.fromEntries(receivers) });
  keepState(home, state);
  // Where each probe receives pings, besides the base URL: the addresses last as long as their
  // ports are free.
  const addresses = [...receivers].map(([name, own]) => [name, `http://127.0.0.1:${own}`]);
  writeJson(join(home, 'heartbeat-urls.json'), Object.fromEntries(addresses));
  say('starting the database and the bus');
  const services = await startLocalServices(
    { home, cache, logs, settings, state, processes, say },
    environment.PATH ?? '',
  );
  keepState(home, state);
  const host = ['0.0.0.0', '::', '127.0.0.1'].includes(settings.host) ? '127.0.0.1' : settings.host;
  const direct = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
  const base = settings.baseUrl ?? direct;
  const ours = {
    ANTIPODE_HOME: home,
    DATABASE_URL: services.databaseUrl,
    ...services.bus,
    ...(services.websocket === undefined ? {} : { NATS_WEBSOCKET_URL: services.websocket }),
    DATA_DIR: join(home, 'coordinator'),
    SECRET_KEY: settings.secretKey ?? state.secretKey,
    ...(settings.previousKey === undefined ? {} : { SECRET_KEY_PREVIOUS: settings.previousKey }),
    HOST: settings.host,
    PORT: String(port),
    BASE_URL: base,
    DATABASE_CONNECTIONS: environment.DATABASE_CONNECTIONS ?? '10',
    ...signUpEnvironment(environment, settings),
  };
  writeJson(environmentFile(home), ours);
  const common = inherited(environment, cache);
  const startNode = (
    name: string,
    program: readonly string[],
    env: Readonly<Record<string, string>>,
  ): void => {
    const log = join(logs, `${name}.log`);
    const command = {
      name,
      file: process.execPath,
      args: [...frugal, ...program],
      cwd: projectFolder,
      env,
      stopSignal: 'SIGTERM',
      log,
    } as const;
    // One that ends at once is reported by `trouble`.
    processes.start(command).catch(() => undefined);
  };
  const startCoordinator = (): void =>
    startNode('coordinator', commandOf('coordinator'), { ...common, ...ours });
  // It takes longest, so it starts at once on a database that is certainly ours. A refused start
  // must not touch the user's own database.
  const isOwnDatabase = settings.databaseUrl !== undefined;
  if (!isOwnDatabase) startCoordinator();
  const key = networkKey(services, settings);
  const known = state.made[key] ?? { probes: {} };
  if (known.apiToken === undefined)
    say('making a local organisation, an owner with a token, and its probes');
  const { network, signInUrl } = await setUp(
    { environment: ours, isOwnDatabase, known, sites: [...here] },
    { ...common, ...ours },
    stop,
    (made) => {
      state.made[key] = made;
      keepState(home, state);
    },
  );
  const demo = settings.hasDemo ? await freePort(state.ports.demo, 9000) : null;
  if (demo !== null) {
    Object.assign(state.ports, { demo });
    const place = `${settings.host.includes(':') ? `[${settings.host}]` : settings.host}:${demo}`;
    startNode('demo', [...commandOf('start'), 'demo', place], common);
    // Before anybody checks them.
    while (!stop.aborted && !(await isDemoReady(demo))) await pause(20);
  }
  if (!stop.aborted) {
    if (isOwnDatabase) startCoordinator();
    if (settings.allowCidrs === '')
      say(
        'anyone may sign up here (SIGN_UP=open): checks reach public addresses only; PROBE_ALLOW_CIDRS opens more',
      );
    const seats = [...receivers].map(([name, receiverPort]) => {
      const credentials = network.probes[name];
      if (credentials === undefined) throw new Error(`${name} has no credentials`);
      mkdirSync(join(home, 'probes', name), { recursive: true, mode: 0o700 });
      const natsUrl =
        services.websocket === undefined
          ? services.bus.NATS_URL
          : `${direct.replace('http', 'ws')}${busPath}`;
      return { home, name, credentials, natsUrl, receiverPort };
    });
    // They share a process: each of its own would take half as much again, and on one machine they
    // have their network and its power in common anyway.
    startNode('probes', commandOf('probe'), probesEnvironment(common, seats, settings.allowCidrs));
    await awaitNetwork(direct, here, stop, say);
  }
  if (demo !== null && !stop.aborted && known.demo !== true) {
    await watchDemo(direct, network.apiToken, demo);
    state.made[key] = { ...state.made[key], probes: network.probes, demo: true };
    keepState(home, state);
  }
  return { base, signInUrl, network, services, sites: here, demo };
}

async function isDemoReady(port: number): Promise<boolean> {
  return fetch(`http://127.0.0.1:${port}/`).then(
    ({ ok }) => ok,
    () => false, // It does not listen yet.
  );
}

/** Has its targets monitored, in the organisation of this start. */
async function watchDemo(base: string, token: string, port: number): Promise<void> {
  const answers = demoTargets.map((target) =>
    fetch(`${base}/api/v1/monitors`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        name: target,
        type: 'https',
        target: `http://127.0.0.1:${port}${demoPath(target)}`,
        interval_s: 10,
        external_id: `demo${demoPath(target)}`,
      }),
    }),
  );
  for (const answer of await Promise.all(answers))
    if (!answer.ok) throw new Error(`the demo cannot be monitored: ${await answer.text()}`);
}

/**
 * Ends what a killed launcher left. On Linux the kernel ended its processes with it, and Postgres
 * may still be at that; elsewhere Postgres alone keeps a record by which it is found.
 */
async function endLeftovers(home: string): Promise<void> {
  const place = join(home, 'postgres.place');
  await endLeftPostgres(
    resolve(home, existsSync(place) ? readFileSync(place, 'utf8').trim() : 'postgres'),
  );
}

async function choosePort(settings: Settings, state: HomeState): Promise<number> {
  const obstacle = await obstacleTo(settings.port, settings.host);
  if (obstacle !== undefined) throw new Error(obstacle);
  return settings.port === 0 ? await freePort(state.ports.http) : settings.port;
}

/** Where each probe receives pings: the same port as before, while it is free. */
async function choosePingReceivers(
  here: readonly Site[],
  state: HomeState,
): Promise<ReadonlyMap<string, number>> {
  const ports = here.map(
    async ({ name }) => [name, await freePort(state.ports.ears?.[name])] as const,
  );
  return new Map(await Promise.all(ports));
}

/**
 * The network of a database on a bus: another pair is another network, with its own organisation
 * and probes.
 */
function networkKey({ databaseUrl, bus }: LocalServices, settings: Settings): string {
  const database = settings.databaseUrl === undefined ? 'embedded' : databaseUrl;
  return createHash('sha256')
    .update(`${database} ${bus.NATS_ACCOUNT_PUBLIC}`)
    .digest('hex')
    .slice(0, 16);
}

/** A local organisation's owner with a read-write token, and the credentials of each probe. */
type Network = {
  readonly email: string;
  readonly password: string;
  readonly apiToken: string;
  readonly probes: Readonly<Record<string, string>>;
};

/** Has `setup.ts` make what is missing. `keep` is called after each step with everything made. */
async function setUp(
  order: Order,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
  keep: (made: FirstStartRecord) => void,
) {
  const [file, ...words] = commandOf('setup');
  const child = fork(file, words, {
    env,
    cwd: projectFolder,
    execArgv: [],
    silent: true,
    signal,
  });
  let made = order.known;
  let signInUrl: string | undefined;
  let complaint = '';
  child.stderr?.on('data', (chunk) => {
    complaint += String(chunk);
  });
  child.on('message', (report: Report) => {
    if ('made' in report) {
      made = report.made;
      keep(made);
    } else signInUrl = report.signInUrl;
  });
  child.send(order);
  await new Promise<void>((resolve) =>
    child.on('close', () => resolve()).on('error', () => resolve()),
  );
  const { owner, apiToken, probes } = made;
  if (!owner || !apiToken || signInUrl === undefined)
    throw new Error(`the first start failed: ${complaint.trim()}`);
  return { signInUrl, network: { ...owner, apiToken, probes } };
}

const waitsForAll = 'waiting for the coordinator and the probes';

async function awaitNetwork(
  base: string,
  here: readonly Site[],
  stop: AbortSignal,
  say: Say,
): Promise<void> {
  const deadline = performance.now() + readyWithinMs;
  let told = '';
  while (!stop.aborted) {
    const line = await lackOf(base, here);
    if (line === undefined) return;
    if (line !== told) say(line);
    told = line;
    if (performance.now() > deadline)
      throw new Error(`not ready after ${readyWithinMs / 1000} s, ${line}; the logs say more`);
    await pause(40);
  }
}

const healthShape = z.object({
  why: z.array(z.string()),
  parts: z.object({ probes: z.array(z.object({ name: z.string(), present: z.boolean() })) }),
});

/** What the start still waits for, in a line; undefined once the whole service is healthy. */
async function lackOf(base: string, here: readonly Site[]): Promise<string | undefined> {
  try {
    const answer = await fetch(`${base}/health`, { signal: AbortSignal.timeout(2_000) });
    const { why, parts } = healthShape.parse(await answer.json());
    const present = parts.probes.filter((probe) => probe.present).map(({ name }) => name);
    const missing = here.filter(({ name }) => !present.includes(name)).map(({ name }) => name);
    if (missing.length === here.length) return waitsForAll;
    if (missing.length > 0) return `waiting for ${missing.join(', ')}`;
    return why.length === 0 ? undefined : `not healthy yet: ${why.join(' ')}`;
  } catch {
    return waitsForAll; // Not being up yet is normal during the start; the caller has a limit.
  }
}

/** `local.json`: what programs need to know; it exists only while the service is ready. */
function describe(
  { base, signInUrl, network, services, sites: here }: Started,
  { pid }: Processes,
) {
  return {
    base_url: base,
    sign_in_url: signInUrl,
    api_token: network.apiToken,
    email: network.email,
    password: network.password,
    database_url: services.databaseUrl,
    nats_url: services.bus.NATS_URL,
    // null for a service that is not ours: the user's own database or bus.
    pids: {
      launcher: process.pid,
      coordinator: pid('coordinator'),
      nats: pid('nats'),
      postgres: pid('postgres'),
      probes: Object.fromEntries(here.map(({ name }) => [name, pid('probes')])),
    },
  };
}

function readyText(
  { base, signInUrl, network, demo }: Started,
  file: string,
  tookMs: number,
): string {
  const broken =
    demo === null
      ? ''
      : `\n  demo    ${Object.assign(new URL(base), { protocol: 'http', port: demo }).href}\n          services to break, which are monitored`;
  return `ready after ${(tookMs / 1000).toFixed(1)} s

  enter   ${signInUrl}
          signs you in, once
  API     ${base}/api/v1
  token   ${network.apiToken}
  docs    ${base}/docs${broken}
  try     in a second terminal, here; the outage is confirmed within seconds of the second line:
          node -e "require('http').createServer((_, answer) => answer.end('up')).listen(9123)" &
          ${typed} monitors create --type https --target http://127.0.0.1:9123/ --name Demo --interval-s 10
          sleep 15; kill %1; sleep 15; ${typed} incidents list

  Ctrl-C stops it. The same for programs: ${file}
`;
}
