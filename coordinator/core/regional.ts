import type { Place } from '../../shared/checks/places.ts';
import { countsBefore, sideOf, vantageOf } from './sides.ts';
import type { MonitorState, ProbeView } from './types.ts';

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
