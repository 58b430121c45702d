import type { Continent } from '../../shared/base/continents.ts';
import { isPublic, parseAddress } from '../../shared/base/network.ts';
import { causeLayer } from '../../shared/checks/causes.ts';
import type { Result } from '../../shared/checks/result.ts';

/**
 * Whether a probe can be on the continent that it claims. Light goes through fibre at two thirds of its speed, so a round trip bounds how far two
 * probes can be from each other; nothing bounds how near. A short round trip to another continent is therefore a proof, a long one says nothing.
 */
export type RoundTrip = { readonly one: string; readonly other: string; readonly ms: number };
export type Placed = { readonly id: string; readonly continent: Continent };
/** With the address that the bus sees it come from; undefined where that is not known. */
export type Addressed = Placed & { readonly address: string | undefined };

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

/**
 * Those that can be measured: at a public address. One that probes of several continents share is a gate that they come through, or one host for all;
 * it tells of none of them where it is.
 */
export const measurable = <Each extends Addressed>(probes: readonly Each[]): readonly (Each & { readonly address: string })[] => {
  const atAddress = new Map<string, Set<Continent>>();
  for (const { address, continent } of probes)
    if (address !== undefined) atAddress.set(address, (atAddress.get(address) ?? new Set()).add(continent));
  return probes.flatMap((probe) => {
    const { address } = probe;
    const parsed = address === undefined ? undefined : parseAddress(address);
    if (address === undefined || parsed === undefined || !isPublic(parsed)) return [];
    return atAddress.get(address)?.size === 1 ? [{ ...probe, address }] : [];
  });
};

/** Who measures the way to this one: of each continent that could prove something one probe, another one in each round. */
export const measurersOf = ({ id, continent }: Placed, able: readonly Placed[], round: number): readonly Placed[] => {
  const byContinent = Map.groupBy(
    able.filter((other) => other.id !== id && leastDistanceKm(continent, other.continent) > 0),
    (other) => other.continent,
  );
  return [...byContinent.values()].flatMap((those) => those[round % those.length] ?? []);
};

/**
 * What a look at the address of a probe says of the way there: nothing, unless the host itself took the connection or refused it. All else (a firewall on
 * the way that forbids it, no route) may have been said by somebody near.
 */
export const roundTripOf = ({ outcome, cause, phases }: Pick<Result, 'outcome' | 'cause' | 'phases'>): number | undefined => {
  const took = phases?.tcp ?? undefined;
  if (outcome === 'ok') return took;
  if (outcome === 'unknown' || cause === null) return undefined;
  const layer = causeLayer(cause);
  return cause.class === 'connection_refused' || layer === 'tls' || layer === 'http' ? took : undefined;
};

/** The shortest way from each continent that it cannot be so near to, in words. */
export const doubtSentence = (
  { id, continent }: Placed,
  probes: readonly (Placed & { readonly name: string })[],
  trips: readonly RoundTrip[],
): string => {
  const shortest = new Map<Continent, { readonly name: string; readonly ms: number }>();
  for (const { one, other, ms } of trips) {
    const from = probes.find((probe) => probe.id === (one === id ? other : other === id ? one : ''));
    if (from === undefined || !isImpossible(continent, from.continent, ms)) continue;
    if (ms < (shortest.get(from.continent)?.ms ?? Number.POSITIVE_INFINITY)) shortest.set(from.continent, { name: from.name, ms });
  }
  const ways = [...shortest].map(([from, { name, ms }]) => `${name} (${from}) in ${Math.ceil(ms)} ms`);
  return `It answers ${ways.join(' and ')}: no host in ${continent} can be so near`;
};
