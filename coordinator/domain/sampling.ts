import type { Progress, Watched } from './incident-types.ts';

/** Rule 13: an open incident is looked at every 5 s for two minutes, then at doubling distances up to the interval. */
export const samplingStep = 5_000;
const closely = 120_000;
const unconfirmedAtMost = 600_000;
/** A late heartbeat that nobody else has judged yet is judged again at least this often, and without end: it costs its target nothing. */
const heartbeatStep = 30_000;

/** The distance to the next sample, `elapsed` after the sampling began. */
const distanceAfter = (elapsed: number, interval_ms: number): number => {
  if (elapsed < closely) return samplingStep;
  const doublings = Math.floor(Math.log2((elapsed - closely) / (2 * samplingStep) + 1));
  return Math.max(samplingStep, Math.min(interval_ms, 2 * samplingStep * 2 ** doublings));
};

/** Why an incident is sampled now: it is safe; or a lone continent needs its next look, which is no sampling but its confirmation (rule 14). */
const samples = (watched: Watched, confirmed: boolean, undecidedAlone: boolean): boolean => {
  if (watched.kind === 'heartbeat') return !confirmed;
  return watched.sampled || undecidedAlone;
};

/** When the next sample is due after one at `now`; null: sampling is over. */
export const nextSample = (
  watched: Watched,
  sampling: Progress['sampling'],
  now: number,
  is: { readonly confirmed: boolean; readonly undecidedAlone: boolean },
): number | null => {
  if (!samples(watched, is.confirmed, is.undecidedAlone)) return null;
  const elapsed = now - sampling.since;
  if (watched.kind === 'heartbeat') return now + distanceAfter(elapsed, heartbeatStep);
  if (!watched.sampled) return elapsed < closely ? now + samplingStep : null;
  if (!is.confirmed && elapsed >= unconfirmedAtMost) return null;
  return now + distanceAfter(elapsed, watched.interval_ms);
};
