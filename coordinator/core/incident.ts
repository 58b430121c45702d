import type { Continent } from '../../shared/base/continents.ts';
import { type Interval, union } from '../../shared/base/time.ts';
import { causeLayer } from '../../shared/checks/causes.ts';
import type { Cause, Layer } from '../../shared/checks/result.ts';
import { ask, type Draft, keepEvidence, progress, progressLightly, put } from './draft.ts';
import { knownAtOpening, observationBy } from './observations.ts';
import { askAgain, askFirst, askRecovery, nextSample, samplingStep } from './rechecks.ts';
import {
  allRules,
  type Failure,
  type Incident,
  type ObservingProbe,
  type ProbeView,
  type Rules,
  type Scope,
  type SeenResult,
} from './types.ts';
import { failureOf, isOfLastDown, newestOf, tally, together } from './views.ts';

/**
 * The steps of an incident's life. Modes: verifying (confirmed_at null) → down → resolved;
 * verifying → resolved. First its alerts, then what results do to an incident that is not open yet
 * or unconfirmed (rules 8 to 11 and 14), then to a confirmed one (rules 12 and 14).
 */

/**
 * Which alerts an incident causes (rules 25 and 28). A "down" is one row for each channel. Modes of
 * a row: held (due later, or inside cover) → due (to be sent) → sent; held → dropped (over before
 * it was due).
 */
export type AlertEvent = 'down' | 'up' | 'closed';
export type AlertState = 'held' | 'due' | 'sent' | 'dropped';
export type Alert = {
  readonly event: AlertEvent;
  readonly channel: string;
  readonly state: AlertState;
  /**
   * Of a down: confirmed_at + alert_after_s, whatever the cover. Of the others: when the incident
   * ended.
   */
  readonly due_at: number;
};

/**
 * The "down" rows of a confirmed incident, held until release() finds them due: one for each
 * channel, however often this runs (rule 28). When it runs again, the incident was retimed: held
 * rows get the new due time, sent rows stay.
 */
export const downs = (
  rows: readonly Alert[],
  channels: readonly string[],
  due_at: number,
): Alert[] =>
  rows.length > 0
    ? rows
        .filter((row) => row.event === 'down' && row.state === 'held' && row.due_at !== due_at)
        .map((row) => ({ ...row, due_at }))
    : channels.map((channel) => ({ event: 'down', channel, state: 'held', due_at }));

/**
 * Whether what we know of an incident is current, so that its "down" may leave. While a partition's
 * past is being decided after an absence, the outage may be over (rule 4). Early decisions need not
 * wait for that, nor does what the target itself reported.
 */
export const mayNotify = (
  is: { readonly isPastDecided: boolean; readonly isSaidByTarget: boolean },
  rules: Rules = allRules,
): boolean => is.isPastDecided || is.isSaidByTarget || !rules.past_is_not_alerted;

export type Release = { readonly is: 'due' } | { readonly is: 'held'; readonly until: number };

/**
 * Whether a held "down" may leave now: it is due and the monitor is not covered. Otherwise, when to
 * ask again. It uses the current cover before each attempt to send, so a window that was made,
 * moved by its group or deleted meanwhile counts.
 */
export function release(
  due_at: number,
  cover: readonly Interval[],
  now: number,
  rules: Rules = allRules,
): Release {
  const time = Math.max(due_at, now);
  const inside = rules.held_inside_cover
    ? union(cover).find(({ from, to }) => from <= time && time < to)
    : undefined;
  if (inside) return { is: 'held', until: inside.to };
  return due_at <= now ? { is: 'due' } : { is: 'held', until: due_at };
}

/**
 * The incident has ended: held rows are dropped, and exactly the channels that accepted its "down"
 * are notified. Returns changed and new rows.
 */
export function settle(
  rows: readonly Alert[],
  event: 'up' | 'closed',
  at: number,
  rules: Rules = allRules,
): Alert[] {
  if (rows.some((row) => row.event !== 'down')) return [];
  const dropped = rows
    .filter((row) => row.state === 'held')
    .map((row): Alert => ({ ...row, state: 'dropped' }));
  const took = rows.filter(
    (row) => row.state === 'due' || row.state === 'sent' || !rules.up_only_to_who_took_down,
  );
  return [
    ...dropped,
    ...took.map(({ channel }): Alert => ({ event, channel, state: 'due', due_at: at })),
  ];
}

