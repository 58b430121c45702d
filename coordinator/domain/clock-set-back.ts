import { clockTolerance } from './continent-views.ts';
import type { Incident, MonitorState } from './decision-types.ts';
import { allowedSilence } from './ledger.ts';

/** Whether the newest of what is known was seen by a clock that has been set back since. */
export const isAhead = (clock: number, now: number): boolean => clock > now + clockTolerance;

const atMost = (at: number | null, now: number): number | null => (at === null ? null : Math.min(at, now));

/** What began then has begun by now, or nothing that is seen from now on could end it. */
const begunByNow = (incident: Incident, now: number): Incident => {
  const { started_at, confirmed_at, progress } = incident;
  const { run_at, asked_at, past_at, below_since, sampling } = progress;
  return {
    ...incident,
    started_at: Math.min(started_at, now),
    confirmed_at: atMost(confirmed_at, now),
    progress: {
      ...progress,
      run_at: Math.min(run_at, now),
      asked_at: Math.min(asked_at, now),
      past_at: Math.min(past_at, now),
      below_since: atMost(below_since, now),
      sampling: { ...sampling, since: Math.min(sampling.since, now), next_at: atMost(sampling.next_at, now) },
    },
  };
};

/**
 * What was seen at a time that is not yet tells of a clock that was wrong, ours perhaps, by which all probes go: whatever is seen until then would
 * pass for older than that, and decide nothing.
 */
export const withoutFuture = (state: MonitorState, now: number): MonitorState => {
  if (!isAhead(state.clock, now)) return state;
  const { watched, covered_until, incident } = state;
  return {
    ...state,
    clock: now,
    views: state.views.filter(({ at }) => !isAhead(at, now)),
    sightings: state.sightings.filter(({ at }) => !isAhead(at, now)),
    // Until its deadline a heartbeat is covered by what it said, not by who looked.
    covered_until: watched.kind === 'heartbeat' ? covered_until : Math.min(covered_until, now + allowedSilence(watched)),
    incident: incident && begunByNow(incident, now),
  };
};
