/** For test files: coordinators as processes, to be killed, frozen and thawed. */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { eventually } from './eventually.ts';
import { freePort } from './services.ts';

export type CoordinatorProcess = {
  readonly pid: number;
  readonly url: string;
  readonly signal: (name: NodeJS.Signals) => void;
  /** Settles with its exit code; null when a signal ended it. */
  readonly exited: Promise<number | null>;
  /** SIGTERM, and its exit code. */
  readonly stop: () => Promise<number | null>;
  /** SIGKILL, also to one that is frozen. */
  readonly close: () => Promise<void>;
  /** What it has written so far. */
  readonly output: () => string;
};

const main = join(import.meta.dirname, '../../coordinator/main.ts');

/** Settles when it answers that it is well. */
export const startCoordinatorProcess = async (environment: Readonly<Record<string, string>>): Promise<CoordinatorProcess> => {
  const port = await freePort();
  const child: ChildProcess = spawn(process.execPath, [main], {
    env: { ...environment, PORT: String(port), LOG_LEVEL: 'info', PATH: process.env.PATH ?? '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (data: Buffer) => (output += data.toString()));
  const exited = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  const url = `http://127.0.0.1:${port}`;
  const signal = (name: NodeJS.Signals) => void child.kill(name);
  await eventually(async () => (child.exitCode === null ? (await fetch(`${url}/health`)).ok : Promise.reject(new Error(output))), 40_000);
  return {
    ...{ pid: child.pid ?? 0, url, signal, exited },
    stop: () => {
      signal('SIGTERM');
      return exited;
    },
    close: async () => {
      signal('SIGKILL');
      await exited;
    },
    output: () => output,
  };
};
