import { beatTerms } from '../../shared/checks/heartbeat/config.ts';
import { badBeatCause, coveredUntil } from '../../shared/checks/heartbeat/deadline.ts';
import { placeOf } from '../../shared/checks/heartbeat/order.ts';
import type { Beat, BeatState } from '../../shared/checks/heartbeat/state.ts';
import type { SeenBeat } from '../domain/incident-types.ts';
import type { BeatMonitor, BeatRow } from '../store/beats.ts';

/** A beat on its way from the bus to the partition that decides about it. */
export type Told = {
  readonly row: BeatRow;
  readonly monitor: BeatMonitor;
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
export const isMadeUpFor = ({ kind, at }: Pick<Beat, 'kind' | 'at'>, { latest, good }: BeatState): boolean =>
  kind === 'fail' && latest === 'good' && good?.at === at;

export const isLate = ({ at }: Pick<Beat, 'at'>, { good, bad }: BeatState): boolean => at < Math.max(good?.at ?? 0, bad?.at ?? 0);

/** Whether it matters where it stands among the others. */
export const wantsPlace = ({ row: { kind }, isLate: late }: Told): boolean => kind === 'fail' || (late && kind !== 'log');

/** What the partition is told of it: itself, and the failures after it, which an older beat may date anew or tell apart from what was before. */
export const seenOf = (told: Told, known: readonly BeatRow[], from: BeatState['from']): SeenBeat[] => {
  const { row, monitor, isMadeUpFor: isNothing } = told;
  const terms = beatTerms({ interval_ms: monitor.interval_s * 1_000, config: monitor.config });
  const seen = (beat: BeatRow): SeenBeat => {
    const { id, at, kind, exit_code, ear, method, rid, run_ms, body } = beat;
    const is = kind === 'success' ? 'good' : kind === 'fail' && !(isNothing && beat === row) ? 'bad' : 'mark';
    const isPlaced = wantsPlace(told) && (is !== 'mark' || kind === 'start');
    const place = isPlaced ? placeOf(beat, known, from, terms) : { began_at: at, next_good_at: null, fails_at: null };
    return {
      ...{ id, at, is, began_at: place.began_at, next_good_at: place.next_good_at, fails_at: place.fails_at },
      covers_until: Math.min(coveredUntil(terms, beat), at + farthestMs),
      cause: is === 'bad' ? badBeatCause({ at, exit_code }) : null,
      evidence: { taken_by: ear, method, exit_code, rid, run_ms, body: body.slice(0, shownBody) },
    };
  };
  if (!told.isLate || (row.kind !== 'success' && row.kind !== 'start')) return [seen(row)];
  const { later, bad } = placeOf(row, known, from, terms);
  const first = seen(row);
  return [first, ...later.map((stretch) => ({ ...first, ...stretch })), ...bad.map(seen)];
};
