import type { Place } from '../../shared/checks/places.ts';
import { ask, type Draft, keepEvidence, progress, progressLightly, put } from './draft.ts';
import { begun, close, confirm, count, isOfSide, notes, open, raise } from './incident.ts';
import { failureAt } from './observations.ts';
import { areApart, countApart, vantageOf } from './places.ts';
import { askAgain, askFirst, askRecovery, isOneOfSeveral, samplingStep } from './rechecks.ts';
import type { Incident, ObservingProbe, ProbeView, SeenResult } from './types.ts';
import {
  deciding,
  failureOf,
  isFailing,
  isOfLastDown,
  newestOf,
  sideReach,
  tallyOf,
  together,
} from './views.ts';

/**
 * What results do to an incident: first to one that is not open yet or unconfirmed (rules 8 to 11
 * and 14), then to a confirmed one (rules 12 and 14).
 *
 * An incident is of the side of the probe that saw it. Where both sides decide, each opens and
 * confirms by its own rule, and a confirmed one ends once neither fails.
 */

/**
 * The first failure while no incident is open. It may be a late one, of a lost probe, from within
 * an outage that others saw end. Staleness is judged for each probe (rule 3) and the past stays as
 * it is (rule 24), so it becomes a separate incident beside the other. Time when both were down
 * counts once (rule 21).
 */
export function openWith(draft: Draft, result: SeenResult): void {
  const failure = failureOf(result);
  const opened = open(draft, result.from, result.at, failure);
  const asked = askFirst(draft, opened, result.from, result);
  if (!sideReach(draft.reach, result.from).lone) confirmIfSeenByTwo(draft, asked, result);
}

function confirmIfSeenByTwo(draft: Draft, incident: Incident, result: SeenResult): Incident {
  const pair = confirming(draft, incident, result.from);
  if (!pair) return incident;
  const isDoubted = areDoubted(draft, incident, pair, result);
  if (isDoubted && (incident.progress.doubted === 'now' || !isOfSide(draft, incident, result.from)))
    return incident;
  const parted = isOfSide(draft, incident, result.from)
    ? partFromLonely(draft, incident, pair)
    : takeOver(draft, incident, pair);
  const asked =
    parted.incident.id === incident.id
      ? parted.incident
      : askFirst(draft, parted.incident, parted.incident.seen ?? pair.second.from, result);
  if (isDoubted) return doubt(draft, asked, result);
  return raise(draft, confirm(draft, asked, parted.second, parted.second.at), result.handed_over);
}

/**
 * Rule 46: two places alone fail, not both are shown to be well, and most of the others pass,
 * or may still answer.
 */
function areDoubted(
  draft: Draft,
  incident: Incident,
  { second, partner }: Pair,
  { from, at, handed_over }: SeenResult,
): boolean {
  const { watched, clock } = draft.state;
  if (watched.kind === 'heartbeat') return false;
  if (isWell(second) && isWell(partner)) return false;
  const { failing } = tallyOf(draft, from);
  if (countApart(failing, draft.moment.network) > 2) return false;
  // A coordinator that takes over decides about the past: its time is that of the results, and
  // nobody may have been asked then.
  const isPast = handed_over || draft.moment.now - at > watched.timeout_ms + onTheWay;
  const { turn_ms } = draft.reach;
  const { matrix } = incident.progress;
  const asked_at = (isPast ? undefined : matrix?.asked_at) ?? incident.started_at + turn_ms;
  const lostFrom = (heard_at: number): number => heard_at + watched.timeout_ms + lostAfter;
  const others = placesBut(draft, from, failing);
  const against = others.filter((place) => {
    const passed_at = passedAt(draft, incident, place);
    return (
      clock < lostFrom(asked_at) ||
      // Two turns may be over before it is known whether a place is lost.
      (passed_at !== null && clock <= Math.max(lostFrom(passed_at), passed_at + 2 * turn_ms))
    );
  });
  return against.length > others.length / 2;
}

/** When this place began the pass that is the newest it has told of this incident's time. */
function passedAt({ state }: Draft, incident: Incident, place: Place): number | null {
  const view = newestOf(state.views, place, (from) => vantageOf(state.watched, from));
  return view?.ok && view.at >= incident.started_at ? view.at : null;
}

