import type { Roster } from '../../shared/checks/assignment.ts';
import type { Place } from '../../shared/checks/places.ts';
import type { Draft } from './draft.ts';
import { isAside, vantageOf } from './places.ts';
import type {
  Failure,
  Incident,
  MonitorState,
  Observation,
  ObservingProbe,
  SeenResult,
  Watched,
} from './types.ts';
import { reachOf, together } from './views.ts';

/**
 * What is remembered of an open incident, so that late results can retime it (rule 3; see
 * core/retime.ts).
 */

export function observationOf(result: SeenResult): Observation {
  const { from, at, outcome, took_ms, cause, phases, evidence } = result;
  const ok = outcome === 'ok';
  return {
    from,
    at,
    ok,
    took_ms,
    cause,
    phases: ok ? null : phases,
    evidence: ok ? null : evidence,
    others: result.others ?? null,
  };
}

/**
 * What is known when an incident opens: the newest pass of each probe, and what an incident that it
 * was split from saw since it began.
 */
export function knownAtOpening(
  { observations, views, watched }: MonitorState,
  first: Observation,
): readonly Observation[] {
  const passes = passesOf(views).filter(({ from }) => !isAside(watched, from));
  return inOrder(passes, [first, ...observations.filter(({ at }) => at >= first.at)]);
}

function passesOf(views: MonitorState['views']): readonly Observation[] {
  return views.flatMap(({ from, ok_at }) =>
    ok_at === null ? [] : [observationBy(from, ok_at, null)],
  );
}

/** The observation of a check that started at this time; null: it passed. */
export function observationBy(
  from: ObservingProbe,
  at: number,
  failure: Failure | null,
): Observation {
  const { took_ms, cause, phases, evidence, others } = failure ?? nothingKnown;
  return { from, at, ok: failure === null, took_ms, cause, phases, evidence, others };
}

/**
 * Beyond this many, observations are thinned; then the oldest are forgotten. Only an incident that
 * one continent sees for hours gets there.
 */
export const maxObservations = 200;

/**
 * In order of start. Of those that started together failures come first, because they count
 * (core/views.ts), then the first to arrive.
 */
function inOrder(
  observations: readonly Observation[],
  added: readonly Observation[],
): readonly Observation[] {
  const fresh = added.filter((one) => !observations.some((other) => isSame(one, other)));
  return [...observations, ...fresh]
    .toSorted((a, b) => a.at - b.at || Number(a.ok) - Number(b.ok))
    .slice(-maxObservations);
}

function isSame(a: Observation, b: Observation): boolean {
  return a.at === b.at && a.from.probe === b.from.probe;
}

export function withObservation(
  observations: readonly Observation[],
  seen: Observation,
  turn_ms: number,
): readonly Observation[] {
  const last = observations.at(-1);
  const isNewest = last === undefined || seen.at > last.at;
  return inOrder(
    thinned(isNewest && !seen.ok ? withoutOldEvidence(observations, seen) : observations, turn_ms),
    [seen],
  );
}

/**
 * Drops most of a run in which one place saw the same result. Those that stay lie less than a
 * minute apart, and less than a view lasts (two turns). So a late result still finds the failure
 * that it confirms or that confirms it, and no time seems unobserved.
 */
function thinned(observations: readonly Observation[], turn_ms: number): readonly Observation[] {
  if (observations.length < maxObservations) return observations;
  const apart = Math.min(together, 2 * turn_ms);
  const following = new Map<Observation, Observation>();
  const newest = new Map<Place, Observation>();
  for (const one of observations) {
    const before = newest.get(placeIn(one));
    if (before) following.set(before, one);
    newest.set(placeIn(one), one);
  }
  const kept = new Map<Place, Observation>();
  return observations.filter((one) => {
    const [before, after] = [kept.get(placeIn(one)), following.get(one)];
    const isBetween = before?.ok === one.ok && after?.ok === one.ok && after.at - before.at < apart;
    if (!isBetween) kept.set(placeIn(one), one);
    return !isBetween;
  });
}

function placeIn({ from: { place, continent } }: Observation): Place {
  return place ?? continent;
}

/**
 * A failure's details take kilobytes: only the first and the newest of each place keep them. Either
 * may become the one that the incident begins with, or the one that confirms it.
 */
