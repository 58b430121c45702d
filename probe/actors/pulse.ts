import type { Clock } from '../../shared/base/clock.ts';
import { atSharedBeat } from './shared-beat.ts';

/** Whether this process itself was held up (starved, frozen, a machine asleep): what it then takes for a silence of others may be its own. */
export type Pulse = {
  /** The longest stretch in milliseconds since `since` (of performance.now()) in which nothing ran here. */
  readonly longestGap: (since: number) => number;
  readonly stop: () => void;
};

const beatMs = 100;
/** Gaps shorter than this are every day's. */
const notedMs = 100;
const mostNoted = 256;

export const createPulse = (clock?: Clock): Pulse => {
  const gaps: { readonly until: number; readonly ms: number }[] = [];
  let last = performance.now();
  const beat = (): void => {
    const now = performance.now();
    const ms = now - last - beatMs;
    last = now;
    if (ms < notedMs) return;
    gaps.push({ until: now, ms });
    if (gaps.length > mostNoted) gaps.shift();
  };
  const beats = atSharedBeat(beatMs, beat, { clock });
  return {
    // The gap that is just ending counts although its beat has not come yet: a deadline may be told of first.
    longestGap: (since) => {
      const now = performance.now();
      return Math.max(
        now - Math.max(last, since) - beatMs,
        ...gaps.filter(({ until }) => until > since).map(({ until, ms }) => Math.min(ms, until - since)),
        0,
      );
    },
    stop: beats.stop,
  };
};
