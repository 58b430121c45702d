import { type Continent, isContinent } from '../../shared/base/continents.ts';
import {
  type Cidr,
  carriedIpv4,
  inRange,
  isMetadata,
  isPublic,
  isUnspecified,
  namesOne,
  parseAddress,
  parseCidr,
  sameAddress,
  unmapped,
} from '../../shared/base/public-addresses.ts';
import { Refusal } from '../../shared/base/refusal.ts';
import type { Config } from '../../shared/checks/assignment.ts';
import { parseResolver } from '../../shared/checks/dns/config.ts';
import { httpsUrl } from '../../shared/checks/https/target.ts';
import type { Kind } from '../../shared/checks/kinds.ts';

/** What the row of a probe says of it, whether or not it is present this second. Revoked ones are not among these. */
export type Checker = {
  readonly id: string;
  /** The organisation of a private probe; null for a public one. */
  readonly organisation: string | null;
  readonly continent: Continent;
  readonly allowed_cidrs: readonly string[];
};

type Address = NonNullable<ReturnType<typeof parseAddress>>;

/** The same judgement that the probe's guard makes when it connects, from what its host last said that it allows. */
const mayReach = (address: Address, ranges: readonly Cidr[]): boolean => {
  if (isMetadata(address) || isUnspecified(address)) return ranges.some((range) => namesOne(range) && sameAddress(range[0], address));
  if (isPublic(address)) return true;
  const plain = unmapped(address);
  if (!ranges.some((range) => inRange(address, range) || inRange(plain, range))) return false;
  return plain !== address || carriedIpv4(address).every((inside) => mayReach(inside, ranges));
};

/** Addresses that a host certainly stands for. A name stands for none here: what it resolves to is for the probe to see. */
const addressesOf = (host: string): readonly string[] => {
  const name = host
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase();
  return name === 'localhost' || name.endsWith('.localhost') ? ['127.0.0.1', '::1'] : [name];
};

const watched = (kind: Kind, target: string, config: Config): { readonly key: string; readonly host: string } | undefined => {
  if (kind === 'https') return { key: 'target', host: httpsUrl(target)?.hostname ?? '' };
  const resolver = kind === 'dns' && typeof config.resolver === 'string' ? parseResolver(config.resolver) : undefined;
  return resolver && { key: 'config.resolver', host: resolver.address };
};

/** The probes that may be given this monitor. @throws Refusal `nobody_can_check` when its config chooses none that exists. */
const chosen = (config: Config, organisation: string, checkers: readonly Checker[]): readonly Checker[] => {
  if (typeof config.probe === 'string') {
    const id = config.probe.toLowerCase();
    const own = checkers.filter((checker) => checker.id === id && checker.organisation === organisation);
    if (own.length > 0) return own;
    throw new Refusal('nobody_can_check', 'config.probe: is no private probe of this organisation; give the id of one, or leave it out.');
  }
  const open = checkers.filter((checker) => checker.organisation === null);
  if (!Array.isArray(config.continents)) return open;
  const wanted = config.continents.filter(isContinent);
  const there = open.filter(({ continent }) => wanted.includes(continent));
  if (there.length > 0) return there;
  const served = [...new Set(open.map(({ continent }) => continent))].toSorted();
  const remedy = served.length === 0 ? 'there are no probes yet' : `probes are in ${served.join(', ')}`;
  throw new Refusal('nobody_can_check', `config.continents: no probe is in ${wanted.join(' or ')}; ${remedy}.`);
};

/**
 * Refuses at once what no probe could ever check: a choice of places where none is, or an address that none of those may reach.
 * @throws Refusal `nobody_can_check` or `target_forbidden`.
 */
export const refuseUnreachable = (
  monitor: { readonly kind: Kind; readonly target: string; readonly config: Config; readonly organisation: string },
  checkers: readonly Checker[],
): void => {
  const candidates = chosen(monitor.config, monitor.organisation, checkers);
  const place = watched(monitor.kind, monitor.target, monitor.config);
  if (!place) return;
  const addresses = addressesOf(place.host).flatMap((text) => parseAddress(text) ?? []);
  if (addresses.length === 0 || addresses.some(isPublic)) return;
  const rangesOf = ({ allowed_cidrs }: Checker): Cidr[] =>
    allowed_cidrs.map((text) => parseCidr(text)).filter((range) => range !== undefined);
  if (candidates.some((checker) => addresses.some((address) => mayReach(address, rangesOf(checker))))) return;
  throw new Refusal(
    'target_forbidden',
    `${place.key}: ${place.host} is not a public address, and no probe that could check it may reach it; name a private probe as config.probe whose host allows it.`,
  );
};
