/**
 * One process that the launcher started. Modes: running → exited; `stop` asks politely, then kills.
 *
 * Each child leads a process group of its own, so that Ctrl-C in a terminal reaches the launcher only, and so that what a dead child
 * left behind can be ended with it. Where util-linux has `setpriv`, the kernel ends the child when the launcher is killed.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { codeOf } from '../../shared/base/error-code.ts';

export type Command = {
  readonly name: string;
  readonly file: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
  readonly stopSignal: 'SIGINT' | 'SIGTERM';
  /** What ends it when the launcher is killed; the stop signal, unless it may be frozen then: it would hear of no other. */
  readonly orphanSignal?: 'SIGKILL';
  /** The file that its output is appended to. */
  readonly log: string;
};

export type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

export type Child = {
  readonly name: string;
  readonly pid: number;
  readonly exited: Promise<Exit>;
  readonly isRunning: () => boolean;
  /** Settles when it is gone; killed if it did not go within the grace. */
  readonly stop: (graceMs: number) => Promise<Exit>;
};

const runs = async (file: string, args: readonly string[]): Promise<boolean> => {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const tried = spawn(file, args, { stdio: 'ignore' });
  tried.once('error', () => resolve(false));
  tried.once('exit', (code) => resolve(code === 0));
  return await promise;
};

let setpriv: Promise<boolean> | undefined;

/** Whether the kernel can be told to end a child together with us. */
const canTieToLauncher = async (): Promise<boolean> => {
  setpriv ??= process.platform === 'linux' ? runs('setpriv', ['--pdeathsig', 'TERM', 'true']) : Promise.resolve(false);
  return await setpriv;
};

/** Signals a process, or with a negative number a group; false when there is none any more, true also when it is another user's. */
export const signal = (pid: number, name: NodeJS.Signals | 0): boolean => {
  try {
    return process.kill(pid, name);
  } catch (error) {
    if (codeOf(error) === 'ESRCH') return false;
    if (codeOf(error) === 'EPERM') return true;
    throw error;
  }
};

const awaitStart = async (started: ChildProcess, name: string): Promise<number> => {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  started.once('error', (cause) => reject(new Error(`${name} could not be started: ${cause.message}`, { cause })));
  started.once('spawn', () => resolve(started.pid ?? 0));
  return await promise;
};

export const startChild = async (command: Command): Promise<Child> => {
  const tied = await canTieToLauncher();
  const out = openSync(command.log, 'a', 0o600);
  const started = spawn(
    tied ? 'setpriv' : command.file,
    tied ? ['--pdeathsig', command.orphanSignal ?? command.stopSignal, command.file, ...command.args] : command.args,
    {
      cwd: command.cwd ?? '/',
      env: { ...command.env },
      stdio: ['ignore', out, out],
      detached: true,
      ...command.user,
    },
  );
  let running = true;
  const exited = new Promise<Exit>((resolve) => {
    started.once('exit', (code, by) => {
      running = false;
      // What the dead one had started in its own group would otherwise hold its ports and files.
      if (started.pid !== undefined) signal(-started.pid, 'SIGKILL');
      resolve({ code, signal: by });
    });
  });
  const pid = await awaitStart(started, command.name).finally(() => closeSync(out));

  const stop = async (graceMs: number): Promise<Exit> => {
    if (!running) return await exited;
    signal(pid, command.stopSignal);
    signal(pid, 'SIGCONT'); // A stopped process would not hear of it otherwise.
    const kill = setTimeout(() => running && signal(-pid, 'SIGKILL'), graceMs);
    return await exited.finally(() => clearTimeout(kill));
  };

  return { name: command.name, pid, exited, isRunning: () => running, stop };
};

export const lastLines = async (file: string): Promise<string> => {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => `(its log cannot be read: ${String(cause)})`);
  return text.trimEnd().split('\n').slice(-8).join('\n');
};

/** Polls until the child is ready. @throws with the end of its log when it exits first or takes longer than the limit. */
export const awaitReady = async (child: Child, log: string, isReady: () => Promise<boolean>, limitMs = 30_000): Promise<void> => {
  const deadline = performance.now() + limitMs;
  while (!(await isReady())) {
    if (!child.isRunning()) throw new Error(`${child.name} ended before it was ready:\n${await lastLines(log)}`);
    if (performance.now() > deadline) throw new Error(`${child.name} was not ready after ${limitMs / 1000} s:\n${await lastLines(log)}`);
    await pause(10);
  }
};
