import { type Draft, keepEvidence, put } from './draft.ts';
import { close, confirm, layerOf, notes, open, scopeOf, unobservedAt } from './incident.ts';
import { failureAt, isDoubted } from './observations.ts';
import { sideOf, vantageOf } from './places.ts';
import type {
  Incident,
  MonitorState,
  Observation,
  ObservingProbe,
  ProbeView,
  SeenResult,
} from './types.ts';
import { isOfLastDown, sideReach } from './views.ts';

/**
 * Rule 3: a late result retimes an open incident. All that is known of it is decided again in order
 * of start, by the same rules and without effects. The resulting times and places are taken over
 * together. So two continents stay two, and the order of arrival makes no difference.
 */

/**
 * Applies a result to a draft (core/decide.ts). It is passed in, because an import would be a
 * cycle.
 */
type InOrder = (draft: Draft, result: SeenResult) => void;

export function retimeIncident(draft: Draft, incident: Incident, inOrder: InOrder): void {
  const retimed = retimeEvents(draft, incident, inOrder);
  if (!retimed?.incident.seen) return;
  const { seen, started_at, confirmed_at } = retimed.incident;
  if (retimed.ended.length > 0) {
    const current = endThoseBefore(draft, incident, retimed);
    isConfirmed(draft, begins(draft, current, retimed.incident), retimed.incident);
    return;
  }
  // An outage that was alerted is not taken back.
  if (
    incident.confirmed_at !== null &&
    (confirmed_at === null || started_at > incident.confirmed_at)
  )
    return;
  if (retimed.isParted && incident.confirmed_at === null && started_at > incident.started_at) {
    const failure = failureAt(draft, seen, started_at);
    close(draft, incident, started_at, notes.oneContinent);
    isConfirmed(draft, open(draft, seen, started_at, failure), retimed.incident);
  } else isConfirmed(draft, begins(draft, incident, retimed.incident), retimed.incident);
}

type RetimedEvents = {
  /** The incident as it would be open now. */
  readonly incident: Incident;
  /**
   * Whether the incident that it was split from would have ended when it began, as seen from one
   * continent only (rule 10).
   */
  readonly isParted: boolean;
  /** Outages that, by the late results, ended before it began, in order. */
  readonly ended: readonly Ended[];
};

type Ended = Incident & { readonly resolved_at: number };

function retimeEvents(
  draft: Draft,
  incident: Incident,
  inOrder: InOrder,
): RetimedEvents | undefined {
  const { state, moment, reach } = draft;
  const observations = storyOf(state, incident);
  const from = observations[0]?.at;
  if (from === undefined) return undefined;
  const start = from > incident.started_at ? unconfirmed(incident) : null;
  const before: MonitorState = {
    ...state,
    views: [],
    clock: from,
    incident: start,
    observations: [],
    restored: false,
  };
  let ids = 0;
  const newId = () => {
    ids += 1;
    return `retold ${ids}`;
  };
  const again: Draft = { state: before, effects: [], moment: { ...moment, newId }, reach };
  for (const observation of observations) {
    const known = again.state.incident;
    // No tick runs meanwhile to end an unobserved incident. Observations from shortly before the
    // oldest are forgotten.
    const unobserved = known && Math.max(unobservedAt(again, known), from + 2 * reach.turn_ms);
    if (known?.confirmed_at === null && unobserved !== null && observation.at > unobserved)
      again.state = { ...again.state, incident: null };
    inOrder(again, resultOf(observation, state));
  }
  const last = again.state.incident;
  if (!last) return undefined;
  const isParted = again.effects.some(
    (effect) =>
      effect.is === 'incident' &&
      (effect.incident.note === notes.oneContinent || effect.incident.note === notes.oneSide) &&
      effect.incident.resolved_at === last.started_at,
  );
  const outages = again.effects.flatMap((effect) =>
    effect.is === 'incident' && isOutageThatEnded(effect.incident) ? [effect.incident] : [],
  );
  // An outage that ended before this incident began has its own row; observations loaded after a
  // restart repeat it.
  const ended = outages.filter(({ resolved_at }) => resolved_at > incident.started_at);
  return {
    incident: last,
    isParted,
    ended: ended.toSorted((a, b) => a.resolved_at - b.resolved_at),
  };
}

/**
 * An earlier outage's observations are not part of it, except its first failure if that came late
 * (rule 3).
 */
function storyOf(state: MonitorState, { started_at }: Incident): readonly Observation[] {
  return state.observations.filter(
    ({ ok, at }) => ok || at === started_at || !isOfLastDown(state, at),
  );
}

/**
 * The incident before it was confirmed. What is older than the oldest observation stays as it was
 * decided.
 */
