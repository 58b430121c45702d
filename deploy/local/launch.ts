import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, statSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { z } from 'zod';
import { ConfigurationFault } from '../../shared/base/env.ts';
import { asNetwork, type Maker, makeNetwork, type Network, summonMaker } from './first-start.ts';
import {
  coordinatorMain,
  environmentFile,
  freePort,
  type HomeState,
  inherited,
  keepState,
  type LocalFile,
  launcherShape,
  lockHome,
  obstacleTo,
  openCache,
  openHome,
  openState,
  probeEnvironment,
  projectFolder,
  readJson,
  readSettings,
  removeLocalFile,
  type Settings,
  type SiteName,
  signUpEnvironment,
  sites,
  writeJson,
  writeLocalFile,
} from './home.ts';
import { faultsOfOwnDependencies, type LocalServices, startLocalServices } from './nats.ts';
import { endLeftPostgres } from './postgres.ts';
import { createProcesses, endProcess, findProcess, type Processes, signal } from './processes.ts';

/** Asks the coordinator, without credentials, whether the network is complete. */

/** Importing the module would load all of its exports, and with them undici: 40 ms of a core. */
const { get } = process.getBuiltinModule('node:http');

const healthShape = z.object({
  parts: z.object({ probes: z.array(z.object({ name: z.string(), present: z.boolean() })) }),
});

const read = async (url: string): Promise<string> => {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const request = get(url, { timeout: 2_000 }, (answer) => {
    let text = '';
    answer.setEncoding('utf8');
    answer.on('data', (chunk: string) => {
      text += chunk;
    });
    answer.once('end', () => resolve(text));
    answer.once('error', reject);
  });
  request.once('error', reject);
  request.once('timeout', () => request.destroy(new Error('no answer within 2 s')));
  return await promise;
};

/** The names of the probes that are present; empty while the coordinator does not answer yet. */
export const presentProbes = async (base: string): Promise<readonly string[]> => {
  try {
    const { parts } = healthShape.parse(JSON.parse(await read(`${base}/health`)));
    return parts.probes.filter(({ present }) => present).map(({ name }) => name);
  } catch {
    return []; // Not being up yet is normal during the start; the caller has a limit.
  }
};

/**
 * The processes that a killed launcher left running: recorded while it ran, ended by the next start
 * on the same home.
 */

const recordShape = z.array(z.object({ name: z.string(), pid: z.number(), started: z.string() }));

export type ProcessRecord = {
  /** Recorded with its start time: a reused process number is not mistaken for it. */
  readonly note: (name: string, pid: number) => void;
};

const fileOf = (home: string): string => join(home, 'processes.json');

export const openProcessRecord = (home: string): ProcessRecord => {
  const known = new Map<string, { pid: number; started: string }>();
  const noteLater = async (name: string, pid: number): Promise<void> => {
    const found = await findProcess(pid);
    if (found === undefined) return;
    known.set(name, { pid, started: found.started });
    writeJson(
      fileOf(home),
      [...known].map(([part, process]) => ({ name: part, ...process })),
    );
  };
  // Without the record, the next start does not know of leftovers. That must not fail this start.
  return { note: (name, pid) => void noteLater(name, pid).catch(() => undefined) };
};

/** Ends what the last launcher left behind and reports it. @throws when something does not end. */
export const endLeftovers = async (home: string, say: (line: string) => void): Promise<void> => {
  const recorded = readJson(fileOf(home), recordShape) ?? [];
  const endOne = async ({ name, pid, started }: (typeof recorded)[number]): Promise<void> => {
    const found = await findProcess(pid);
    if (found === undefined || found.started !== started) return;
    say(`ending ${name} (process ${pid}), left by a launcher that was killed`);
    const signals = name === 'postgres' ? (['SIGINT', 'SIGQUIT', 'SIGKILL'] as const) : (['SIGTERM', 'SIGKILL'] as const);
    if (!(await endProcess(pid, signals))) throw new Error(`process ${pid} (${name}) of an earlier start does not end`);
    signal(-pid, 'SIGKILL');
  };
  await Promise.all(recorded.map(endOne));
  // Includes a server started just before its launcher was killed: Postgres keeps a record of its
  // own.
  const place = join(home, 'postgres.place');
  await endLeftPostgres(resolve(home, existsSync(place) ? readFileSync(place, 'utf8').trim() : 'postgres'));
};

