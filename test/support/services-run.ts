import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '../../coordinator/database/connect.ts';
import { migrate } from '../../coordinator/database/migrate.ts';
import { freePort, openCache } from '../../deploy/local/home.ts';
import { greetsOn, obtainNatsServer, prepareNats } from '../../deploy/local/nats.ts';
import {
  endLeftPostgres,
  findPostgresPackage,
  isPostgresReady,
  preparePostgres,
} from '../../deploy/local/postgres.ts';
import {
  awaitReady,
  type Child,
  type Command,
  findProcess,
  startChild,
} from '../../deploy/local/processes.ts';
import type { Continent } from '../../shared/base/continents.ts';
import { type BusIdentity, createBusIdentity } from '../../shared/bus/identity.ts';

/**
 * Which way a run of tests gets its Postgres and its nats-server. Pure: what was found out is an
 * argument.
 */

type Way = 'binaries' | 'containers';

type Circumstances = {
  /** What the person asked for with TEST_SERVICES. */
  readonly wanted: string | undefined;
  /** Why the binary of a part cannot be had, a line each; empty where both can. */
  readonly binaryFaults: readonly string[];
  /** Why no Docker engine answers; undefined where one does. */
  readonly engineFault: string | undefined;
};

/**
 * Whether it matters if an engine answers: asking takes a third of a second, which the usual run
 * does not pay.
 */
export const needsEngine = ({
  wanted,
  binaryFaults,
}: Pick<Circumstances, 'wanted' | 'binaryFaults'>): boolean =>
  wanted === 'containers' || binaryFaults.length > 0;

/**
 * @throws when no way is left, or the one that was asked for does not exist, with what to do about
 * it.
 */
export const wayToServices = ({ wanted, binaryFaults, engineFault }: Circumstances): Way => {
  if (wanted !== undefined && wanted !== 'containers')
    throw new Error(`TEST_SERVICES is ${wanted}: it may be containers, or not set`);
  if (wanted === undefined && binaryFaults.length === 0) return 'binaries';
  if (engineFault === undefined) return 'containers';
  const why =
    wanted === undefined
      ? binaryFaults.join('; ')
      : 'TEST_SERVICES=containers asks for a Docker engine';
  throw new Error(
    `The tests have no Postgres and nats-server: ${why}. Nor does a Docker engine answer, which would run both: ${engineFault}`,
  );
};

/**
 * One Postgres and one nats-server for a run of tests (or a bench): the same binaries, prepared by
 * the same code, as `npm start` uses, with durability turned off; where no binary can be had but a
 * Docker engine answers, both from containers. They die with the process that started them, also
 * when it is killed.
 */

/** What a test file needs to know; plain data, so that it crosses into vitest's workers. */
export type Services = {
  /** Tests of the binaries themselves have nothing to test where there are none. */
  readonly from: Way;
  readonly postgres: { readonly url: string; readonly template: string };
  readonly nats: {
    readonly url: string;
    /** Its listener for websockets; containers have none. */
    readonly websocket?: string;
    readonly version: readonly [number, number, number];
    readonly identity: BusIdentity;
    /** What coordinators are to be set to besides, where it is a bus of several servers. */
    readonly settings?: Readonly<Record<string, string>>;
    /** Where probes of a continent dial it, if not where everybody does. */
    readonly near?: Readonly<Partial<Record<Continent, string>>>;
  };
};

const prefix = 'antipode-test-';

/**
 * Ends and removes what runs left behind that were killed where no kernel could tie their children
 * to them.
 */
const clearLeftovers = async (within: string): Promise<void> => {
  for (const entry of await readdir(within)) {
    const [, owner] = /^antipode-test-(\d+)-/.exec(entry) ?? [];
    if (owner === undefined || (await findProcess(Number(owner))) !== undefined) continue;
    const folder = join(within, entry);
    await endLeftPostgres(join(folder, 'postgres'));
    await rm(folder, { recursive: true, force: true }).catch(() => undefined); // Another user's is not ours to remove.
  }
};

/**
 * A port is free until somebody takes it: a server that could not bind is tried once more on
 * another.
 */
