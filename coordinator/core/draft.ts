import type { Place } from '../../shared/checks/places.ts';
import type {
  Effect,
  EvidenceRow,
  Failure,
  Incident,
  Moment,
  MonitorState,
  ObservingProbe,
  Progress,
} from './types.ts';
import { type Reach, reachNow } from './views.ts';

/**
 * A decision in progress: the state so far and its effects. It lives inside one call of decide().
 */
export type Draft = {
  state: MonitorState;
  readonly effects: Effect[];
  readonly moment: Moment;
  readonly reach: Reach;
};

export function createDraft(state: MonitorState, moment: Moment): Draft {
  return {
    state,
    effects: [],
    moment,
    reach: reachNow(state, moment.network),
  };
}

/** Progress that must survive a restart. */
export function progress(draft: Draft, incident: Incident, step: Partial<Progress>): Incident {
  const next = { ...incident, progress: { ...incident.progress, ...step } };
  put(draft, next, 'progressed');
  return next;
}

type Change = Extract<Effect, { is: 'incident' }>['change'];

/**
 * Replaces the incident. Several changes of one decision become one row, at the position of the
 * first.
 */
export function put(draft: Draft, incident: Incident, change: Change): void {
  draft.state = { ...draft.state, incident: change === 'closed' ? null : incident };
  const index = draft.effects.findIndex(
    (effect) => effect.is === 'incident' && effect.incident.id === incident.id,
  );
  const before = draft.effects[index];
  if (before?.is === 'incident')
    draft.effects[index] = {
      ...before,
      change: change === 'progressed' || before.change === 'opened' ? before.change : change,
      incident,
    };
  else draft.effects.push({ is: 'incident', change, incident });
}

/**
 * Progress that a restart may lose: which probes were asked when. It is written only along with
 * other changes.
 */
export function progressLightly(
  draft: Draft,
  incident: Incident,
  step: Partial<Progress>,
): Incident {
  const next = { ...incident, progress: { ...incident.progress, ...step } };
  if (
    draft.effects.some((effect) => effect.is === 'incident' && effect.incident.id === incident.id)
  )
    put(draft, next, 'progressed');
  else draft.state = { ...draft.state, incident: next };
  return next;
}

type Source = Pick<ObservingProbe, 'name' | 'place'> & {
  readonly continent: ObservingProbe['continent'] | null;
};

export function keepEvidence(
  draft: Draft,
  incident: string,
  part: EvidenceRow['part'],
  from: Source,
  at: number,
  failure: Failure,
): void {
  const { took_ms, cause, phases, evidence } = failure;
  const row: EvidenceRow = {
    part,
    continent: from.continent,
    ...placeIn(draft.state.watched, from),
    probe: from.name,
    at,
    outcome: 'fail',
    took_ms,
    cause,
    phases,
    evidence,
  };
  draft.effects.push({ is: 'evidence', incident, row });
}

/** The place of a private probe, where evidence of several may stand side by side. */
export function placeIn(
  { places }: MonitorState['watched'],
  { place }: Pick<ObservingProbe, 'place'>,
): Pick<EvidenceRow, 'place'> {
  return places && place !== undefined ? { place } : {};
}

export function ask(
  draft: Draft,
  places: readonly Place[],
  why: Extract<Effect, { is: 'look' }>['why'],
): string | null {
  if (places.length === 0) return null;
  const recheck = draft.moment.newId();
  draft.effects.push({ is: 'look', look: recheck, places, why });
  return recheck;
}