/**
 * The link with which a new user can start by a click: made by the operator's own command, in the
 * coordinator's environment.
 */

const answerShape = z.object({ address: z.string() });

/** Valid until it is used or the next start makes another. @throws with the command's output. */
export const makeSignInLink = async (
  email: string,
  environment: Readonly<Record<string, string>>,
  stop: AbortSignal,
): Promise<string | undefined> => {
  const args = [coordinatorMain, 'operator', 'user', 'sign-in-link', '--email', email, '--for-start', '--json'];
  try {
    const { stdout } = await promisify(execFile)(process.execPath, args, { env: environment, cwd: projectFolder, signal: stop });
    return answerShape.parse(JSON.parse(stdout)).address;
  } catch (error) {
    if (stop.aborted) return undefined;
    throw error;
  }
};

/**
 * `npm start`: every service as a process of its own, kept running until it is told to stop. Modes:
 * starting → ready → stopping → stopped; a start that fails stops what it had begun.
 */

type Environment = Readonly<Record<string, string | undefined>>;
type Say = (line: string) => void;

/** A start that is refused for a reason that the user can fix: one line, no stack. */
export class StartRefused extends Error {}

const probeMain = join(projectFolder, 'probe/main.ts');
const readyWithinMs = 60_000;
const largestLog = 20_000_000;

/** Logs grow over many starts; this keeps only the previous one. */
const openFolders = (home: string): string => {
  const logs = join(home, 'logs');
  mkdirSync(logs, { recursive: true, mode: 0o700 });
  mkdirSync(join(home, 'coordinator'), { recursive: true, mode: 0o700 });
  for (const part of ['coordinator', 'nats', 'postgres', ...sites.map(({ name }) => name)]) {
    const file = join(logs, `${part}.log`);
    if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > largestLog) renameSync(file, `${file}.old`);
  }
  return logs;
};

const choosePort = async (settings: Settings, state: HomeState): Promise<number> => {
  const obstacle = await obstacleTo(settings.port, settings.host);
  if (obstacle !== undefined) throw new StartRefused(obstacle);
  return settings.port === 0 ? await freePort(state.ports.http) : settings.port;
};

const choosePingReceivers = async (state: HomeState): Promise<Record<SiteName, number>> => {
  const [Frankfurt, Virginia, Singapore] = await Promise.all(sites.map(({ name }) => freePort(state.ports.ears?.[name])));
  if (Frankfurt === undefined || Virginia === undefined || Singapore === undefined) throw new Error('a site without a port');
  return { Frankfurt, Virginia, Singapore };
};

const startProbes = (
  processes: Processes,
  at: {
    home: string;
    logs: string;
    settings: Settings;
    natsUrl: string;
    common: Record<string, string>;
    receivers: Record<SiteName, number>;
  },
  network: Network,
): void => {
  for (const { name } of sites) {
    const seat = { home: at.home, name, credentials: network.probes[name], natsUrl: at.natsUrl, receiverPort: at.receivers[name] };
    const env = probeEnvironment(at.common, { ...seat, allowCidrs: at.settings.allowCidrs });
    mkdirSync(join(at.home, 'probes', name), { recursive: true, mode: 0o700 });
    processes.start({
      command: {
        name,
        file: process.execPath,
        args: [probeMain],
        cwd: projectFolder,
        env,
        stopSignal: 'SIGTERM',
        log: join(at.logs, `${name}.log`),
      },
    });
  }
};