const startWithPort = async (
  prepare: (
    port: number,
  ) => Promise<{ command: Command; isReady: (child: Child) => Promise<boolean> }>,
) => {
  for (let tries = 1; ; tries++) {
    const port = await freePort();
    const { command, isReady } = await prepare(port);
    const child = await startChild(command);
    try {
      await awaitReady(child, command.log, () => isReady(child));
      return { child, port };
    } catch (error) {
      await child.stop(1_000);
      if (tries === 3) throw error;
    }
  }
};

const say = (line: string): void => void process.stderr.write(`${line}\n`);

const faultOf = async (look: () => unknown): Promise<readonly string[]> => {
  try {
    await look();
    return [];
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
};

const chooseWay = async (cache: string): Promise<Way> => {
  const wanted = process.env.TEST_SERVICES || undefined;
  const looks = [findPostgresPackage, () => obtainNatsServer(cache, process.env.PATH ?? '', say)];
  const binaryFaults =
    wanted === 'containers' ? [] : (await Promise.all(looks.map(faultOf))).flat();
  const engineFault = needsEngine({ wanted, binaryFaults })
    ? await (await import('./services-containers.ts')).engineFault()
    : undefined;
  return wayToServices({ wanted, binaryFaults, engineFault });
};

const password = 'test';
const settings = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  // A database of a minute has no old segments to write over, as one of days has.
  wal_init_zero: 'off',
  max_connections: '300',
};

type RunningServices = { readonly services: Services; readonly stop: () => Promise<void> };

const describeServices = (from: Way, url: string, nats: Services['nats']): Services => ({
  from,
  postgres: { url, template: new URL(url).pathname.slice(1) },
  nats,
});

/** Brings the template database up to date, by the code that a coordinator uses. */
const migrateAt = async (url: string): Promise<void> => {
  const sql = connect(url, { name: 'test-template', connections: 1 });
  await migrate(sql).finally(() => sql.end());
};

const startInContainers = async (): Promise<RunningServices> => {
  const { startContainers } = await import('./services-containers.ts');
  const identity = createBusIdentity(Date.now());
  const { postgresUrl, nats, stop } = await startContainers(identity, password, settings);
  try {
    await migrateAt(postgresUrl);
  } catch (error) {
    await stop();
    throw error;
  }
  return { services: describeServices('containers', postgresUrl, { ...nats, identity }), stop };
};

const startFromBinaries = async (folder: string, cache: string): Promise<RunningServices> => {
  const children: Child[] = [];
  const folders = [folder];
  const killAll = (): void => {
    for (const child of children) if (child.isRunning()) process.kill(-child.pid, 'SIGKILL');
  };
  process.once('exit', killAll);
  const stop = async (): Promise<void> => {
    await Promise.all(children.map((child) => child.stop(2_000)));
    process.off('exit', killAll);
    for (const used of folders) await rm(used, { recursive: true, force: true });
  };
  const startPostgres = async (): Promise<string> => {
    const log = join(folder, 'postgres.log');
    let url = '';
    const { child } = await startWithPort(async (port) => {
      const prepared = await preparePostgres({
        home: folder,
        cache,
        port,
        password,
        log,
        settings,
        say,
      });
      url = prepared.url;
      if (!folders.includes(prepared.folder)) folders.push(prepared.folder);
      return {
        command: prepared.command,
        isReady: (started) => isPostgresReady(prepared.folder, started.pid),
      };
    });
    children.push(child);
    return url;
  };
  const identity = createBusIdentity(Date.now());
  const startNats = async (): Promise<Services['nats']> => {
    const binary = await obtainNatsServer(cache, process.env.PATH ?? '', say);
    const log = join(folder, 'nats.log');
    let websocketPort = 0;
    const { child, port } = await startWithPort(async (at) => {
      websocketPort = await freePort();
      const place = { folder: join(folder, 'nats'), port: at, websocketPort };
      return {
        command: await prepareNats({ binary, identity, log, ...place }),
        isReady: () => greetsOn(at),
      };
    });
    children.push(child);
    return {
      url: `nats://127.0.0.1:${port}`,
      websocket: `ws://127.0.0.1:${websocketPort}`,
      version: binary.version,
      identity,
    };
  };
  try {
    const pending = [startPostgres(), startNats()] as const;
    await Promise.allSettled(pending); // Both are settled before either's failure is told, or the other would be left running.
    const [url, nats] = await Promise.all(pending);
    await migrateAt(url);
    return { services: describeServices('binaries', url, nats), stop };
  } catch (error) {
    await stop();
    throw error;
  }
};

