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
  /**
   * The signal that ends it when the launcher is killed: the stop signal, unless the process may be
   * frozen then and could receive no other.
   */
  readonly orphanSignal?: 'SIGKILL';
  /** The file to which its output is appended. */
  readonly log: string;
};

export type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

export type Child = {
  readonly name: string;
  readonly pid: number;
  readonly exited: Promise<Exit>;
  readonly isRunning: () => boolean;
  /** Settles when it is gone; kills it after the grace. */
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

/** Whether the kernel can end a child together with us. */
const canTieToLauncher = async (): Promise<boolean> => {
  setpriv ??= process.platform === 'linux' ? runs('setpriv', ['--pdeathsig', 'TERM', 'true']) : Promise.resolve(false);
  return await setpriv;
};

/**
 * Signals a process, or with a negative number a group; false when it no longer exists, true also
 * when it belongs to another user.
 */
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
    const kill = setTimeout(() => running && signal(-pid, 'SIGKILL'), graceMs);
    return await exited.finally(() => clearTimeout(kill));
  };

  return { name: command.name, pid, exited, isRunning: () => running, stop };
};

export const lastLines = async (file: string): Promise<string> => {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => `(its log cannot be read: ${String(cause)})`);
  return text.trimEnd().split('\n').slice(-8).join('\n');
};

/**
 * Polls until the child is ready. @throws with the end of its log when it exits first or takes
 * longer than the limit.
 */
export const awaitReady = async (child: Child, log: string, isReady: () => Promise<boolean>, limitMs = 30_000): Promise<void> => {
  const deadline = performance.now() + limitMs;
  while (!(await isReady())) {
    if (!child.isRunning()) throw new Error(`${child.name} ended before it was ready:\n${await lastLines(log)}`);
    if (performance.now() > deadline) throw new Error(`${child.name} was not ready after ${limitMs / 1000} s:\n${await lastLines(log)}`);
    await pause(10);
  }
};

/**
 * A service that is kept running. Modes: starting → running → (ended → waiting → starting) …, and
 * from any of them stopped, for good. Every end is followed by a new start, at growing intervals
 * while it keeps failing.
 */

export type PartEvent = { readonly is: 'started'; readonly pid: number } | { readonly is: 'ended'; readonly how: string };

export type PartOptions = {
  readonly command: Command;
  /** Whether it does its work; without this, it is ready when it runs. */
  readonly isReady?: (child: Child) => Promise<boolean>;
  /** Called for every new process, before it is ready, and for every unexpected end. */
  readonly onChange: (event: PartEvent) => void;
};

export type Part = {
  readonly name: string;
  readonly log: string;
  /** Of the running process, or of the last one. */
  readonly pid: () => number | null;
  /**
   * Settles when its first process is ready; rejects with the end of its log when that one ends or
   * takes too long.
   */
  readonly ready: Promise<void>;
  /** Settles when the process is gone, killed after the grace; no new one follows. */
  readonly stop: (graceMs: number) => Promise<void>;
};

const shortestPauseMs = 100;
const longestPauseMs = 4_000;
/** A process that ran this long counts as healthy: the intervals start again from the shortest. */
const healthyAfterMs = 10_000;

export const keepRunning = ({ command, isReady, onChange }: PartOptions): Part => {
  const stopping = new AbortController();
  let child: Child | undefined;

  const start = async (): Promise<Child> => {
    const fresh = await startChild(command);
    child = fresh;
    onChange({ is: 'started', pid: fresh.pid });
    if (stopping.signal.aborted) await fresh.stop(1_000);
    return fresh;
  };

  const first = start();
  const ready = (async () => {
    const started = await first;
    if (isReady !== undefined) await awaitReady(started, command.log, () => isReady(started));
  })();

  ready.catch(() => undefined); // A caller that does not wait receives its end through `onChange`.

  const startOrTell = async (starting: Promise<Child>): Promise<Child | undefined> =>
    await starting.catch((error: unknown) => {
      onChange({ is: 'ended', how: String(error) });
      return undefined;
    });

  const keep = async (): Promise<void> => {
    let distance = shortestPauseMs;
    let running = await startOrTell(first);
    while (!stopping.signal.aborted) {
      const since = performance.now();
      const exit = await running?.exited;
      if (stopping.signal.aborted) return;
      if (exit !== undefined) onChange({ is: 'ended', how: exit.signal ?? `code ${exit.code}` });
      if (performance.now() - since > healthyAfterMs) distance = shortestPauseMs;
      // A stop cuts it short, and is checked next.
      await pause(distance, undefined, { signal: stopping.signal }).catch(() => undefined);
      if (stopping.signal.aborted) return;
      distance = Math.min(distance * 2, longestPauseMs);
      running = await startOrTell(start());
    }
  };
  const kept = keep();

  return {
    name: command.name,
    log: command.log,
    pid: () => child?.pid ?? null,
    ready,
    stop: async (graceMs) => {
      stopping.abort();
      await first.catch(() => undefined); // A process that could not be started needs no stop.
      await child?.stop(graceMs);
      await kept;
    },
  };
};