/** Where our own compiled code is cached; npm's folder may be unusable. */
const compileCacheIn = (cache: string): string => {
  const inUse = getCompileCacheDir();
  return inUse === undefined ? join(cache, 'compile') : dirname(inUse);
};

/**
 * The network of a database on a bus: another pair is another network, with its own organisation
 * and probes.
 */
const networkKey = ({ databaseUrl, bus }: LocalServices, settings: Settings): string => {
  const database = settings.databaseUrl === undefined ? 'embedded' : databaseUrl;
  return createHash('sha256').update(`${database} ${bus.NATS_ACCOUNT_PUBLIC}`).digest('hex').slice(0, 16);
};

const awaitNetwork = async (base: string, stop: AbortSignal, say: Say): Promise<void> => {
  const deadline = performance.now() + readyWithinMs;
  let told = '';
  while (!stop.aborted) {
    const present = await presentProbes(base);
    const missing = sites.filter(({ name }) => !present.includes(name)).map(({ name }) => name);
    if (missing.length === 0) return;
    const line = present.length === 0 ? 'waiting for the coordinator and the probes' : `waiting for ${missing.join(', ')}`;
    if (line !== told) say(line);
    told = line;
    if (performance.now() > deadline)
      throw new Error(`not ready after ${readyWithinMs / 1000} s, ${missing.join(', ')} missing; the logs say more`);
    await pause(40);
  }
};

/**
 * Settles when it has been told to stop and nothing runs any more. @throws StartRefused, or the
 * error of a failed start.
 * @param begun of a first start: the process that makes the network, loading since before this file
 * was loaded.
 */
