import { causeLayer } from '../../shared/checks/causes.ts';
import type { Place } from '../../shared/checks/places.ts';
import type { Cause, Layer } from '../../shared/checks/result.ts';
import { type Draft, keepEvidence, progress, put } from './draft.ts';
import { knownAtOpening, observationBy } from './observations.ts';
import { countApart, sideOf, vantageOf } from './places.ts';
import { nextSample } from './rechecks.ts';
import type { Failure, Incident, ObservingProbe, ProbeView, Progress, Scope } from './types.ts';
import { sideReach, tallyOf, viewOf } from './views.ts';

/** The steps of an incident's life. What results make of it is in core/outage.ts. */

/** Rules 3 and 25: a held "down" is due by the incident's current times. */
export function reschedule(draft: Draft, before: Incident | null): void {
  const { incident } = draft.state;
  const isSame = incident !== null && incident.id === before?.id && before.progress.alerted;
  if (isSame && incident.confirmed_at !== null && incident.confirmed_at !== before.confirmed_at)
    notifyDown(draft, incident, incident.confirmed_at);
}

function notifyDown(draft: Draft, { id }: Incident, confirmed_at: number): void {
  const due_at = dueAt(draft, confirmed_at);
  draft.effects.push({ is: 'alert', event: 'down', incident: id, due_at });
}

function dueAt({ state: { watched } }: Draft, confirmed_at: number): number {
  return confirmed_at + watched.alert_after_ms;
}

/** Rule 8: an incident opens with the first failure. */
export function open(
  draft: Draft,
  from: ObservingProbe | null,
  at: number,
  failure: Failure,
  id = draft.moment.newId(),
): Incident {
  const incident = begun(draft, from, at, failure, id);
  put(draft, incident, 'opened');
  if (from && draft.state.watched.kind !== 'heartbeat')
    draft.state = {
      ...draft.state,
      observations: knownAtOpening(draft.state, observationBy(from, at, failure)),
    };
  if (from) keepEvidence(draft, incident.id, 'seen', from, at, failure);
  return incident;
}

/** An incident as it begins. `seen` is null when the target itself reported it. */
export function begun(
  draft: Draft,
  from: ObservingProbe | null,
  at: number,
  failure: Failure,
  id: string,
): Incident {
  const { now } = draft.moment;
  const { watched } = draft.state;
  const sampling = { since: now, next_at: null, turn: 0 };
  const failed = from ? [vantageOf(watched, from)] : [];
  const { able, lone } = sideReach(draft.reach, from ?? {});
  return {
    id,
    started_at: failure.began_at,
    confirmed_at: null,
    resolved_at: null,
    seen: from,
    confirmed: null,
    cause: failure.cause,
    note: null,
    scope: scopeOf(failure.cause, { failed, passed: [], asked: able }),
    layer: layerOf(failure.cause),
    progress: {
      refuted: from !== null && passedSince(draft, from, failure.began_at),
      below_since: null,
      run: 0,
      run_at: at,
      matrix: null,
      asked_at: 0,
      sampling: {
        ...sampling,
        next_at: nextSample(watched, sampling, draft.moment, {
          confirmed: from === null,
          undecidedAlone: lone,
        }),
      },
      past_at: 0,
      alerted: false,
      told_alone: false,
      failed,
      passed: [],
      asked: able,
    },
  };
}

/** Which continents, or private places, saw an outage, which did not, and which can check. */
type SeenByPlaces = {
  readonly failed: readonly Place[];
  readonly passed: readonly Place[];
  readonly asked: readonly Place[];
};

/**
 * From where an outage is seen (rule 15). A continent that failed once in it counts as failed,
 * whatever it saw before or after. The scope is everywhere only once all continents that are asked
 * have failed.
 */
export function scopeOf(cause: Cause | null, { failed, passed, asked }: SeenByPlaces): Scope {
  if (isReportedByJob(cause)) return 'everywhere';
  if (failed.length <= 1) return 'one_continent';
  return [...asked, ...passed].every((continent) => failed.includes(continent))
    ? 'everywhere'
    : 'some_continents';
}

/** Reported by the job itself: the same for every continent, and seen from none. */
const saidByTheJob: readonly string[] = ['heartbeat_failed', 'heartbeat_exit_code'];

export function isReportedByJob(cause: Cause | null): boolean {
  return cause !== null && saidByTheJob.includes(cause.class);
}

export function layerOf(cause: Cause | null): Layer | null {
  return cause ? causeLayer(cause) : null;
}

/**
 * Whether another place of its side has passed since: it may have refuted a late failure already
 * (rule 10).
 */
function passedSince({ state }: Draft, from: ObservingProbe, time: number): boolean {
  const own = vantageOf(state.watched, from);
  return state.views.some(
    (view) =>
      view.ok_at !== null &&
      view.ok_at > time &&
      vantageOf(state.watched, view.from) !== own &&
      isSameSide(view.from, from),
  );
}