/** Whether its probe passed most of its other targets when it failed here. */
function isWell({ failure }: ProbeView): boolean {
  const others = failure?.others ?? null;
  return others !== null && others.passed > others.failed;
}

/** How long an answer may take beside its check. */
const onTheWay = 2_000;
/** A probe that is silent for so long is lost, and nobody waits for its place (rule 46.3). */
export const lostAfter = 15_000;

function placesOf({ state }: Draft, views: readonly ProbeView[]): readonly Place[] {
  return views.map(({ from }) => vantageOf(state.watched, from));
}

/** The places of this probe's side that can check, without those of these views. */
function placesBut(
  draft: Draft,
  from: ObservingProbe,
  views: readonly ProbeView[],
): readonly Place[] {
  const left = placesOf(draft, views);
  return sideReach(draft.reach, from).able.filter((place) => !left.includes(place));
}

function doubt(draft: Draft, incident: Incident, result: SeenResult): Incident {
  askWhetherWell(draft, incident, result);
  return progress(draft, incident, { doubted: 'now' });
}

/**
 * Asks those who fail once more: by then their probes know how their other targets fare. A third
 * place that fails makes that needless, so the answers that may still come are waited for.
 */
function askWhetherWell(draft: Draft, incident: Incident, result: SeenResult): void {
  if (result.handed_over || isOneOfSeveral(draft, incident, result)) return;
  ask(draft, placesOf(draft, tallyOf(draft, result.from).failing), 'again');
}

type Pair = { readonly second: ProbeView; readonly partner: ProbeView };

/**
 * The failing view that confirms, and its partner: a failure of another place of this side that
 * could not fail together with it.
 */
function confirming(draft: Draft, incident: Incident, from: ObservingProbe): Pair | undefined {
  const { state, moment } = draft;
  const views = tallyOf(draft, from).failing;
  // An incident beside an outage that is over is not confirmed by failures of that outage (rule 3).
  const failing = isOfLastDown(state, incident.started_at)
    ? views.filter(({ at }) => !isOfLastDown(state, at))
    : views;
  const seen = isOfSide(draft, incident, from) ? incident.seen : null;
  const isSeeing = (view: ProbeView) =>
    seen !== null && vantageOf(state.watched, view.from) === vantageOf(state.watched, seen);
  const mayConfirm = (one: ProbeView, other: ObservingProbe) =>
    areApart(one.from, other, moment.network);
  const pairs: Pair[] = [];
  for (const second of failing) {
    if (seen !== null && !mayConfirm(second, seen)) continue;
    for (const partner of failing) {
      if (!mayConfirm(second, partner.from)) continue;
      if (Math.abs(partner.at - second.at) > together) continue;
      pairs.push({ second, partner });
    }
  }
  // Prefer the pair with the place that saw it first, if it still fails; else the earliest pair.
  const bySeeing = (pair: Pair) => (isSeeing(pair.partner) ? 0 : 1);
  return pairs.toSorted((a, b) => bySeeing(a) - bySeeing(b) || a.second.at - b.second.at)[0];
}

/**
 * One side confirms while an incident of the other is unconfirmed: the incident becomes its own. A
 * failure that the other side saw alone for longer was another matter, and closes.
 */
function takeOver(
  draft: Draft,
  incident: Incident,
  { second, partner }: Pair,
): { incident: Incident; second: ProbeView } {
  const [first, other] = partner.at <= second.at ? [partner, second] : [second, partner];
  return { incident: ofOtherSide(draft, incident, first.from, first), second: other };
}

function ofOtherSide(
  draft: Draft,
  incident: Incident,
  from: ObservingProbe,
  { at, failure }: Pick<ProbeView, 'at' | 'failure'>,
): Incident {
  if (!failure) return incident;
  const { began_at, cause } = failure;
  if (began_at - incident.started_at > together) {
    close(draft, incident, began_at, notes.oneSide);
    return open(draft, from, at, failure);
  }
  const { scope, layer, progress: fresh } = begun(draft, from, at, failure, incident.id);
  const { failed, passed } = incident.progress;
  const moved: Incident = {
    ...incident,
    started_at: began_at,
    seen: from,
    cause,
    scope,
    layer,
    progress: {
      ...incident.progress,
      failed: fresh.failed,
      passed: [],
      asked: fresh.asked,
      across: { failed, passed },
      refuted: false,
      run: 0,
      run_at: at,
      other: null,
    },
  };
  put(draft, moved, 'moved');
  keepEvidence(draft, moved.id, 'seen', from, at, failure);
  return moved;
}

