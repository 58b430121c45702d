import type { Roster } from '../../shared/checks/assignment.ts';
import { createDraft, type Draft, placeIn, progress, progressLightly } from './draft.ts';
import { onPing } from './heartbeat.ts';
import { close, countAcross, lapse, lapsesAt, notes, raise, reschedule } from './incident.ts';
import { allowedSilence, cover, gapNoticed, passTime } from './ledger.ts';
import { onDeleted, onEdited, onPaused, onQuarantined, onResumed } from './lifecycle.ts';
import { isDoubted, observationOf, remembersOf, withObservation } from './observations.ts';
import {
  failWhileDown,
  failWhileVerifying,
  openWith,
  passWhileDown,
  passWhileVerifying,
} from './outage.ts';
import { isAside, sideOf, vantageOf } from './places.ts';
import { askAgain, askFirst, nextSample, slowSampling } from './rechecks.ts';
import { retimeIncident } from './retime.ts';
import type {
  Decision,
  Incident,
  Moment,
  MonitorEvent,
  MonitorState,
  ProbeView,
  SeenResult,
  Watched,
} from './types.ts';
import {
  beganAt,
  countsAs,
  deciding,
  isOfLastDown,
  isVoid,
  mayCheck,
  reachOf,
  see,
  sideReach,
  tallyOf,
  viewOf,
  wasClockSetBack,
  withoutFuture,
} from './views.ts';
import { notePlaces, noteWarnings } from './warnings.ts';

/**
 * Nearly every result is a pass of an up monitor by a probe that has seen it before. For such a
 * result decide() only moves three numbers. This file recognizes the case from those numbers alone;
 * a test checks that the two never disagree.
 */
type RoutinePass = Pick<
  Watched,
  'kind' | 'interval_ms' | 'timeout_ms' | 'continents' | 'probe' | 'places' | 'inside_counts'
>;

type RoutineTimes = Pick<Watched, 'config_version' | 'created_at' | 'paused_at'> & {
  readonly clock: number;
  readonly covered_until: number;
  readonly decides_from: number;
  /** When the last gap ended: infinity while it is open, minus infinity when there was none. */
  readonly gaps_until: number;
};

/**
 * Whether this result only renews the probe's view and extends the covered time. The caller ensures
 * that the monitor has no incident, no warning and only passing views. Without this way past
 * decide(), a result at full speed takes twice the CPU; a check at 500 a second, 3 % more.
 */
export function isRoutinePass(
  result: SeenResult,
  watched: RoutinePass,
  times: RoutineTimes,
  now: number,
): boolean {
  if (
    result.cause !== null ||
    result.warnings !== undefined ||
    countsAs(result, now) !== 'ok' ||
    watched.kind === 'heartbeat' ||
    wasClockSetBack(times.clock, now)
  )
    return false;
  if (
    result.config_version !== times.config_version ||
    times.paused_at !== null ||
    result.at < times.decides_from
  )
    return false;
  const from = Math.max(result.at, times.created_at);
  return (
    from <= times.covered_until &&
    times.gaps_until <= from &&
    mayCheck(watched, result.from) &&
    !isAside(watched, result.from)
  );
}

/** Until when time is covered after such a pass. */
export function coveredByPass(at: number, watched: RoutinePass, covered_until: number): number {
  return Math.max(covered_until, at + allowedSilence(watched));
}

/** When an up monitor needs its next tick. */
export function tickOfRoutine(covered_until: number): number {
  return covered_until + gapNoticed;
}

/** When the state needs its next tick; null: only an event can change it. */
export function nextTick(state: MonitorState, network: Roster): number | null {
  const { watched, incident, gaps, covered_until, restored, clock } = state;
  if (watched.paused_at !== null) return null;
  const times: number[] = gaps.at(-1)?.to === null ? [] : [covered_until + gapNoticed];
  if (incident) {
    const { sampling, asked_at } = incident.progress;
    if (restored || (incident.confirmed_at === null && asked_at === 0 && incident.seen !== null))
      times.push(clock);
    if (sampling.next_at !== null) times.push(sampling.next_at);
    if (incident.confirmed_at === null)
      times.push(lapsesAt({ state, reach: reachOf(watched, network) }, incident));
  }
  return times.length === 0 ? null : Math.min(...times);
}

