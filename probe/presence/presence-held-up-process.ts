import type { Clock } from '../../shared/base/clock.ts';
import { atSharedTick } from './presence-shared-tick.ts';

/** In milliseconds: the longest stretch in which nothing ran here, and all that the steps of a check can have waited together. */
export type HeldUp = { readonly longest: number; readonly inAll: number };

/** Whether this process itself was held up (starved, frozen, a machine asleep): what it then takes for a silence of others may be its own. */
export type Pulse = {
  /** How long something that began at `since` (of performance.now()) can have waited for this process alone. */
  readonly heldUp: (since: number) => HeldUp;
  readonly stop: () => void;
};

const tickMs = 100;
/** Gaps shorter than this are every day's. */
const notedMs = 25;
/** A minute of nothing but gaps: no check takes longer. */
const mostNoted = 640;
/** About so often a check waits for this process to take its next step; in each of the longest gaps it can have waited once. */
const steps = 8;

export const createPulse = (clock?: Clock): Pulse => {
  const gaps: { readonly until: number; readonly ms: number }[] = [];
  let last = performance.now();
  const tick = (): void => {
    const now = performance.now();
    const ms = now - last - tickMs;
    last = now;
    if (ms < notedMs) return;
    gaps.push({ until: now, ms });
    if (gaps.length > mostNoted) gaps.shift();
  };
  const ticks = atSharedTick(tickMs, tick, { clock });
  return {
    heldUp: (since) => {
      // The gap that is just ending counts although its tick has not come yet: a deadline may be told of first.
      const ending = Math.max(0, performance.now() - Math.max(last, since) - tickMs);
      const waited = gaps.filter(({ until }) => until > since).map(({ until, ms }) => Math.min(ms, until - since));
      const longestFirst = [ending, ...waited].toSorted((a, b) => b - a);
      return { longest: longestFirst[0] ?? 0, inAll: longestFirst.slice(0, steps).reduce((sum, ms) => sum + ms, 0) };
    },
    stop: ticks.stop,
  };
};