/**
 * Rule 10, second paragraph: after a refutation the long lonely failure was a separate one. The
 * outage begins with that continent's latest failure.
 */
function partFromLonely(
  draft: Draft,
  incident: Incident,
  { second, partner }: Pair,
): { incident: Incident; second: ProbeView } {
  const { watched } = draft.state;
  const isSeeing =
    incident.seen !== null &&
    vantageOf(watched, partner.from) === vantageOf(watched, incident.seen);
  const first = isSeeing || partner.at <= second.at ? partner : second;
  const other = first === partner ? second : partner;
  const began_at = first.failure?.began_at ?? first.at;
  if (
    !incident.progress.refuted ||
    // Two failed together all the while, and it was open whether they could be believed.
    incident.progress.doubted === 'now' ||
    !first.failure ||
    began_at <= incident.started_at
  )
    return { incident, second };
  close(draft, incident, began_at, notes.oneContinent);
  return { incident: open(draft, first.from, first.at, first.failure), second: other };
}

export function failWhileVerifying(draft: Draft, incident: Incident, result: SeenResult): void {
  const seen = count(draft, incident, result.from, false, result.at);
  const judged = sideReach(draft.reach, result.from).lone
    ? confirmAlone(draft, seen, result)
    : confirmIfSeenByTwo(draft, seen, result);
  if (judged.confirmed_at === null && !isOneOfSeveral(draft, judged, result))
    askAgain(draft, judged, result.from, result);
}

/**
 * Distance of the failures with which a lone continent confirms its own, minus the error of a
 * corrected clock (rule 14).
 */
const loneDistance = 5_000 - 500;

/**
 * Rule 14: the only continent confirms by two more failures in a row; of private places that could
 * fail together all that see it do, while none of them passes.
 */
function confirmAlone(draft: Draft, incident: Incident, result: SeenResult): Incident {
  if (!isOfSide(draft, incident, result.from)) return confirmOtherAlone(draft, incident, result);
  const { run, run_at } = incident.progress;
  if (!mayRun(draft, result, run_at)) return incident;
  if (run === 0) return progress(draft, incident, { run: 1, run_at: result.at });
  return raise(draft, confirm(draft, incident, null, result.at), result.handed_over);
}

/** The same by the side that did not open the incident: its first failure begins the run. */
function confirmOtherAlone(draft: Draft, incident: Incident, result: SeenResult): Incident {
  const { other } = incident.progress;
  if (!other) {
    const begins = { from: result.from, at: result.at, run: 0, run_at: result.at };
    return progress(draft, incident, { other: begins });
  }
  if (!mayRun(draft, result, other.run_at)) return incident;
  if (other.run === 0)
    return progress(draft, incident, { other: { ...other, run: 1, run_at: result.at } });
  const { from, at } = other;
  const own = ofOtherSide(draft, incident, from, { at, failure: failureAt(draft, from, at) });
  return raise(draft, confirm(draft, own, null, result.at), result.handed_over);
}

function mayRun(draft: Draft, { at, from }: SeenResult, run_at: number): boolean {
  if (at < run_at + loneDistance) return false;
  return !draft.state.watched.places || tallyOf(draft, from).passing.length === 0;
}

export function passWhileVerifying(draft: Draft, incident: Incident, result: SeenResult): void {
  if (!isOfSide(draft, incident, result.from)) {
    if (incident.progress.other) progress(draft, incident, { other: null });
    return;
  }
  const { watched } = draft.state;
  const seen = count(draft, incident, result.from, true, result.at);
  if (
    incident.seen === null ||
    vantageOf(watched, result.from) !== vantageOf(watched, incident.seen)
  ) {
    const isAlone = tallyOf(draft, result.from).failing.length <= 1;
    const step = {
      ...(seen.progress.doubted === 'now' && isAlone ? { doubted: 'before' as const } : {}),
      ...(!seen.progress.refuted && result.at > incident.started_at ? { refuted: true } : {}),
    };
    const { doubted, matrix } = seen.progress;
    if (doubted === 'now' && !isAlone && matrix !== null && result.look === matrix.look)
      askWhetherWell(draft, seen, result);
    if (Object.keys(step).length > 0) progress(draft, seen, step);
    return;
  }
  close(draft, seen, result.at, null);
  // Another place that still fails opens its own incident with its next failure. Request that now,
  // not only at its turn.
  if (!result.handed_over)
    ask(
      draft,
      failingPlaces(draft).filter((other) => deciding(draft.reach).includes(other)),
      'recovery',
    );
}

