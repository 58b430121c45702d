import type { Progress, Watched } from './decision-types.ts';

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

/**
 * How many samples may be asked for: so many a second for the whole coordinator and for each probe, saved up for a short burst
 * (rule 13). A sample that is not granted is left out; the next one comes at its own time.
 */
export type Budget = {
  readonly all: Purse;
  readonly probes: ReadonlyMap<string, Purse>;
};
type Purse = { readonly left: number; readonly at: number };

type Allowance = { readonly perSecond: number; readonly burst: number };
export type Allowances = { readonly all: Allowance; readonly probe: Allowance };

export const emptyBudget: Budget = { all: { left: Number.POSITIVE_INFINITY, at: 0 }, probes: new Map() };

const fill = (purse: Purse | undefined, { perSecond, burst }: Allowance, now: number): Purse => ({
  left: purse ? Math.min(burst, purse.left + (Math.max(0, now - purse.at) * perSecond) / 1000) : burst,
  at: now,
});

/** One sample by this probe, if both purses have it. */
export const spend = (
  budget: Budget,
  probe: string,
  now: number,
  allowed: Allowances,
): { readonly budget: Budget; readonly granted: boolean } => {
  const all = fill(budget.all, allowed.all, now);
  const own = fill(budget.probes.get(probe), allowed.probe, now);
  const granted = all.left >= 1 && own.left >= 1;
  const cost = granted ? 1 : 0;
  const probes = new Map(budget.probes).set(probe, { left: own.left - cost, at: now });
  return { budget: { all: { left: all.left - cost, at: now }, probes }, granted };
};

/**
 * How often somebody may be asked to look at one monitor, whatever the wishes are (rule 13). What wishes for looks is made anew from the database
 * whenever something failed, and then knows no more whom it asked; this outlives that, so that no target pays for our faults.
 */
export type Asked = { readonly purse: Purse | undefined; readonly sampled_at: number };

export const neverAsked: Asked = { purse: undefined, sampled_at: Number.NEGATIVE_INFINITY };

/** All others at a first failure, and once more soon after, on seven continents; and in the long run as much as a lonely failure asks for. */
const askedAtMost: Allowance = { perSecond: 0.5, burst: 12 };

/** Samples are five seconds apart, less what one of them may be late by. */
const samplesApart = 4_000;

export const mayAsk = (before: Asked, isSample: boolean, now: number): { readonly asked: Asked; readonly granted: boolean } => {
  if (isSample) {
    const granted = now - before.sampled_at >= samplesApart || now < before.sampled_at;
    return { asked: granted ? { ...before, sampled_at: now } : before, granted };
  }
  const purse = fill(before.purse, askedAtMost, now);
  const granted = purse.left >= 1;
  return { asked: { ...before, purse: granted ? { ...purse, left: purse.left - 1 } : purse }, granted };
};

/** Whether nothing of it is left to remember. */
export const isForgotten = ({ purse, sampled_at }: Asked, now: number): boolean =>
  now - sampled_at >= samplesApart && fill(purse, askedAtMost, now).left >= askedAtMost.burst;
