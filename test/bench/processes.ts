import { type ChildProcess, execFileSync, type SpawnOptions, spawn } from 'node:child_process';
import { accessSync, constants, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { tied } from '../support/processes.ts';

/** Where a program of the machine is; undefined when it is not installed. */
export const find = (program: string): string | undefined =>
  [...(process.env.PATH ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']
    .map((folder) => join(folder, program))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });

const taskset = find('taskset');

/**
 * The system under test has core 1 to itself, load and targets have core 0; where nothing can be
 * pinned, both run as they come.
 */
export const cores = { subject: 1, load: 0 } as const;

/** Without a core, it runs on all. */
export const pinned = (
  core: number | undefined,
  command: readonly string[],
): [string, ...string[]] => {
  const [program = '', ...given] = command;
  return taskset && core !== undefined
    ? [taskset, '-c', String(core), program, ...given]
    : [program, ...given];
};

export const start = (
  core: number | undefined,
  command: readonly string[],
  options: SpawnOptions = {},
): ChildProcess => {
  const [program = '', ...given] = tied(pinned(core, command));
  return spawn(program, given, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
};

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

/** User and system time that a process has used so far, in milliseconds. */
export const cpuOf = (pid: number): number => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / ticksPerSecond;
};

/** The memory that a process holds now, in MiB. */
export const memoryOf = (pid: number): number => {
  const line = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(line?.[1] ?? Number.NaN) / 1024;
};

export const stop = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve();
    child.once('exit', () => resolve());
    child.kill('SIGKILL');
  });
