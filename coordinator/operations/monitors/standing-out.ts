import { type Standing, standingNow } from '../../domain/standing.ts';
import type { StandingMonitor } from '../../store/monitor-standings.ts';
import { monitorOut } from './monitor-out.ts';

const iso = (at: number): string => new Date(at).toISOString();

/** A monitor with how it is at this moment. */
export const monitorNow = (row: StandingMonitor, now: number) => ({ ...monitorOut(row), ...standingOut(row, now) });

const standingOut = (row: Standing, now: number) => {
  const { status, since, last_checked_at } = standingNow(row, now);
  return { status, since: iso(since), last_checked_at: last_checked_at === null ? null : iso(last_checked_at) };
};
