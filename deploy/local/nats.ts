import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import type { BusIdentity } from '../../shared/bus/identity.ts';
import { serverFault } from '../../shared/bus/jetstream.ts';
import { unpackDebianPackage } from '../node/debian-package.mjs';
import {
  type BusEnvironment,
  busEnvironment,
  freePort,
  type HomeState,
  type Settings,
} from './home.ts';
import { isPostgresReady, preparePostgres } from './postgres.ts';
import type { Command, Processes } from './processes.ts';

/**
 * Finds a nats-server: the named one, one on the machine, or one that is fetched once into the
 * cache: the official release, else from the machine's own Debian mirror.
 */

export type NatsBinary = {
  readonly file: string;
  readonly version: readonly [major: number, minor: number, patch: number];
};

/**
 * The official release: its SHA-256 sums stand in the recipe of the official container image of
 * that version. Linux only: no such sum was at hand for other systems.
 */
export const release = {
  version: '2.14.1',
  /** Its sources, and the sum that Go's own database has of them. */
  source: {
    module: 'github.com/nats-io/nats-server/v2',
    sum: 'h1:wXs/a5fw9Hzm3CvuzLxGeIwpjPulSa7gMT3eSuhGkcg=',
  },
  sums: {
    x64: {
      name: 'amd64',
      sha256: '4638c389af67d4c747f5b3e6a9d363bfe8f6b86de37d7c4ee3a36b283a5c2ce2',
    },
    arm64: {
      name: 'arm64',
      sha256: '0bdd20ad850e66a484dcb126f6ce610079520b56d9e8518d099e0864ab8171a1',
    },
  },
} as const;

/**
 * @param say told what takes long, in a line each.
 * @param named the file, or a folder that has it, that the user names: no other is taken.
 * @throws one message that says what to install, when no way worked.
 */