function withoutOldEvidence(
  observations: readonly Observation[],
  newest: Observation,
): readonly Observation[] {
  const isOfPlace = (one: Observation) => !one.ok && placeIn(one) === placeIn(newest);
  const index = observations.findLastIndex(isOfPlace);
  const before = observations[index];
  return before?.evidence && index > observations.findIndex(isOfPlace)
    ? observations.with(index, { ...before, evidence: null })
    : observations;
}

/**
 * The time whose stored results may retime this incident after a restart: it begins as long before
 * the incident as a view lasts.
 */
export function observedIn(
  incident: Incident,
  watched: Watched,
  network: Roster,
): { readonly from: number; readonly to: number } | undefined {
  if (incident.seen === null || watched.kind === 'heartbeat') return undefined;
  return {
    from: incident.started_at - 2 * reachOf(watched, network).turn_ms,
    to: retimedUntil(incident),
  };
}

/**
 * The last start that may retime it: of two failures that confirm it together, either may be the
 * later one.
 */
function retimedUntil({ confirmed_at }: Incident): number {
  return confirmed_at === null ? Number.POSITIVE_INFINITY : confirmed_at + together;
}

/**
 * After a restart: the incident's own observations, the view of each probe, and results stored
 * since.
 */
export function observationsAfterRestart(
  { incident, views, watched }: Pick<MonitorState, 'incident' | 'views' | 'watched'>,
  stored: readonly Observation[],
): readonly Observation[] {
  if (!incident?.seen || watched.kind === 'heartbeat') return [];
  const { started_at, seen, confirmed_at, confirmed, cause } = incident;
  const others = incident.progress.doubted ? null : { passed: 1, failed: 0 };
  const failed = (from: ObservingProbe, at: number): Observation =>
    observationBy(from, at, { ...nothingKnown, began_at: at, cause, others });
  const told = [
    failed(seen, started_at),
    ...(confirmed && confirmed_at !== null ? [failed(confirmed, confirmed_at)] : []),
  ];
  const all = inOrder(
    inOrder(
      // Turns are longer with several continents, which are not known here.
      thinned(
        stored.toSorted((a, b) => a.at - b.at),
        watched.interval_ms,
      ),
      [
        ...views.map(({ from, at, failure }) => observationBy(from, at, failure)),
        ...passesOf(views),
      ],
    ),
    told,
  );
  return all.filter(({ at, from }) => remembersOf(incident, at) && !isAside(watched, from));
}

export function remembersOf(incident: Incident, at: number): boolean {
  return incident.seen !== null && at <= retimedUntil(incident);
}

/**
 * Whether, as late results show, one of the two confirming places had passed by then. The next
 * failure then retimes the incident (rule 3).
 */
export function isDoubted(
  { seen, confirmed, confirmed_at }: Incident,
  { observations, watched }: Pick<MonitorState, 'observations' | 'watched'>,
): boolean {
  if (seen === null || confirmed === null || confirmed_at === null) return false;
  const hadPassed = (probe: ObservingProbe): boolean =>
    observations.findLast(
      ({ at, from }) =>
        at <= confirmed_at && vantageOf(watched, from) === vantageOf(watched, probe),
    )?.ok === true;
  return hadPassed(seen) || hadPassed(confirmed);
}

/** Observations up to then count no more once their probe is quarantined. */
export function withoutProbe(draft: Draft, probe: string): void {
  draft.state = {
    ...draft.state,
    observations: draft.state.observations.filter(({ from }) => from.probe !== probe),
  };
}

/** The failure of this probe's check that started at this time. */
export function failureAt({ state }: Draft, from: ObservingProbe, at: number): Failure {
  const found = state.observations.find(
    (observation) =>
      !observation.ok && observation.at === at && observation.from.probe === from.probe,
  );
  const { took_ms, cause, phases, evidence, others } = found ?? nothingKnown;
  return { began_at: at, took_ms, cause, phases, evidence, others };
}

/** A failure of which nothing but its time is known. */
export const nothingKnown: Omit<Failure, 'began_at'> = {
  took_ms: 0,
  cause: null,
  phases: null,
  evidence: null,
  others: null,
};
