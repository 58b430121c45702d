import type { Clock } from '../../shared/base/clock.ts';

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
