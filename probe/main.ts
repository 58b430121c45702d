import { mkdirSync } from 'node:fs';
import { enableCompileCache, flushCompileCache } from 'node:module';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { ConfigurationFault } from '../shared/base/env.ts';

/** What is said where the probe cannot go on: for a person's mistake its words, for our own also where it happened. */
const tell = (error: unknown): void => {
  const text = error instanceof ConfigurationFault ? error.message : error instanceof Error ? error.stack : String(error);
  process.stderr.write(`${text}\n`);
};

/**
 * Memory at rest: what is compiled once is kept beside the probe's data, which saves every later start the compiler of types (27 MB); and loading
 * 200 modules makes garbage for which V8 would double its young space (10 MB) for good. While it checks it may grow as it likes.
 */
const load = async () => {
  const { PROBE_DATA_DIR: folder } = process.env;
  if (folder) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    enableCompileCache(join(folder, 'compiled'));
  }
  setFlagsFromString('--semi-space-growth-factor=1');
  const [{ createProbe }, { readConfig }] = await Promise.all([import('./app.ts'), import('./config.ts')]);
  flushCompileCache();
  return { createProbe, readConfig };
};

/** A probe as a process: SIGTERM and SIGINT end it once its checks are reported and its results are on disk. */
try {
  const { createProbe, readConfig } = await load();
  const app = await createProbe(readConfig(process.env));
  void app.onBus.then(() => setFlagsFromString('--semi-space-growth-factor=2'));
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
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
} catch (error) {
  tell(error);
  process.exit(1);
}
