import { type Clock, systemClock } from '../../shared/base/time.ts';

/**
 * The host's clock, corrected by what the coordinators say the time is. Small corrections are spread out, so that time never runs backward and
 * no turn is taken twice or left out; large ones (the first of all, or a host whose clock was set) are made at once.
 *
 * Modes: `unmeasured` (offset 0) → `observe` → `slewing` towards the measured offset → `steady`; any → `stepped` by a large difference.
 */
export type CorrectedClock = Clock & {
  /**
   * A question left at `sent` and was answered at `received` (both by the host's clock); by theirs it was heard at `heard` and answered at
   * `theirs`: what they took for it, waiting for a database perhaps, is no part of the way.
   */
  readonly observe: (seen: { readonly sent: number; readonly received: number; readonly heard: number; readonly theirs: number }) => void;
  readonly offset: () => number;
  /** Whether anybody has told the time yet; until then this is the host's own. */
  readonly isMeasured: () => boolean;
};

type Sample = { readonly at: number; readonly offset: number; readonly halfTrip: number };

const slewPerMs = 0.05;
const stepAboveMs = 1_000;
const kept = 8;

export const createCorrectedClock = (host: Clock): CorrectedClock => {
  let samples: Sample[] = [];
  let from = 0;
  let target = 0;
  let since = host.now();

  const offsetAt = (at: number): number => {
    const most = Math.max(0, at - since) * slewPerMs;
    return from + Math.max(-most, Math.min(most, target - from));
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
      // Where two measurements cannot both be true, the host's clock was set meanwhile: the older ones are about another clock.
      const contradicts = (other: Sample) => Math.abs(other.offset - sample.offset) > other.halfTrip + sample.halfTrip + 50;
      samples = [...samples.filter((other) => !contradicts(other)), sample].slice(-kept);
      const best = samples.reduce((least, other) => (other.halfTrip < least.halfTrip ? other : least));
      const current = offsetAt(received);
      const isFar = Math.abs(best.offset - current) > stepAboveMs;
      target = best.offset;
      from = isFar ? target : current;
      since = received;
    },
  };
};

/**
 * Calls at whole multiples of `ms` by the clock (and `phase` later), at which slots of the schedule end too: a probe is woken once for all that it
 * does every so often, because each waking costs more than what is then done.
 */
export const atSharedTick = (
  ms: number,
  work: () => void,
  { clock = systemClock, phase = 0 }: { readonly clock?: Clock | undefined; readonly phase?: number } = {},
): { readonly stop: () => void } => {
  const rest = (): number => ms - ((((clock.now() - phase) % ms) + ms) % ms);
  const tick = (): void => {
    timer = setTimeout(tick, rest());
    work();
  };
  let timer = setTimeout(tick, rest());
  return { stop: () => clearTimeout(timer) };
};

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
const maxNoted = 640;
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
    if (gaps.length > maxNoted) gaps.shift();
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
