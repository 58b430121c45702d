/** For test files: probes as processes, to be killed, or started where there is no network at all. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { type ChildProgram, startChildProgram } from './child-program.ts';
import type { MadeProbe } from './network.ts';

type Options = {
  /** In a network namespace of its own that has nothing in it: every connection fails, to targets, anchors and bus alike. */
  readonly withoutNetwork?: boolean;
  /** In this one. */
  readonly netns?: string;
  readonly environment?: Readonly<Record<string, string>>;
};

const main = join(import.meta.dirname, '../../probe/main.ts');

/** Whether this machine lets us make network namespaces. Says loudly when it does not, because then something is not tested. */
export const canCutNetwork = (): boolean => {
  const can = process.platform === 'linux' && spawnSync('unshare', ['--net', 'true']).status === 0;
  if (!can) process.stderr.write('SKIPPED: a probe without network needs the right to make network namespaces (root, on Linux)\n');
  return can;
};

const inside = ({ withoutNetwork = false, netns }: Options): readonly string[] => {
  if (netns !== undefined) return ['ip', 'netns', 'exec', netns];
  return withoutNetwork ? ['unshare', '--net'] : [];
};

/** Settles when it is checking. */
export const startProbeProcess = (made: MadeProbe, options: Options = {}): Promise<ChildProgram> => {
  const [first = process.execPath, ...rest] = [...inside(options), process.execPath, main];
  return startChildProgram(
    [first, ...rest],
    {
      PROBE_CREDENTIALS: made.credentials,
      PROBE_DATA_DIR: made.folder,
      PROBE_ALLOW_CIDRS: '127.0.0.0/8,::1/128',
      LOG_LEVEL: 'info',
      ...options.environment,
    },
    (output) => output.includes('"msg":"checking"'),
  );
};
