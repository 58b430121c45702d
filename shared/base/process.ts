import { existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import manifest from '../../package.json' with { type: 'json' };
import { codeOf } from './errors.ts';

/**
 * Keeps V8's heap near its live size: garbage is collected before there is more of it than of what
 * is live. Without this, 100,000 monitors take twice the memory. For use before the modules are
 * loaded: V8 rejects cached code that was compiled under other flags.
 *
 * The space of new objects may grow with the load: a fixed one saves nothing at rest, and takes a
 * fifth of a busy probe's CPU.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--heap-growing-percent=100');
  returnMemoryOfStart();
}

const startedWithinMs = 20_000;

/**
 * Loading the modules lets the space of new objects grow to a third of the process, and V8 shrinks
 * it only in the collection that it does when memory runs out. One such collection after the start
 * takes a fifth of a second.
 */
export function returnMemoryOfStart(): void {
  setFlagsFromString('--expose-gc');
  const collect: NodeJS.GCFunction = runInNewContext('gc');
  setTimeout(
    () => void collect({ type: 'major', execution: 'sync', flavor: 'last-resort' }),
    startedWithinMs,
  ).unref();
}

/**
 * Why nothing can listen there, in words for the operator who chose HOST and PORT; undefined for
 * any other error.
 */
export function listenObstacle(error: unknown, port: number, host: string): string | undefined {
  const code = codeOf(error);
  if (code === 'EADDRINUSE') return `port ${port} is taken`;
  if (code === 'EACCES') return `port ${port} needs more privileges`;
  const isAboutHost =
    error instanceof Error &&
    'syscall' in error &&
    (error.syscall === 'listen' || error.syscall === 'getaddrinfo');
  if (!isAboutHost) return undefined;
  return `HOST=${host} is no address of this machine (${code}): use 127.0.0.1 for this machine only, 0.0.0.0 for all its networks`;
}

/**
 * Makes a folder and its missing parents, at a path that a user chose. Node's own `recursive` never
 * returns where a folder accepts no subfolder and reports "no such file", as `/proc` does. @throws
 * when it cannot be made.
 */
export function makeFolder(folder: string, mode = 0o700): void {
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return;
    const above = dirname(folder);
    if (codeOf(error) !== 'ENOENT' || existsSync(above)) throw error;
    makeFolder(above, mode);
    makeFolder(folder, mode);
  }
}

/** The version of everything in this package, sent in user agents, presence and documents. */
export const version: string = manifest.version;
