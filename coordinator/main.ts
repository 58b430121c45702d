import { ConfigurationFault } from '../shared/base/env.ts';
import { createLog } from '../shared/base/log.ts';
import { readConfig } from './config.ts';

/** `node coordinator/main.ts` serves until it is told to stop. */
const serve = async (): Promise<void> => {
  const config = readConfig(process.env);
  const log = createLog({ name: 'coordinator', level: config.LOG_LEVEL });
  // A command of the operator need not wait for what only serving loads.
  const { createApp } = await import('./app.ts');
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

/** `node coordinator/main.ts operator …` runs one of the operator's commands. */
const operator = async (argv: readonly string[]): Promise<void> => {
  const { operate } = await import('./operate.ts');
  const { stdout, stderr } = process;
  const streams = { out: (text: string) => stdout.write(text), err: (text: string) => stderr.write(text), watched: stderr.isTTY === true };
  process.exitCode = await operate(argv, process.env, streams);
};

try {
  const [word, ...argv] = process.argv.slice(2);
  await (word === 'operator' ? operator(argv) : serve());
} catch (error) {
  if (!(error instanceof ConfigurationFault)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exit(2);
}
