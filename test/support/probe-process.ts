/** For test files: probes as processes, to be killed, or started where there is no network at all. */
import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { eventually } from './eventually.ts';
import type { MadeProbe } from './network.ts';

export type ProbeProcess = {
  readonly pid: number;
  readonly signal: (name: NodeJS.Signals) => void;
  /** Settles with its exit code; null when a signal ended it. */
  readonly exited: Promise<number | null>;
  readonly output: () => string;
};

type Options = {
  /** In a network namespace of its own that has nothing in it: every connection fails, to targets, anchors and bus alike. */
  readonly withoutNetwork?: boolean;
  readonly environment?: Readonly<Record<string, string>>;
};

const main = join(import.meta.dirname, '../../probe/main.ts');

/** Whether this machine lets us make network namespaces. Says loudly when it does not, because then something is not tested. */
export const canCutNetwork = (): boolean => {
  const can = process.platform === 'linux' && spawnSync('unshare', ['--net', 'true']).status === 0;
  if (!can) process.stderr.write('SKIPPED: a probe without network needs the right to make network namespaces (root, on Linux)\n');
  return can;
};

/** Settles when it is checking. */
export const startProbeProcess = async (made: MadeProbe, options: Options = {}): Promise<ProbeProcess> => {
  const [file, args] = options.withoutNetwork ? ['unshare', ['--net', process.execPath, main]] : [process.execPath, [main]];
  const child = spawn(file, args, {
    env: {
      PROBE_CREDENTIALS: made.credentials,
      PROBE_DATA_DIR: made.folder,
      PROBE_ALLOW_CIDRS: '127.0.0.0/8,::1/128',
      LOG_LEVEL: 'info',
      PATH: process.env.PATH ?? '',
      ...options.environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data: Buffer) => (output = (output + data.toString()).slice(-100_000)));
  const exited = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  await eventually(
    () => (child.exitCode === null && child.signalCode === null ? output.includes('"msg":"checking"') : Promise.reject(new Error(output))),
    30_000,
  );
  return { pid: child.pid ?? 0, signal: (name) => void child.kill(name), exited, output: () => output };
};