/**
 * The core: what an event means for a monitor. It is pure: time, network and new ids come in
 * `moment`. Nearly every event is a result of a check:
 *
 *   1 usable     ok or fail, of a probe that is believed (rules 1, 16 and 20)    views.ts
 *   2 matrix     an answer to the first recheck is evidence (rule 15)
 *   + aside      of the side that does not decide only the view moves            places.ts
 *   3 cover      time is observed; a late result fills a gap (rule 22)           ledger.ts
 *   4 may decide of this config, and of a probe that may check it (rules 3, 18)  views.ts
 *   5 retime     a late result retimes the open incident (rule 3)                retime.ts
 *   + warnings   a pass moves what is warned of (rule 44)                        warnings.ts
 *   6 view       it moves its continent's view (rule 3)                          views.ts
 *   7 incident   open, confirm, refute, close, ask again (rules 8 to 14)         outage.ts
 *   8 alerts     a held "down" follows the incident's times (rule 25)            incident.ts
 *
 * What happens to a result that a step keeps out: after 1 it is shown in charts, and may stand in
 * the matrix as `unknown`; after 4 it covers time and is shown in charts; after 6 it is older than
 * what is known, and decides nothing but that a lonely failure was refuted. Nothing waits or fails
 * here: an exception is a bug, and the batch is set aside (engine/partition.ts).
 */
export function decide(known: MonitorState, event: MonitorEvent, moment: Moment): Decision {
  const state = withoutFuture(known, moment.now);
  const draft = createDraft(
    event.is === 'edited'
      ? { ...state, watched: { ...event.watched, paused_at: state.watched.paused_at } }
      : state,
    moment,
  );
  switch (event.is) {
    case 'result':
      closeRegional(draft);
      onResult(draft, event.result);
      if (event.result.handed_over && draft.state.incident)
        progressLightly(draft, draft.state.incident, { past_at: moment.now });
      break;
    case 'ping':
      onPing(draft, event.ping);
      break;
    case 'tick':
      onTick(draft);
      break;
    case 'edited':
      onEdited(draft, event.at, event.changed);
      break;
    case 'paused':
      onPaused(draft, event.at);
      break;
    case 'resumed':
      onResumed(draft, event.at);
      break;
    case 'deleted':
      onDeleted(draft, event.at);
      break;
    case 'quarantined':
      onQuarantined(draft, event.at, event.probe);
      break;
  }
  reschedule(draft, state.incident);
  return {
    state: draft.state.incident === null ? { ...draft.state, observations: [] } : draft.state,
    effects: draft.effects,
  };
}

/** Rule 45: what one place has seen alone for long is no incident any more. */
function closeRegional(draft: Draft): void {
  const { incident, watched, clock } = draft.state;
  if (incident?.confirmed_at !== null || incident.seen === null) return;
  if (draft.reach.regional.has(vantageOf(watched, incident.seen)))
    close(draft, incident, clock, notes.oneContinent);
}

function onResult(draft: Draft, result: SeenResult): void {
  const usable = isUsable(draft, result);
  addToMatrix(draft, result, usable);
  if (!usable) return;
  if (isAside(draft.state.watched, result.from)) {
    if (mayDecide(draft, result)) moveAside(draft, result);
    return;
  }
  coverTime(draft, result);
  if (!mayDecide(draft, result)) return;
  retimeIfLate(draft, result);
  noteWarnings(draft, result);
  judge(draft, result);
  notePlaces(draft);
}

/** It is known what the inside sees, and nothing follows from it: not even how late it is. */
function moveAside(draft: Draft, result: SeenResult): void {
  const { views } = see(draft.state.views, result);
  draft.state = { ...draft.state, views: forget(views, draft.state.clock, draft.reach) };
  const { incident } = draft.state;
  if (incident) countAcross(draft, incident, result.from, result.outcome === 'ok', result.at);
}

/** Whether a result says anything about the target (rules 1 and 16). */
function isUsable({ moment, state }: Draft, result: SeenResult): boolean {
  return countsAs(result, moment.now) !== 'unknown' && !isVoid(result, state.beat_at);
}

/**
 * Rule 15: the first answer of each place to the recheck at the first failure, whatever the
 * result.
 */
