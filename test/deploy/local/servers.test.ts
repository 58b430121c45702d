import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, cp, mkdir, mkdtemp, readdir, readlink, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, credsAuthenticator } from '@nats-io/transport-node';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { connect as connectDatabase } from '../../../coordinator/database/connect.ts';
import { freePort, obstacleTo, openCache } from '../../../deploy/local/home.ts';
import {
  greetsOn,
  type NatsBinary,
  obtainNatsServer,
  prepareNats,
} from '../../../deploy/local/nats.ts';
import {
  endLeftPostgres,
  isPostgresReady,
  type PreparedPostgres,
  preparePostgres,
} from '../../../deploy/local/postgres.ts';
import {
  awaitReady,
  type Child,
  findProcess,
  signal,
  startChild,
} from '../../../deploy/local/processes.ts';
import { createBusIdentity } from '../../../shared/bus/identity.ts';
import { issueCredentials, keyFromSeed, withRevocations } from '../../../shared/bus/nkeys.ts';
import { eventually } from '../../support/eventually.ts';
import { hasBinaries, pushAccount } from '../../support/services.ts';
import { removeHome } from '../service.ts';

describe('nats', () => {
  let folder: string;
  let binary: NatsBinary;
  const children: Child[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'antipode-nats-'));
    binary = await obtainNatsServer(
      openCache(process.env, folder),
      process.env.PATH ?? '',
      () => undefined,
    );
  });
  afterEach(async () => {
    await Promise.all(children.splice(0).map((child) => child.stop(1_000)));
    await rm(folder, { recursive: true, force: true });
  });

  /** What stands on a machine's PATH: a program that says which version it is. */
  const installed = async (version: string): Promise<string> => {
    const place = join(folder, `bin-${version}`);
    await mkdir(place);
    await writeFile(join(place, 'nats-server'), `#!/bin/sh\necho "nats-server: v${version}"\n`);
    await chmod(join(place, 'nats-server'), 0o755);
    return place;
  };

  const cached = async (version: string): Promise<string> => {
    const cache = join(folder, 'kept');
    await mkdir(join(cache, `nats-server-${version}`), { recursive: true });
    await cp(binary.file, join(cache, `nats-server-${version}`, 'nats-server'));
    return cache;
  };

  describe.runIf(hasBinaries())('a nats-server', () => {
    test('of the machine is used when it is 2.10 or newer', async () => {
      const place = await installed('2.12.1');
      expect(await obtainNatsServer(folder, place, () => undefined)).toEqual({
        file: join(place, 'nats-server'),
        version: [2, 12, 1],
      });
    });

    test('that is older gives way to the one in the cache, without a download', async () => {
      const said: string[] = [];
      const cache = await cached(binary.version.join('.'));
      const found = await obtainNatsServer(cache, await installed('2.9.10'), (line) =>
        said.push(line),
      );
      // A machine with one of its own in the usual places has that taken, and nothing is fetched
      // either way.
      expect(found.version).toEqual(binary.version);
      expect(said).toEqual([]);
    });

    test('that does not run counts as missing', async () => {
      const cache = await cached(binary.version.join('.'));
      const place = await installed('2.12.1');
      await writeFile(join(place, 'nats-server'), '#!/bin/sh\nexit 1\n');
      expect((await obtainNatsServer(cache, place, () => undefined)).version).toEqual(
        binary.version,
      );
    });
  });

  describe.runIf(hasBinaries())('the embedded bus', () => {
    const identity = createBusIdentity(Date.now());

    const start = async (): Promise<string> => {
      const port = await freePort();
      const log = join(folder, 'nats.log');
      const child = await startChild(
        await prepareNats({ binary, folder: join(folder, 'nats'), identity, port, log }),
      );
      children.push(child);
      await awaitReady(child, log, () => greetsOn(port));
      return `nats://127.0.0.1:${port}`;
    };
    const enter = async (url: string, credentials: string): Promise<void> => {
      const authenticator = credsAuthenticator(new TextEncoder().encode(credentials));
      await (await connect({ servers: url, authenticator, reconnect: false })).close();
    };

    test('has kept a revocation after a kill -9, although its first account is preloaded again', async () => {
      const account = keyFromSeed(identity.accountSeed, 'account');
      const probe = issueCredentials({ name: 'p1', account }, Date.now());
      const first = await start();
      await enter(first, probe.credentials);
      const revoked = withRevocations(
        identity.accountJwt,
        { [probe.id]: Math.floor(Date.now() / 1000) },
        keyFromSeed(identity.operatorSeed, 'operator'),
        Date.now() + 1_000,
      );
      await pushAccount(first, identity.systemCredentials, revoked);
      await expect(enter(first, probe.credentials)).rejects.toThrow(/authorization/i);
      for (const child of children.splice(0)) {
        process.kill(child.pid, 'SIGKILL');
        await child.exited;
      }
      const second = await start();
      await expect(enter(second, probe.credentials)).rejects.toThrow(/authorization/i);
      await enter(second, identity.coordinatorCredentials);
    });

    test('refuses clients without credentials', async () => {
      const url = await start();
      await expect(connect({ servers: url, reconnect: false })).rejects.toThrow(/authorization/i);
    });
  });
});

