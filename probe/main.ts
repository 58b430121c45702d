import { ConfigurationFault } from '../shared/base/env.ts';
import { createProbe } from './app.ts';
import { readConfig } from './config.ts';

/** A probe as a process: SIGTERM and SIGINT end it once its checks are reported and its results are on disk. */
try {
  const app = await createProbe(readConfig(process.env));
  let isStopping = false;
  const stop = (): void => {
    if (isStopping) return;
    isStopping = true;
    app.close().then(
      () => process.exit(0),
      (error: unknown) => {
        process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
} catch (error) {
  process.stderr.write(`${error instanceof ConfigurationFault ? error.message : error instanceof Error ? error.stack : String(error)}\n`);
  process.exit(1);
}
