import type { Continent } from '../../shared/base/continents.ts';
import { tally } from './continent-views.ts';
import { type Draft, keepEvidence, progress, put } from './decision-draft.ts';
import type { Failure, Incident, Observer, ProbeView } from './decision-types.ts';
import { counted, layerOf, scopeOf } from './incident-scope.ts';
import { knownAtOpening, sightingBy } from './incident-sightings.ts';
import { nextSample } from './sampling.ts';

/** The steps of an incident's life. Modes: verifying (confirmed_at null) → down → resolved; verifying → resolved. */

export const notes = {
  oneContinent: 'seen from one continent only',
  unobserved: 'no longer observed',
  paused: 'the monitor was paused',
  edited: 'what is checked was changed',
  deleted: 'the monitor was deleted',
  quarantined: 'the probe that saw it was quarantined',
  pingWasOnTime: 'the beat had come in time and reached us late',
} as const;

/** What a continent saw, counted into the scope (rule 15). */
export const count = (draft: Draft, incident: Incident, continent: Continent, ok: boolean, at: number): Incident => {
  const next = counted(incident, { continent, ok, at }, draft.reach.able);
  if (next !== incident) put(draft, next, 'progressed');
  return next;
};

/** Whether another continent is known to have passed since: a failure that comes late may be refuted already (rule 10). */
export const passedSince = ({ state }: Draft, continent: Continent, time: number): boolean =>
  state.views.some(({ from, ok_at }) => from.continent !== continent && ok_at !== null && ok_at > time);

/** An incident as it begins. `seen` is null when the target itself told us. */
export const begun = (draft: Draft, from: Observer | null, at: number, failure: Failure, id: string): Incident => {
  const { now } = draft.moment;
  const { watched } = draft.state;
  const sampling = { since: now, next_at: null, turn: 0 };
  const failed = from ? [from.continent] : [];
  return {
    id,
    started_at: failure.began_at,
    confirmed_at: null,
    resolved_at: null,
    seen: from,
    confirmed: null,
    cause: failure.cause,
    note: null,
    scope: scopeOf(failure.cause, { failed, passed: [], asked: draft.reach.able }),
    layer: layerOf(failure.cause),
    progress: {
      refuted: from !== null && passedSince(draft, from.continent, failure.began_at),
      below_since: null,
      run: 0,
      run_at: at,
      matrix: null,
      asked_at: 0,
      sampling: {
        ...sampling,
        next_at: nextSample(watched, sampling, now, { confirmed: from === null, undecidedAlone: draft.reach.lone }),
      },
      past_at: 0,
      alerted: false,
      told_alone: false,
      failed,
      passed: [],
      asked: draft.reach.able,
    },
  };
};

/** Rule 8: an incident opens with the first failure. */
export const open = (draft: Draft, from: Observer | null, at: number, failure: Failure, id = draft.moment.newId()): Incident => {
  const incident = begun(draft, from, at, failure, id);
  put(draft, incident, 'opened');
  if (from && draft.state.watched.kind !== 'heartbeat')
    draft.state = { ...draft.state, sightings: knownAtOpening(draft.state, sightingBy(from, at, failure)) };
  if (from) keepEvidence(draft, incident.id, 'seen', from, at, failure);
  return incident;
};

/** Rule 10. `by` is null where the only continent, or the target itself, confirms (rules 14, 20). */
export const confirm = (draft: Draft, incident: Incident, by: ProbeView | null, at: number): Incident => {
  const { now } = draft.moment;
  const { sampling } = incident.progress;
  const again = { ...sampling, since: now };
  const seen = by
    ? counted(incident, { continent: by.from.continent, ok: false, at: Math.max(by.at, incident.started_at) }, draft.reach.able)
    : incident;
  const next: Incident = {
    ...seen,
    confirmed_at: Math.max(at, incident.started_at),
    confirmed: by?.from ?? null,
    progress: {
      ...seen.progress,
      run: 0,
      sampling:
        sampling.next_at === null
          ? { ...again, next_at: nextSample(draft.state.watched, again, now, { confirmed: true, undecidedAlone: false }) }
          : sampling,
    },
  };
  put(draft, next, 'confirmed');
  if (by?.failure) keepEvidence(draft, incident.id, 'confirmed', by.from, by.at, by.failure);
  return next;
};

/** So many of a heartbeat are remembered after their end. */
export const mostClosed = 5;

export const remember = (draft: Draft, ended: Incident): void => {
  const others = draft.state.closed.filter(({ id }) => id !== ended.id);
  const closed = [ended, ...others].toSorted((a, b) => (b.resolved_at ?? 0) - (a.resolved_at ?? 0)).slice(0, mostClosed);
  draft.state = { ...draft.state, closed };
};

/** It is over. Whoever was told that it was down is told so; what nobody was told ends in silence. */
export const close = (draft: Draft, incident: Incident, at: number, note: string | null, told: 'up' | 'closed' = 'up'): Incident => {
  const resolved_at = Math.max(at, incident.confirmed_at ?? incident.started_at);
  const next = { ...incident, resolved_at, note };
  put(draft, next, 'closed');
  if (draft.state.watched.kind === 'heartbeat') remember(draft, next);
  else if (next.confirmed_at !== null && resolved_at >= (draft.state.last_down?.to ?? 0))
    draft.state = { ...draft.state, last_down: { from: next.started_at, to: resolved_at } };
  if (incident.progress.alerted) draft.effects.push({ is: 'alert', event: told, incident: incident.id, at: resolved_at });
  return next;
};

/** What has been decided reaches to now, or later results of the past are still to come. */
const isUpToDate = ({ state: { watched, clock }, moment }: Draft): boolean =>
  moment.now - clock <= watched.interval_ms + watched.timeout_ms + resultsTake;
/** What a result may take from the end of its check to its decision, while all is well. */
const resultsTake = 15_000;

/** Whether a confirmed outage is one of now: two continents see it, or the only one does, or the target said so itself. */
const isOfNow = (draft: Draft, incident: Incident): boolean => {
  const { state, moment, reach } = draft;
  if (incident.seen === null) return true;
  const { failing } = tally(state.views, moment.now, reach.turn_ms);
  return isUpToDate(draft) && failing.length >= (incident.confirmed === null ? 1 : 2);
};

const tellDown = (draft: Draft, { id }: Incident, confirmed_at: number): void => {
  const due_at = confirmed_at + draft.state.watched.alert_after_ms;
  draft.effects.push({ is: 'alert', event: 'down', incident: id, due_at });
};

/** Rules 4 and 25: the "down" is handed to the alerts once the outage is one of now; one that is over by then is never alerted. */
export const raise = (draft: Draft, incident: Incident, handedOver: boolean): Incident => {
  const past = draft.rules.past_is_not_alerted && (handedOver || !isOfNow(draft, incident));
  if (incident.confirmed_at === null || incident.progress.alerted || past) return incident;
  const next = progress(draft, incident, { alerted: true });
  tellDown(draft, next, incident.confirmed_at);
  return next;
};

/** Rules 3 and 25: a "down" that waits is due by the dates as they are now. */
export const dueAnew = (draft: Draft, before: Incident | null): void => {
  const { incident } = draft.state;
  const isSame = incident !== null && incident.id === before?.id && before.progress.alerted;
  if (isSame && incident.confirmed_at !== null && incident.confirmed_at !== before.confirmed_at)
    tellDown(draft, incident, incident.confirmed_at);
};
