import { allowedSilence, gapNoticed } from './ledger.ts';
import type { SeenResult, Watched } from './types.ts';
import { countsAs, isEarlierThanBacklog, mayCheck } from './views.ts';

/**
 * What nearly every result is: a pass of a monitor that is well, by a probe that has seen it before. All that decide() does then is to move
 * three numbers, which this tells by those numbers alone; a test holds that the two never disagree.
 */
export type RoutinePass = Pick<Watched, 'kind' | 'interval_ms' | 'timeout_ms' | 'continents' | 'probe'>;

export type RoutineTimes = Pick<Watched, 'config_version' | 'created_at' | 'paused_at'> & {
  readonly clock: number;
  readonly covered_until: number;
  readonly decides_from: number;
  /** When the last gap ended: infinite while it lasts, and before all time when there was none. */
  readonly gaps_until: number;
};

/** Whether deciding about it has no effect but a newer view of this probe and more time covered. The monitor has no incident, and only views that passed. */
export const goesWithoutSaying = (result: SeenResult, watched: RoutinePass, times: RoutineTimes, now: number): boolean => {
  if (result.cause !== null || countsAs(result, now) !== 'ok' || watched.kind === 'heartbeat' || isEarlierThanBacklog(times.clock, now))
    return false;
  if (result.config_version !== times.config_version || times.paused_at !== null || result.at < times.decides_from) return false;
  const from = Math.max(result.at, times.created_at);
  return from <= times.covered_until && times.gaps_until <= from && mayCheck(watched, result.from.probe, result.from.continent);
};

/** Until when such a pass covers, after what was covered before it. */
export const coveredByPass = (at: number, watched: RoutinePass, covered_until: number): number =>
  Math.max(covered_until, at + allowedSilence(watched));

/** When a monitor that is well wants its next tick. */
export const tickOfRoutine = (covered_until: number): number => covered_until + gapNoticed;
