import type { Clock } from './time.ts';

/** Milliseconds since this process began: its ticks fall together, and not with another process's. */
const sinceBeginning: Clock = { now: () => Math.floor(performance.now()) };

/** A timer may fire this part of its time too early, which must not make two ticks of one. */
const early = 0.1;

export type SharedTick = {
  /** Waits anew: `ms` has become less. */
  readonly again: () => void;
  readonly stop: () => void;
};

/**
 * Calls at whole multiples of `ms` by the clock (and `phase` later). A process wakes once for all
 * its periodic work, because each wake-up costs more than the work. Where `ms` is asked for each
 * time, one with nothing to do waits longer.
 */
export function atSharedTick(
  ms: number | (() => number),
  work: () => void,
  {
    clock = sinceBeginning,
    phase = 0,
  }: { readonly clock?: Clock | undefined; readonly phase?: number } = {},
): SharedTick {
  const period = (): number => (typeof ms === 'number' ? ms : ms());
  const rest = (every: number): number =>
    every - ((((clock.now() - phase) % every) + every) % every);
  const begin = (): NodeJS.Timeout => setTimeout(tick, rest(period()));
  const tick = (): void => {
    const every = period();
    const left = rest(every);
    timer = setTimeout(tick, left < every * early ? left + every : left);
    work();
  };
  let timer = begin();
  return {
    again: () => {
      clearTimeout(timer);
      timer = begin();
    },
    stop: () => clearTimeout(timer),
  };
}
