import type { Roster } from '../../shared/checks/assignment.ts';
import { nextTurn, type Placed, placesOf, probeOf, turns } from '../../shared/checks/placement.ts';
import { isPrivatePlace, type Place } from '../../shared/checks/places.ts';
import type { Cause } from '../../shared/checks/result.ts';
import { ask, type Draft, progressLightly } from './draft.ts';
import { isAside, vantageOf } from './places.ts';
import type {
  Incident,
  Moment,
  MonitorState,
  ObservingProbe,
  Progress,
  SeenResult,
  Watched,
} from './types.ts';
import { deciding, sideReach } from './views.ts';

/**
 * Rule 9: at the first failure all other places are asked at once, of both sides; their answers are
 * the matrix. It also notices when no other continent is left.
 */
export function askFirst(
  draft: Draft,
  incident: Incident,
  from: ObservingProbe,
  result: Pick<SeenResult, 'at' | 'handed_over'>,
): Incident {
  if (result.handed_over) return incident;
  const { now } = draft.moment;
  // No recheck was requested, so the first current result need not wait for an answer.
  if (!isCurrent(draft, result)) return progressLightly(draft, incident, { asked_at: result.at });
  const { reach } = draft;
  const places = others(draft, from, [...reach.able, ...(reach.inside?.able ?? [])]);
  const alone = isAlone(draft, from);
  if (alone) notifyAlone(draft, from);
  if (alone && places.length === 0)
    return progressLightly(draft, incident, { asked_at: now, told_alone: true });
  const recheck = ask(draft, places, 'first');
  return progressLightly(draft, incident, {
    asked_at: now,
    ...(alone ? { told_alone: true } : {}),
    matrix: recheck === null ? null : { look: recheck, asked_at: now, waiting: places },
  });
}

/**
 * Whether a result is current. The past causes no rechecks, because others can no longer see it.
 */
function isCurrent(draft: Draft, result: Pick<SeenResult, 'at' | 'handed_over'>): boolean {
  return !result.handed_over && draft.moment.now - result.at <= 2 * draft.reach.turn_ms;
}

/** Every other of these places that may check it. */
function others(
  { state, reach }: Draft,
  than: ObservingProbe,
  places = deciding(reach),
): readonly Place[] {
  const own = vantageOf(state.watched, than);
  return places.filter((place) => place !== own);
}

/** Whether others beside this probe's place are configured, and none of them is left (rule 14). */
function isAlone(draft: Draft, from: ObservingProbe): boolean {
  const { able, lone } = sideReach(draft.reach, from);
  return !lone && others(draft, from, able).length === 0;
}

/** That a private probe is lost concerns nobody but its owner, who is told of that (rule 39). */
function notifyAlone(draft: Draft, { continent, place }: ObservingProbe): void {
  if (place === undefined || !draft.state.watched.places)
    draft.effects.push({ is: 'notice', about: 'alone', continent });
}

/** Rule 13: our own checks must not prolong an outage. */
export function slowSampling(draft: Draft, { cause }: Pick<SeenResult, 'cause'>): void {
  const { incident, watched } = draft.state;
  const wait = leftAlone(watched, cause);
  const sampling = incident?.progress.sampling;
  if (!incident || !sampling || sampling.next_at === null || wait === 0) return;
  const next_at = Math.max(sampling.next_at, draft.moment.now + wait);
  progressLightly(draft, incident, { sampling: { ...sampling, next_at } });
}

/** However long a target wants to be left alone, its recovery must be noticed. */
const leftAloneAtMost = 600_000;

/**
 * How long a target that failed wants no more than its turns, because it limits our probes: by its
 * `Retry-After`, or by a firewall's page; 0 for any other failure.
 */
function leftAlone({ interval_ms }: Watched, cause: Cause | null): number {
  if (cause === null) return 0;
  const { status, retry_after_s } = cause.params;
  if (typeof retry_after_s === 'number') return Math.min(retry_after_s * 1_000, leftAloneAtMost);
  const isLimited =
    cause.class === 'blocked_by_firewall' ||
    (cause.class === 'unexpected_status' && status === 429);
  return isLimited ? Math.min(interval_ms, leftAloneAtMost) : 0;
}

/**
 * Whether this answers the first recheck and others may still answer it. They decide; where
 * everything fails and answers are slow, more questions would make them slower.
 */
export function isOneOfSeveral(
  { reach }: Draft,
  incident: Incident,
  { look }: SeenResult,
): boolean {
  const { matrix } = incident.progress;
  return (
    matrix !== null &&
    look === matrix.look &&
    matrix.waiting.some((place) => deciding(reach).includes(place))
  );
}

/** Answers take a moment: within it the same recheck is not requested again. */
const patience = 1_000;

/**
 * Rule 11: each further failure requests a recheck from all but the continent that has just
 * answered.
 */
