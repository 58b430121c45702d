import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Command, signal } from '../../../deploy/local/processes.ts';
import { eventually } from '../../support/eventually.ts';

/** A process whose launcher is killed while it is frozen. */

const hasTie = spawnSync('setpriv', ['--version'], { stdio: 'ignore' }).status === 0;
const child = join(import.meta.dirname, '../../../deploy/local/processes.ts');

/** Nobody may fetch what is left of one whose parent is gone. */
const isGone = async (pid: number): Promise<boolean> => {
  const state = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  return state === undefined || /\) Z /.test(state);
};

/** Until then the kernel has not been told what becomes of it. */
const isTied = async (pid: number): Promise<boolean> => !(await readFile(`/proc/${pid}/cmdline`, 'utf8')).startsWith('setpriv');

/** Starts a sleeper as told, says its number, and waits to be killed. */
const launcher = (command: Command): string => `
  import { startChild } from ${JSON.stringify(child)};
  const started = await startChild(${JSON.stringify(command)});
  process.stdout.write(String(started.pid));
  setInterval(() => undefined, 60_000);`;

test.runIf(hasTie)('a frozen process outlives no launcher that was killed, where it is told so', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'antipode-child-'));
  const command: Command = {
    ...{ name: 'sleeper', file: process.execPath, args: ['-e', 'setInterval(() => undefined, 60_000)'] },
    ...{ stopSignal: 'SIGTERM', log: join(folder, 'log') },
  };
  const parent = spawn(process.execPath, ['--input-type=module', '-e', launcher(command)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const gone = once(parent, 'exit');
  const [said] = await once(parent.stdout, 'data');
  const pid = Number(String(said));
  try {
    await eventually(() => isTied(pid));
    expect(signal(pid, 'SIGSTOP')).toBe(true);
    parent.kill('SIGKILL');
    await gone;
    await eventually(async () => await isGone(pid));
  } finally {
    signal(pid, 'SIGKILL');
    await rm(folder, { recursive: true });
  }
});
