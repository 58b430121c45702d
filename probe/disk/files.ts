import { accessSync, constants } from 'node:fs';
import { type FileHandle, mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { dirname, join } from 'node:path';
import { ConfigurationFault } from '../../shared/base/env.ts';
import { codeOf } from '../../shared/base/errors.ts';
import { type Lock, lockFile } from '../../shared/base/lock.ts';
import { makeFolder } from '../../shared/base/process.ts';

/**
 * What the probe keeps on disk: small files that are replaced whole, and append-only logs of lines.
 */

/**
 * Replaces a file atomically: a reader finds the old text or the new one, never half of one.
 * `durable`: the text survives a power loss once this has settled. Without it, the text survives
 * only the end of the process.
 */
export async function replaceFile(
  path: string,
  text: string,
  options: { readonly durable: boolean },
): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const next = `${path}.next`;
  const handle = await open(next, 'w', 0o600);
  try {
    await handle.writeFile(text);
    if (options.durable) await handle.sync();
  } catch (error) {
    await handle.close();
    await rm(next, { force: true });
    throw error;
  }
  await handle.close();
  await rename(next, path);
  if (options.durable) await syncFolder(dirname(path));
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  await handle.sync().finally(() => handle.close());
}

/** The text of a file; undefined when there is none. */
export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** A new file to append to. Its name survives a power loss. */
export async function createLogFile(path: string): Promise<FileHandle> {
  const handle = await open(path, 'wx', 0o600);
  try {
    await syncFolder(dirname(path));
  } catch (error) {
    // A file handle that is not closed ends the process when it is garbage collected.
    await handle.close();
    throw error;
  }
  return handle;
}

/**
 * Calls for each complete line; a last line that a crash cut off does not count. `from`: where the
 * line begins in the text, `length` in bytes.
 */
export function eachWholeLine(
  text: Buffer,
  onLine: (line: string, from: number, length: number) => void,
): void {
  const lineBreak = 10;
  for (
    let from = 0, end = text.indexOf(lineBreak);
    end >= 0;
    from = end + 1, end = text.indexOf(lineBreak, from)
  )
    onLine(text.toString('utf8', from, end), from, end - from);
}

/**
 * Reserves a data folder for one probe and one process at a time. If two shared it, they would give
 * the same numbers to different results, and the coordinator would take half of them for repeats.
 *
 * A killed process gives the lock back, and leaves a socket that does not answer.
 */
export type Claim = { readonly release: () => Promise<void> };

/** Answers anyone who connects with the probe's health. */
export const socketName = 'in-use';

/**
 * @throws ConfigurationFault when the folder cannot be written to, is another probe's, or another
 * process is using it.
 */
export async function claimDataFolder(
  folder: string,
  probe: string,
  say: () => string = () => '',
): Promise<Claim> {
  const lock = lockFolder(folder);
  try {
    const ownerFile = join(folder, 'probe.id');
    const owner = (await readIfThere(ownerFile))?.trim();
    if (owner !== undefined && owner !== probe)
      throw refused(
        `${folder} holds the data of another probe (${owner}); each needs a folder of its own`,
      );
    if (!lock) throw inUse(folder);
    if (owner === undefined) await replaceFile(ownerFile, `${probe}\n`, { durable: true });
    const server = await answerAt(folder, say);
    server?.unref();
    return {
      release: async () => {
        await new Promise<void>((resolve) => (server ? server.close(() => resolve()) : resolve()));
        lock.release();
      },
    };
  } catch (error) {
    lock?.release();
    throw error;
  }
}

/**
 * The socket is no lock: of two processes that find a killed one's, each would remove that of the
 * other.
 */
const lockName = 'in-use.lock';

/** The folder's lock; undefined when another process holds it. */
function lockFolder(folder: string): Lock | undefined {
  try {
    makeFolder(folder);
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    return lockFile(join(folder, lockName));
  } catch (error) {
    throw refused(
      `${folder} cannot be written to (${error instanceof Error ? error.message : String(error)})`,
    );
  }
}

function refused(why: string): ConfigurationFault {
  return new ConfigurationFault([`PROBE_DATA_DIR: ${why}`]);
}

function inUse(folder: string): ConfigurationFault {
  return refused(`another process of this probe uses ${folder}, or its file system has no locks`);
}

/** The limit of our systems for the path of a socket. */
const longestPath = 100;

/** For the holder of the lock. */
async function answerAt(folder: string, say: () => string): Promise<Server | undefined> {
  const path = join(folder, socketName);
  // Where the path is too long for a socket, no one can ask for the probe's health.
  if (Buffer.byteLength(path) > longestPath) return undefined;
  const first = await listen(path, say);
  if (first) return first;
  // A process of an earlier version takes no lock.
  if (await answers(path)) throw inUse(folder);
  await rm(path, { force: true });
  const second = await listen(path, say);
  if (!second) throw refused(`another process of this probe has just taken ${folder}`);
  return second;
}

function listen(path: string, say: () => string): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined); // The caller is gone.
      socket.end(say());
    });
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(undefined) : reject(error),
    );
    server.listen(path, () => resolve(server));
  });
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