/** Without chosen places there is one side only. */
function isSameSide(one: ObservingProbe, other: ObservingProbe): boolean {
  return sideOf(one) === sideOf(other);
}

/** Whether the incident is of the side of this probe: it is what its own rule is about. */
export function isOfSide({ reach }: Draft, { seen }: Incident, from: ObservingProbe): boolean {
  return reach.inside === null || seen === null || isSameSide(seen, from);
}

export const notes = {
  oneContinent: 'seen from one continent only',
  oneSide: 'seen from one side only',
  unobserved: 'no longer observed',
  paused: 'the monitor was paused',
  edited: 'what is checked was changed',
  deleted: 'the monitor was deleted',
  quarantined: 'the probe that saw it was quarantined',
  pingWasOnTime: 'the beat had come in time and reached us late',
} as const;

/**
 * Ends the incident. Recipients of its "down" are notified; without a "down" there is no recovery
 * alert.
 */
export function close(
  draft: Draft,
  incident: Incident,
  at: number,
  note: string | null,
  event: 'up' | 'closed' = 'up',
): Incident {
  const resolved_at = Math.max(at, incident.confirmed_at ?? incident.started_at);
  const next = { ...incident, resolved_at, note };
  put(draft, next, 'closed');
  if (draft.state.watched.kind === 'heartbeat') remember(draft, next);
  else if (next.confirmed_at !== null && resolved_at >= (draft.state.last_down?.to ?? 0))
    draft.state = { ...draft.state, last_down: { from: next.started_at, to: resolved_at } };
  if (incident.progress.alerted)
    draft.effects.push({ is: 'alert', event, incident: incident.id, at: resolved_at });
  else if (event === 'up') tellLate(draft, next, resolved_at);
  return next;
}

/** What is older than this is history. */
const toldLateAtMost = 86_400_000;

/**
 * Rule 4: an outage that became known only when it was over is told late, once. One that was over
 * before it was due is told to nobody, as ever.
 */
function tellLate(draft: Draft, { id, confirmed_at, note }: Incident, resolved_at: number): void {
  if (confirmed_at === null || note !== null) return;
  const due_at = dueAt(draft, confirmed_at);
  if (due_at < resolved_at && draft.moment.now - resolved_at < toldLateAtMost)
    draft.effects.push({ is: 'alert', event: 'was_down', incident: id, due_at });
}

/** How many ended incidents of a heartbeat are remembered. */
export const maxClosed = 5;

export function remember(draft: Draft, ended: Incident): void {
  const others = draft.state.closed.filter(({ id }) => id !== ended.id);
  const closed = [ended, ...others]
    .toSorted((a, b) => (b.resolved_at ?? 0) - (a.resolved_at ?? 0))
    .slice(0, maxClosed);
  draft.state = { ...draft.state, closed };
}

/**
 * Rules 4 and 25: creates the "down" alerts once the outage is current. One that is over by then is
 * told late.
 */
export function raise(draft: Draft, incident: Incident, handedOver: boolean): Incident {
  const past = handedOver || !isOfNow(draft, incident);
  if (incident.confirmed_at === null || incident.progress.alerted || past) return incident;
  const next = progress(draft, incident, { alerted: true });
  notifyDown(draft, next, incident.confirmed_at);
  return next;
}

/**
 * Whether a confirmed outage is current: two continents see it, or the only one does, or the target
 * reported it.
 */
function isOfNow(draft: Draft, incident: Incident): boolean {
  const { moment } = draft;
  if (incident.seen === null) return true;
  const { failing } = tallyOf(draft, incident.seen, moment.now);
  return (
    isUpToDate(draft) &&
    countApart(failing, moment.network) >= (incident.confirmed === null ? 1 : 2)
  );
}

/** How long a result normally takes from the end of its check to its decision, at most. */
const resultsTake = 15_000;

/**
 * Whether decisions have reached the present. If not, later results of the past are still to come.
 */
function isUpToDate({ state: { watched, clock }, moment }: Draft): boolean {
  return moment.now - clock <= watched.interval_ms + watched.timeout_ms + resultsTake;
}

/**
 * Rule 10. `by` is null where the only continent, or the target itself, confirms (rules 14, 20).
 */
