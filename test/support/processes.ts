import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { access, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { bundleDownload, type DownloadName, downloadNames } from '../../coordinator/api/bundles.ts';
import { openCache, openHome } from '../../deploy/local/home.ts';
import { eventually } from './eventually.ts';

/** For test files: one of our programs as a process of its own, to be killed, frozen and thawed. */

export type ChildProgram = {
  readonly pid: number;
  readonly signal: (name: NodeJS.Signals) => void;
  /** Settles with its exit code; null when a signal ended it. */
  readonly exited: Promise<number | null>;
  /** What it has written so far. */
  readonly output: () => string;
};

const tie = ['setpriv', '--pdeathsig', 'KILL'] as const;
/**
 * Where the kernel can be told to, it ends the program with the process of the test, also when that
 * is broken off.
 */
const isTied =
  process.platform === 'linux' && spawnSync(tie[0], [...tie.slice(1), 'true']).status === 0;

export const tied = (command: readonly string[]): readonly string[] =>
  isTied ? [...tie, ...command] : command;

/** What the whole run keeps of code that was compiled: a start takes half the CPU with it. */
const { NODE_COMPILE_CACHE } = process.env;
export const compiled = NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE };

/** Settles when it is up; rejects with what it has written when it ends before that. */
export const startChildProgram = async (
  command: readonly [string, ...string[]],
  environment: Readonly<Record<string, string>>,
  isUp: (output: string) => boolean | Promise<boolean>,
): Promise<ChildProgram> => {
  const [file = '', ...args] = tied(command);
  const child = spawn(file, args, {
    env: { ...compiled, ...environment, PATH: process.env.PATH ?? '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data: Buffer) => (output += data.toString()));
  const exited = new Promise<number | null>((resolve) =>
    child.once('exit', (code) => resolve(code)),
  );
  const endedEarly = exited.then(() => {
    throw new Error(`ended before it was up: ${output}`);
  });
  // One that will never be up ends, or the test does: on a full machine a start may take a minute.
  const isUpInTime = eventually(() => isUp(output), 120_000).catch((cause: unknown) => {
    throw new Error(`was not up in time: ${output}`, { cause });
  });
  await Promise.race([isUpInTime, endedEarly]);
  return {
    pid: child.pid ?? 0,
    signal: (name) => void child.kill(name),
    exited,
    output: () => output,
  };
};

/** For test files: a program run to its end, with what it said. */

export type Said = { readonly code: number | null; readonly out: string; readonly err: string };

export const runProgram = (
  command: readonly [string, ...string[]],
  options: { readonly env?: NodeJS.ProcessEnv; readonly input?: string } = {},
): Promise<Said> =>
  new Promise((resolve, reject) => {
    const [program, ...given] = command;
    const child = spawn(program, given, {
      env: options.env ? { ...compiled, ...options.env } : process.env,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    let out = '';
    let err = '';
    child.stdout.on('data', (chunk) => {
      out += String(chunk);
    });
    child.stderr.on('data', (chunk) => {
      err += String(chunk);
    });
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, out, err }));
    child.stdin.on('error', () => undefined);
    child.stdin.end(options.input ?? '');
  });

/** The downloads as files, as a user has them. */
export const downloaded = async (): Promise<{
  readonly files: Readonly<Record<DownloadName, string>>;
  readonly remove: () => void;
}> => {
  const folder = mkdtempSync(join(tmpdir(), 'antipode-downloads-'));
  const entries = await Promise.all(
    downloadNames.map(async (name): Promise<[DownloadName, string]> => {
      const file = join(folder, name);
      writeFileSync(file, await bundleDownload(name));
      return [name, file];
    }),
  );
  const of = new Map(entries);
  return {
    files: {
      'antipode.mjs': of.get('antipode.mjs') ?? '',
      'antipode-mcp.mjs': of.get('antipode-mcp.mjs') ?? '',
      'antipode-probe.mjs': of.get('antipode-probe.mjs') ?? '',
    },
    remove: () => rmSync(folder, { recursive: true }),
  };
};

/** The machine's own Node, which users have; undefined where the only one is the package's. */
export const machineNode = (): string | undefined =>
  (process.env.PATH ?? '')
    .split(delimiter)
    .filter((folder) => !folder.includes('node_modules'))
    .map((folder) => join(folder, 'node'))
    .find((program) => {
      try {
        return (
          Number(
            execFileSync(program, ['-p', 'process.versions.node'], { encoding: 'utf8' }).split(
              '.',
            )[0],
          ) >= 20
        );
      } catch {
        return false;
      }
    });

/**
 * Programs of Debian for tests and measurements, unpacked into the cache without root; nothing is
 * installed.
 */

const run = promisify(execFile);

export type Program = { readonly file: string; readonly env: Readonly<Record<string, string>> };

const isThere = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  );

const onMachine = async (name: string): Promise<Program | undefined> => {
  for (const folder of [
    ...(process.env.PATH ?? '').split(delimiter),
    '/usr/sbin',
    '/usr/local/sbin',
  ])
    if (folder !== '' && (await isThere(join(folder, name))))
      return { file: join(folder, name), env: {} };
  return undefined;
};

const inFolder = async (folder: string, name: string): Promise<Program | undefined> => {
  for (const place of ['usr/sbin', 'usr/bin', 'bin']) {
    const file = join(folder, place, name);
    if (!(await isThere(file))) continue;
    const libraries = join(folder, 'usr/lib');
    const architectures = await readdir(libraries).catch(() => []); // A program without libraries of its own needs no path to them.
    return {
      file,
      env: { LD_LIBRARY_PATH: architectures.map((one) => join(libraries, one)).join(delimiter) },
    };
  }
  return undefined;
};

/**
 * The program from the machine, the cache, or the machine's own Debian mirror; undefined, said
 * loudly, where none of these has it.
 */
export const debianProgram = async (
  name: string,
  packages: readonly string[],
): Promise<Program | undefined> => {
  const found = await onMachine(name);
  if (found) return found;
  const cache = openCache(process.env, openHome(process.env));
  // A list that grew is fetched anew.
  const kept = join(
    cache,
    `debian-${name}-${createHash('sha256').update(packages.join()).digest('hex').slice(0, 8)}`,
  );
  const cached = await inFolder(kept, name);
  if (cached) return cached;
  await mkdir(cache, { recursive: true });
  const scratch = await mkdtemp(join(cache, 'fetching-'));
  try {
    await run('apt-get', ['download', '-q', ...packages], { cwd: scratch });
    for (const file of await readdir(scratch))
      await run('dpkg', ['-x', file, join(scratch, 'root')], { cwd: scratch });
    await rename(join(scratch, 'root'), kept).catch(async (error: unknown) => {
      // Somebody else was quicker: what they fetched is as good.
      if (!(await isThere(kept))) throw error;
    });
    return await inFolder(kept, name);
  } catch (error) {
    process.stderr.write(
      `SKIPPED: ${name} is not on this machine and could not be obtained: ${String(error)}\n`,
    );
    return undefined;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
};

/**
 * Programs that judge what we speak from outside. They are installed apart, in test/tools: CI has
 * them, a newcomer's install is small.
 */

const folder = resolve(import.meta.dirname, '../tools');

/** The file of such a program; undefined, said loudly, where it is not installed. */
export const judgingTool = (path: string): string | undefined => {
  const file = resolve(folder, 'node_modules', path);
  if (existsSync(file)) return file;
  process.stderr.write(
    `SKIPPED: ${path} judges nothing here: run npm ci in test/tools to have it\n`,
  );
  return undefined;
};
