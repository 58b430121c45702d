import { type Continent, isContinent } from '../../shared/base/continents.ts';
import { Refusal, type Remedies } from '../../shared/base/errors.ts';
import type { Config } from '../../shared/checks/assignment.ts';
import { refusedConfig } from '../../shared/checks/config.ts';
import type { Kind } from '../../shared/checks/kinds.ts';
import {
  abilityFor,
  type HttpsAbility,
  insideOf,
  rangesFrom,
  reachesAny,
  specialOf,
} from '../../shared/checks/placement.ts';
import {
  haveBothSides,
  isPrivatePlace,
  publicPlace,
  regionPlace,
} from '../../shared/checks/places.ts';

/** From where a monitor is checked: what its config names, and whether probes there can. */

/**
 * What a probe's row says about it, whether or not it is present this second. Revoked ones are not
 * included.
 */
export type Checker = {
  readonly id: string;
  /** The organisation of a private probe; null for a public one. */
  readonly organisation: string | null;
  /** The place of a private probe; null for a public one. */
  readonly place: string | null;
  /** What people call that place. */
  readonly place_name: string | null;
  readonly continent: Continent;
  /** Where on it a public probe is. */
  readonly region: string | null;
  readonly allowed_cidrs: readonly string[];
  /** Kinds that it checks besides the first ones. */
  readonly kinds: readonly string[];
};

/** A config as it is stored, and the ids of the places that it names, in the same order. */
export type Located = { readonly config: Config; readonly places: readonly string[] | null };

/**
 * `places` names each place as answers do, and `probe` a place, whichever of its probes was named.
 * @throws Refusal `place_unknown`, or `config_invalid` where inside counts and there is one side.
 */
export function locate(
  config: Config,
  organisation: string,
  checkers: readonly Checker[],
): Located {
  const called = Array.isArray(config.places) ? config.places : [];
  const found = called.map((text, index) =>
    placeCalled(String(text), index, organisation, checkers),
  );
  const places = [...new Set(found)];
  if (config.inside_counts === true && !haveBothSides(places))
    throw refusedConfig([
      {
        key: 'inside_counts',
        remedy:
          'it is for a choice of public and private places; name both in `places`, or leave it out',
      },
    ]);
  if (places.length === 0) return { config: namingPlace(config, checkers), places: null };
  const names = places.map((place) => placeName(place, organisation, checkers));
  return { config: { ...config, places: names }, places };
}

const continentPrefix = 'continent:';

/**
 * How a config names a place, so that reading it gives the same place again: `continent:Europe`,
 * `Europe/Frankfurt`, and a private one by its name, or by its id where that means another.
 */
export function placeName(
  place: string,
  organisation: string,
  checkers: readonly Checker[],
): string {
  if (isContinent(place)) return `${continentPrefix}${place}`;
  const name = checkers.find((checker) => checker.place === place)?.place_name?.trim();
  return name !== undefined && placeIn(name, organisation, checkers) === place ? name : place;
}

/** The id of the place that is called so; several where the name is of several regions. */
function placeIn(
  called: string,
  organisation: string,
  checkers: readonly Checker[],
): string | readonly string[] | undefined {
  const open = checkers.filter((checker) => checker.organisation === null);
  const isNamedPublic = called.startsWith(continentPrefix);
  const text = isNamedPublic ? called.slice(continentPrefix.length).trim() : called;
  const at = publicPlace(text);
  if (at !== undefined)
    return open.some(
      ({ continent, region }) =>
        continent === at.continent && (at.region === null || region === at.region),
    )
      ? text
      : undefined;
  if (isNamedPublic) return undefined;
  const own = checkers.filter((checker) => checker.organisation === organisation);
  const mine =
    namedBy(text, own) ?? own.find(({ place_name: name }) => name !== null && name.trim() === text);
  if (mine?.place) return mine.place;
  const regions = open.flatMap(({ continent, region }) =>
    region === text ? [regionPlace(continent, region)] : [],
  );
  const [only, ...others] = new Set(regions);
  return others.length === 0 ? only : [...new Set(regions)];
}

