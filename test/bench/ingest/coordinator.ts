import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { freePort } from '../../../deploy/local/home.ts';
import { cores, start } from '../processes.ts';

/**
 * A coordinator as a process on the core of what is measured. `atWork` settles with the time that
 * all its partitions took to be loaded, in milliseconds.
 */
export type Measured = {
  readonly pid: number;
  readonly url: string;
  readonly atWork: Promise<number>;
  /** Settles when it has its first partition: beside another it never has all. */
  readonly joined: Promise<void>;
  readonly stop: () => Promise<void>;
};

const main = new URL('../../../coordinator/main.ts', import.meta.url).pathname;
const partitions = 32;

export const startMeasured = async (
  environment: Readonly<Record<string, string>>,
): Promise<Measured> => {
  const began = performance.now();
  const port = await freePort();
  const child: ChildProcess = start(cores.subject, [process.execPath, main], {
    env: {
      ...environment,
      PORT: String(port),
      LOG_LEVEL: 'debug',
      PATH: process.env.PATH ?? '',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (!child.stdout || child.pid === undefined)
    throw new Error('the coordinator of the bench did not start');
  const loaded = Promise.withResolvers<number>();
  const joined = Promise.withResolvers<void>();
  let count = 0;
  createInterface(child.stdout).on('line', (line) => {
    if (line.includes('a partition has started')) count += 1;
    if (count === 1) joined.resolve();
    if (count === partitions) loaded.resolve(performance.now() - began);
  });
  child.once('exit', () =>
    loaded.reject(new Error('the coordinator of the bench ended by itself')),
  );
  return {
    pid: child.pid,
    url: `http://127.0.0.1:${port}`,
    atWork: loaded.promise,
    joined: joined.promise,
    stop: async () => {
      child.kill('SIGTERM');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    },
  };
};