export function askAgain(
  draft: Draft,
  incident: Incident,
  from: ObservingProbe,
  result: Pick<SeenResult, 'at' | 'handed_over' | 'cause'>,
): Incident {
  const { now } = draft.moment;
  if (!isCurrent(draft, result)) return incident;
  if (incident.progress.asked_at === 0) return askFirst(draft, incident, from, result);
  if (leftAlone(draft.state.watched, result.cause) > 0) return incident;
  if (now - incident.progress.asked_at < patience) return incident;
  const places = others(draft, from);
  if (places.length === 0) {
    // Whoever comes back is asked with the next failure, however soon.
    if (!isAlone(draft, from) || incident.progress.told_alone) return incident;
    notifyAlone(draft, from);
    return progressLightly(draft, incident, { told_alone: true });
  }
  ask(draft, places, 'again');
  return progressLightly(draft, incident, { asked_at: now });
}

/** Rule 12: the first pass of a failing continent requests a recheck from all others at once. */
export function askRecovery(
  draft: Draft,
  incident: Incident,
  from: ObservingProbe,
  result: Pick<SeenResult, 'at' | 'handed_over'>,
): Incident {
  if (!isCurrent(draft, result)) return incident;
  ask(draft, others(draft, from), 'recovery');
  return progressLightly(draft, incident, { asked_at: draft.moment.now });
}

/**
 * Rule 13: an open incident is rechecked every 5 s for two minutes, then at doubling distances up
 * to the interval.
 */
export const samplingStep = 5_000;
const closely = 120_000;
const unconfirmedAtMost = 600_000;
/**
 * A late heartbeat that no other continent has judged yet is judged again at least this often,
 * without end: this costs its target nothing.
 */
const heartbeatStep = 30_000;

/**
 * An organisation with many open incidents gets no more samples a second than this. They are spread
 * over all of its incidents, so that an outage of all costs little more than their turns.
 */
export const samplesPerSecond = 20;

/** When the next sample is due after one at `now`; null: sampling has ended. */
export function nextSample(
  watched: Watched,
  sampling: Progress['sampling'],
  { now, crowd = 0 }: Pick<Moment, 'now' | 'crowd'>,
  is: { readonly confirmed: boolean; readonly undecidedAlone: boolean },
): number | null {
  if (!samples(watched, is.confirmed, is.undecidedAlone)) return null;
  const elapsed = now - sampling.since;
  if (watched.kind === 'heartbeat') return now + distanceAfter(elapsed, heartbeatStep);
  if (!watched.sampled) return elapsed < closely ? now + samplingStep : null;
  if (!is.confirmed && elapsed >= unconfirmedAtMost) return null;
  const shared = is.undecidedAlone ? 0 : (crowd / samplesPerSecond) * 1_000;
  return now + Math.max(shared, distanceAfter(elapsed, watched.interval_ms));
}

/**
 * Why an incident is sampled: sampling is safe, or a lone continent needs its next check, which is
 * its confirmation and no sampling (rule 14).
 */
function samples(watched: Watched, confirmed: boolean, undecidedAlone: boolean): boolean {
  if (watched.kind === 'heartbeat') return !confirmed;
  return watched.sampled || undecidedAlone;
}

/** The distance to the next sample, `elapsed` after sampling began. */
function distanceAfter(elapsed: number, interval_ms: number): number {
  if (elapsed < closely) return samplingStep;
  const doublings = Math.floor(Math.log2((elapsed - closely) / (2 * samplingStep) + 1));
  return Math.max(samplingStep, Math.min(interval_ms, 2 * samplingStep * 2 ** doublings));
}

/**
 * Whether no probe that decides has checked it since it was made, resumed or changed. A heartbeat
 * gets no checks: it reports itself.
 */
export function isUnseen({ watched, views }: Pick<MonitorState, 'watched' | 'views'>): boolean {
  return (
    watched.kind !== 'heartbeat' &&
    watched.paused_at === null &&
    views.every(({ from }) => isAside(watched, from))
  );
}

/** The place that makes the first check, and the next turn, which makes the check needless. */
export type FirstCheck = { readonly place: Place; readonly turn_at: number };

/** If the first turn comes sooner than this, no first check is needed. */
const soon = 1_000;

/** A first result that is awaited: of a probe that was asked, or whose turn comes soon. */
export type AwaitedRecheck = {
  readonly place: Place;
  readonly probe: string;
  /** When it counts as lost, and how long it will have been awaited by then. */
  readonly until: number;
  readonly patience_ms: number;
};

/**
 * On top of the check's timeout: for the way there and back, and for the queue behind a thousand
 * others.
 */
const timeoutMs = 15_000;

