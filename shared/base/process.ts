import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import manifest from '../../package.json' with { type: 'json' };
import { codeOf } from './errors.ts';

/**
 * Keeps V8's heap near its live size: its young space does not grow with the load, and garbage is
 * collected before there is more of it than of what is live. Without this, 100,000 monitors take
 * twice the memory. The young space has a price: of a coordinator that takes in results (`bench --
 * ingest`) a third more CPU for each, for 1,240 bytes a monitor instead of 1,530. For use before the
 * modules are loaded: V8 rejects cached code that was compiled under other flags.
 */
export const keepHeapSmall = (): void => {
  for (const flag of ['--semi-space-growth-factor=1', '--heap-growing-percent=100'])
    setFlagsFromString(flag);
};

/**
 * Why nothing can listen there, in words for the operator who chose HOST and PORT; undefined for
 * any other error.
 */
export const listenObstacle = (error: unknown, port: number, host: string): string | undefined => {
  const code = codeOf(error);
  if (code === 'EADDRINUSE') return `port ${port} is taken`;
  if (code === 'EACCES') return `port ${port} is not for this user`;
  const isAboutHost =
    error instanceof Error &&
    'syscall' in error &&
    (error.syscall === 'listen' || error.syscall === 'getaddrinfo');
  if (!isAboutHost) return undefined;
  return `HOST=${host} is no address of this machine (${code}): 127.0.0.1 is for this machine alone, 0.0.0.0 for all networks that it is in`;
};

/**
 * Makes a folder and its missing parents, at a path that a user chose. Node's own `recursive` never
 * returns where a folder accepts no subfolder and reports "no such file", as `/proc` does. @throws
 * when it cannot be made.
 */
export const makeFolder = (folder: string, mode = 0o700): void => {
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return;
    const above = dirname(folder);
    if (codeOf(error) !== 'ENOENT' || existsSync(above)) throw error;
    makeFolder(above, mode);
    makeFolder(folder, mode);
  }
};

/** The version of everything in this package, sent in user agents, presence and documents. */
export const version: string = manifest.version;
