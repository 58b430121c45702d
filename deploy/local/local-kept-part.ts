/**
 * A part that is kept running. Modes: starting → running → (ended → waiting → starting) …, and from any of them stopped, for good.
 * Every end is followed by a new start, at growing distances while it keeps failing.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { awaitReady, type Child, type Command, startChild } from './local-child.ts';

export type PartEvent = { readonly is: 'started'; readonly pid: number } | { readonly is: 'ended'; readonly how: string };

export type PartOptions = {
  readonly command: Command;
  /** Whether it does its work; a part without this is ready when it runs. */
  readonly isReady?: (child: Child) => Promise<boolean>;
  /** Told of every new process, before it is ready, and of every end that nobody asked for. */
  readonly onChange: (event: PartEvent) => void;
};

export type Part = {
  readonly name: string;
  readonly log: string;
  /** Of the running process, or of the last one. */
  readonly pid: () => number | null;
  /** Settles when its first process is ready; rejects with the end of its log when that one ends or takes too long. */
  readonly ready: Promise<void>;
  /** Settles when the process is gone, killed after the grace; no new one follows. */
  readonly stop: (graceMs: number) => Promise<void>;
};

const shortestPauseMs = 100;
const longestPauseMs = 4_000;
/** A part that ran this long is taken for healthy: the distances begin anew. */
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

  ready.catch(() => undefined); // Who does not wait for it hears of its end through `onChange`.

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
      await pause(distance, undefined, { signal: stopping.signal }).catch(() => undefined); // Cut short by a stop: looked at next.
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
