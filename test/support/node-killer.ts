/** For tests on buses of several servers: kills one after the other, and brings it back. */
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from './eventually.ts';
import type { BusNode } from './own-bus.ts';

/** Modes: `killing` (a server is away, or all are waited for) → stop() → `stopped`, when all are back. */
export type NodeKiller = {
  /** Settles when the first one was killed. */
  readonly begun: Promise<void>;
  /** How many were killed. */
  readonly stop: () => Promise<number>;
};

/** So long a server is away: some of these times others have taken over what it led when it comes back, some not. */
const awayMs = [2_000, 12_000];

/** So long all are there, once everything is whole again. */
const wholeMs = 3_000;

/** @param areWhole whether what the servers keep lacks none of them: a second one is never taken away. */
export const startNodeKiller = (nodes: readonly BusNode[], areWhole: () => Promise<boolean>): NodeKiller => {
  const stopping = new AbortController();
  const { signal } = stopping;
  const first = Promise.withResolvers<void>();
  const wait = (ms: number): Promise<void> => pause(ms, undefined, { signal }).catch(() => undefined); // Cut short: it is to stop.
  let killed = 0;
  const work = async (): Promise<void> => {
    while (!signal.aborted) {
      await eventually(async () => signal.aborted || (await areWhole()), 120_000, 250);
      if (killed > 0) await wait(wholeMs);
      if (signal.aborted) return;
      const node = nodes[killed % nodes.length];
      await node?.kill();
      killed += 1;
      first.resolve();
      await wait(awayMs[killed % awayMs.length] ?? 0);
      await node?.start();
    }
  };
  const working = work();
  working.catch(first.reject);
  return {
    begun: first.promise,
    stop: async () => {
      stopping.abort();
      await working;
      return killed;
    },
  };
};
