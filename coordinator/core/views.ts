import { type Continent, continents } from '../../shared/base/continents.ts';
import type { Roster, RosterProbe } from '../../shared/checks/assignment.ts';
import { ableToCheck, continentsOf } from '../../shared/checks/placement.ts';
import type { Outcome } from '../../shared/checks/result.ts';
import { allowedSilence } from './ledger.ts';
import {
  type Failure,
  heartbeatParams,
  type Incident,
  type MonitorState,
  type ObservingProbe,
  type ProbeView,
  type SeenResult,
  type Watched,
} from './types.ts';

/**
 * The views after this usable result, and whether it is its probe's newest: an older one changes no
 * view (rule 3).
 */
export function see(
  views: readonly ProbeView[],
  result: SeenResult,
): { readonly views: readonly ProbeView[]; readonly newest: boolean } {
  const ok = result.outcome === 'ok';
  const index = views.findIndex((view) => view.from.probe === result.from.probe);
  const before = views[index];
  if (before && result.at <= before.at) {
    if (!ok || (before.ok_at !== null && before.ok_at >= result.at))
      return { views, newest: false };
    return { views: views.with(index, { ...before, ok_at: result.at }), newest: false };
  }
  const ok_at = ok ? result.at : (before?.ok_at ?? null);
  const view: ProbeView = {
    from: result.from,
    at: result.at,
    ok,
    ok_at,
    failure: ok ? null : failureOf(result),
  };
  return { views: before ? views.with(index, view) : [...views, view], newest: true };
}

/** Failures confirm one another when they started within a minute (rule 10). */
export const together = 60_000;

export function failureOf(result: SeenResult): Failure {
  return {
    began_at: beganAt(result),
    took_ms: result.took_ms,
    cause: result.cause,
    phases: result.phases,
    evidence: result.evidence,
  };
}

/**
 * When a failing check's finding began: a missed deadline for a heartbeat (rule 20), else the start
 * of the check.
 */
export function beganAt({ at, cause }: Pick<SeenResult, 'at' | 'cause'>): number {
  const deadline = cause?.params[heartbeatParams.deadline];
  return typeof deadline === 'number' ? Math.min(at, deadline) : at;
}

/**
 * F and P of the rules, as views: one for each continent that has seen the monitor within two of
 * its turns before `time`.
 */
export type Tally = {
  readonly failing: readonly ProbeView[];
  readonly passing: readonly ProbeView[];
};

export function tally(views: readonly ProbeView[], time: number, turn_ms: number): Tally {
  const failing: ProbeView[] = [];
  const passing: ProbeView[] = [];
  for (const view of views) {
    if (time - view.at > 2 * turn_ms || newestOf(views, view.from.continent) !== view) continue;
    (view.ok ? passing : failing).push(view);
  }
  return { failing, passing };
}

/** A continent's view: the newest ok or fail of any of its probes, whatever its age. */
export function newestOf(views: readonly ProbeView[], continent: Continent): ProbeView | undefined {
  let newest: ProbeView | undefined;
  for (const view of views)
    if (view.from.continent === continent && (!newest || counts(view, newest))) newest = view;
  return newest;
}

/**
 * Which of two views of one continent counts: the newer one, or the failure where both started
 * together.
 */
function counts(a: ProbeView, b: ProbeView): boolean {
  return a.at > b.at || (a.at === b.at && !a.ok && b.ok);
}

/**
 * A start further than this in the future is a fault of the probe's clock, not of the target (rule
 * 1).
 */
export const clockTolerance = 5_000;

/**
 * How a result counts when it is decided at `now`: unknown if its probe is quarantined or its clock
 * is wrong (rules 1 and 16). Raw results must be stored like this, because a state is rebuilt from
 * them.
 */
export const countsAs = (
  { outcome, quarantined, at }: Pick<SeenResult, 'outcome' | 'quarantined' | 'at'>,
  now: number,
): Outcome => (quarantined || at > now + clockTolerance ? 'unknown' : outcome);

/**
 * Whether a failure that started then belongs to the last confirmed outage: arriving late, it is no
 * evidence of another one (rule 3).
 */
export const isOfLastDown = ({ last_down }: Pick<MonitorState, 'last_down'>, at: number): boolean =>
  last_down !== null && at >= last_down.from && at < last_down.to;

/**
 * Results from the future come from a wrong clock, maybe ours, which all probes follow. Until that
 * time, new results would seem older than those and decide nothing.
 */
