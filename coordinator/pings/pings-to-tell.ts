import { pingTerms } from '../../shared/checks/heartbeat/config.ts';
import type { Ping, PingState } from '../../shared/checks/heartbeat/state.ts';
import { badPingCause, coveredUntil, placeOf } from '../../shared/checks/heartbeat/state.ts';
import type { SeenPing } from '../domain/decision-types.ts';
import type { PingMonitor, PingRow } from '../store/store-pings.ts';

/** A ping on its way from the bus to the partition that decides about it. */
export type Told = {
  readonly row: PingRow;
  readonly monitor: PingMonitor;
  readonly isMadeUpFor: boolean;
  /** Newer ones are known already. */
  readonly isLate: boolean;
};

/** Of the body, as the incident keeps it for good; the page of the monitor has the whole while it is among the last. */
const shownBody = 1_024;
/** A schedule that never comes again covers no more than this. */
const farthestMs = 400 * 86_400_000;

/**
 * A failure that a success of the same millisecond has made up for is told once only: when both come again, times alone would say that
 * the failure came last.
 */
export const isMadeUpFor = ({ kind, at }: Pick<Ping, 'kind' | 'at'>, { latest, good }: PingState): boolean =>
  kind === 'fail' && latest === 'good' && good?.at === at;

export const isLate = ({ at }: Pick<Ping, 'at'>, { good, bad }: PingState): boolean => at < Math.max(good?.at ?? 0, bad?.at ?? 0);

/** Whether it matters where it stands among the others. */
export const wantsPlace = ({ row: { kind }, isLate: late }: Told): boolean => kind === 'fail' || (late && kind !== 'log');

/** What the partition is told of it: itself, and the failures after it, which an older ping may date anew or tell apart from what was before. */
export const seenOf = (told: Told, known: readonly PingRow[], from: PingState['from']): SeenPing[] => {
  const { row, monitor, isMadeUpFor: isNothing } = told;
  const terms = pingTerms({ interval_ms: monitor.interval_s * 1_000, config: monitor.config });
  const seen = (ping: PingRow): SeenPing => {
    const { id, at, kind, exit_code, ear, method, rid, run_ms, body } = ping;
    const is = kind === 'success' ? 'good' : kind === 'fail' && !(isNothing && ping === row) ? 'bad' : 'mark';
    const isPlaced = wantsPlace(told) && (is !== 'mark' || kind === 'start');
    const place = isPlaced ? placeOf(ping, known, from, terms) : { began_at: at, next_good_at: null, fails_at: null };
    return {
      ...{ id, at, is, began_at: place.began_at, next_good_at: place.next_good_at, fails_at: place.fails_at },
      covers_until: Math.min(coveredUntil(terms, ping), at + farthestMs),
      cause: is === 'bad' ? badPingCause({ at, exit_code }) : null,
      evidence: { taken_by: ear, method, exit_code, rid, run_ms, body: body.slice(0, shownBody) },
    };
  };
  if (!told.isLate || (row.kind !== 'success' && row.kind !== 'start')) return [seen(row)];
  const { later, bad } = placeOf(row, known, from, terms);
  const first = seen(row);
  return [first, ...later.map((stretch) => ({ ...first, ...stretch })), ...bad.map(seen)];
};