export function confirm(
  draft: Draft,
  incident: Incident,
  by: ProbeView | null,
  at: number,
): Incident {
  const { now } = draft.moment;
  const { sampling } = incident.progress;
  const again = { ...sampling, since: now };
  const seen = by
    ? counted(
        incident,
        {
          place: vantageOf(draft.state.watched, by.from),
          ok: false,
          at: Math.max(by.at, incident.started_at),
        },
        sideReach(draft.reach, by.from).able,
      )
    : incident;
  const next: Incident = {
    ...seen,
    // The cause of a heartbeat names the ping that its deadline counts from.
    ...(by?.failure &&
    draft.state.watched.kind !== 'heartbeat' &&
    by.at >= seenLastAt(draft, incident)
      ? told(by.failure, incident)
      : {}),
    confirmed_at: Math.max(at, incident.started_at),
    confirmed: by?.from ?? null,
    progress: {
      ...seen.progress,
      ...(draft.reach.regional.size > 0 ? { regional: [...draft.reach.regional] } : {}),
      run: 0,
      sampling:
        sampling.next_at === null
          ? {
              ...again,
              next_at: nextSample(draft.state.watched, again, draft.moment, {
                confirmed: true,
                undecidedAlone: false,
              }),
            }
          : sampling,
    },
  };
  put(draft, next, 'confirmed');
  if (by?.failure) keepEvidence(draft, incident.id, 'confirmed', by.from, by.at, by.failure);
  return next;
}

/** The newest failing check of the place that saw it first. */
function seenLastAt({ state }: Draft, { seen, started_at }: Incident): number {
  const view = seen ? viewOf(state, seen) : undefined;
  return view?.ok === false ? view.at : started_at;
}

/**
 * Rule 10: what is told is the cause of the newest failure. Of one that was read back from the stored
 * checks only the class is left: another one of this class says more.
 */
function told(
  { cause, evidence }: Failure,
  known: Pick<Incident, 'cause'>,
): Partial<Pick<Incident, 'cause' | 'layer'>> {
  if (cause === null || (evidence === null && cause.class === known.cause?.class)) return {};
  return { cause, layer: layerOf(cause) };
}

/**
 * A pass counts for the scope if it started before or soon after confirmation. A later pass shows
 * the recovery.
 */
const afterConfirmation = 60_000;

type PlaceResult = { readonly place: Place; readonly ok: boolean; readonly at: number };

/**
 * The incident with this place's observation counted in; `asked`: all places of its side that can
 * check now. Returns the same incident when nothing changed.
 */
export function counted(
  incident: Incident,
  { place, ok, at }: PlaceResult,
  asked: readonly Place[],
): Incident {
  const { progress } = incident;
  const next = withPlace(incident, progress, { place, ok, at });
  if (next === undefined) return incident;
  const scope = scopeOf(incident.cause, { ...next, asked });
  return { ...incident, scope, progress: { ...progress, ...next, asked } };
}

type FailedAndPassed = Pick<Progress, 'failed' | 'passed'>;

/** Undefined when nothing changed. */
function withPlace(
  { started_at, confirmed_at }: Incident,
  { failed, passed }: FailedAndPassed,
  { place, ok, at }: PlaceResult,
): FailedAndPassed | undefined {
  if (ok && confirmed_at !== null && at > confirmed_at + afterConfirmation) return undefined;
  if (at < started_at || (ok ? passed : failed).includes(place)) return undefined;
  return ok ? { failed, passed: [...passed, place] } : { failed: [...failed, place], passed };
}

/** The other side changes no scope: it tells the way in from the service itself. */
export function countAcross(
  draft: Draft,
  incident: Incident,
  from: ObservingProbe,
  ok: boolean,
  at: number,
): Incident {
  const place = vantageOf(draft.state.watched, from);
  const known = incident.progress.across ?? { failed: [], passed: [] };
  const across = withPlace(incident, known, { place, ok, at });
  return across === undefined ? incident : progress(draft, incident, { across });
}

/** Counts an observation of the incident's side into the scope (rule 15). */
export function count(
  draft: Draft,
  incident: Incident,
  from: ObservingProbe,
  ok: boolean,
  at: number,
): Incident {
  if (!isOfSide(draft, incident, from)) return countAcross(draft, incident, from, ok, at);
  const place = vantageOf(draft.state.watched, from);
  const next = counted(incident, { place, ok, at }, sideReach(draft.reach, from).able);
  if (next !== incident) put(draft, next, 'progressed');
  return next;
}

export function lapse(draft: Draft, incident: Incident): void {
  if (draft.moment.now < lapsesAt(draft, incident)) return;
  close(draft, incident, unobservedAt(draft, incident), notes.unobserved);
}

/** Results of the past arrive in pieces, one right after the other. */
const pastIsOver = 5_000;

/**
 * When to decide that: not while results of the past, which may include newer ones, still arrive
 * (rule 4).
 */
export function lapsesAt(draft: Pick<Draft, 'state' | 'reach'>, incident: Incident): number {
  return Math.max(unobservedAt(draft, incident), incident.progress.past_at + pastIsOver);
}

/**
 * When an unconfirmed incident ends as no longer observed: two turns after its continent's last
 * result (rule 11).
 */
export function unobservedAt(
  { state, reach }: Pick<Draft, 'state' | 'reach'>,
  incident: Incident,
): number {
  const last = incident.seen ? viewOf(state, incident.seen)?.at : undefined;
  return Math.max(last ?? incident.started_at, incident.started_at) + 2 * reach.turn_ms;
}
