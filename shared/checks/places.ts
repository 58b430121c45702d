import { type Continent, isContinent } from '../base/continents.ts';

/**
 * One of the places that a monitor is checked from, as its choice says: a continent (`Europe`: any
 * public probe there), a region of one (`Europe/Frankfurt`: its public probes), or the id of a
 * private place.
 */
export type Place = string;

type PublicPlace = { readonly continent: Continent; readonly region: string | null };

/** The continent and region that a public place names; undefined for a private one. */
export function publicPlace(place: Place): PublicPlace | undefined {
  const at = place.indexOf('/');
  const continent = at < 0 ? place : place.slice(0, at);
  if (!isContinent(continent)) return undefined;
  return { continent, region: at < 0 ? null : place.slice(at + 1) };
}

/** How a choice names a region. */
export function regionPlace(continent: Continent, region: string): Place {
  return `${continent}/${region}`;
}

export function isPrivatePlace(place: Place): boolean {
  return publicPlace(place) === undefined;
}

/** Whether public and private places are among them: some see the target from outside, some inside. */
export function haveBothSides(places: readonly Place[]): boolean {
  return places.some(isPrivatePlace) && !places.every(isPrivatePlace);
}
