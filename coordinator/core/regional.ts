import type { Place } from '../../shared/checks/places.ts';
import { countsBefore, sideOf, vantageOf } from './sides.ts';
import type { MonitorState, ProbeView } from './types.ts';

/**
 * A place that fails alone while others pass (rule 45): a blocked continent, a broken route. It says
 * nothing of the target itself, so for as long as it fails the others decide without it.
 */

type Seen = Pick<MonitorState, 'watched' | 'views' | 'incident' | 'last_down'>;

/** For so long its failure may still be the beginning of an outage. */
const aloneFor = 300_000;

const none: ReadonlySet<Place> = new Set();

export function regionalPlaces(seen: Seen): ReadonlySet<Place> {
  if (seen.views.every(({ ok }) => ok) || seen.watched.kind === 'heartbeat') return none;
  const places = placesOf(seen);
  const regional = places.filter((place) => isRegional(place, places, seen));
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
    const ok_at = Math.max(...its.map((view) => view.ok_at ?? Number.NEGATIVE_INFINITY));
    const first = Math.min(...its.map((view) => failsSince(view, ok_at)));
    return { place, newest, ok_at, failing_since: newest.ok ? null : first };
  });
}

/** The first failure that is known of this probe since its place passed last. */
function failsSince({ ok, at, failing_since }: ProbeView, ok_at: number): number {
  if (ok || at < ok_at) return Number.POSITIVE_INFINITY;
  return failing_since === null || failing_since < ok_at ? at : failing_since;
}

/**
 * Since when this place fails for itself: what it saw of an outage that others saw too does not
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

function isRegional(one: SeenPlace, places: readonly SeenPlace[], seen: Seen): boolean {
  const since = failsItselfSince(one, seen);
  if (since === null || one.newest.at < since + aloneFor) return false;
  const { incident } = seen;
  if (incident !== null && incident.confirmed_at !== null)
    return (
      incident.progress.regional?.includes(one.place) === true &&
      since + aloneFor <= incident.started_at
    );
  const others = places.filter(
    ({ place, newest }) => place !== one.place && sideOf(newest.from) === sideOf(one.newest.from),
  );
  const passedSince = ({ ok_at }: SeenPlace): boolean => ok_at >= since + aloneFor;
  return (
    others.some(passedSince) &&
    others.every((other) => other.failing_since === null || passedSince(other))
  );
}