/**
 * Which place checks at once a monitor that is new, resumed or edited: the one whose turn is
 * next, or none when that turn comes soon. Without it an hourly monitor could show no data for an
 * hour. An awaited check is requested again only when its probe is no longer the one to check, or
 * has not answered for long; then it is awaited for twice as long.
 */
export function firstCheck(
  assignment: FirstPlaced & { readonly timeout_ms: number },
  awaited: AwaitedRecheck | undefined,
  roster: Roster,
  now: number,
): { readonly awaited: AwaitedRecheck | undefined; readonly look: FirstCheck | undefined } {
  const isStillAwaited =
    awaited !== undefined &&
    now < awaited.until &&
    probeOf(assignment, awaited.place, roster)?.id === awaited.probe;
  if (isStillAwaited) return { awaited, look: undefined };
  const next = nextProbe(assignment, roster, now);
  const probe = next && probeOf(assignment, next.place, roster);
  if (!next || !probe) return { awaited: undefined, look: undefined };
  const isSoon = next.turn_at - now <= soon;
  const isLost = awaited !== undefined && now >= awaited.until;
  const timeout_ms = isLost ? awaited.patience_ms * 2 : assignment.timeout_ms + timeoutMs;
  const until = (isSoon ? next.turn_at : now) + timeout_ms;
  return {
    awaited: { place: next.place, probe: probe.id, until, patience_ms: timeout_ms },
    look: isSoon ? undefined : next,
  };
}

type FirstPlaced = Placed & Pick<Watched, 'inside_counts'>;

function nextProbe(assignment: FirstPlaced, roster: Roster, now: number): FirstCheck | undefined {
  let next: FirstCheck | undefined;
  for (const place of placesOf(assignment, roster)) {
    if (isPrivatePlace(place) && isAside(assignment, { place })) continue;
    const its = turns(assignment, place, roster);
    const at = its === undefined ? Number.POSITIVE_INFINITY : nextTurn(its, now);
    if (next === undefined || at < next.turn_at) next = { place, turn_at: at };
  }
  return next;
}

/**
 * How many samples may be requested a second, with a short burst, of whoever has a purse: the
 * coordinator, each probe and each organisation (rule 13). A sample for which one of them has
 * nothing left is left out; the next one comes at its own time.
 */
type Budget = ReadonlyMap<string, Purse>;
export type Purse = { readonly left: number; readonly at: number };

export type Allowance = { readonly perSecond: number; readonly burst: number };

/** Spends one sample of each of these, if all have one: what their purses are then. */
export function spend(
  budget: Budget,
  whose: ReadonlyMap<string, Allowance>,
  now: number,
): { readonly after: Budget; readonly granted: boolean } {
  const own = [...whose].map(([of, allowed]) => [of, fill(budget.get(of), allowed, now)] as const);
  const granted = own.every(([, { left }]) => left >= 1);
  const cost = granted ? 1 : 0;
  return {
    after: new Map(own.map(([of, { left }]) => [of, { left: left - cost, at: now }])),
    granted,
  };
}

function fill(purse: Purse | undefined, { perSecond, burst }: Allowance, now: number): Purse {
  return {
    left: purse
      ? Math.min(burst, purse.left + (Math.max(0, now - purse.at) * perSecond) / 1000)
      : burst,
    at: now,
  };
}

/**
 * How often rechecks of one monitor may be requested, whatever is wanted (rule 13). After any
 * failure the requests are rebuilt from the database and forget which probes were asked. This
 * record survives that, so that no target pays for our faults.
 */
export type RecheckBudget = { readonly purse: Purse | undefined; readonly sampled_at: number };

export const unusedBudget: RecheckBudget = {
  purse: undefined,
  sampled_at: Number.NEGATIVE_INFINITY,
};

/**
 * Enough for all others at a first failure and once more soon after, on seven continents; in the
 * long run enough for what a lonely failure requests.
 */
const askedAtMost: Allowance = { perSecond: 0.5, burst: 12 };

/** Samples are five seconds apart, minus the delay that one of them may have. */
const samplesApart = 4_000;

export function mayAsk(
  before: RecheckBudget,
  isSample: boolean,
  now: number,
): { readonly asked: RecheckBudget; readonly granted: boolean } {
  if (isSample) {
    const granted = now - before.sampled_at >= samplesApart || now < before.sampled_at;
    return { asked: granted ? { ...before, sampled_at: now } : before, granted };
  }
  const purse = fill(before.purse, askedAtMost, now);
  const granted = purse.left >= 1;
  return {
    asked: { ...before, purse: granted ? { ...purse, left: purse.left - 1 } : purse },
    granted,
  };
}

/** Whether its record has expired. */
export function isForgotten({ purse, sampled_at }: RecheckBudget, now: number): boolean {
  return (
    now - sampled_at >= samplesApart && fill(purse, askedAtMost, now).left >= askedAtMost.burst
  );
}