/** @throws Refusal `place_unknown`, which lists what there is. */
function placeCalled(
  called: string,
  index: number,
  organisation: string,
  checkers: readonly Checker[],
): string {
  const found = placeIn(called.trim(), organisation, checkers);
  if (typeof found === 'string') return found;
  const shown = JSON.stringify(called.slice(0, 200));
  throw new Refusal('place_unknown', {
    [`config.places[${index}]`]:
      found === undefined
        ? `there is no place ${shown}; ${placesWords(organisation, checkers)}.`
        : `${shown} is in ${found.length} places; choose one of ${found.join(', ')}.`,
  });
}

/** No more are listed; the list of places has all. */
const mostListed = 30;

function placesWords(organisation: string, checkers: readonly Checker[]): string {
  const ids = new Set(
    checkers.flatMap(({ organisation: of, place, continent, region }) => {
      if (of !== null) return of === organisation && place !== null ? [place] : [];
      return region === null ? [continent] : [continent, regionPlace(continent, region)];
    }),
  );
  const names = [...ids].map((id) => placeName(id, organisation, checkers)).toSorted();
  if (names.length === 0) return 'there are no probes yet';
  const more = names.length > mostListed ? ` and ${names.length - mostListed} more` : '';
  return `there are ${names.slice(0, mostListed).join(', ')}${more}`;
}

/** A probe that is called so, or whose place is. */
function namedBy(id: string, checkers: readonly Checker[]): Checker | undefined {
  const called = id.toLowerCase();
  return checkers.find((checker) => checker.id === called || checker.place === called);
}

function namingPlace(config: Config, checkers: readonly Checker[]): Config {
  if (typeof config.probe !== 'string') return config;
  const place = namedBy(config.probe, checkers)?.place ?? config.probe;
  return place === config.probe ? config : { ...config, probe: place };
}

type Wanted = {
  readonly kind: Kind;
  readonly target: string;
  readonly config: Config;
  readonly places: readonly string[] | null;
  readonly organisation: string;
};

/**
 * Refuses at once what no probe could ever check: locations without a probe, or an address that no
 * chosen probe may reach. Of several places each must be able to.
 * @throws Refusal `nobody_can_check` or `target_forbidden`.
 */
export function refuseUnreachable(monitor: Wanted, checkers: readonly Checker[]): void {
  const { config, places, organisation } = monitor;
  if (places === null) {
    const near = chosen(config, organisation, checkers);
    const isPlace = typeof config.probe === 'string';
    refuseAmong(monitor, near, { nobody: 'no probe that could check it', isPlace }, checkers);
    return;
  }
  for (const place of places) refuseAt(place, monitor, checkers);
}

/**
 * The probes that may get a monitor that names no places. @throws Refusal `nobody_can_check` when
 * its config chooses none that exists.
 */
function chosen(
  config: Config,
  organisation: string,
  checkers: readonly Checker[],
): readonly Checker[] {
  if (typeof config.probe === 'string') {
    const named = namedBy(config.probe, checkers);
    if (named?.organisation === organisation)
      return checkers.filter(({ place }) => place === named.place);
    throw new Refusal('nobody_can_check', {
      'config.probe': unfitProbe(named?.organisation === null, hasOwn(organisation, checkers)),
    });
  }
  const open = checkers.filter((checker) => checker.organisation === null);
  if (!Array.isArray(config.continents)) return open;
  const wanted = config.continents.filter(isContinent);
  const there = open.filter(({ continent }) => wanted.includes(continent));
  if (there.length > 0) return there;
  const served = [...new Set(open.map(({ continent }) => continent))].toSorted();
  const remedy =
    served.length === 0 ? 'there are no probes yet' : `probes are in ${served.join(', ')}`;
  throw new Refusal('nobody_can_check', {
    'config.continents': `no probe is in ${wanted.join(' or ')}; ${remedy}.`,
  });
}

