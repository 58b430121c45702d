import type { Roster } from '../../shared/checks/assignment.ts';
import { isPrivatePlace, type Place } from '../../shared/checks/places.ts';
import type { MonitorState, ObservingProbe, ProbeView, Watched } from './types.ts';

/**
 * From where results tell of a monitor. Its public places see it from outside, its private ones
 * from inside: the two may truly differ, so they never confirm or refute each other (rule 10).
 */
type Side = 'outside' | 'inside';

type From = Pick<ObservingProbe, 'continent' | 'place'>;

export function sideOf({ place }: Pick<ObservingProbe, 'place'>): Side {
  return place === undefined ? 'outside' : 'inside';
}

/**
 * Whose view a probe's results are: that of its continent, or of its private place. Without chosen
 * places it is always the continent, because then there is one private place at most.
 */
export function vantageOf({ places }: Pick<Watched, 'places'>, { place, continent }: From): Place {
  return places ? (place ?? continent) : continent;
}

type View = Pick<ProbeView, 'at' | 'ok'>;

/**
 * Which of two views of one continent or place counts: the newer one, or the failure where both
 * started together.
 */
export function countsBefore(one: View, other: View): boolean {
  return one.at > other.at || (one.at === other.at && !one.ok && other.ok);
}

type Choice = Pick<Watched, 'probe' | 'places' | 'inside_counts'>;

/**
 * Whether this probe's results only tell what the inside sees and decide nothing: where both sides
 * check, the outside decides, unless `inside_counts`.
 */
export function isAside(
  { places, inside_counts }: Pick<Choice, 'places' | 'inside_counts'>,
  { place }: Pick<ObservingProbe, 'place'>,
): boolean {
  return place !== undefined && places
    ? inside_counts !== true && !places.every(isPrivatePlace)
    : false;
}

/** The site of a private place; null when it is not known. */
export function siteOf(place: string, { probes }: Roster): string | null {
  const sited = probes.find(
    ({ organisation, site }) => organisation === place && typeof site === 'string',
  );
  return sited?.site ?? null;
}

/**
 * Whether the places of two probes of one side could not fail together (rule 10): they are on
 * different continents, or, private ones, known to be at different sites.
 */
export function areApart(one: From, other: From, roster: Roster): boolean {
  if (one.place === undefined || other.place === undefined)
    return one.continent !== other.continent;
  const site = siteOf(one.place, roster);
  return site !== null && ![null, site].includes(siteOf(other.place, roster));
}

/**
 * How many of these views of one side could not fail together: of private places, how many sites
 * they are at. Places whose site is not known count as one, and not beside others.
 */
export function countApart(views: readonly { readonly from: From }[], roster: Roster): number {
  const inside = views.flatMap(({ from: { place } }) => (place === undefined ? [] : [place]));
  return views.length - inside.length + countSites(inside, roster);
}

export function countSites(places: readonly Place[], roster: Roster): number {
  const known = new Set(places.map((place) => siteOf(place, roster)));
  known.delete(null);
  return Math.max(known.size, Math.min(1, places.length));
}

/**
 * A place that fails alone while others pass (rule 45): a blocked continent, a broken route. It says
 * nothing of the target itself, so for as long as it fails the others decide without it.
 */

type Seen = Pick<MonitorState, 'watched' | 'views' | 'incident' | 'last_down' | 'clock'>;

/** The places of both sides that can check, and how long a turn of each takes. */
type Able = {
  readonly able: readonly Place[];
  readonly inside: { readonly able: readonly Place[] } | null;
  readonly turn_ms: number;
};

/** For so long its failure may still be the beginning of an outage. */
const aloneFor = 300_000;

const none: ReadonlySet<Place> = new Set();

export function regionalPlaces(seen: Seen, reach: Able): ReadonlySet<Place> {
  if (seen.views.every(({ ok }) => ok) || seen.watched.kind === 'heartbeat') return none;
  const places = placesOf(seen);
  const regional = places.filter((place) => isRegional(place, places, seen, reach));
  return regional.length === 0 ? none : new Set(regional.map(({ place }) => place));
}

/** What the views of a place amount to. */
export type SeenPlace = {
  readonly place: Place;
  readonly newest: ProbeView;
  /** The newest pass of any of its probes. */
  readonly ok_at: number;
  /** Start of the first of its failures in a row; null while it passes. */
  readonly failing_since: number | null;
};

export function placesOf({ views, watched }: Seen): readonly SeenPlace[] {
  const byPlace = Map.groupBy(views, ({ from }) => vantageOf(watched, from));
  return [...byPlace].map(([place, its]) => {
    const newest = its.reduce((one, other) => (countsBefore(other, one) ? other : one));
    const ok_at = newestPass(its);
    const failing = its.filter(({ ok, at }) => !ok && at >= ok_at);
    const first = Math.min(...failing.map((view) => failsSince(view, ok_at)));
    return { place, newest, ok_at, failing_since: newest.ok ? null : first };
  });
}

/** When one of these probes passed last; minus infinity when none has. */
export function newestPass(views: readonly Pick<ProbeView, 'ok_at'>[]): number {
  return Math.max(...views.map(({ ok_at }) => ok_at ?? Number.NEGATIVE_INFINITY));
}

/** The first failure that is known of a failing probe since its place passed last. */
export function failsSince(
  { at, failing_since }: Pick<ProbeView, 'at' | 'failing_since'>,
  ok_at: number,
): number {
  return failing_since === null || failing_since < ok_at ? at : failing_since;
}

/**
 * Since when this place fails on its own: what it saw of an outage that others saw too does not
 * count, unless it had failed alone before.
 */
export function failsItselfSince(
  { failing_since }: SeenPlace,
  { last_down }: Pick<Seen, 'last_down'>,
): number | null {
  if (failing_since === null || last_down === null || failing_since > last_down.to)
    return failing_since;
  return failing_since + aloneFor <= last_down.from ? failing_since : last_down.to;
}

/**
 * It was alone if no other place may have begun to fail in these five minutes: each that can check
 * and was seen lately has passed after them.
 */
function isRegional(
  one: SeenPlace,
  places: readonly SeenPlace[],
  seen: Seen,
  { able, inside, turn_ms }: Able,
): boolean {
  const since = failsItselfSince(one, seen);
  if (since === null) return false;
  const over = since + aloneFor;
  if (one.newest.at < over) return false;
  const { incident } = seen;
  if (incident !== null && incident.confirmed_at !== null)
    return incident.progress.regional?.includes(one.place) === true && over <= incident.started_at;
  const others = places.filter(
    ({ place, newest }) => place !== one.place && sideOf(newest.from) === sideOf(one.newest.from),
  );
  const mayFail = ({ place, ok_at, failing_since }: SeenPlace): boolean => {
    if (ok_at >= over) return false;
    const wasWatched = (failing_since ?? seen.clock) - ok_at <= 2 * turn_ms;
    if (failing_since !== null) return failing_since < over || wasWatched;
    return wasWatched && (able.includes(place) || inside?.able.includes(place) === true);
  };
  return others.some(({ ok_at }) => ok_at >= over) && !others.some(mayFail);
}