export async function obtainNatsServer(
  cache: string,
  path: string,
  say: (line: string) => void,
  named?: string,
): Promise<NatsBinary> {
  if (named !== undefined) {
    const found = await firstRecent([named, join(named, 'nats-server')]);
    if (found === undefined)
      throw new Error(`NATS_SERVER: ${named} is no nats-server of 2.10 or newer that runs here`);
    return found;
  }
  const there = (await onMachine(path)) ?? (await inCache(cache));
  if (there !== undefined) return there;
  const ways = [
    {
      what: `the official release ${release.version}`,
      fetch: (scratch: string) => fromRelease(scratch),
    },
    { what: "this machine's package mirror", fetch: fromMirror },
  ];
  const faults: string[] = [];
  for (const { what, fetch } of ways) {
    await mkdir(cache, { recursive: true });
    const scratch = await mkdtemp(join(cache, 'fetch-'));
    try {
      say(`fetching nats-server (once, into ${cache}) from ${what}`);
      return await keep(cache, await fetch(scratch));
    } catch (cause) {
      const why =
        cause instanceof Error && cause.cause instanceof Error
          ? cause.cause.message
          : String(cause);
      faults.push(`${what}: ${why}`);
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  }
  throw new Error(
    `no nats-server 2.10 or newer could be found or fetched (${faults.join('; ')}). Install it (Debian: apt-get install nats-server; ` +
      'macOS: brew install nats-server; else github.com/nats-io/nats-server/releases) and start again, or name its file with NATS_SERVER, or a running one with NATS_URL.',
  );
}

function onMachine(path: string): Promise<NatsBinary | undefined> {
  return firstRecent(
    [
      ...new Set([...path.split(delimiter), '/usr/sbin', '/usr/local/sbin', '/usr/local/bin']),
    ].flatMap((folder) => (folder === '' ? [] : [join(folder, 'nats-server')])),
  );
}

async function firstRecent(files: Iterable<string>): Promise<NatsBinary | undefined> {
  for (const file of files) {
    const found = await inspect(file);
    if (found !== undefined && isRecent(found)) return found;
  }
  return undefined;
}

const run = promisify(execFile);

async function inspect(file: string): Promise<NatsBinary | undefined> {
  const said = await run(file, ['--version']).catch(() => ({ stdout: '' })); // A file that does not run is as good as none.
  const [, major, minor, patch] = /v(\d+)\.(\d+)\.(\d+)/.exec(said.stdout) ?? [];
  return major === undefined
    ? undefined
    : { file, version: [Number(major), Number(minor), Number(patch)] };
}

/** 2.10 is the oldest that works. */
function isRecent({ version: [major, minor] }: NatsBinary): boolean {
  return major > 2 || (major === 2 && minor >= 10);
}

async function inCache(cache: string): Promise<NatsBinary | undefined> {
  const entries = await readdir(cache).catch(() => []); // No cache yet is an empty one.
  return firstRecent(
    entries
      .filter((entry) => entry.startsWith('nats-server-'))
      .map((entry) => join(cache, entry, 'nats-server')),
  );
}

/** @param machine a kind of machine, as Node names it. */
export async function fromRelease(
  scratch: string,
  machine: string = process.arch,
): Promise<string> {
  const sum =
    process.platform === 'linux' && (machine === 'x64' || machine === 'arm64')
      ? release.sums[machine]
      : undefined;
  if (sum === undefined) throw new Error(`no pinned release for ${process.platform} on ${machine}`);
  const name = `nats-server-v${release.version}-linux-${sum.name}`;
  const impatience = new AbortController();
  const timer = setTimeout(() => impatience.abort(new Error('no answer within 5 s')), 5_000);
  const answer = await fetch(
    `https://github.com/nats-io/nats-server/releases/download/v${release.version}/${name}.tar.gz`,
    {
      signal: AbortSignal.any([impatience.signal, AbortSignal.timeout(120_000)]),
    },
  ).finally(() => clearTimeout(timer));
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  const bytes = Buffer.from(await answer.arrayBuffer());
  const found = createHash('sha256').update(bytes).digest('hex');
  if (found !== sum.sha256) throw new Error(`the checksum is ${found}, expected ${sum.sha256}`);
  await writeFile(join(scratch, 'release.tar.gz'), bytes);
  await run('tar', ['-xzf', join(scratch, 'release.tar.gz'), '-C', scratch]);
  return join(scratch, name, 'nats-server');
}

async function fromMirror(scratch: string): Promise<string> {
  return join(
    await unpackDebianPackage(scratch, 'nats-server', 'stable first'),
    'usr/sbin/nats-server',
  );
}

/**
 * Moves a fetched binary to its place in one step, so that a start beside this one never finds half
 * of it.
 */
async function keep(cache: string, file: string): Promise<NatsBinary> {
  const found = await inspect(file);
  if (found === undefined || !isRecent(found))
    throw new Error('what was fetched is no nats-server of 2.10 or newer');
  const folder = join(cache, `nats-server-${found.version.join('.')}`);
  await mkdir(folder, { recursive: true });
  await rename(file, join(folder, 'nats-server'));
  return { file: join(folder, 'nats-server'), version: found.version };
}

/**
 * nats-server in operator mode: an operator, the system account, one account for coordinators and
 * probes, and the full resolver, so that a revocation pushed to it outlives a restart. Only
 * features of 2.10 are needed.
 */
type NatsOptions = {
  readonly binary: NatsBinary;
  /** Holds the configuration, the account JWTs and JetStream's files. */
  readonly folder: string;
  readonly identity: BusIdentity;
  readonly port: number;
  /** Of its listener for websockets, which a coordinator passes on to; without it there is none. */
  readonly websocketPort?: number;
  readonly log: string;
};

type NatsPlace = {
  readonly folder: string;
  readonly identity: BusIdentity;
  readonly host: string;
  readonly port: number;
  readonly websocketPort?: number | undefined;
};

export function natsConfiguration({
  folder,
  identity,
  host,
  port,
  websocketPort,
}: NatsPlace): string {
  const path = (name: string): string => JSON.stringify(join(folder, name));
  // Ten seconds instead of two minutes between syncs; the spools of the probes are the guarantee,
  // this only spares a replay.
  const sync = 'sync_interval: "10s"';
  // Streams reserve their bounds against this number: by default three quarters of the free disk,
  // so that a small disk refused a start, and a run of tests its thirtieth account. The bounds of
  // the streams themselves are what keeps the disk.
  const store = 'max_file_store: 1TB';
  // A server of several that was away when a probe was revoked lets it in until it has asked the
  // others: two minutes, if they were not told otherwise.
  const interval = 'interval: "10s"';
  const websocket =
    websocketPort === undefined
      ? ''
      : `websocket { host: ${host}, port: ${websocketPort}, no_tls: true, handshake_timeout: "5s" }\n`;
  return `# Rewritten at every start.
host: ${host}
port: ${port}
server_name: antipode-local
operator: ${identity.operatorJwt}
system_account: ${identity.systemAccount}
resolver { type: full, dir: ${path('accounts')}, allow_delete: true, ${interval} }
resolver_preload {
  ${identity.systemAccount}: ${identity.systemJwt}
  ${identity.account}: ${identity.accountJwt}
}
jetstream { store_dir: ${path('store')}, ${store}, ${sync} }
${websocket}`;
}

/** Writes the configuration and says how to run it. */
export async function prepareNats(options: NatsOptions): Promise<Command> {
  await mkdir(options.folder, { recursive: true, mode: 0o700 });
  const file = join(options.folder, 'nats.conf');
  const { binary, folder, identity, port, websocketPort } = options;
  const host = '127.0.0.1';
  await writeFile(file, natsConfiguration({ folder, identity, host, port, websocketPort }), {
    mode: 0o600,
  });
  return {
    name: 'nats',
    file: binary.file,
    args: ['-c', file],
    // Threads of Go that pass work on to each other wake each other a hundred times a second.
    env: { GOMAXPROCS: '1' },
    stopSignal: 'SIGTERM',
    log: options.log,
  };
}

/** One try to be greeted: a nats-server sends its INFO line as soon as it takes clients. */
export async function greetsOn(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ port, host: '127.0.0.1', timeout: 1_000 });
  socket.once('data', (greeting) => resolve(greeting.toString('latin1').startsWith('INFO ')));
  for (const end of ['error', 'timeout', 'close'] as const) socket.once(end, () => resolve(false));
  return await promise.finally(() => socket.destroy());
}