/** Why this probe cannot be chosen. */
function unfitProbe(isPublic: boolean, has: boolean): string {
  if (isPublic)
    return 'is a public probe, and only a private one can be named; choose places by `places` or `continents`, or leave all out.';
  return has
    ? 'is no private probe of this organisation; use the id of one, or leave it out.'
    : 'this organisation has no private probe that could be named; leave it out, or set up one first.';
}

function hasOwn(organisation: string, checkers: readonly Checker[]): boolean {
  return checkers.some((checker) => checker.organisation === organisation);
}

/** The same about one of its places. */
export function refuseAt(place: string, monitor: Wanted, checkers: readonly Checker[]): void {
  const near = probesAt(place, monitor.organisation, checkers);
  const name = nameOf(place, monitor);
  if (near.length === 0)
    throw new Refusal('nobody_can_check', {
      'config.places': `${name} has no probe any more; leave it out, or choose another place.`,
    });
  const words = { nobody: `no probe of ${name}`, isPlace: isPrivatePlace(place), name };
  refuseAmong(monitor, near, words, checkers);
}

/** Those of one chosen place. */
function probesAt(
  place: string,
  organisation: string,
  checkers: readonly Checker[],
): readonly Checker[] {
  const at = publicPlace(place);
  return checkers.filter((checker) =>
    at === undefined
      ? checker.place === place && checker.organisation === organisation
      : checker.organisation === null &&
        checker.continent === at.continent &&
        (at.region === null || checker.region === at.region),
  );
}

/** As its config names it, which is in the order of its places. */
function nameOf(place: string, { config, places }: Wanted): string {
  const name = Array.isArray(config.places) ? config.places[places?.indexOf(place) ?? -1] : null;
  return typeof name === 'string' ? `"${name}"` : place;
}

type Words = {
  readonly nobody: string;
  /** Any of them may get it: none tells the others what it reaches. */
  readonly isPlace: boolean;
  /** Of a place among several. */
  readonly name?: string;
};

function refuseAmong(
  monitor: Wanted,
  near: readonly Checker[],
  { nobody, isPlace, name }: Words,
  checkers: readonly Checker[],
): void {
  const { kind, target, config, organisation } = monitor;
  const special = specialOf(kind, abilityFor(kind, config));
  const candidates =
    special === undefined ? near : near.filter((checker) => checker.kinds.includes(special));
  if (near.length > 0 && candidates.length === 0)
    throw new Refusal('nobody_can_check', unable(special ?? kind, nobody));
  const inside = insideOf(kind, target, config);
  if (!inside) return;
  // The same judgement as the probe's guard makes when it connects, from the ranges that its host
  // last reported as allowed.
  const reaches = ({ allowed_cidrs }: Checker): boolean =>
    reachesAny(inside.addresses, rangesFrom(allowed_cidrs));
  const some = candidates.some(reaches);
  if (some && (!isPlace || candidates.every(reaches))) return;
  const who = some ? `only some of the probes of ${name ?? 'its place'}` : nobody;
  const own = hasOwn(organisation, checkers)
    ? 'choose one of your private probes whose host allows it (PROBE_ALLOW_CIDRS)'
    : 'use a private probe in that network';
  const other = name === undefined ? own : 'leave that place out, or allow it there';
  const remedy = some ? 'allow it on the hosts of all of them (PROBE_ALLOW_CIDRS)' : other;
  throw new Refusal('target_forbidden', {
    [inside.key]: `${inside.host} is private, and ${who} may reach it; ${remedy}.`,
  });
}

function unable(special: Kind | HttpsAbility, nobody: string): Remedies {
  if (special === 'both_families')
    return {
      'config.ip_family': `${nobody} has both IPv4 and IPv6; choose one family, or other places.`,
    };
  if (special === 'icmp')
    return {
      type: `${nobody} has a \`ping\` that works; install iputils-ping there, or choose other places.`,
    };
  return special === 'client_certificate'
    ? {
        'config.client_certificate': `${nobody} can show one; bring one to this version, or choose other places.`,
      }
    : {
        type: `${nobody} makes ${special} checks; bring one to this version, or choose other places.`,
      };
}