/** Rules 3 and 25: a held "down" is due by the incident's current times. */
export function reschedule(draft: Draft, before: Incident | null): void {
  const { incident } = draft.state;
  const isSame = incident !== null && incident.id === before?.id && before.progress.alerted;
  if (isSame && incident.confirmed_at !== null && incident.confirmed_at !== before.confirmed_at)
    notifyDown(draft, incident, incident.confirmed_at);
}

function notifyDown(draft: Draft, { id }: Incident, confirmed_at: number): void {
  const due_at = confirmed_at + draft.state.watched.alert_after_ms;
  draft.effects.push({ is: 'alert', event: 'down', incident: id, due_at });
}

/**
 * The first failure while no incident is open. It may be a late one, of a lost probe, from within
 * an outage that others saw end. Staleness is judged for each probe (rule 3) and the past stays as
 * it is (rule 24), so it becomes a separate incident beside the other. Time when both were down
 * counts once (rule 21).
 */
export function openWith(draft: Draft, result: SeenResult): void {
  const failure = failureOf(result);
  const opened = open(draft, result.from, result.at, failure);
  const asked = askFirst(draft, opened, result.from.continent, result);
  if (!draft.reach.lone) confirmIfSeenByTwo(draft, asked, result);
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
        next_at: nextSample(watched, sampling, now, {
          confirmed: from === null,
          undecidedAlone: draft.reach.lone,
        }),
      },
      past_at: 0,
      alerted: false,
      told_alone: false,
      failed,
      passed: [],
      asked: draft.reach.able,
    },
  };
}

/** Which continents saw an outage, which did not, and which can check. */
export type SeenByContinents = {
  readonly failed: readonly Continent[];
  readonly passed: readonly Continent[];
  readonly asked: readonly Continent[];
};

/**
 * From where an outage is seen (rule 15). A continent that failed once in it counts as failed,
 * whatever it saw before or after. The scope is everywhere only once all continents that are asked
 * have failed.
 */
export function scopeOf(cause: Cause | null, { failed, passed, asked }: SeenByContinents): Scope {
  if (isSaidByTheJob(cause)) return 'everywhere';
  if (failed.length <= 1) return 'one_continent';
  return [...asked, ...passed].every((continent) => failed.includes(continent))
    ? 'everywhere'
    : 'some_continents';
}

/** Reported by the job itself: the same for every continent, and seen from none. */
const saidByTheJob: readonly string[] = ['heartbeat_failed', 'heartbeat_exit_code'];

export function isSaidByTheJob(cause: Cause | null): boolean {
  return cause !== null && saidByTheJob.includes(cause.class);
}

export function layerOf(cause: Cause | null): Layer | null {
  return cause ? causeLayer(cause) : null;
}

/**
 * Whether another continent has passed since: it may have refuted a late failure already (rule 10).
 */
export function passedSince({ state }: Draft, continent: Continent, time: number): boolean {
  return state.views.some(
    ({ from, ok_at }) => from.continent !== continent && ok_at !== null && ok_at > time,
  );
}

function confirmIfSeenByTwo(draft: Draft, incident: Incident, result: SeenResult): Incident {
  const pair = confirming(draft, incident);
  if (!pair) return incident;
  const parted = partFromLonely(draft, incident, pair);
  const asked =
    parted.incident.id === incident.id
      ? incident
      : askFirst(
          draft,
          parted.incident,
          parted.incident.seen?.continent ?? pair.second.from.continent,
          result,
        );
  return raise(draft, confirm(draft, asked, parted.second, parted.second.at), result.handed_over);
}

type Pair = { readonly second: ProbeView; readonly partner: ProbeView };

/**
 * The failing view that confirms, and its partner: a failure of another continent, never of the
 * same one.
 */
