import { type Continent, continents } from '../../shared/base/continents.ts';
import type { Roster } from '../../shared/checks/assignment.ts';
import { ableToCheck, placeFor, placesOf } from '../../shared/checks/placement.ts';
import { isPrivatePlace, type Place, publicPlace } from '../../shared/checks/places.ts';
import type { Outcome } from '../../shared/checks/result.ts';
import { allowedSilence } from './ledger.ts';
import {
  countApart,
  countSites,
  countsBefore,
  failsSince,
  newestPass,
  regionalPlaces,
  sideOf,
  vantageOf,
} from './places.ts';
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
    const failing_since = before.ok ? null : failsSince(before, result.at);
    const passed = { ...before, ok_at: result.at, failing_since };
    return { views: views.with(index, passed), newest: false };
  }
  const ok_at = ok ? result.at : (before?.ok_at ?? null);
  const view: ProbeView = {
    from: result.from,
    at: result.at,
    ok,
    ok_at,
    failing_since: ok
      ? null
      : failsSince(
          { at: result.at, failing_since: before?.failing_since ?? null },
          newestPass(views.filter((view) => placeOf(view.from) === placeOf(result.from))),
        ),
    failure: ok ? null : failureOf(result),
  };
  const others = ok ? failingAnew(views, result) : views;
  return { views: before ? others.with(index, view) : [...others, view], newest: true };
}

/**
 * Whoever failed here before this pass fails anew with its next failure. Who passed may be forgotten
 * by then.
 */
function failingAnew(
  views: readonly ProbeView[],
  { from, at }: Pick<SeenResult, 'from' | 'at'>,
): readonly ProbeView[] {
  const fails = (view: ProbeView): boolean =>
    view.failing_since !== null && view.at < at && placeOf(view.from) === placeOf(from);
  return views.some(fails)
    ? views.map((view) => (fails(view) ? { ...view, failing_since: null } : view))
    : views;
}

