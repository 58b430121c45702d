import { type Clock, systemClock } from '../../shared/base/clock.ts';

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
