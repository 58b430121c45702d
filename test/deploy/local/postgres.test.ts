import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import postgres from 'postgres';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../../../deploy/local/home.ts';
import { endLeftPostgres, isPostgresReady, type PreparedPostgres, preparePostgres } from '../../../deploy/local/postgres.ts';
import { awaitReady, type Child, startChild } from '../../../deploy/local/processes.ts';
import { hasBinaries } from '../../support/services.ts';
import { removeHome } from '../service.ts';

let home: string;
const children: Child[] = [];

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'antipode-postgres-'));
  await chmod(home, 0o711);
});
afterEach(async () => {
  await Promise.all(children.splice(0).map((child) => child.stop(2_000)));
});
afterAll(async () => {
  await removeHome(home);
});

const prepare = async (password = 'secret'): Promise<PreparedPostgres & { readonly log: string }> => {
  const log = join(home, 'postgres.log');
  const said = { home, cache: join(home, 'cache'), port: await freePort(), password, log, say: () => undefined };
  return { ...(await preparePostgres(said)), log };
};

const start = async (prepared: PreparedPostgres & { readonly log: string }): Promise<Child> => {
  const child = await startChild(prepared.command);
  children.push(child);
  await awaitReady(child, prepared.log, () => isPostgresReady(prepared.folder, child.pid));
  return child;
};

const ask = async (url: string, query: string): Promise<unknown> => {
  const sql = postgres(url, { max: 1, onnotice: () => undefined, connect_timeout: 5 });
  return await sql.unsafe(query).finally(() => sql.end());
};

describe.runIf(hasBinaries())('the embedded Postgres', () => {
  test('keeps what was committed over a kill -9', async () => {
    const prepared = await prepare();
    const first = await start(prepared);
    await ask(prepared.url, 'create table if not exists kept (n int); delete from kept; insert into kept values (7)');
    process.kill(first.pid, 'SIGKILL');
    await first.exited;
    const again = await prepare();
    await start(again);
    expect(await ask(again.url, 'select n from kept')).toEqual([{ n: 7 }]);
  });

  test('asks for its password', async () => {
    const prepared = await prepare();
    await start(prepared);
    const wrong = prepared.url.replace('secret', 'guess');
    await expect(ask(wrong, 'select 1')).rejects.toThrow(/password authentication failed/);
  });

  test('begins anew where a first start was interrupted', async () => {
    const { folder } = await prepare();
    await rm(join(folder, 'data'), { recursive: true });
    await mkdir(join(folder, 'data.new'));
    await writeFile(join(folder, 'data.new', 'half'), '');
    const prepared = await prepare();
    await start(prepared);
    expect(await ask(prepared.url, 'select current_database() as name')).toEqual([{ name: 'antipode' }]);
  });

  test('is never there twice on one folder', async () => {
    const prepared = await prepare();
    await start(prepared);
    await expect(start(await prepare())).rejects.toThrow(/lock file "postmaster.pid" already exists/);
    expect(await ask(prepared.url, 'select 1 as one')).toEqual([{ one: 1 }]);
  });

  test('that was left behind is ended, also when it had been stopped by a signal', async () => {
    const prepared = await prepare();
    const left = await start(prepared);
    process.kill(left.pid, 'SIGSTOP');
    await endLeftPostgres(prepared.folder);
    await left.exited;
    await start(await prepare());
  });
});