export const launch = async (environment: Environment, stop: AbortSignal, say: Say, begun?: Maker): Promise<void> => {
  const since = performance.now();
  const settings = readSettings(environment);
  const home = openHome(environment);
  const localFile = join(home, 'local.json');
  const lock = lockHome(home);
  if (lock === undefined) {
    const other = readJson(localFile, launcherShape);
    const where = other === undefined ? '' : ` (process ${other.pids.launcher}, ${other.base_url})`;
    throw new StartRefused(`Antipode already runs on ${home}${where}: stop that one first, or choose another folder with ANTIPODE_HOME`);
  }
  removeLocalFile(localFile);
  await endLeftovers(home, say);
  const state = openState(home, Date.now());
  const cache = openCache(environment, home);
  const logs = openFolders(home);
  const record = openProcessRecord(home);
  let rewrite = (): void => undefined;
  let maker = begun;
  const processes = createProcesses({
    say,
    onStarted: (name, pid) => {
      record.note(name, pid);
      rewrite();
    },
  });
  const stopped = Promise.withResolvers<void>();
  stop.addEventListener('abort', () => stopped.resolve(), { once: true });

  const raise = async (): Promise<void> => {
    const faults = await faultsOfOwnDependencies(settings);
    if (faults.length > 0) throw new ConfigurationFault(faults);
    const port = await choosePort(settings, state);
    state.ports.http = port;
    const receivers = await choosePingReceivers(state);
    state.ports.ears = receivers;
    keepState(home, state);
    // Where each probe receives pings, besides the base URL: the addresses last as long as their
    // ports are free.
    const addresses = sites.map(({ name }) => [name, `http://127.0.0.1:${receivers[name]}`] as const);
    writeJson(join(home, 'heartbeat-urls.json'), Object.fromEntries(addresses));
    say('starting the database and the bus');
    const common = inherited(environment, compileCacheIn(cache));
    if (Object.keys(state.made).length === 0) maker ??= summonMaker(common);
    const services = await startLocalServices({ home, cache, logs, settings, state, processes, say }, environment.PATH ?? '');
    await maker?.loaded;
    const host = ['0.0.0.0', '::', '127.0.0.1'].includes(settings.host) ? '127.0.0.1' : settings.host;
    const direct = `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
    const base = settings.baseUrl ?? direct;
    const ours = {
      ANTIPODE_HOME: home,
      DATABASE_URL: services.databaseUrl,
      ...services.bus,
      DATA_DIR: join(home, 'coordinator'),
      SECRET_KEY: settings.secretKey ?? state.secretKey,
      ...(settings.previousKey === undefined ? {} : { SECRET_KEY_PREVIOUS: settings.previousKey }),
      HOST: settings.host,
      PORT: String(port),
      BASE_URL: base,
      ...signUpEnvironment(environment, settings),
    };
    writeJson(environmentFile(home), ours);
    const key = networkKey(services, settings);
    const keep = (made: HomeState['made'][string]): void => {
      state.made[key] = made;
      keepState(home, state);
    };
    const known = state.made[key] ?? { probes: {} };
    if (known.apiToken === undefined) say('making a local organisation, an owner with a token, and three probes');
    const startCoordinator = (): unknown =>
      processes.start({
        command: {
          name: 'coordinator',
          file: process.execPath,
          args: [coordinatorMain],
          cwd: projectFolder,
          env: { ...common, ...ours },
          stopSignal: 'SIGTERM',
          log: join(logs, 'coordinator.log'),
        },
      });
    // It takes longest, so it starts at once on a database that is certainly ours. A refused start
    // must not touch the user's own database.
    const isOwnDatabase = settings.databaseUrl !== undefined;
    if (!isOwnDatabase) startCoordinator();
    const make = async (): Promise<Network> => {
      const order = { environment: ours, isOwnDatabase, known };
      maker ??= summonMaker(common);
      return await makeNetwork({ maker, order, keep });
    };
    const network = asNetwork(known) ?? (await make());
    if (stop.aborted) return;
    if (isOwnDatabase) startCoordinator();
    const natsUrl = services.bus.NATS_URL;
    if (settings.allowCidrs === '')
      say('anyone may sign up here (SIGN_UP=open): checks reach public addresses only; PROBE_ALLOW_CIDRS opens more');
    startProbes(processes, { home, logs, settings, natsUrl, common, receivers }, network);
    const [signInUrl] = await Promise.all([makeSignInLink(network.email, { ...common, ...ours }, stop), awaitNetwork(direct, stop, say)]);
    if (stop.aborted || signInUrl === undefined) return;
    const describe = (): LocalFile => ({
      base_url: base,
      sign_in_url: signInUrl,
      api_token: network.apiToken,
      email: network.email,
      password: network.password,
      database_url: services.databaseUrl,
      nats_url: natsUrl,
      pids: {
        launcher: process.pid,
        coordinator: processes.pid('coordinator'),
        nats: processes.pid('nats'),
        postgres: processes.pid('postgres'),
        probes: { Frankfurt: processes.pid('Frankfurt'), Virginia: processes.pid('Virginia'), Singapore: processes.pid('Singapore') },
      },
    });
    rewrite = () => writeLocalFile(localFile, describe());
    rewrite();
    processes.settle();
    sayReady(say, describe(), localFile, performance.now() - since);
  };

  try {
    await Promise.race([raise(), processes.trouble, stopped.promise]);
    await stopped.promise;
    say('stopping');
  } finally {
    rewrite = () => undefined;
    maker?.kill();
    await processes.dismiss();
    removeLocalFile(localFile);
    lock.release();
  }
};

const sayReady = (say: Say, { base_url, sign_in_url, api_token }: LocalFile, file: string, tookMs: number): void => {
  say(`ready after ${(tookMs / 1000).toFixed(1)} s

  enter   ${sign_in_url}
          signs you in, once
  API     ${base_url}/api/v1
  token   ${api_token}
  docs    ${base_url}/docs
  try     in a second terminal, here; the outage is confirmed within seconds of the second line:
          node -e "require('http').createServer((_, answer) => answer.end('up')).listen(9123)" &
          npx antipode monitors create --type https --target http://127.0.0.1:9123/ --name Demo --interval-s 10
          sleep 15; kill %1; sleep 15; npx antipode incidents list

  Ctrl-C stops it. The same for programs: ${file}
`);
};
