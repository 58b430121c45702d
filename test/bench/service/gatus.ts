import { execFile, spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../../../deploy/local/home.ts';
import { cpuOf, find, stop } from '../processes.ts';

/**
 * Gatus, as a service of its own with SQLite: the one of this machine, or else built from its Go
 * module where Go is at hand. It has no lock, so that its checks do not wait for each other.
 */
export type Gatus = {
  readonly pid: number;
  readonly cpuMs: () => number;
  readonly close: () => Promise<void>;
};

/** The newest that the module proxy gives. */
export const gatusVersion = 'v5.0.0';

export async function startGatus(
  folder: string,
  {
    url,
    count,
    interval_s,
    authority,
  }: {
    readonly url: string;
    readonly count: number;
    readonly interval_s: number;
    readonly authority: string;
  },
): Promise<Gatus | undefined> {
  const program = await gatusProgram(folder);
  if (program === undefined) return undefined;
  const config = join(folder, 'gatus.yaml');
  await writeFile(
    config,
    JSON.stringify({
      web: { address: '127.0.0.1', port: await freePort() },
      'disable-monitoring-lock': true,
      storage: { type: 'sqlite', path: join(folder, 'gatus.db') },
      endpoints: Array.from({ length: count }, (_, nth) => ({
        name: `m${nth + 1}`,
        url: `${url}/${nth + 1}`,
        interval: `${interval_s}s`,
        conditions: ['[STATUS] == 200'],
      })),
    }),
  );
  const child = spawn(program, {
    env: { GATUS_CONFIG_FILE: config, GATUS_CONFIG_PATH: config, SSL_CERT_FILE: authority },
    stdio: 'ignore',
  });
  const { pid } = child;
  if (pid === undefined) throw new Error('Gatus did not start');
  return { pid, cpuMs: () => cpuOf(pid), close: () => stop(child) };
}

/** Its file; undefined where it is neither on this machine nor can be built. */
export async function gatusProgram(folder: string): Promise<string | undefined> {
  return find('gatus') ?? (await build(folder));
}

async function build(folder: string): Promise<string | undefined> {
  const go = find('go');
  if (go === undefined) return undefined;
  const source = join(folder, 'gatus');
  await mkdir(source);
  await writeFile(
    join(source, 'go.mod'),
    `module bench\ngo 1.22\nrequire github.com/TwiN/gatus/v5 ${gatusVersion}\n`,
  );
  const program = join(folder, 'gatus-program');
  await promisify(execFile)(go, ['build', '-o', program, 'github.com/TwiN/gatus/v5'], {
    cwd: source,
    env: { ...process.env, GOFLAGS: '-mod=mod' },
  });
  return program;
}
