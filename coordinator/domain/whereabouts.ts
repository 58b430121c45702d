import type { Continent } from '../../shared/base/continents.ts';

/**
 * Whether a probe can be on the continent that it claims. Light goes through fibre at two thirds of its speed, so a round trip bounds how far two
 * probes can be from each other; nothing bounds how near. A short round trip to another continent is therefore a proof, a long one says nothing.
 */
export type RoundTrip = { readonly one: string; readonly other: string; readonly ms: number };
export type Placed = { readonly id: string; readonly continent: Continent };

/** Of each millisecond of a round trip: half of it each way, at 200 km a millisecond. No cable is straight, so this is generous. */
const kmPerMs = 100;

/**
 * The least distance between land of two continents, in kilometres, rounded down, with whatever islands somebody may count to either; what touches, or
 * is counted here by some and there by others, has none.
 */
const apart: Readonly<Partial<Record<`${Continent}|${Continent}`, number>>> = {
  'Africa|North America': 3_000,
  'Africa|South America': 2_500,
  'Africa|Oceania': 4_500,
  'Africa|Antarctica': 3_500,
  'Asia|South America': 8_000,
  'Asia|Antarctica': 5_000,
  'Europe|South America': 3_500,
  'Europe|Oceania': 7_000,
  'Antarctica|Europe': 10_000,
  'Antarctica|North America': 6_000,
  'Oceania|South America': 2_500,
  'North America|Oceania': 1_000,
};

export const leastDistanceKm = (one: Continent, other: Continent): number => apart[`${one}|${other}`] ?? apart[`${other}|${one}`] ?? 0;

/** Whether these two cannot both be where they say. */
export const isImpossible = (one: Continent, other: Continent, ms: number): boolean => ms * kmPerMs < leastDistanceKm(one, other);

/**
 * The probes that cannot be where they say: measured from two other continents at least, and too near to both. One alone proves that one of the two is
 * elsewhere, and not which; so nobody who lies about their own place can put another in doubt. All others are not proven, which is no doubt.
 */
export const doubtedOf = (probes: readonly Placed[], trips: readonly RoundTrip[]): ReadonlySet<string> => {
  const continents = new Map(probes.map(({ id, continent }) => [id, continent]));
  const against = new Map<string, Set<Continent>>();
  const charge = (id: string, by: Continent): void => {
    const known = against.get(id) ?? new Set();
    against.set(id, known.add(by));
  };
  for (const { one, other, ms } of trips) {
    const [a, b] = [continents.get(one), continents.get(other)];
    if (a === undefined || b === undefined || !Number.isFinite(ms) || ms < 0 || !isImpossible(a, b, ms)) continue;
    charge(one, b);
    charge(other, a);
  }
  return new Set([...against].filter(([, by]) => by.size >= 2).map(([id]) => id));
};