function addToMatrix(draft: Draft, result: SeenResult, usable: boolean): void {
  const { incident } = draft.state;
  const matrix = incident?.progress.matrix;
  const { continent, name } = result.from;
  const { watched } = draft.state;
  const place = vantageOf(watched, result.from);
  if (!incident || !matrix || result.look !== matrix.look || !matrix.waiting.includes(place))
    return;
  const waiting = matrix.waiting.filter((other) => other !== place);
  progress(draft, incident, { matrix: { ...matrix, waiting } });
  const { at, took_ms, cause, phases, evidence } = result;
  const outcome = usable ? result.outcome : 'unknown';
  draft.effects.push({
    is: 'evidence',
    incident: incident.id,
    row: {
      part: 'matrix',
      continent,
      ...placeIn(watched, result.from),
      probe: name,
      at,
      outcome,
      took_ms,
      cause,
      phases,
      evidence,
    },
  });
}

/** Rule 22. Pings cover a heartbeat; of its probes' results only failures do. */
function coverTime(draft: Draft, result: SeenResult): void {
  const { state } = draft;
  const { watched } = state;
  if (watched.kind === 'heartbeat' && result.outcome === 'ok') return;
  const from = Math.max(beganAt(result), watched.created_at);
  const until = coversUntil(state, result);
  if (until <= from) return;
  const { covered, effects } = cover(state, from, until);
  draft.state = { ...draft.state, ...covered };
  draft.effects.push(...effects);
}

/**
 * Until when a result covers. A result from before a resume or an edit says nothing about the time
 * after it (rule 18).
 */
function coversUntil(
  { watched, decides_from }: Draft['state'],
  { at, config_version }: SeenResult,
): number {
  const until = at + allowedSilence(watched);
  if (at < decides_from && config_version >= watched.config_version - 1)
    return Math.min(until, decides_from);
  return config_version === watched.config_version ? until : at;
}

/** Step 4. */
function mayDecide(
  { state: { watched, decides_from } }: Draft,
  { config_version, at, from }: SeenResult,
): boolean {
  if (config_version !== watched.config_version) return false;
  if (watched.paused_at !== null || at < decides_from) return false;
  return mayCheck(watched, from);
}

/** Rule 3: a late result retimes the incident before it has any other effect. */
function retimeIfLate(draft: Draft, result: SeenResult): void {
  const { state } = draft;
  const { incident, clock, watched, observations } = state;
  if (!incident || watched.kind === 'heartbeat' || !remembersOf(incident, result.at)) return;
  draft.state = {
    ...state,
    observations: withObservation(observations, observationOf(result), draft.reach.turn_ms),
  };
  const mustRetime =
    result.at < clock || (result.outcome === 'fail' && isDoubted(incident, draft.state));
  if (mustRetime) retimeIncident(draft, incident, judge);
}

/** Steps 6 and 7. */
function judge(draft: Draft, result: SeenResult): void {
  const moved = moveView(draft, result);
  if (moved) moveIncident(draft, result, moved);
}

type Moved = { readonly ok: boolean; readonly wasFailing: boolean };

/** @returns the new view of its continent or place where it may change the incident. */
function moveView(draft: Draft, result: SeenResult): Moved | undefined {
  const { probe } = result.from;
  const before = draft.state.incident ? viewOf(draft.state, result.from) : undefined;
  const { views, newest } = see(draft.state.views, result);
  const clock = Math.max(draft.state.clock, result.at);
  const { incident } = draft.state;
  // A late failure from within an outage that is over is no evidence of the next one (rule 3).
  if (
    result.outcome === 'fail' &&
    incident &&
    isOfLastDown(draft.state, result.at) &&
    !isOfLastDown(draft.state, incident.started_at)
  )
    return undefined;
  // An open incident needs to know when each probe last reported.
  draft.state = {
    ...draft.state,
    views: incident ? views : forget(views, clock, draft.reach),
    clock,
  };
  // Nearly every result: the monitor is up and stays up.
  if (result.outcome === 'ok' && !incident) return undefined;
  const now = { watched: draft.state.watched, views, clock };
  const view = viewOf(now, result.from);
  const { failing, passing } = tallyOf({ state: now, reach: draft.reach }, result.from);
  // The result is older than this probe's newest, than the view that it is of, or than a view may
  // be: it decides nothing (rule 3).
  if (!newest || view?.from.probe !== probe || !(view.ok ? passing : failing).includes(view)) {
    olderThanView(draft, result, newest);
    return undefined;
  }
  return { ok: view.ok, wasFailing: before?.ok === false };
}

