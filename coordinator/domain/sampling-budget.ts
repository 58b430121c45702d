/**
 * How many samples may be asked for: so many a second for the whole coordinator and for each probe, saved up for a short burst
 * (rule 13). A sample that is not granted is left out; the next one comes at its own time.
 */
export type Budget = {
  readonly all: Purse;
  readonly probes: ReadonlyMap<string, Purse>;
};
export type Purse = { readonly left: number; readonly at: number };

export type Allowance = { readonly perSecond: number; readonly burst: number };
export type Allowances = { readonly all: Allowance; readonly probe: Allowance };

export const emptyBudget: Budget = { all: { left: Number.POSITIVE_INFINITY, at: 0 }, probes: new Map() };

export const fill = (purse: Purse | undefined, { perSecond, burst }: Allowance, now: number): Purse => ({
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
