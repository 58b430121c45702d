import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { busVariables, lockHome, readSettings, type Settings } from '../../../deploy/local/home.ts';
import { faultsOfOwnDependencies } from '../../../deploy/local/nats.ts';
import { type Command, signal } from '../../../deploy/local/processes.ts';
import { createBusIdentity } from '../../../shared/bus/identity.ts';
import { eventually } from '../../support/eventually.ts';
import {
  createAccount,
  createDatabase,
  environmentOf,
  freePort,
  type TestAccount,
  type TestDatabase,
} from '../../support/services.ts';

/** A process whose launcher is killed while it is frozen. */
describe('child', () => {
  const hasTie = spawnSync('setpriv', ['--version'], { stdio: 'ignore' }).status === 0;
  const child = join(import.meta.dirname, '../../../deploy/local/processes.ts');

  /** Nobody may fetch what is left of one whose parent is gone. */
  const isGone = async (pid: number): Promise<boolean> => {
    const state = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
    return state === undefined || /\) Z /.test(state);
  };

  /** Until then the kernel has not been told what becomes of it. */
  const isTied = async (pid: number): Promise<boolean> =>
    !(await readFile(`/proc/${pid}/cmdline`, 'utf8')).startsWith('setpriv');

  /** Starts a sleeper as told, says its number, and waits to be killed. */
  const launcher = (command: Command): string => `
  import { startChild } from ${JSON.stringify(child)};
  const started = await startChild(${JSON.stringify(command)});
  process.stdout.write(String(started.pid));
  setInterval(() => undefined, 60_000);`;

  test.runIf(hasTie)(
    'a frozen process does not outlive a killed launcher, where it is told so',
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'antipode-child-'));
      const command: Command = {
        name: 'sleeper',
        file: process.execPath,
        args: ['-e', 'setInterval(() => undefined, 60_000)'],
        stopSignal: 'SIGTERM',
        log: join(folder, 'log'),
      };
      const parent = spawn(process.execPath, ['--input-type=module', '-e', launcher(command)], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const gone = once(parent, 'exit');
      const [said] = await once(parent.stdout, 'data');
      const pid = Number(String(said));
      try {
        await eventually(() => isTied(pid));
        expect(signal(pid, 'SIGSTOP')).toBe(true);
        parent.kill('SIGKILL');
        await gone;
        await eventually(async () => await isGone(pid));
      } finally {
        signal(pid, 'SIGKILL');
        await rm(folder, { recursive: true });
      }
    },
  );
});

describe('a database and a bus of one’s own', () => {
  let database: TestDatabase;
  let account: TestAccount;

  beforeAll(async () => {
    database = await createDatabase();
    account = await createAccount();
  });
  afterAll(async () => {
    await database.drop();
  });

  const changed = (change: (url: URL) => void): string => {
    const url = new URL(database.url);
    change(url);
    return url.href;
  };

  const own = (more: Readonly<Record<string, string>>): Settings =>
    readSettings({ ...environmentOf(database, account), ...more });

  const faultsWith = async (more: Readonly<Record<string, string>>): Promise<string> =>
    (await faultsOfOwnDependencies(own(more))).join('\n');

  test('that accept us have no fault', async () => {
    expect(await faultsOfOwnDependencies(own({}))).toEqual([]);
  });

  test('at a wrong port are reported by the variable and the place, without the password', async () => {
    const port = await freePort();
    const said = await faultsWith({
      DATABASE_URL: changed((url) => {
        url.port = String(port);
      }),
    });
    expect(said).toMatch(
      new RegExp(`^DATABASE_URL: nothing answers at 127\\.0\\.0\\.1:${port}.*check host and port`),
    );
    expect(said).not.toContain(new URL(database.url).password);
  });

  test('of a host without an address, a wrong password, a missing database: each is reported as such', async () => {
    const nowhere = await faultsWith({
      DATABASE_URL: changed((url) => {
        url.hostname = 'nowhere.invalid';
      }),
    });
    expect(nowhere).toMatch(
      /^DATABASE_URL: the host nowhere\.invalid is not known: check its name/,
    );
    const guessed = await faultsWith({
      DATABASE_URL: changed((url) => {
        url.password = 'wr0ngGuess';
      }),
    });
    expect(guessed).toMatch(
      /^DATABASE_URL: the Postgres at .* rejects postgres .*password authentication failed.*check user and password/,
    );
    expect(guessed).not.toContain('wr0ngGuess');
    const absent = await faultsWith({
      DATABASE_URL: changed((url) => {
        url.pathname = '/absent';
      }),
    });
    expect(absent).toMatch(/^DATABASE_URL: the Postgres at .* has no database absent: create it/);
  });

  test('that are both wrong are both reported', async () => {
    const port = await freePort();
    const said = await faultsWith({
      NATS_URL: `nats://127.0.0.1:${port}`,
      DATABASE_URL: `postgres://u:p@127.0.0.1:${port}/d`,
    });
    expect(said).toContain('DATABASE_URL: nothing answers');
    expect(said).toContain(`NATS_URL: nothing answers at nats://127.0.0.1:${port}`);
  });

  test('whose bus refuses the credentials report which', async () => {
    const said = await faultsWith({
      NATS_SYSTEM_CREDENTIALS: createBusIdentity(Date.now()).systemCredentials,
    });
    expect(said).toMatch(/^NATS_SYSTEM_CREDENTIALS: /);
    expect(busVariables.filter((name) => said.includes(`${name}:`))).toEqual([
      'NATS_SYSTEM_CREDENTIALS',
    ]);
  });
});

describe('lock', () => {
  const module = join(import.meta.dirname, '../../../deploy/local/home.ts');
  let home: string;

  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'antipode-lock-'));
  });
  afterEach(async () => {
    await rm(home, { recursive: true, force: true });
  });

  /** It goes on naming the lock: one that nobody can give back any more is garbage, and free. */
  const holder = async () => {
    const text = `const { lockHome } = await import(${JSON.stringify(module)});
    const lock = lockHome(${JSON.stringify(home)}); console.log(lock ? 'held' : 'refused'); setInterval(() => lock, 1000);`;
    const other = spawn(process.execPath, ['--input-type=module', '-e', text], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [said] = await once(other.stdout, 'data');
    return { other, said: String(said).trim() };
  };

  test('a home has one launcher: a second process is refused until the first is gone, even by kill -9', async () => {
    const { other, said } = await holder();
    expect(said).toBe('held');
    expect(lockHome(home)).toBeUndefined();
    other.kill('SIGSTOP');
    expect(lockHome(home)).toBeUndefined();
    const ended = once(other, 'exit');
    other.kill('SIGKILL');
    await ended;
    const lock = lockHome(home);
    expect(lock).toBeDefined();
    lock?.release();
  });

  test('a released lock can be taken again', () => {
    lockHome(home)?.release();
    const again = lockHome(home);
    expect(again).toBeDefined();
    again?.release();
  });
});
