import type { Roster } from '../../shared/checks/assignment.ts';
import { isPrivatePlace, type Place } from '../../shared/checks/places.ts';
import type { ObservingProbe, ProbeView, Watched } from './types.ts';

/**
 * From where results tell of a monitor. Its public places see it from outside, its private ones
 * from inside: the two may truly differ, so they never confirm or refute each other (rule 10).
 */
export type Side = 'outside' | 'inside';

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

type Seen = Pick<ProbeView, 'at' | 'ok'>;

/**
 * Which of two views of one continent or place counts: the newer one, or the failure where both
 * started together.
 */
export function countsBefore(one: Seen, other: Seen): boolean {
  return one.at > other.at || (one.at === other.at && !one.ok && other.ok);
}

type Choice = Pick<Watched, 'probe' | 'places' | 'inside_counts'>;

/** Whether only private places check it. */
export function isPrivate({ probe, places }: Pick<Choice, 'probe' | 'places'>): boolean {
  return places ? places.every(isPrivatePlace) : probe !== null;
}

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