function unconfirmed(incident: Incident): Incident {
  return { ...incident, confirmed_at: null, confirmed: null };
}

function resultOf(
  { from, ok, others, ...seen }: Observation,
  { watched }: MonitorState,
): SeenResult {
  return {
    seq: 0,
    monitor: watched.id,
    config_version: watched.config_version,
    look: null,
    quarantined: false,
    handed_over: true,
    ...seen,
    ...(others && { others }),
    from,
    outcome: ok ? 'ok' : 'fail',
  };
}

function isOutageThatEnded(incident: Incident): incident is Ended {
  return incident.confirmed_at !== null && incident.resolved_at !== null;
}

/**
 * Each outage that was over ends where it did, and the next begins as a separate incident: none
 * becomes another.
 */
function endThoseBefore(
  draft: Draft,
  incident: Incident,
  { ended, incident: last }: RetimedEvents,
): Incident {
  let current = incident;
  for (const [index, one] of ended.entries()) {
    const { seen, started_at } = ended[index + 1] ?? last;
    if (!seen) return current;
    const failure = failureAt(draft, seen, started_at);
    close(draft, isConfirmed(draft, begins(draft, current, one), one), one.resolved_at, null);
    current = open(draft, seen, started_at, failure);
  }
  return current;
}

function isConfirmed(
  draft: Draft,
  incident: Incident,
  { confirmed_at, confirmed, progress }: Incident,
): Incident {
  if (confirmed_at === null) return incident;
  if (incident.confirmed_at === null) {
    const made = confirm(
      draft,
      incident,
      confirmed && viewOf(draft, confirmed, confirmed_at),
      confirmed_at,
    );
    const next = { ...made, progress: { ...made.progress, below_since: progress.below_since } };
    put(draft, next, 'confirmed');
    return next;
  }
  if (confirmed_at === incident.confirmed_at && isObservingProbe(confirmed, incident.confirmed))
    return incident;
  // What is decided again waits longer for others (rule 46), and may have been told by then.
  if (
    progress.doubted === 'now' &&
    confirmed_at > incident.confirmed_at &&
    isStillConfirmed(draft, incident)
  )
    return incident;
  const moved: Incident = { ...incident, confirmed_at, confirmed };
  put(draft, moved, 'moved');
  if (confirmed)
    keepEvidence(
      draft,
      moved.id,
      'confirmed',
      confirmed,
      confirmed_at,
      failureAt(draft, confirmed, confirmed_at),
    );
  return moved;
}

/** Whether no pass of its two places speaks against a confirmation. */
function isStillConfirmed({ state }: Draft, incident: Incident): boolean {
  const { seen, confirmed } = incident;
  if (seen === null || confirmed === null || isDoubted(incident, state)) return false;
  return vantageOf(state.watched, seen) !== vantageOf(state.watched, confirmed);
}

function viewOf(draft: Draft, from: ObservingProbe, at: number): ProbeView {
  return {
    from,
    at,
    ok: false,
    ok_at: null,
    failing_since: at,
    failure: failureAt(draft, from, at),
  };
}

function isObservingProbe(one: ObservingProbe | null, other: ObservingProbe | null): boolean {
  return one?.probe === other?.probe;
}

function begins(
  draft: Draft,
  incident: Incident,
  { started_at, seen, progress }: Incident,
): Incident {
  if (!seen || (started_at === incident.started_at && isObservingProbe(seen, incident.seen)))
    return incident;
  const failure = failureAt(draft, seen, started_at);
  const { cause } = failure;
  // What the other side saw is no part of its scope.
  const isOther =
    draft.reach.inside !== null && incident.seen && sideOf(incident.seen) !== sideOf(seen);
  const failed = isOther ? progress.failed : union(incident.progress.failed, progress.failed);
  const passed = isOther ? progress.passed : union(incident.progress.passed, progress.passed);
  const { run, run_at, below_since } = progress;
  const refuted =
    progress.refuted || (started_at <= incident.started_at && incident.progress.refuted);
  const open = incident.confirmed_at === null ? { refuted, run, run_at, below_since } : {};
  const { failed: before, passed: then } = incident.progress;
  const across = isOther ? { across: { failed: before, passed: then } } : {};
  const asked = sideReach(draft.reach, seen).able;
  const moved: Incident = {
    ...incident,
    started_at,
    seen,
    cause,
    layer: layerOf(cause),
    scope: scopeOf(cause, { failed, passed, asked }),
    progress: { ...incident.progress, ...open, ...across, failed, passed, asked },
  };
  put(draft, moved, 'moved');
  keepEvidence(draft, moved.id, 'seen', seen, started_at, failure);
  return moved;
}

function union<Item>(some: readonly Item[], more: readonly Item[]): readonly Item[] {
  return [...new Set([...some, ...more])];
}
