import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { codeOf } from '../../shared/base/errors.ts';

/**
 * One process that the launcher started. Modes: running → exited; `stop` asks politely, then kills.
 *
 * Each child leads a process group of its own. Ctrl-C in a terminal then reaches the launcher only,
 * and what a dead child left behind can be ended with its group. Where util-linux has `setpriv`,
 * the kernel ends the child when the launcher is killed.
 */

export type Command = {
  readonly name: string;
  readonly file: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
  readonly stopSignal: 'SIGINT' | 'SIGTERM';
  /** The file to which its output is appended. */
  readonly log: string;
};

type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

export type Child = {
  readonly name: string;
  readonly pid: number;
  readonly exited: Promise<Exit>;
  readonly isRunning: () => boolean;
  /** Settles when it is gone, with all that it began; ends it by force after the grace. */
  readonly stop: (graceMs: number) => Promise<Exit>;
};

/** Postgres kills what has not ended 5 s after SIGQUIT. */
const quitMs = 8_000;

/**
 * Signals a process, or with a negative number a group; false when it no longer exists, true also
 * when it belongs to another user.
 */
export function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch (error) {
    if (codeOf(error) === 'ESRCH') return false;
    if (codeOf(error) === 'EPERM') return true;
    throw error;
  }
}

export async function startChild(command: Command): Promise<Child> {
  const tied = await canTieToLauncher();
  const out = openSync(command.log, 'a', 0o600);
  const started = spawn(
    tied ? 'setpriv' : command.file,
    // Postgres ends in order, and the next start waits for it; what others do survives a kill.
    tied
      ? [
          '--pdeathsig',
          command.stopSignal === 'SIGINT' ? 'INT' : 'KILL',
          command.file,
          ...command.args,
        ]
      : command.args,
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
      // Processes in the dead one's group would otherwise hold its ports and files.
      if (started.pid !== undefined) signal(-started.pid, 'SIGKILL');
      resolve({ code, signal: by });
    });
  });
  const pid = await awaitStart(started, command.name).finally(() => closeSync(out));

  const stop = async (graceMs: number): Promise<Exit> => {
    if (!running) return await exited;
    signal(pid, command.stopSignal);
    signal(pid, 'SIGCONT'); // A stopped process would not receive the signal otherwise.
    // A killed Postgres leaves its sessions behind for a while, in groups of their own and still
    // writing. After SIGQUIT it ends last.
    const isPostgres = command.stopSignal === 'SIGINT';
    const quit = setTimeout(() => running && isPostgres && signal(pid, 'SIGQUIT'), graceMs);
    const killMs = graceMs + (isPostgres ? quitMs : 0);
    const kill = setTimeout(() => running && signal(-pid, 'SIGKILL'), killMs);
    return await exited.finally(() => {
      clearTimeout(quit);
      clearTimeout(kill);
    });
  };

  return { name: command.name, pid, exited, isRunning: () => running, stop };
}

let setpriv: Promise<boolean> | undefined;

/** Whether the kernel can end a child together with us. */
async function canTieToLauncher(): Promise<boolean> {
  setpriv ??=
    process.platform === 'linux'
      ? runs('setpriv', ['--pdeathsig', 'TERM', 'true'])
      : Promise.resolve(false);
  return await setpriv;
}

async function runs(file: string, args: readonly string[]): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const tried = spawn(file, args, { stdio: 'ignore' });
  tried.once('error', () => resolve(false));
  tried.once('exit', (code) => resolve(code === 0));
  return await promise;
}

async function awaitStart(started: ChildProcess, name: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  started.once('error', (cause) =>
    reject(new Error(`${name} could not be started: ${cause.message}`, { cause })),
  );
  started.once('spawn', () => resolve(started.pid ?? 0));
  return await promise;
}

async function lastLines(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch(
    (cause: unknown) => `(its log cannot be read: ${String(cause)})`,
  );
  return text.trimEnd().split('\n').slice(-8).join('\n');
}

/**
 * Polls until the child is ready. @throws with the end of its log when it exits first or takes
 * longer than the limit.
 */
export async function awaitReady(
  child: Child,
  log: string,
  isReady: () => Promise<boolean>,
  limitMs = 30_000,
): Promise<void> {
  const deadline = performance.now() + limitMs;
  while (!(await isReady())) {
    if (!child.isRunning())
      throw new Error(`${child.name} ended before it was ready:\n${await lastLines(log)}`);
    if (performance.now() > deadline)
      throw new Error(
        `${child.name} was not ready after ${limitMs / 1000} s:\n${await lastLines(log)}`,
      );
    await pause(10);
  }
}

/**
 * All services of one start, each started again after every end, at growing intervals while it
 * keeps failing. Until all have settled, a service that keeps ending fails the start. Those that use
 * a database and a bus are stopped before these two.
 */
