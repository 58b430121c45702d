/** What is known of a process by its number, so that a number that meanwhile belongs to somebody else is never signalled. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { signal } from './local-child.ts';

export type Process = { readonly pid: number; readonly started: string; readonly command: string };

const fromProc = async (pid: number): Promise<Process> => {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The name in brackets may itself hold brackets and spaces: the fields are counted from its end.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (fields[0] === 'Z') throw new Error('a zombie runs no more');
  const command = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ').trim();
  return { pid, started: fields[19] ?? '', command };
};

const fromPs = async (pid: number): Promise<Process> => {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'lstart=,args=', '-p', String(pid)], {
    env: { LC_ALL: 'C', PATH: '/bin:/usr/bin' },
  });
  return { pid, started: stdout.slice(0, 24), command: stdout.slice(24).trim() };
};

export const findProcess = async (pid: number): Promise<Process | undefined> => {
  if (!signal(pid, 0)) return undefined;
  return await (process.platform === 'linux' ? fromProc(pid) : fromPs(pid)).catch(() => undefined); // It ended while it was looked at.
};

/** Asks a process to end by these signals in turn, two seconds each; false when it outlived them all. */
export const endProcess = async (pid: number, signals: readonly NodeJS.Signals[]): Promise<boolean> => {
  signal(pid, 'SIGCONT'); // A stopped process hears nothing else.
  for (const name of signals) {
    signal(pid, name);
    for (let tries = 0; tries < 100; tries++) {
      if ((await findProcess(pid)) === undefined) return true;
      await pause(20);
    }
  }
  return false;
};