/** The places of all sides that fail. */
function failingPlaces(draft: Draft): readonly Place[] {
  const { watched } = draft.state;
  const places = draft.state.views
    .filter((view) => tallyOf(draft, view.from).failing.includes(view))
    .map(({ from }) => vantageOf(watched, from));
  return [...new Set(places)];
}

export function failWhileDown(draft: Draft, incident: Incident, result: SeenResult): void {
  const { state, reach, moment } = draft;
  const seen = count(draft, incident, result.from, false, result.at);
  const { lone } = sideReach(reach, result.from);
  const again = isFailing(draft, result.from, moment.network) || (lone && !state.watched.places);
  const { below_since, run } = seen.progress;
  const worse = again && (below_since !== null || run > 0);
  const down = worse ? progress(draft, seen, { below_since: null, run: 0 }) : seen;
  raise(draft, down, result.handed_over);
}

export function passWhileDown(
  draft: Draft,
  incident: Incident,
  result: SeenResult,
  wasFailing: boolean,
): void {
  const { state, reach, moment } = draft;
  const seen = count(draft, incident, result.from, true, result.at);
  if (state.watched.kind === 'heartbeat') return;
  const below = isStillFailing(draft) ? null : (seen.progress.below_since ?? result.at);
  const retimed =
    below === seen.progress.below_since ? seen : progress(draft, seen, { below_since: below });
  const over = below ?? result.at;
  const isOwn = isOfSide(draft, incident, result.from);
  const own = isOwn ? result.from : (incident.seen ?? result.from);
  if (sideReach(reach, own).lone) {
    const run = retimed.progress.run + (isOwn ? 1 : 0);
    const enough = run >= 2;
    if (enough && !failsBeside(draft, own)) close(draft, retimed, over, null);
    else if (isOwn) recheckSoon(draft, progress(draft, retimed, { run, run_at: result.at }));
    return;
  }
  const { failing, passing } = tallyOf(draft, own);
  // A pass from before the outage says nothing about its end.
  const { network } = moment;
  const well = passing.filter(
    (view) =>
      view.at >= incident.started_at &&
      failing.every(({ from }) => areApart(view.from, from, network)),
  );
  const since = countApart(well, network);
  const enough = since >= 2 || since >= Math.max(1, sideReach(reach, own).apart);
  if (wasFailing) askRecovery(draft, retimed, result.from, result);
  const current = draft.state.incident ?? retimed;
  const isBeside = failsBeside(draft, own);
  if (countApart(failing, network) <= 1 && enough && !isBeside) close(draft, current, over, null);
  else raise(draft, current, result.handed_over);
}

const sides: readonly Pick<ObservingProbe, 'place'>[] = [{}, { place: '' }];

/** Whether a side that decides sees an outage: where both do, either keeps the incident open. */
function isStillFailing(draft: Draft): boolean {
  const counts = draft.reach.inside?.counts ? sides : sides.slice(0, 1);
  return counts.some((side) => isFailing(draft, side, draft.moment.network));
}

/** Whether the other side sees an outage, where both decide. */
function failsBeside(draft: Draft, own: ObservingProbe): boolean {
  if (!draft.reach.inside?.counts) return false;
  const [outside = {}, inside = {}] = sides;
  return isFailing(draft, own.place === undefined ? inside : outside, draft.moment.network);
}

/**
 * The first pass where only one continent may check: its second check is requested soon, whatever
 * the method.
 */
function recheckSoon(draft: Draft, incident: Incident): void {
  const { sampling } = incident.progress;
  const soon = draft.moment.now + samplingStep;
  const next_at = sampling.next_at === null ? soon : Math.min(sampling.next_at, soon);
  progressLightly(draft, incident, { sampling: { ...sampling, next_at } });
}