function confirming(draft: Draft, incident: Incident): Pair | undefined {
  const { rules, state, reach } = draft;
  const views = tally(state.views, state.clock, reach.turn_ms).failing;
  // An incident beside an outage that is over is not confirmed by failures of that outage (rule 3).
  const failing = isOfLastDown(state, incident.started_at)
    ? views.filter(({ at }) => !isOfLastDown(state, at))
    : views;
  const pairs: Pair[] = [];
  for (const second of failing) {
    if (rules.another_continent_confirms && second.from.continent === incident.seen?.continent)
      continue;
    for (const partner of failing) {
      if (rules.another_continent_confirms && partner.from.continent === second.from.continent)
        continue;
      if (rules.within_a_minute && Math.abs(partner.at - second.at) > together) continue;
      pairs.push({ second, partner });
    }
  }
  // Prefer the pair with the continent that saw it first, if it still fails; else the earliest
  // pair.
  const bySeeing = (pair: Pair) =>
    pair.partner.from.continent === incident.seen?.continent ? 0 : 1;
  return pairs.toSorted((a, b) => bySeeing(a) - bySeeing(b) || a.second.at - b.second.at)[0];
}

export const notes = {
  oneContinent: 'seen from one continent only',
  unobserved: 'no longer observed',
  paused: 'the monitor was paused',
  edited: 'what is checked was changed',
  deleted: 'the monitor was deleted',
  quarantined: 'the probe that saw it was quarantined',
  pingWasOnTime: 'the beat had come in time and reached us late',
} as const;

/**
 * Rule 10, second paragraph: after a refutation the long lonely failure was a separate one. The
 * outage begins with that continent's latest failure.
 */
function partFromLonely(
  draft: Draft,
  incident: Incident,
  { second, partner }: Pair,
): { incident: Incident; second: ProbeView } {
  const first =
    partner.from.continent === incident.seen?.continent || partner.at <= second.at
      ? partner
      : second;
  const other = first === partner ? second : partner;
  const began_at = first.failure?.began_at ?? first.at;
  if (
    !draft.rules.lonely_failure_is_another_matter ||
    !incident.progress.refuted ||
    !first.failure ||
    began_at <= incident.started_at
  )
    return { incident, second };
  close(draft, incident, began_at, notes.oneContinent);
  return { incident: open(draft, first.from, first.at, first.failure), second: other };
}

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
  return next;
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
 * Rules 4 and 25: creates the "down" alerts once the outage is current. An outage that is over by
 * then is never alerted.
 */