/** @param within the folder that everything is in. */
export const startServices = async (within = tmpdir()): Promise<RunningServices> => {
  await clearLeftovers(within);
  const folder = await mkdtemp(join(within, `${prefix}${process.pid}-`));
  const removeFolder = () => rm(folder, { recursive: true, force: true });
  try {
    // Postgres runs as nobody where the tests run as root, and must be able to pass through.
    await chmod(folder, 0o711);
    const cache = openCache(process.env, folder);
    if ((await chooseWay(cache)) === 'binaries') return await startFromBinaries(folder, cache);
    say('Postgres and nats-server come from containers; their images are fetched once');
    const running = await startInContainers();
    await removeFolder();
    return running;
  } catch (error) {
    await removeFolder();
    throw error;
  }
};

/**
 * For tests of faults: a Postgres and a nats-server of one's own, durable as in production, to be
 * killed, wiped and started again.
 */

/** A server that dies and lives again, at the same place with what its disk holds. */
export type Mortal = {
  readonly pid: () => number;
  /** kill -9; settles when it is gone. */
  readonly kill: () => Promise<void>;
  /** Settles when it takes connections. */
  readonly start: () => Promise<void>;
};

export type MortalServices = {
  readonly services: Services;
  /** Where Postgres has its data. */
  readonly data: string;
  readonly postgres: Mortal;
  readonly nats: Mortal & {
    /** Only while it is dead: everything that streams held is gone. */ readonly wipe: () => Promise<void>;
  };
  readonly folder: string;
  readonly stop: () => Promise<void>;
};

const mortal = (
  command: Command,
  isReady: (child: Child) => Promise<boolean>,
): Mortal & { readonly stop: () => Promise<void> } => {
  let child: Child | undefined;
  return {
    pid: () => child?.pid ?? 0,
    start: async () => {
      const started = await startChild(command);
      child = started;
      await awaitReady(started, command.log, () => isReady(started));
    },
    kill: async () => {
      if (!child?.isRunning()) return;
      process.kill(child.pid, 'SIGKILL');
      await child.exited;
    },
    stop: async () => {
      await child?.stop(5_000);
    },
  };
};

/** `settings`: those of Postgres, besides the usual. */
export const startMortalServices = async (
  settings: Readonly<Record<string, string>> = {},
): Promise<MortalServices> => {
  const folder = await mkdtemp(join(tmpdir(), `antipode-mortal-${process.pid}-`));
  await chmod(folder, 0o711);
  const cache = openCache(process.env, folder);
  const say = (): void => undefined;
  const [port, natsPort] = [await freePort(), await freePort()];
  const prepared = await preparePostgres({
    home: folder,
    cache,
    port,
    say,
    password: 'test',
    log: join(folder, 'postgres.log'),
    settings: { max_connections: '200', ...settings },
  });
  const postgres = mortal(prepared.command, (child) => isPostgresReady(prepared.folder, child.pid));
  const identity = createBusIdentity(Date.now());
  const binary = await obtainNatsServer(cache, process.env.PATH ?? '', say);
  const natsFolder = join(folder, 'nats');
  const options = {
    binary,
    folder: natsFolder,
    identity,
    port: natsPort,
    log: join(folder, 'nats.log'),
  };
  const nats = mortal(await prepareNats(options), () => greetsOn(natsPort));
  await Promise.all([postgres.start(), nats.start()]);
  await migrateAt(prepared.url);
  return {
    folder,
    data: join(prepared.folder, 'data'),
    postgres,
    nats: { ...nats, wipe: () => rm(join(natsFolder, 'store'), { recursive: true, force: true }) },
    services: {
      from: 'binaries',
      postgres: { url: prepared.url, template: new URL(prepared.url).pathname.slice(1) },
      nats: { url: `nats://127.0.0.1:${natsPort}`, version: binary.version, identity },
    },
    stop: async () => {
      await Promise.all([postgres.stop(), nats.stop()]);
      for (const used of [folder, prepared.folder])
        await rm(used, { recursive: true, force: true });
    },
  };
};