export type Processes = {
  /**
   * Settles when its first process is ready; rejects with the end of its log when that one ends or
   * takes too long.
   */
  readonly start: (command: Command, isReady?: (child: Child) => Promise<boolean>) => Promise<void>;
  /** Of the running process, or of the last one. */
  readonly pid: (name: string) => number | null;
  /** From now on nothing fails the start any more. */
  readonly settle: () => void;
  /** Rejects when a service keeps ending before `settle`. */
  readonly trouble: Promise<never>;
  readonly dismiss: () => Promise<void>;
};

type ProcessEvents = {
  readonly say: (line: string) => void;
  /** A service has a new process. */
  readonly onStarted: () => void;
};

const shortestPauseMs = 100;
const longestPauseMs = 4_000;
/** A process that ran this long counts as healthy: the intervals start again from the shortest. */
const healthyAfterMs = 10_000;
const endsThatFail = 3;
const lastToStop = new Set(['postgres', 'nats']);

export function createProcesses({ say, onStarted }: ProcessEvents): Processes {
  const children = new Map<string, Child>();
  const kept = new Map<string, Promise<void>>();
  const dismissed = new AbortController();
  const trouble = Promise.withResolvers<never>();
  // The caller of the start receives it.
  trouble.promise.catch(() => undefined);
  let settled = false;

  const begin = async (command: Command): Promise<Child> => {
    const child = await startChild(command);
    children.set(command.name, child);
    onStarted();
    if (settled) say(`${command.name} runs again (process ${child.pid})`);
    if (dismissed.signal.aborted) await child.stop(1_000);
    return child;
  };

  const keep = async (command: Command, first: Promise<Child>): Promise<void> => {
    const { name, log } = command;
    let starting = first;
    let distance = shortestPauseMs;
    for (let ends = 1; ; ends += 1) {
      const since = performance.now();
      const how = await starting.then(async (child) => {
        const { code, signal: by } = await child.exited;
        return by ?? `code ${code}`;
      }, String);
      if (dismissed.signal.aborted) return;
      if (settled) say(`${name} ended (${how}), starting it again; its log: ${log}`);
      else if (ends >= endsThatFail)
        trouble.reject(new Error(`${name} ends again and again:\n${await lastLines(log)}`));
      if (performance.now() - since > healthyAfterMs) distance = shortestPauseMs;
      // A dismissal cuts it short, and is checked next.
      await pause(distance, undefined, { signal: dismissed.signal }).catch(() => undefined);
      if (dismissed.signal.aborted) return;
      distance = Math.min(distance * 2, longestPauseMs);
      starting = begin(command);
    }
  };

  const stopAll = async (areLast: boolean, graceMs: number): Promise<void> => {
    const ends = [...kept].filter(([name]) => lastToStop.has(name) === areLast);
    await Promise.all(
      ends.map(
        async ([name, end]) => void (await Promise.all([children.get(name)?.stop(graceMs), end])),
      ),
    );
  };

  return {
    start: async (command, isReady) => {
      if (dismissed.signal.aborted)
        throw new Error(`${command.name} is not started: all have been dismissed`);
      const first = begin(command);
      kept.set(command.name, keep(command, first));
      const child = await first;
      if (isReady) await awaitReady(child, command.log, () => isReady(child));
    },
    pid: (name) => children.get(name)?.pid ?? null,
    settle: () => {
      settled = true;
    },
    trouble: trouble.promise,
    dismiss: async () => {
      dismissed.abort();
      await stopAll(false, 2_500);
      await stopAll(true, 1_500);
    },
  };
}

/** Identifies a process behind a number: a reused number is never signalled. */
type Process = { readonly pid: number; readonly started: string; readonly command: string };

export async function findProcess(pid: number): Promise<Process | undefined> {
  if (!signal(pid, 0)) return undefined;
  // It ended meanwhile.
  return await (process.platform === 'linux' ? fromProc(pid) : fromPs(pid)).catch(() => undefined);
}

async function fromProc(pid: number): Promise<Process> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The name in brackets may itself contain brackets and spaces, so the fields are counted from its
  // end.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (fields[0] === 'Z') throw new Error('a zombie runs no more');
  const command = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).replaceAll('\0', ' ').trim();
  return { pid, started: fields[19] ?? '', command };
}

async function fromPs(pid: number): Promise<Process> {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'lstart=,args=', '-p', String(pid)], {
    env: { LC_ALL: 'C', PATH: '/bin:/usr/bin' },
  });
  return { pid, started: stdout.slice(0, 24), command: stdout.slice(24).trim() };
}

/**
 * Asks a process to end by these signals in turn, two seconds each; false when it survived them
 * all.
 */
export async function endProcess(
  pid: number,
  signals: readonly NodeJS.Signals[],
): Promise<boolean> {
  signal(pid, 'SIGCONT'); // A stopped process receives nothing else.
  for (const name of signals) {
    signal(pid, name);
    for (let tries = 0; tries < 100; tries++) {
      if ((await findProcess(pid)) === undefined) return true;
      await pause(20);
    }
  }
  return false;
}
