import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, connect as dial, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type Sql } from '../../coordinator/database/connect.ts';
import { freePort } from '../../deploy/local/home.ts';
import { startChild } from '../../deploy/local/processes.ts';
import { portOf } from './connections.ts';
import { eventually } from './eventually.ts';
import { debianProgram, type Program } from './processes.ts';

/**
 * For test files: a way to a database that lets some connections through and tells others what a
 * Postgres says that still recovers from a crash.
 */

type FickleDatabase = {
  readonly url: string;
  readonly refused: () => number;
  readonly close: () => Promise<void>;
};

const recovering = (): Buffer => {
  const fields = Buffer.from('SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0');
  const head = Buffer.alloc(5, 'E');
  head.writeUInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
};

/** `refuses` is asked about each connection by its number, from 1. */
export const createFickleDatabase = async (
  url: string,
  refuses: (call: number) => boolean,
): Promise<FickleDatabase> => {
  const there = new URL(url);
  const sockets = new Set<Socket>();
  let calls = 0;
  let refused = 0;
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => sockets.delete(socket));
  };
  const server = createServer((from) => {
    keep(from);
    calls += 1;
    if (refuses(calls)) {
      refused += 1;
      from.once('data', () => from.end(recovering()));
      return;
    }
    const to = dial({ host: there.hostname, port: Number(there.port), noDelay: true });
    keep(to);
    from.pipe(to);
    to.pipe(from);
    from.once('close', () => to.destroy());
    to.once('close', () => from.destroy());
  });
  const through = new URL(url);
  through.host = `127.0.0.1:${await portOf(server)}`;
  return {
    url: through.href,
    refused: () => refused,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
};

const ofTheEngine = [
  'journal',
  'watermarks',
  'incidents',
  'incident_evidence',
  'ledger',
  'checkpoints',
  'beats',
  'beat_states',
] as const;

const full = `language plpgsql as $$ begin raise exception 'could not extend file: No space left on device' using errcode = 'disk_full'; end $$`;

/**
 * From now on the database refuses what the engine writes, as one whose disk is full does; all can
 * be read. Gives what ends it.
 */
export const refuseWrites = async (
  sql: Sql,
  only?: string,
  when?: string,
): Promise<() => Promise<void>> => {
  const tables = only === undefined ? ofTheEngine : [only];
  await sql.unsafe(`create or replace function refuse() returns trigger ${full}`);
  const which = when === undefined ? 'for each statement' : `for each row when (${when})`;
  for (const table of tables)
    await sql.unsafe(
      `create trigger refuse before insert or update on ${table} ${which} execute function refuse()`,
    );
  return async () => {
    for (const table of tables) await sql.unsafe(`drop trigger refuse on ${table}`);
  };
};

/** For test files: Debian's pgbouncer in front of a database. */

/**
 * undefined, said loudly, where it cannot be had: Debian 12 calls its library otherwise than Debian
 * 13.
 */
export const findPgbouncer = async (): Promise<Program | undefined> =>
  (await debianProgram('pgbouncer', ['pgbouncer', 'libc-ares2'])) ??
  (await debianProgram('pgbouncer', ['pgbouncer', 'libcares2']));

export type Pgbouncer = { readonly url: string; readonly stop: () => Promise<void> };

/** With nothing set but what must be: as it refuses parameters that it does not know. */
export const startPgbouncer = async (
  program: Program,
  database: string,
  mode: 'session' | 'transaction',
): Promise<Pgbouncer> => {
  const to = new URL(database);
  const folder = await mkdtemp(join(tmpdir(), 'antipode-pgbouncer-'));
  const port = await freePort();
  const place = `host=${to.hostname} port=${to.port || '5432'} user=${to.username} password=${decodeURIComponent(to.password)}`;
  const config = [
    '[databases]',
    `* = ${place}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    `pool_mode = ${mode}`,
    'default_pool_size = 30',
    // It will not run as root.
    ...(process.getuid?.() === 0 ? ['user = nobody'] : []),
    '',
  ].join('\n');
  await writeFile(join(folder, 'pgbouncer.ini'), config);
  await chmod(folder, 0o755);
  const child = await startChild({
    name: 'pgbouncer',
    file: program.file,
    args: [join(folder, 'pgbouncer.ini')],
    env: program.env,
    stopSignal: 'SIGINT',
    log: join(folder, 'log'),
  });
  const stop = async (): Promise<void> => {
    await child.stop(2_000);
    await rm(folder, { recursive: true, force: true });
  };
  const url = new URL(database);
  url.hostname = '127.0.0.1';
  url.port = String(port);
  const isThere = async (): Promise<boolean> => {
    const sql = connect(url.href, { name: 'test', connections: 1 });
    return await sql`select 1`.then(() => true).finally(() => sql.end({ timeout: 0 }));
  };
  try {
    await eventually(isThere, 15_000, 100);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: url.href, stop };
};
