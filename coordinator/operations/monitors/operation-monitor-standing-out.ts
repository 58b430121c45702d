import { createRecentCache } from '../../../shared/base/async.ts';
import { type Standing, standingNow } from '../../domain/monitor-standing.ts';
import type { StandingMonitor } from '../../store/store-monitor-standings.ts';
import { monitorOut } from './operation-monitor-out.ts';

/** Whoever watches a list is told the same times again and again. */
const written = createRecentCache<number, string>(20_000);

const iso = (at: number): string => {
  const known = written.find(at);
  if (known !== undefined) return known;
  const made = new Date(at).toISOString();
  written.keep(at, made);
  return made;
};

/** A monitor with how it is at this moment. */
export const monitorNow = (row: StandingMonitor, now: number) => ({ ...monitorOut(row), ...standingOut(row, now) });

const standingOut = (row: Standing, now: number) => {
  const { status, since, last_checked_at } = standingNow(row, now);
  return { status, since: iso(since), last_checked_at: last_checked_at === null ? null : iso(last_checked_at) };
};
