import { ConfigurationFault } from '../shared/base/env.ts';
import { createLog } from '../shared/base/log.ts';
import { createApp } from './app.ts';
import { readConfig } from './config.ts';

/** `node coordinator/main.ts` serves until it is told to stop. */
const serve = async (): Promise<void> => {
  const config = readConfig(process.env);
  const log = createLog({ name: 'coordinator', level: config.LOG_LEVEL });
  const app = createApp(config, { log });
  let stopping = false;
  const stop = async (why: string, code: number): Promise<void> => {
    if (stopping) return;
    stopping = true;
    log.info({ why }, 'the coordinator stops');
    // Whoever waits for us is not kept waiting by a part that does not end.
    const patience = setTimeout(() => process.exit(1), 10_000);
    await app.close().catch((error: unknown) => log.error({ err: error }, 'the coordinator did not stop cleanly'));
    clearTimeout(patience);
    process.exit(code);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(signal, 0));
  for (const event of ['uncaughtException', 'unhandledRejection'] as const)
    process.on(event, (error: unknown) => {
      log.fatal({ err: error }, 'a fault that nobody caught: the process starts again');
      void stop(event, 1);
    });
  try {
    await app.start();
  } catch (error) {
    log.fatal({ err: error }, 'the coordinator could not start');
    await stop('failed start', 1);
  }
};

try {
  await serve();
} catch (error) {
  if (!(error instanceof ConfigurationFault)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exit(2);
}
