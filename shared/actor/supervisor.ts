import type { Log } from '../base/log.ts';
import { backoff, pause } from '../base/retry.ts';

/**
 * Keeps endless work going: `run` is started, and started again with back-off when it ends or fails.
 * Modes: `running` → `waiting` (between attempts) → `running`; `stopped` by stop(); `given up` when it failed too often in too
 * short a time: then `onGiveUp` is called, which in a process means to end it and let whoever deployed it start it again.
 */
export type Supervised = { readonly stop: () => Promise<void> };

export const supervise = (options: {
  readonly name: string;
  readonly log: Log;
  readonly run: (signal: AbortSignal) => Promise<void>;
  readonly onGiveUp: (name: string, error: unknown) => void;
  readonly mostFailures?: number;
  readonly withinMs?: number;
}): Supervised => {
  const { name, log, run, onGiveUp, mostFailures = 20, withinMs = 60_000 } = options;
  const controller = new AbortController();
  const { signal } = controller;
  const failures: number[] = [];

  const loop = async () => {
    while (!signal.aborted) {
      let failure: unknown = new Error(`${name} ended by itself`);
      try {
        await run(signal);
      } catch (error) {
        failure = error;
      }
      if (signal.aborted) return;
      const now = performance.now();
      failures.push(now);
      while (failures.length > 0 && (failures[0] ?? now) < now - withinMs) failures.shift();
      log.error({ err: failure, part: name, failures: failures.length }, 'a part failed and starts again');
      if (failures.length >= mostFailures) return onGiveUp(name, failure);
      await pause(backoff(failures.length - 1, 50, 5_000), signal);
    }
  };

  const ended = loop();
  return {
    stop: async () => {
      controller.abort();
      await ended;
    },
  };
};
