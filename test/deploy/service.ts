/** The whole service as `npm start` runs it, in a home of its own, for tests of the launcher. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  chown,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { openCache } from '../../deploy/local/home.ts';
import { obtainNatsServer } from '../../deploy/local/nats.ts';
import { signal } from '../../deploy/local/processes.ts';
import { eventually } from '../support/eventually.ts';

export const startCommand = [
  process.execPath,
  join(import.meta.dirname, '../../deploy/local/start.ts'),
] as const;

/**
 * Exactly what is promised: nothing is missing, and nothing is there that a reader would have to
 * ask about.
 */
const localShape = z.strictObject({
  base_url: z.string(),
  sign_in_url: z.string(),
  api_token: z.string(),
  email: z.string(),
  password: z.string(),
  database_url: z.string(),
  nats_url: z.string(),
  pids: z.strictObject({
    launcher: z.number(),
    coordinator: z.number(),
    nats: z.number(),
    postgres: z.number(),
    probes: z.strictObject({ Frankfurt: z.number(), Virginia: z.number(), Singapore: z.number() }),
  }),
});

export type Local = z.infer<typeof localShape>;

export type Service = {
  readonly home: string;
  readonly launcher: ChildProcess;
  /** What it has printed so far. */
  readonly said: () => string;
  readonly local: () => Promise<Local>;
  /** Settles with the first local.json, or rejects with what was printed when it ended before. */
  readonly ready: Promise<Local>;
  readonly exited: Promise<number | null>;
};

type Person = { readonly uid: number; readonly gid: number };

/**
 * A home that Postgres' user can pass through, with the nats-server of this machine in its cache,
 * so that no test waits for a fetch.
 */
export const createHome = async (person?: Person, below = tmpdir()): Promise<string> => {
  const home = await mkdtemp(join(below, 'antipode-home-'));
  const binary = await obtainNatsServer(
    openCache(process.env, home),
    process.env.PATH ?? '',
    () => undefined,
  );
  const kept = join(home, 'cache', `nats-server-${binary.version.join('.')}`);
  await mkdir(kept, { recursive: true });
  await cp(binary.file, join(kept, 'nats-server'));
  await chmod(home, 0o711);
  if (person !== undefined)
    for (const folder of [home, dirname(kept), kept]) await chown(folder, person.uid, person.gid);
  return home;
};

export const startService = (
  home: string,
  person?: Person,
  more: Readonly<Record<string, string>> = {},
  [file, ...words]: readonly [string, ...string[]] = startCommand,
): Service => {
  const env = {
    ...more,
    PATH: process.env.PATH,
    HOME: '/nonexistent',
    ANTIPODE_HOME: home,
    ANTIPODE_CACHE: join(home, 'cache'),
    PORT: '0',
  };
  const launcher = spawn(file, words, {
    env,
    cwd: '/',
    stdio: ['ignore', 'pipe', 'pipe'],
    ...person,
  });
  let text = '';
  for (const stream of [launcher.stdout, launcher.stderr])
    stream.on('data', (chunk) => {
      text += String(chunk);
    });
  const exited = once(launcher, 'close').then(() => launcher.exitCode);
  const local = async (): Promise<Local> =>
    localShape.parse(JSON.parse(await readFile(join(home, 'local.json'), 'utf8')));
  const ready = (async () => {
    const first = eventually(
      async () => (text.includes('Ctrl-C stops it') ? await local() : undefined),
      120_000,
    );
    const ended = exited.then((code) => {
      throw new Error(`the launcher ended with ${code}:\n${text}`);
    });
    return await Promise.race([first, ended]);
  })();
  ready.catch(() => undefined); // A test of a refusal does not wait for it.
  return { home, launcher, said: () => text, local, ready, exited };
};

export const stopService = async ({ launcher, exited }: Service): Promise<number | null> => {
  if (launcher.exitCode === null) signal(launcher.pid ?? 0, 'SIGINT');
  return await exited;
};

export const ask = async (
  url: string,
  token?: string,
): Promise<{ status: number; body: unknown }> => {
  const answer = await fetch(
    url,
    token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } },
  );
  return { status: answer.status, body: await answer.json() };
};

export const isWell = async ({ base_url, api_token }: Local): Promise<boolean> => {
  // Calls with a token are counted: who polls would use up the minute's.
  const { status } = await ask(`${base_url}/health`);
  return status === 200 && (await ask(`${base_url}/api/v1/me`, api_token)).status === 200;
};

/** Of Postgres, which root may have put elsewhere; a start that never came so far has none. */
const dataOf = async (home: string): Promise<string> =>
  resolve(home, (await readFile(join(home, 'postgres.place'), 'utf8').catch(() => '')).trim());

/**
 * The processes that carry the home in their environment or command line, or work in it or in its
 * data, as what Postgres begins does: all that the service consists of.
 */
export const processesOf = async (home: string): Promise<readonly number[]> => {
  const data = await dataOf(home);
  const found: number[] = [];
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry) || Number(entry) === process.pid) continue;
    const read = async (name: string): Promise<string> =>
      await readFile(`/proc/${entry}/${name}`, 'utf8').catch(() => ''); // It ended meanwhile.
    const place = await readlink(`/proc/${entry}/cwd`).catch(() => '');
    const isAtWork = [home, data].some((folder) => `${place}/`.startsWith(`${folder}/`));
    if (
      isAtWork ||
      (await read('environ')).includes(home) ||
      (await read('cmdline')).includes(home)
    )
      found.push(Number(entry));
  }
  return found;
};

export const removeHome = async (home: string): Promise<void> => {
  // A process that is being ended still writes, and one that was looked at may have begun another.
  await eventually(async () => {
    const left = await processesOf(home);
    for (const pid of left) signal(pid, 'SIGKILL');
    return left.length === 0;
  });
  await rm(await dataOf(home), { recursive: true, force: true });
  await rm(home, { recursive: true, force: true });
};
