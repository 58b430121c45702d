import { accessSync, constants, existsSync, readdirSync } from 'node:fs';
import { enableCompileCache, flushCompileCache } from 'node:module';
import { join } from 'node:path';
import { ConfigurationFault } from '../shared/base/env.ts';
import { loadLightly, mayGrow } from '../shared/base/light-loading.ts';
import { keepHeapLean, leanProbe } from '../shared/base/process.ts';

// Modules imported above load before `loadLightly`. Import only what every program loads this way,
// or the compiled code of the others is rejected.

/**
 * Set in the environment of a process that restarted after compiling, so it never restarts twice.
 */
const hasRestarted = 'PROBE_COMPILED';

/**
 * Reports why the probe cannot continue: the message for a user's mistake, the stack too for our
 * own.
 */
const tell = (error: unknown): void => {
  const text = error instanceof ConfigurationFault ? error.message : error instanceof Error ? error.stack : String(error);
  process.stderr.write(`${text}\n`);
};

const filesIn = (folder: string): number => (existsSync(folder) ? readdirSync(folder, { recursive: true }).length : 0);

/**
 * Restarts in the same process with fresh memory. Where the system cannot do that, the process
 * continues.
 */
const restartMonitor = (environment: Readonly<Record<string, string>>): void => {
  try {
    process.execve?.(process.execPath, [process.execPath, ...process.execArgv, ...process.argv.slice(1)], {
      ...process.env,
      ...environment,
    });
  } catch (error) {
    tell(error);
  }
};

const openFolder = async (folder: string): Promise<void> => {
  const { makeFolder } = await loadLightly(() => import('../shared/base/process.ts'));
  try {
    makeFolder(folder);
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw Object.assign(new ConfigurationFault([`PROBE_DATA_DIR: ${folder} cannot be written to (${why})`]), { cause });
  }
};

/** All modules of a probe; those of the ping receiver only if the probe has one. */
export const modulesOfProbe = async (hasPingReceiver: boolean) => {
  const [{ createProbe }, { readConfig }] = await Promise.all([
    import('./app.ts'),
    import('./config.ts'),
    hasPingReceiver ? import('./pings/receiver.ts') : undefined,
  ]);
  return { createProbe, readConfig };
};

/**
 * Reduces memory at rest: once used, the compiler of types holds 27 MB for good. So compiled code
 * is cached beside the probe's data (or where NODE_COMPILE_CACHE says), and a start that had to
 * compile restarts with the cache.
 *
 * Modes of a start: `uncached` (this file was compiled before a cache could be named) → `compiling`
 * (the cache was incomplete) → `compiled`.
 */
const load = async () => {
  const { PROBE_DATA_DIR: folder, PROBE_EAR_PORT: ear, NODE_COMPILE_CACHE: named, [hasRestarted]: isSecond } = process.env;
  if (folder) await openFolder(folder);
  const cache = named ?? (folder && join(folder, 'compiled'));
  if (cache && named === undefined) {
    await openFolder(cache);
    restartMonitor({ NODE_COMPILE_CACHE: cache });
    enableCompileCache(cache);
  }
  const before = cache ? filesIn(cache) : 0;
  const modules = await loadLightly(() => modulesOfProbe(Boolean(ear)));
  flushCompileCache();
  if (cache && isSecond === undefined && filesIn(cache) > before) restartMonitor({ [hasRestarted]: '1' });
  return modules;
};

/**
 * A probe as a process. SIGTERM, SIGINT, or a later process of the same probe end it once its
 * checks are reported and its results are on disk. It then exits with 0, so a supervisor that
 * restarts failed processes does not restart it.
 */
export const runProbe = async (): Promise<void> => {
  try {
    const { createProbe, readConfig } = await load();
    const app = await createProbe(readConfig(process.env));
    process.on('uncaughtException', (error) => {
      if (app.takeFault(error)) return;
      tell(error);
      process.exit(1);
    });
    void app.onBus.then(mayGrow);
    keepHeapLean(leanProbe);
    let isStopping = false;
    const stop = (): void => {
      if (isStopping) return;
      isStopping = true;
      app.close().then(
        () => process.exit(0),
        (error: unknown) => {
          tell(error);
          process.exit(1);
        },
      );
    };
    void app.displaced.then(stop);
    process.on('SIGTERM', stop);
    process.on('SIGINT', stop);
  } catch (error) {
    tell(error);
    process.exit(1);
  }
};

// The first local start reads this file only to compile it; in the single-file probe,
// `probe/program.ts` starts it. There is no top-level await, because such a file could not be
// bundled.
if (import.meta.main) void runProbe();
