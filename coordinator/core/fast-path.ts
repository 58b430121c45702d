import { allowedSilence, gapNoticed } from './ledger.ts';
import type { SeenResult, Watched } from './types.ts';
import { countsAs, mayCheck, wasClockSetBack } from './views.ts';

/**
 * Nearly every result is a pass of an up monitor by a probe that has seen it before. For such a
 * result decide() only moves three numbers. This file recognizes the case from those numbers alone;
 * a test checks that the two never disagree.
 */
export type RoutinePass = Pick<Watched, 'kind' | 'interval_ms' | 'timeout_ms' | 'continents' | 'probe'>;

export type RoutineTimes = Pick<Watched, 'config_version' | 'created_at' | 'paused_at'> & {
  readonly clock: number;
  readonly covered_until: number;
  readonly decides_from: number;
  /** When the last gap ended: infinity while it is open, minus infinity when there was none. */
  readonly gaps_until: number;
};

/**
 * Whether this result only renews the probe's view and extends the covered time. The caller ensures
 * that the monitor has no incident and only passing views.
 */
export const isRoutinePass = (result: SeenResult, watched: RoutinePass, times: RoutineTimes, now: number): boolean => {
  if (result.cause !== null || countsAs(result, now) !== 'ok' || watched.kind === 'heartbeat' || wasClockSetBack(times.clock, now))
    return false;
  if (result.config_version !== times.config_version || times.paused_at !== null || result.at < times.decides_from) return false;
  const from = Math.max(result.at, times.created_at);
  return from <= times.covered_until && times.gaps_until <= from && mayCheck(watched, result.from.probe, result.from.continent);
};

/** Until when time is covered after such a pass. */
export const coveredByPass = (at: number, watched: RoutinePass, covered_until: number): number =>
  Math.max(covered_until, at + allowedSilence(watched));

/** When an up monitor needs its next tick. */
export const tickOfRoutine = (covered_until: number): number => covered_until + gapNoticed;
