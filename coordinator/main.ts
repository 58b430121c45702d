import { ConfigurationFault } from '../shared/base/env.ts';
import { keepHeapSmall } from '../shared/base/process.ts';
import { useSystemZones } from '../shared/zones/system.ts';

const usage =
  'node coordinator/main.ts           runs the coordinator, configured by environment variables\nnode coordinator/main.ts operator  runs a command of the operator\nnode coordinator/main.ts --version prints its versions of API, wire and schema\n';

await run();

async function run(): Promise<void> {
  try {
    const [word, ...argv] = process.argv.slice(2);
    if (word === undefined) await serve();
    else if (word === 'operator') await operator(argv);
    else if (word === '--version') process.stdout.write(await told());
    else if (word === '--help' || word === '-h' || word === 'help') process.stdout.write(usage);
    else {
      // A misspelt command must not start a second coordinator.
      process.stderr.write(`unknown command "${word}"\n${usage}`);
      process.exitCode = 2;
    }
  } catch (error) {
    if (!(error instanceof ConfigurationFault)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(2);
  }
}

/** `node coordinator/main.ts` serves until it is told to stop. */
async function serve(): Promise<void> {
  keepHeapSmall();
  // A command of the operator does not load what only the server needs.
  const [{ createApp }, { readConfig }, { createLog }] = await Promise.all([
    import('./app.ts'),
    import('./config.ts'),
    import('../shared/base/log.ts'),
  ]);
  const config = readConfig(process.env);
  const log = createLog({ name: 'coordinator', level: config.LOG_LEVEL });
  await useSystemZones(process.env).catch((error: unknown) =>
    log.warn({ err: error }, "could not use the system's time zones; using those of Node"),
  );
  const app = createApp(config, { log });
  let stopping = false;
  const stop = async (why: string, code: number): Promise<void> => {
    if (stopping) return;
    stopping = true;
    log.info({ why }, 'the coordinator is stopping');
    // A part that does not end must not delay the exit for ever.
    const patience = setTimeout(() => process.exit(1), 10_000 + config.LEAVING_S * 1_000);
    await app
      .close()
      .catch((error: unknown) => log.error({ err: error }, 'the coordinator did not stop cleanly'));
    clearTimeout(patience);
    process.exit(code);
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => void stop(signal, 0));
  for (const event of ['uncaughtException', 'unhandledRejection'] as const)
    process.on(event, (error: unknown) => {
      log.fatal({ err: error }, 'uncaught error; the process restarts');
      void stop(event, 1);
    });
  try {
    await app.start();
  } catch (error) {
    // It was told to end while it waited for its database or its bus.
    if (stopping) return;
    // A fault of the configuration gets a plain message, like a fault of its form.
    const isFault = error instanceof ConfigurationFault;
    if (isFault) process.stderr.write(`${error.message}\n`);
    else log.fatal({ err: error }, 'the coordinator could not start');
    await stop('failed start', isFault ? 2 : 1);
  }
}

/** `node coordinator/main.ts operator …` runs one of the operator's commands. */
async function operator(argv: readonly string[]): Promise<void> {
  const { operate } = await import('./operator/operate.ts');
  const { stdout, stderr } = process;
  // A reader of the beginning only (`| head`) has what it wanted; what was done is done.
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  const streams = {
    out: (text: string) => stdout.write(text),
    err: (text: string) => stderr.write(text),
    watched: stderr.isTTY === true,
  };
  process.exitCode = await operate(argv, process.env, streams);
}

/** The versions that fit together, one on each line. */
async function told(): Promise<string> {
  const { versions } = await import('./health/endpoint.ts');
  return Object.entries(versions())
    .map(([what, version]) => `${what.padEnd(12)} ${version}\n`)
    .join('');
}
