/** Jobs that ping: at a coordinator or a probe, whoever answers first, with silences and failures; and what became of each ping. */
import { setTimeout as pause } from 'node:timers/promises';
import { newId } from '../../../shared/base/crypto.ts';
import type { Chance } from '../../simulation/chance.ts';
import type { Heartbeat } from '../../support/monitors.ts';

/** A ping that was answered 200; `body` is its alone. */
export type Ping = { readonly place: string; readonly body: string; readonly at: number; readonly kind: 'success' | 'fail' };

export type Jobs = {
  readonly taken: readonly Ping[];
  /** Answers that were a lie: the address is one that exists. */
  readonly denied: readonly string[];
  /** From now on every job does its work and pings. */
  readonly heal: () => void;
  readonly stop: () => Promise<void>;
};

export type Job = { readonly place: string; readonly heartbeat: Heartbeat };

const everyMs = 2_000;
const patienceMs = 3_000;
/** An answer may be lost on its way; then a job tries elsewhere with the same run id, as curl's --retry does. */
const triesAtMost = 4;

export const startJobs = (chance: Chance, jobs: readonly Job[], addresses: readonly string[]): Jobs => {
  const taken: Ping[] = [];
  const denied: string[] = [];
  let isHealed = false;
  let isStopped = false;

  const ping = async ({ place, heartbeat: { token } }: Job, kind: Ping['kind']): Promise<void> => {
    const rid = newId();
    for (let tries = 0; tries < triesAtMost && !isStopped; tries += 1) {
      const address = chance.pick(addresses);
      const path = `${token}${kind === 'fail' ? '/fail' : ''}?rid=${rid}`;
      try {
        const body = newId();
        const { status } = await fetch(`${address}/beat/${path}`, { method: 'POST', body, signal: AbortSignal.timeout(patienceMs) });
        if (status === 200) return void taken.push({ place, body, at: Date.now(), kind });
        if (status === 404) denied.push(`${place} by ${address} at ${new Date().toISOString()}`);
      } catch {
        // Nobody is there: that is what torment is.
      }
      await pause(200);
    }
  };

  const work = async (job: Job): Promise<void> => {
    let silentUntil = 0;
    while (!isStopped) {
      const now = Date.now();
      if (isHealed || now >= silentUntil) {
        const isFailure = !isHealed && chance.happens(0.03);
        await ping(job, isFailure ? 'fail' : 'success');
        if (!isHealed && chance.happens(0.03)) silentUntil = Date.now() + 1_000 * chance.between(20, 90);
      }
      await pause(everyMs);
    }
  };
  const working = jobs.map(work);
  return {
    taken,
    denied,
    heal: () => {
      isHealed = true;
    },
    stop: async () => {
      isStopped = true;
      await Promise.all(working);
    },
  };
};