function placeOf({ place, continent }: ObservingProbe): string {
  return place ?? continent;
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
    others: result.others ?? null,
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
 * F and P of the rules, as views: one for each continent, or private place, that has seen the
 * monitor within two of its turns before `time`.
 */
type Tally = {
  readonly failing: readonly ProbeView[];
  readonly passing: readonly ProbeView[];
};

type Vantage = (from: ObservingProbe) => Place;
const continentOf: Vantage = ({ continent }) => continent;

export function tally(
  views: readonly ProbeView[],
  time: number,
  turn_ms: number,
  vantage: Vantage = continentOf,
): Tally {
  const failing: ProbeView[] = [];
  const passing: ProbeView[] = [];
  for (const view of views) {
    if (time - view.at > 2 * turn_ms || newestOf(views, vantage(view.from), vantage) !== view)
      continue;
    (view.ok ? passing : failing).push(view);
  }
  return { failing, passing };
}

type Seen = {
  readonly state: Pick<MonitorState, 'watched' | 'views' | 'clock'>;
  readonly reach: Pick<Reach, 'turn_ms' | 'inside' | 'regional'>;
};

/** F and P as the side of this probe sees them, without regional places (rule 45). */
export function tallyOf(
  { state, reach }: Seen,
  from: Pick<ObservingProbe, 'place'>,
  time = state.clock,
): Tally {
  const { views, watched } = state;
  const own = reach.inside ? views.filter((view) => sideOf(view.from) === sideOf(from)) : views;
  const counted =
    reach.regional.size === 0
      ? own
      : own.filter((view) => !reach.regional.has(vantageOf(watched, view.from)));
  return tally(counted, time, reach.turn_ms, vantageIn(watched));
}

/** Nearly always the continent, which needs no function of its own. */
function vantageIn(watched: Pick<Watched, 'places'>): Vantage {
  return watched.places ? (probe) => vantageOf(watched, probe) : continentOf;
}

/** The view that this probe's results are of, whatever its age. */
export function viewOf(
  { watched, views }: Pick<MonitorState, 'watched' | 'views'>,
  from: ObservingProbe,
): ProbeView | undefined {
  const vantage = vantageIn(watched);
  return newestOf(views, vantage(from), vantage);
}

/** A continent's view: the newest ok or fail of any of its probes, whatever its age. */
export function newestOf(
  views: readonly ProbeView[],
  place: Place,
  vantage: Vantage = continentOf,
): ProbeView | undefined {
  let newest: ProbeView | undefined;
  for (const view of views)
    if (vantage(view.from) === place && (!newest || countsBefore(view, newest))) newest = view;
  return newest;
}

/**
 * A start further than this in the future is a fault of the probe's clock, not of the target (rule
 * 1).
 */
const clockTolerance = 5_000;

/**
 * How a result counts when it is decided at `now`: unknown if its probe is quarantined or its clock
 * is wrong (rules 1 and 16). Raw results must be stored like this, because a state is rebuilt from
 * them.
 */
export function countsAs(
  { outcome, quarantined, at }: Pick<SeenResult, 'outcome' | 'quarantined' | 'at'>,
  now: number,
): Outcome {
  return quarantined || at > now + clockTolerance ? 'unknown' : outcome;
}

/**
 * A failure judged from a ping older than the newest known good one: its probe had not received
 * that one.
 */
export function isVoid({ outcome, cause }: SeenResult, beat_at: number | null): boolean {
  if (beat_at === null || outcome !== 'fail') return false;
  const { [heartbeatParams.after]: after, [heartbeatParams.deadline]: deadline } =
    cause?.params ?? {};
  return (
    (typeof after === 'number' && after < beat_at) ||
    (typeof deadline === 'number' && deadline < beat_at)
  );
}

/**
 * Whether a failure that started then belongs to the last confirmed outage: arriving late, it is no
 * evidence of another one (rule 3).
 */
export function isOfLastDown({ last_down }: Pick<MonitorState, 'last_down'>, at: number): boolean {
  return last_down !== null && at >= last_down.from && at < last_down.to;
}

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

/** Of the places of one side: what rules 9, 12 and 14 need to know of the network. */
type SideReach = {
  /** Continents, or private places, that can check it now. */
  readonly able: readonly Place[];
  /** How many of them could not fail together. */
  readonly apart: number;
  /**
   * Whether its configuration, or the installation's, lets only one continent check it, even when
   * all others are healthy; of private places, whether all of them could fail together (rule 14).
   */
  readonly lone: boolean;
};

/** From where a monitor can be checked: its only side, or the outside. */
export type Reach = SideReach & {
  /**
   * The length of a place's turn: with n places each checks every n × interval (rule 5).
   */
  readonly turn_ms: number;
  /** How many places take turns. */
  readonly places: number;
  /** Places that decide nothing for now (rule 45): they are not among those that are able. */
  readonly regional: ReadonlySet<Place>;
  /** Its private places beside public ones; `counts`: they decide as well. */
  readonly inside: (SideReach & { readonly counts: boolean }) | null;
};

/** The places of this probe's side. */
export function sideReach(reach: Reach, { place }: Pick<ObservingProbe, 'place'>): SideReach {
  return reach.inside && place !== undefined ? reach.inside : reach;
}

/** The places that decide. */
export function deciding(reach: Reach): readonly Place[] {
  return reach.inside?.counts ? [...reach.able, ...reach.inside.able] : reach.able;
}

/**
 * A heartbeat has deadlines and no turns; while it is late its probes judge it about once a minute.
 */
const heartbeatTurn = 60_000;

type Watching = Pick<
  Watched,
  | 'id'
  | 'kind'
  | 'interval_ms'
  | 'continents'
  | 'probe'
  | 'places'
  | 'inside_counts'
  | 'inside'
  | 'ability'
>;

const noPlaces: ReadonlySet<Place> = new Set();

/** `regional`: places that decide nothing for now (rule 45). */
export function reachOf(
  watched: Watching,
  roster: Roster,
  regional: ReadonlySet<Place> = noPlaces,
): Reach {
  const { id, kind, interval_ms, continents: allowed, probe, places, inside, ability } = watched;
  const all = placesOf(
    {
      monitor: id,
      interval_ms,
      ordinal: 0,
      continents: allowed,
      probe,
      places,
      inside,
      kind,
      ability,
    },
    roster,
  );
  const turn_ms = kind === 'heartbeat' ? heartbeatTurn : Math.max(1, all.length) * interval_ms;
  const counted = { turn_ms, places: all.length, regional };
  if (places) return { ...sidesOf(watched, places, all, { roster, regional }), ...counted };
  const registered = continentsAble(watched, roster) ?? registeredContinents(roster);
  const configured = registered.filter(
    (continent) => allowed?.includes(continent) !== false && !regional.has(continent),
  );
  const lone = probe !== null || configured.length <= 1;
  const able = all.filter((place) => !regional.has(place));
  return { able, apart: able.length, lone, ...counted, inside: null };
}

/** The same without the places that decide nothing for now (rule 45). */
export function reachNow(state: MonitorState, roster: Roster): Reach {
  const reach = reachOf(state.watched, roster);
  const regional = regionalPlaces(state, reach);
  return regional.size === 0 ? reach : reachOf(state.watched, roster, regional);
}

/** What is able on each side of a monitor with chosen places; the only side, or outside first. */
function sidesOf(
  watched: Watching,
  chosen: readonly Place[],
  all: readonly Place[],
  { roster, regional }: { readonly roster: Roster } & Pick<Reach, 'regional'>,
): SideReach & Pick<Reach, 'inside'> {
  const privateOnes = (some: readonly Place[]): readonly Place[] =>
    some.filter((place) => isPrivatePlace(place) && !regional.has(place));
  const able = privateOnes(all);
  const inside = {
    able,
    apart: countSites(able, roster),
    lone: countSites(privateOnes(chosen), roster) <= 1,
  };
  if (chosen.every(isPrivatePlace)) return { ...inside, inside: null };
  const continentsOf = (places: readonly Place[]): readonly Place[] => [
    ...new Set(places.flatMap((place) => publicPlace(place)?.continent ?? [])),
  ];
  const counts = (continent: Place): boolean => !regional.has(continent);
  const outside = continentsOf(all).filter(counts);
  return {
    able: outside,
    apart: outside.length,
    lone: [...publicOnes(watched, roster)].filter(counts).length <= 1,
    inside: chosen.some(isPrivatePlace)
      ? { ...inside, counts: watched.inside_counts === true }
      : null,
  };
}

/** The continents with a public probe, healthy or not, that its chosen places allow. */
function publicOnes(watched: Watching, roster: Roster): ReadonlySet<Place> {
  const able = ableToCheck(watched, roster);
  return new Set(
    roster.probes.flatMap((probe) =>
      probe.organisation === null && able?.has(probe.id) !== false && placeFor(watched, probe)
        ? [probe.continent]
        : [],
    ),
  );
}

/**
 * Whether this side sees an outage: two continents fail, or two private places that could not fail
 * together; of one alone, it fails and no other place beside it passes (rules 12 and 14).
 */
export function isFailing(
  seen: { readonly state: MonitorState; readonly reach: Reach },
  from: Pick<ObservingProbe, 'place'>,
  roster: Roster,
): boolean {
  const { failing, passing } = tallyOf(seen, from);
  return sideReach(seen.reach, from).lone
    ? failing.length > 0 && passing.length === 0
    : countApart(failing, roster) >= 2;
}

/** Continents with a public probe, healthy or not. */
function registeredContinents({ probes }: Roster): readonly Continent[] {
  return continents.filter((each) =>
    probes.some(({ organisation, continent }) => organisation === null && continent === each),
  );
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

/** Whether this probe's results may count for the monitor as it is configured now. */
export function mayCheck(
  watched: Pick<Watched, 'continents' | 'probe' | 'places'>,
  from: Omit<ObservingProbe, 'name'>,
): boolean {
  const { probe, place, continent } = from;
  if (watched.places)
    return place !== undefined
      ? watched.places.includes(place)
      : watched.places.some((chosen) => publicPlace(chosen)?.continent === continent);
  // A place has the id of its first probe, and before there were places a view named only that.
  return watched.probe !== null
    ? watched.probe === (place ?? probe)
    : watched.continents === null || watched.continents.includes(continent);
}