export function raise(draft: Draft, incident: Incident, handedOver: boolean): Incident {
  const past = draft.rules.past_is_not_alerted && (handedOver || !isOfNow(draft, incident));
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
  const { state, moment, reach } = draft;
  if (incident.seen === null) return true;
  const { failing } = tally(state.views, moment.now, reach.turn_ms);
  return isUpToDate(draft) && failing.length >= (incident.confirmed === null ? 1 : 2);
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
        { continent: by.from.continent, ok: false, at: Math.max(by.at, incident.started_at) },
        draft.reach.able,
      )
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
          ? {
              ...again,
              next_at: nextSample(draft.state.watched, again, now, {
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

/**
 * A pass counts for the scope if it started before or soon after confirmation. A later pass shows
 * the recovery.
 */
const afterConfirmation = 60_000;

type ContinentResult = { readonly continent: Continent; readonly ok: boolean; readonly at: number };

/**
 * The incident with this continent's observation counted in; `asked`: all continents that can check
 * now. Returns the same incident when nothing changed.
 */
export function counted(
  incident: Incident,
  { continent, ok, at }: ContinentResult,
  asked: readonly Continent[],
): Incident {
  const { progress } = incident;
  if (ok && incident.confirmed_at !== null && at > incident.confirmed_at + afterConfirmation)
    return incident;
  const list = ok ? progress.passed : progress.failed;
  if (at < incident.started_at || list.includes(continent)) return incident;
  const failed = ok ? progress.failed : [...progress.failed, continent];
  const passed = ok ? [...progress.passed, continent] : progress.passed;
  const scope = scopeOf(incident.cause, { failed, passed, asked });
  return { ...incident, scope, progress: { ...progress, failed, passed, asked } };
}

export function failWhileVerifying(draft: Draft, incident: Incident, result: SeenResult): void {
  const { continent } = result.from;
  const seen = count(draft, incident, continent, false, result.at);
  const judged = draft.reach.lone
    ? confirmAlone(draft, seen, result)
    : confirmIfSeenByTwo(draft, seen, result);
  if (judged.confirmed_at === null) askAgain(draft, judged, continent, result);
}

/** Counts a continent's observation into the scope (rule 15). */
export function count(
  draft: Draft,
  incident: Incident,
  continent: Continent,
  ok: boolean,
  at: number,
): Incident {
  const next = counted(incident, { continent, ok, at }, draft.reach.able);
  if (next !== incident) put(draft, next, 'progressed');
  return next;
}

/**
 * Distance of the failures with which a lone continent confirms its own, minus the error of a
 * corrected clock (rule 14).
 */
const loneDistance = 5_000 - 500;

/** Rule 14: the only continent confirms by two more failures in a row. */
function confirmAlone(draft: Draft, incident: Incident, result: SeenResult): Incident {
  const { run, run_at } = incident.progress;
  if (!draft.rules.lone_continent_confirms_itself || result.at < run_at + loneDistance)
    return incident;
  if (run === 0) return progress(draft, incident, { run: 1, run_at: result.at });
  return raise(draft, confirm(draft, incident, null, result.at), result.handed_over);
}

export function passWhileVerifying(draft: Draft, incident: Incident, result: SeenResult): void {
  const { continent } = result.from;
  const seen = count(draft, incident, continent, true, result.at);
  if (continent !== incident.seen?.continent) {
    if (result.at > incident.started_at && !incident.progress.refuted)
      progress(draft, seen, { refuted: true });
    return;
  }
  if (!draft.rules.passing_continent_closes) return;
  close(draft, seen, result.at, null);
  // Another continent that still fails opens its own incident with its next failure. Request that
  // now, not only at its turn.
  const { failing } = tally(draft.state.views, draft.state.clock, draft.reach.turn_ms);
  if (!result.handed_over)
    ask(
      draft,
      failing.map(({ from }) => from.continent).filter((other) => draft.reach.able.includes(other)),
      'recovery',
    );
}

export function lapse(draft: Draft, incident: Incident): void {
  if (!draft.rules.unobserved_lapses || draft.moment.now < lapsesAt(draft, incident)) return;
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
  const last = incident.seen ? newestOf(state.views, incident.seen.continent)?.at : undefined;
  return Math.max(last ?? incident.started_at, incident.started_at) + 2 * reach.turn_ms;
}

export function failWhileDown(draft: Draft, incident: Incident, result: SeenResult): void {
  const { state, reach } = draft;
  const seen = count(draft, incident, result.from.continent, false, result.at);
  const { failing } = tally(state.views, state.clock, reach.turn_ms);
  const again = failing.length >= 2 || reach.lone;
  const worse = again && seen.progress.below_since !== null;
  const down = worse ? progress(draft, seen, { below_since: null, run: 0 }) : seen;
  raise(draft, down, result.handed_over);
}

export function passWhileDown(
  draft: Draft,
  incident: Incident,
  result: SeenResult,
  wasFailing: boolean,
): void {
  const { state, reach, rules } = draft;
  const seen = count(draft, incident, result.from.continent, true, result.at);
  if (state.watched.kind === 'heartbeat') return;
  const { failing, passing } = tally(state.views, state.clock, reach.turn_ms);
  // A pass from before the outage says nothing about its end.
  const since = passing.filter(({ at }) => at >= incident.started_at).length;
  const below = failing.length < 2 ? (seen.progress.below_since ?? result.at) : null;
  const retimed =
    below === seen.progress.below_since ? seen : progress(draft, seen, { below_since: below });
  const over = rules.dated_by_the_first_pass ? (below ?? result.at) : result.at;
  if (reach.lone) {
    if (seen.progress.run > 0 || !rules.two_passes_close) close(draft, retimed, over, null);
    else recheckSoon(draft, progress(draft, retimed, { run: 1, run_at: result.at }));
    return;
  }
  const enough = since >= 2 || since >= Math.max(1, reach.able.length) || !rules.two_passes_close;
  if (wasFailing) askRecovery(draft, retimed, result.from.continent, result);
  const current = draft.state.incident ?? retimed;
  if (failing.length <= 1 && enough) close(draft, current, over, null);
  else raise(draft, current, result.handed_over);
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