test('a nats-server that is named, by its file or its folder, is the only one that is taken', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'antipode-named-'));
  const named = (file: string) => obtainNatsServer(folder, '', () => undefined, file);
  await writeFile(join(folder, 'nats-server'), '#!/bin/sh\necho "nats-server: v2.14.1"\n');
  await chmod(join(folder, 'nats-server'), 0o755);
  const binary = { file: join(folder, 'nats-server'), version: [2, 14, 1] };
  expect(await named(binary.file)).toEqual(binary);
  expect(await named(folder)).toEqual(binary);
  await expect(named(join(folder, 'other'))).rejects.toThrow(/^NATS_SERVER: .*other is no nats-/);
  await rm(folder, { recursive: true });
});

describe('postgres', () => {
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

  const prepare = async (
    password = 'secret',
  ): Promise<PreparedPostgres & { readonly log: string }> => {
    const log = join(home, 'postgres.log');
    const said = {
      home,
      cache: join(home, 'cache'),
      port: await freePort(),
      password,
      log,
      say: () => undefined,
    };
    return { ...(await preparePostgres(said)), log };
  };

  const start = async (prepared: PreparedPostgres & { readonly log: string }): Promise<Child> => {
    const child = await startChild(prepared.command);
    children.push(child);
    await awaitReady(child, prepared.log, () => isPostgresReady(prepared.folder, child.pid));
    return child;
  };

  /** Its processes outlive a killed server for a moment, and hold its memory. */
  const isAtWorkIn = async (folder: string): Promise<boolean> => {
    const names = await readdir('/proc').catch(() => []);
    const folders = names
      .filter((name) => /^\d+$/.test(name))
      .map((pid) => readlink(`/proc/${pid}/cwd`).catch(() => ''));
    return (await Promise.all(folders)).includes(folder);
  };

  const ask = async (url: string, query: string): Promise<unknown> => {
    const sql = connectDatabase(url, { name: 'test', connections: 1 });
    return await sql.unsafe(query).finally(() => sql.end());
  };

  describe.runIf(hasBinaries())('the embedded Postgres', () => {
    test('keeps what was committed over a kill -9', async () => {
      const prepared = await prepare();
      const first = await start(prepared);
      await ask(
        prepared.url,
        'create table if not exists kept (n int); delete from kept; insert into kept values (7)',
      );
      process.kill(first.pid, 'SIGKILL');
      await first.exited;
      await eventually(async () => !(await isAtWorkIn(join(prepared.folder, 'data'))));
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

    test('starts again where a first start was interrupted', async () => {
      const { folder } = await prepare();
      await rm(join(folder, 'data'), { recursive: true });
      await mkdir(join(folder, 'data.new'));
      await writeFile(join(folder, 'data.new', 'half'), '');
      const prepared = await prepare();
      await start(prepared);
      expect(await ask(prepared.url, 'select current_database() as name')).toEqual([
        { name: 'antipode' },
      ]);
    });

    test('leaves nothing at work in its folder, however it had to be ended', async () => {
      const prepared = await prepare();
      const child = await start(prepared);
      const sql = connectDatabase(prepared.url, { name: 'test', connections: 1 });
      const [session] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
      // A session that stands still does not end when it is asked.
      process.kill(session?.pid ?? 0, 'SIGSTOP');
      await child.stop(100);
      expect(await isAtWorkIn(join(prepared.folder, 'data'))).toBe(false);
      await sql.end({ timeout: 0 });
    });

    test('never runs twice on one folder', async () => {
      const prepared = await prepare();
      await start(prepared);
      await expect(start(await prepare())).rejects.toThrow(
        /lock file "postmaster.pid" already exists/,
      );
      expect(await ask(prepared.url, 'select 1 as one')).toEqual([{ one: 1 }]);
    });

    test('that was left behind is ended, also when it had been paused by a signal', async () => {
      const prepared = await prepare();
      const left = await start(prepared);
      process.kill(left.pid, 'SIGSTOP');
      await endLeftPostgres(prepared.folder);
      await left.exited;
      await start(await prepare());
    });

    test('that was killed has its number until its end is noticed, and is waited for', async () => {
      const parent = spawn('sh', ['-c', 'true & echo $!; exec sleep 1']);
      const pid = Number(await once(parent.stdout, 'data'));
      await eventually(async () => (await findProcess(pid)) === undefined);
      const left = join(home, 'left');
      await mkdir(join(left, 'data'), { recursive: true });
      await writeFile(join(left, 'data/postmaster.pid'), `${pid}\n`);
      await endLeftPostgres(left);
      expect(signal(pid, 0)).toBe(false);
    });
  });
});

describe('ports', () => {
  const open: ReturnType<typeof createServer>[] = [];
  afterEach(() => {
    for (const server of open.splice(0)) server.close();
  });

  const listenAt = async (port: number): Promise<void> => {
    const server = createServer().listen(port, '127.0.0.1');
    open.push(server);
    await once(server, 'listening');
  };

  test('a port that another program has is reported as taken', async () => {
    const port = await freePort();
    await listenAt(port);
    expect(await obstacleTo(port, '127.0.0.1')).toMatch(
      new RegExp(`^port ${port} is taken: choose another`),
    );
    expect(await freePort(port)).not.toBe(port);
  });

  test.each(['192.0.2.1', '999.1.1.1'])(
    'an address that this machine does not have is not reported as a taken port: %s',
    async (host) => {
      for (const port of [0, await freePort()])
        expect(await obstacleTo(port, host)).toMatch(
          new RegExp(`^HOST=${host} is no address of this machine`),
        );
    },
  );

  test('a free port is accepted, and any port', async () => {
    expect(await obstacleTo(await freePort(), '127.0.0.1')).toBeUndefined();
    expect(await obstacleTo(0, '0.0.0.0')).toBeUndefined();
  });
});
