import { type Allowance, fill, type Purse } from './sampling-budget.ts';

/**
 * How often somebody may be asked to look at one monitor, whatever the wishes are (rule 13). What wishes for looks is made anew from the database
 * whenever something failed, and then knows no more whom it asked; this outlives that, so that no target pays for our faults.
 */
export type Asked = { readonly purse: Purse | undefined; readonly sampled_at: number };

export const neverAsked: Asked = { purse: undefined, sampled_at: Number.NEGATIVE_INFINITY };

/** All others at a first failure, and once more soon after, on seven continents; and in the long run as much as a lonely failure asks for. */
export const askedAtMost: Allowance = { perSecond: 0.5, burst: 12 };

/** Samples are five seconds apart, less what one of them may be late by. */
export const samplesApart = 4_000;

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