export function withoutFuture(state: MonitorState, now: number): MonitorState {
  if (!wasClockSetBack(state.clock, now)) return state;
  const { watched, covered_until, incident } = state;
  return {
    ...state,
    clock: now,
    views: state.views.filter(({ at }) => !wasClockSetBack(at, now)),
    observations: state.observations.filter(({ at }) => !wasClockSetBack(at, now)),
    warnings: state.warnings.map((warning) => ({
      ...warning,
      views: warning.views.filter(({ at }) => !wasClockSetBack(at, now)),
    })),
    // A heartbeat is covered until its deadline by its own pings, not by checks.
    covered_until:
      watched.kind === 'heartbeat'
        ? covered_until
        : Math.min(covered_until, now + allowedSilence(watched)),
    incident: incident && begunByNow(incident, now),
  };
}

/** Whether our clock was set back after the newest known result. */
export function wasClockSetBack(clock: number, now: number): boolean {
  return clock > now + clockTolerance;
}

/** An incident from the future begins now; otherwise no later result could end it. */
function begunByNow(incident: Incident, now: number): Incident {
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
      sampling: {
        ...sampling,
        since: Math.min(sampling.since, now),
        next_at: atMost(sampling.next_at, now),
      },
    },
  };
}

function atMost(at: number | null, now: number): number | null {
  return at === null ? null : Math.min(at, now);
}

/** From where a monitor can be checked: what rules 5, 9, 12 and 14 need to know of the network. */
export type Reach = {
  /** Continents that can check it now. */
  readonly able: readonly Continent[];
  /**
   * Whether its configuration, or the installation's, lets only one continent check it, even when
   * all others are healthy (rule 14).
   */
  readonly lone: boolean;
  /**
   * The length of a continent's turn: with n continents each checks every n × interval (rule 5).
   */
  readonly turn_ms: number;
};

/**
 * A heartbeat has deadlines and no turns; while it is late its probes judge it about once a minute.
 */
const heartbeatTurn = 60_000;

export function reachOf(
  watched: Pick<
    Watched,
    'id' | 'kind' | 'interval_ms' | 'continents' | 'probe' | 'inside' | 'ability'
  >,
  roster: Roster,
): Reach {
  const { id, kind, interval_ms, continents: allowed, probe, inside, ability } = watched;
  const able = continentsOf(
    { monitor: id, interval_ms, ordinal: 0, continents: allowed, probe, inside, kind, ability },
    roster,
  );
  const registered = continentsAble(watched, roster) ?? registeredContinents(roster);
  const configured =
    probe !== null
      ? 1
      : allowed === null
        ? registered.length
        : registered.filter((continent) => allowed.includes(continent)).length;
  const turn_ms = kind === 'heartbeat' ? heartbeatTurn : Math.max(1, able.length) * interval_ms;
  return { able, lone: configured <= 1, turn_ms };
}

const registeredIn = new WeakMap<Roster, readonly Continent[]>();

function registeredContinents(roster: Roster): readonly Continent[] {
  const known = registeredIn.get(roster);
  if (known) return known;
  const made = continents.filter((continent) =>
    roster.probes.some((probe) => probe.organisation === null && probe.continent === continent),
  );
  registeredIn.set(roster, made);
  return made;
}

/** Continents with a public probe, healthy or not, that can check it; undefined when all can. */
function continentsAble(
  watched: Pick<Watched, 'kind' | 'ability' | 'inside'>,
  roster: Roster,
): readonly Continent[] | undefined {
  const able = ableToCheck(watched, roster);
  return (
    able &&
    continents.filter((continent) =>
      roster.probes.some((probe) => probe.continent === continent && able.has(probe.id)),
    )
  );
}

/** Whether this public probe is the only one of its continent. */
export function isOnlyOne(probe: string, { probes }: Roster): boolean {
  const own = probes.find(({ id }) => id === probe)?.continent;
  return !probes.some(
    ({ id, continent, organisation, healthy, quarantined }) =>
      id !== probe && continent === own && organisation === null && healthy && !quarantined,
  );
}

/** Whether this probe could get the monitor, now or if it were healthy. */
export function couldHold(
  watched: Pick<Watched, 'kind' | 'ability' | 'continents' | 'probe' | 'inside'>,
  probe: RosterProbe,
  roster: Roster,
): boolean {
  if (watched.probe !== null) return watched.probe === probe.organisation;
  const { id, continent } = probe;
  if (!mayCheck(watched, { probe: id, continent })) return false;
  return probe.organisation === null && ableToCheck(watched, roster)?.has(probe.id) !== false;
}

/** Whether this probe's results may count for the monitor as it is configured now. */
export function mayCheck(
  watched: Pick<Watched, 'continents' | 'probe'>,
  { probe, place = probe, continent }: Omit<ObservingProbe, 'name'>,
): boolean {
  // A place has the id of its first probe, and before there were places a view named only that.
  return watched.probe !== null
    ? watched.probe === place
    : watched.continents === null || watched.continents.includes(continent);
}