/**
 * A line for each of the database and the bus that a person brings that does not let us in; none
 * when there is no such part, or all is well. Asked before anything is started, so that every fault
 * is told at once.
 */
export async function faultsOfOwnDependencies({
  databaseUrl,
  bus,
  busAuthority,
}: Settings): Promise<readonly string[]> {
  const faults = await Promise.all([
    databaseUrl === undefined ? [] : faultsOfDatabase(databaseUrl),
    bus === undefined ? [] : faultsOfBus(bus, busAuthority),
  ]);
  return faults.flat();
}

async function faultsOfDatabase(url: string): Promise<readonly string[]> {
  const [{ connect }, { whyUnreachable }] = await Promise.all([
    import('../../coordinator/database/connect.ts'),
    import('../../coordinator/database/startup.ts'),
  ]);
  const sql = connect(url, { name: 'antipode start', connections: 1 });
  try {
    await sql`select 1`;
    return [];
  } catch (error) {
    return [
      `DATABASE_URL: ${whyUnreachable(error, url) ?? (error instanceof Error ? error.message : String(error))}`,
    ];
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/**
 * Both users must be let in: the coordinator's own, and the one who hands revocations to the
 * server.
 */
async function faultsOfBus(
  bus: BusEnvironment,
  ca: Settings['busAuthority'],
): Promise<readonly string[]> {
  const { connectOnce } = await import('../../shared/bus/nats.ts');
  const url = bus.NATS_URL;
  const faultWith = async (
    name: 'NATS_CREDENTIALS' | 'NATS_SYSTEM_CREDENTIALS',
  ): Promise<string | undefined> => {
    try {
      await connectOnce({ url, ca, credentials: bus[name] });
      return undefined;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      const isAboutUser = /authori[sz]ation|authentication|credentials|nonce|seed|key/i.test(why);
      if (/tls|certificate|issuer|altname/i.test(why))
        return `NATS_URL: the bus at ${url} has no TLS that can be relied on (${why}): check its certificate and NATS_CA`;
      return isAboutUser
        ? `${name}: the bus at ${url} does not take them (${why}): check that they are of an account of that server`
        : `NATS_URL: nothing answers at ${url} (${why}): check host and port, and that a nats-server runs there`;
    }
  };
  const faults = await Promise.all([
    faultWith('NATS_CREDENTIALS'),
    faultWith('NATS_SYSTEM_CREDENTIALS'),
  ]);
  return [...new Set(faults.filter((fault) => fault !== undefined))];
}

/** The database and the bus: the embedded ones, started; or the person's own, taken as they are. */
type Ground = {
  readonly home: string;
  readonly cache: string;
  readonly logs: string;
  readonly settings: Settings;
  readonly state: HomeState;
  readonly processes: Processes;
  readonly say: (line: string) => void;
};

export type LocalServices = {
  readonly databaseUrl: string;
  readonly bus: BusEnvironment;
  /** Where the coordinator finds the bus's listener for websockets, if it has one. */
  readonly websocket: string | undefined;
};

export async function startLocalServices(ground: Ground, path: string): Promise<LocalServices> {
  const { settings } = ground;
  const [databaseUrl, { bus, websocket }] = await Promise.all([
    settings.databaseUrl ?? startPostgres(ground),
    settings.bus === undefined
      ? startNats(ground, path)
      : { bus: settings.bus, websocket: undefined },
  ]);
  return { databaseUrl, bus, websocket };
}

export async function startPostgres({
  home,
  cache,
  logs,
  state,
  processes,
  say,
}: Ground): Promise<string> {
  const port = await freePort(state.ports.postgres);
  state.ports.postgres = port;
  const log = join(logs, 'postgres.log');
  const prepared = await preparePostgres({
    home,
    cache,
    port,
    password: state.postgresPassword,
    log,
    say,
  });
  await processes.start(prepared.command, ({ pid }) => isPostgresReady(prepared.folder, pid));
  return prepared.url;
}

async function startNats(
  { home, cache, logs, settings, state, processes, say }: Ground,
  path: string,
): Promise<Omit<LocalServices, 'databaseUrl'>> {
  const binary = await obtainNatsServer(cache, path, say, settings.natsServer);
  const port = await freePort(state.ports.nats);
  const websocketPort = await freePort(state.ports.websocket);
  Object.assign(state.ports, { nats: port, websocket: websocketPort });
  const log = join(logs, 'nats.log');
  // Through the coordinator it would be reached by whoever reaches that.
  const around = [
    `http://${settings.host.includes(':') ? `[${settings.host}]` : settings.host}`,
    settings.baseUrl ?? [],
  ].flat();
  const isOffered = serverFault(binary.version.join('.'), around) === undefined;
  const command = await prepareNats({
    binary,
    folder: join(home, 'nats'),
    identity: state.bus,
    port,
    websocketPort,
    log,
  });
  await processes.start(command, () => greetsOn(port));
  return {
    bus: busEnvironment(state.bus, `nats://127.0.0.1:${port}`),
    websocket: isOffered ? `ws://127.0.0.1:${websocketPort}` : undefined,
  };
}