/**
 * All services of one start. Modes: gathering (a service that keeps ending fails the start) →
 * settled (every end is reported and repaired) → dismissed (stopped; those that use a database and
 * a bus before these two).
 */

export type Processes = {
  readonly start: (options: Omit<PartOptions, 'onChange'>) => Part;
  readonly pid: (name: string) => number | null;
  /** From now on nothing fails the start any more. */
  readonly settle: () => void;
  /** Rejects when a service keeps ending before `settle`. */
  readonly trouble: Promise<never>;
  readonly dismiss: () => Promise<void>;
};

export type ProcessEvents = {
  readonly say: (line: string) => void;
  /** A service has a new process. */
  readonly onStarted: (name: string, pid: number) => void;
};

const lastToStop = new Set(['postgres', 'nats']);
const endsThatFail = 3;

export const createProcesses = ({ say, onStarted }: ProcessEvents): Processes => {
  const parts = new Map<string, Part>();
  const trouble = Promise.withResolvers<never>();
  // The caller of the start receives it; otherwise it is reported line by line.
  trouble.promise.catch(() => undefined);
  let settled = false;
  let dismissed = false;

  const giveUp = async (name: string, log: string): Promise<void> =>
    trouble.reject(new Error(`${name} ends again and again:\n${await lastLines(log)}`));

  const start: Processes['start'] = (options) => {
    const { name, log } = options.command;
    if (dismissed) throw new Error(`${name} is not started: the crew has been dismissed`);
    let ends = 0;
    const part = keepRunning({
      ...options,
      onChange: (event) => {
        if (event.is === 'started') {
          onStarted(name, event.pid);
          if (settled) say(`${name} runs again (process ${event.pid})`);
        } else if (settled) say(`${name} ended (${event.how}), starting it again; its log: ${log}`);
        else if (++ends >= endsThatFail) void giveUp(name, log);
      },
    });
    parts.set(name, part);
    return part;
  };

  const stopAll = async (which: (name: string) => boolean, graceMs: number): Promise<void> => {
    await Promise.all([...parts.values()].filter(({ name }) => which(name)).map((part) => part.stop(graceMs)));
  };

  return {
    start,
    pid: (name) => parts.get(name)?.pid() ?? null,
    settle: () => {
      settled = true;
    },
    trouble: trouble.promise,
    dismiss: async () => {
      dismissed = true;
      await stopAll((name) => !lastToStop.has(name), 2_500);
      await stopAll((name) => lastToStop.has(name), 1_500);
    },
  };
};

/** Identifies a process behind a number: a reused number is never signalled. */

export type Process = { readonly pid: number; readonly started: string; readonly command: string };

const fromProc = async (pid: number): Promise<Process> => {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The name in brackets may itself contain brackets and spaces, so the fields are counted from its
  // end.
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
  // It ended meanwhile.
  return await (process.platform === 'linux' ? fromProc(pid) : fromPs(pid)).catch(() => undefined);
};

/**
 * Asks a process to end by these signals in turn, two seconds each; false when it survived them
 * all.
 */
export const endProcess = async (pid: number, signals: readonly NodeJS.Signals[]): Promise<boolean> => {
  signal(pid, 'SIGCONT'); // A stopped process receives nothing else.
  for (const name of signals) {
    signal(pid, name);
    for (let tries = 0; tries < 100; tries++) {
      if ((await findProcess(pid)) === undefined) return true;
      await pause(20);
    }
  }
  return false;
};