function moveIncident(draft: Draft, result: SeenResult, { ok, wasFailing }: Moved): void {
  const { incident } = draft.state;
  if (ok) {
    if (incident?.confirmed_at === null) passWhileVerifying(draft, incident, result);
    else if (incident) passWhileDown(draft, incident, result, wasFailing);
  } else if (!incident) openWith(draft, result);
  else if (incident.confirmed_at === null) failWhileVerifying(draft, incident, result);
  else failWhileDown(draft, incident, result);
  if (!ok) slowSampling(draft, result);
}

/** Whether a place fails alone is told by what all saw since it began to (rule 45). */
const whileFailing = 86_400_000;

/**
 * Probes come and go: views of probes that have not checked for long are dropped, so that a state
 * stays small.
 */
function forget(
  views: readonly ProbeView[],
  clock: number,
  { places, turn_ms }: Draft['reach'],
): readonly ProbeView[] {
  if (views.length <= places) return views;
  const turns = 10 * turn_ms;
  const isFailing = views.some(({ at, ok }) => !ok && clock - at <= whileFailing);
  const kept = isFailing ? Math.max(turns, whileFailing) : turns;
  return views.filter(({ at }) => clock - at <= kept);
}

function olderThanView(draft: Draft, result: SeenResult, newest: boolean): void {
  const { incident } = draft.state;
  if (!incident || result.outcome !== 'ok') return;
  const isOpen = incident.confirmed_at === null && !incident.progress.refuted;
  // This pass is too old for a view, but it was true: the failure was a separate one from what both
  // may see now (rule 10).
  const refutes =
    isOpen && newest && isOfAnother(draft, incident, result) && result.at > incident.started_at;
  if (refutes) progress(draft, incident, { refuted: true });
}

/** Whether another place of the incident's side saw it. */
function isOfAnother({ state, reach }: Draft, { seen }: Incident, { from }: SeenResult): boolean {
  if (seen === null) return true;
  if (reach.inside && sideOf(seen) !== sideOf(from)) return false;
  return vantageOf(state.watched, seen) !== vantageOf(state.watched, from);
}

function onTick(draft: Draft): void {
  if (draft.state.watched.paused_at !== null) return;
  const { now } = draft.moment;
  closeRegional(draft);
  catchUp(draft);
  const { covered, effects } = passTime(draft.state, now);
  draft.state = { ...draft.state, ...covered };
  draft.effects.push(...effects);
  const { incident } = draft.state;
  if (incident?.confirmed_at === null) lapse(draft, incident);
  else if (incident) raise(draft, incident, false);
  if (draft.state.incident) sample(draft, draft.state.incident);
}

/** Continues what a restart interrupted, or what waited until the past had been decided. */
function catchUp(draft: Draft): void {
  const { incident, restored, clock } = draft.state;
  draft.state = { ...draft.state, restored: false };
  if (!incident || incident.seen === null) return;
  const { seen } = incident;
  const asOf = { at: viewOf(draft.state, seen)?.at ?? clock, handed_over: false, cause: null };
  if (incident.confirmed_at === null && incident.progress.asked_at === 0)
    askFirst(draft, incident, seen, asOf);
  else if (restored) askAgain(draft, incident, seen, asOf);
}

function sample(draft: Draft, incident: Incident): void {
  const { sampling } = incident.progress;
  const { now, newId } = draft.moment;
  const own = sideReach(draft.reach, incident.seen ?? {});
  if (sampling.next_at === null || now < sampling.next_at) return;
  const undecidedAlone = own.lone && (incident.confirmed_at === null || incident.progress.run > 0);
  // A side that is alone waits for its own next check, not for one of the other side.
  const able = undecidedAlone ? own.able : deciding(draft.reach);
  const place = able[sampling.turn % Math.max(1, able.length)];
  if (place !== undefined)
    draft.effects.push({
      ...{ is: 'look', look: newId(), places: [place] },
      why: undecidedAlone ? 'confirming' : 'sample',
    });
  const next_at = nextSample(draft.state.watched, sampling, draft.moment, {
    confirmed: incident.confirmed_at !== null,
    undecidedAlone,
  });
  progressLightly(draft, incident, { sampling: { ...sampling, next_at, turn: sampling.turn + 1 } });
}
