/** For test files: Debian's pgbouncer in front of a database. */
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import postgres from 'postgres';
import { freePort } from '../../deploy/local/home.ts';
import { startChild } from '../../deploy/local/processes.ts';
import { debianProgram, type Program } from './debian.ts';
import { eventually } from './eventually.ts';

/** undefined, said loudly, where it cannot be had: Debian 12 calls its library otherwise than Debian 13. */
export const findPgbouncer = async (): Promise<Program | undefined> =>
  (await debianProgram('pgbouncer', ['pgbouncer', 'libc-ares2'])) ?? (await debianProgram('pgbouncer', ['pgbouncer', 'libcares2']));

export type Pgbouncer = { readonly url: string; readonly stop: () => Promise<void> };

/** With nothing set but what must be: as it refuses parameters that it does not know. */
export const startPgbouncer = async (program: Program, database: string, mode: 'session' | 'transaction'): Promise<Pgbouncer> => {
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
    const sql = postgres(url.href, { max: 1, connect_timeout: 2, onnotice: () => undefined });
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
