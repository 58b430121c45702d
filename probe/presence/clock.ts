import { atSharedTick } from '../../shared/base/shared-tick.ts';
import type { Clock } from '../../shared/base/time.ts';

/**
 * The host's clock, corrected by the coordinators' time. Small corrections are spread out: time
 * never runs backward, and no turn is taken twice or left out. Large ones (the first of all, or
 * after the host's clock was set) are made at once.
 */
export type CorrectedClock = Clock & {
  /**
   * A question left at `sent` and was answered at `received` (both by the host's clock). By the
   * coordinator's clock, it arrived at `heard` and was answered at `theirs`. The time in between,
   * perhaps spent on a database, does not count as travel time.
   */
  readonly observe: (seen: {
    readonly sent: number;
    readonly received: number;
    readonly heard: number;
    readonly theirs: number;
  }) => void;
  readonly offset: () => number;
  /** Whether any coordinator has given the time; until then this is the host's own. */
  readonly isMeasured: () => boolean;
};

type Sample = { readonly at: number; readonly offset: number; readonly halfTrip: number };

const slewPerMs = 0.05;
const stepAboveMs = 1_000;
const kept = 8;

export function createCorrectedClock(host: Clock): CorrectedClock {
  let samples: Sample[] = [];
  let from = 0;
  let target = 0;
  let since = host.now();

  const offsetAt = (at: number): number => {
    const limit = Math.max(0, at - since) * slewPerMs;
    return from + Math.max(-limit, Math.min(limit, target - from));
  };

  return {
    now: () => {
      const at = host.now();
      return Math.round(at + offsetAt(at));
    },
    offset: () => offsetAt(host.now()),
    isMeasured: () => samples.length > 0,
    observe: ({ sent, received, heard, theirs }) => {
      const halfTrip = (received - sent - (theirs - heard)) / 2;
      if (halfTrip < 0) return; // One of the clocks was set in between.
      const sample = { at: received, offset: (heard - sent + (theirs - received)) / 2, halfTrip };
      // Where two measurements contradict each other, the host's clock was set meanwhile: the older
      // ones describe another clock.
      const contradicts = (other: Sample) =>
        Math.abs(other.offset - sample.offset) > other.halfTrip + sample.halfTrip + 50;
      samples = [...samples.filter((other) => !contradicts(other)), sample].slice(-kept);
      const best = samples.reduce((least, other) =>
        other.halfTrip < least.halfTrip ? other : least,
      );
      const current = offsetAt(received);
      const isFar = Math.abs(best.offset - current) > stepAboveMs;
      target = best.offset;
      from = isFar ? target : current;
      since = received;
    },
  };
}

/**
 * In milliseconds: the longest stretch in which nothing ran here, and the total that the steps of a
 * check can have waited.
 */
export type ProcessDelay = { readonly longest: number; readonly inAll: number };

/**
 * Whether this process itself was held up (starved, frozen, a sleeping machine). It may then
 * mistake its own silence for that of others.
 */
export type Pulse = {
  /**
   * How long something that began at `since` (of performance.now()) can have waited for this
   * process alone.
   */
  readonly heldUp: (since: number) => ProcessDelay;
  /** It ticks while anything is watched; a process at rest does not wake for it. */
  readonly watch: () => { readonly stop: () => void };
};

const tickMs = 100;
/** Shorter gaps are normal. */
const notedMs = 25;
/** A minute of nothing but gaps: no check takes longer. */
const maxNoted = 640;
/**
 * Roughly how often a check waits for this process to take its next step. It can have waited once
 * in each of the longest gaps.
 */
const steps = 8;

export function createPulse(clock?: Clock): Pulse {
  const gaps: { readonly until: number; readonly ms: number }[] = [];
  let last = performance.now();
  const tick = (): void => {
    const now = performance.now();
    const ms = now - last - tickMs;
    last = now;
    if (ms < notedMs) return;
    gaps.push({ until: now, ms });
    if (gaps.length > maxNoted) gaps.shift();
  };
  let watched = 0;
  let ticks: { readonly stop: () => void } | undefined;
  return {
    heldUp: (since) => {
      // The gap that is just ending counts before its tick: a deadline may fire first.
      const ending = Math.max(0, performance.now() - Math.max(last, since) - tickMs);
      const waited = gaps
        .filter(({ until }) => until > since)
        .map(({ until, ms }) => Math.min(ms, until - since));
      const longestFirst = [ending, ...waited].toSorted((a, b) => b - a);
      return {
        longest: longestFirst[0] ?? 0,
        inAll: longestFirst.slice(0, steps).reduce((sum, ms) => sum + ms, 0),
      };
    },
    watch: () => {
      watched += 1;
      if (ticks === undefined) last = performance.now();
      ticks ??= atSharedTick(tickMs, tick, { clock });
      return {
        stop: () => {
          watched -= 1;
          if (watched > 0) return;
          ticks?.stop();
          ticks = undefined;
        },
      };
    },
  };
}
