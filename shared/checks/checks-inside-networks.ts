import { type Cidr, isPublic, mayReach, parseAddress, parseCidr } from '../base/public-addresses.ts';
import type { Config, RosterProbe } from './checks-assignment.ts';
import type { Kind } from './checks-kinds.ts';
import { parseResolver } from './dns/checks-dns-config.ts';
import { httpsUrl } from './https/checks-https-target.ts';

/** Monitors of what lies inside somebody's network, which only those probes can check whose host allows it (PROBE_ALLOW_CIDRS). */

/** Addresses that a host certainly stands for. A name stands for none here: what it resolves to is for the probe to see. */
const addressesOf = (host: string): readonly string[] => {
  const name = host
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase();
  return name === 'localhost' || name.endsWith('.localhost') ? ['127.0.0.1', '::1'] : parseAddress(name) ? [name] : [];
};

export type Inside = {
  /** What stands for it in the monitor, and as what. */
  readonly key: 'target' | 'config.resolver';
  readonly host: string;
  /** None of them is public; one that can be reached is enough. */
  readonly addresses: readonly string[];
};

/** Undefined for whatever is public or a name. */
export const insideOf = (kind: Kind, target: string, config: Config): Inside | undefined => {
  const resolver = kind === 'dns' && typeof config.resolver === 'string' ? parseResolver(config.resolver)?.address : undefined;
  const host = kind === 'https' ? httpsUrl(target)?.hostname : resolver;
  if (host === undefined) return undefined;
  const addresses = addressesOf(host);
  if (addresses.length === 0 || addresses.some((text) => isOpen(text))) return undefined;
  return { key: kind === 'https' ? 'target' : 'config.resolver', host, addresses };
};

const isOpen = (text: string): boolean => {
  const address = parseAddress(text);
  return address !== undefined && isPublic(address);
};

export const rangesFrom = (texts: readonly string[]): readonly Cidr[] =>
  texts.map((text) => parseCidr(text)).filter((range) => range !== undefined);

const reaches = (text: string, ranges: readonly Cidr[]): boolean => {
  const address = parseAddress(text);
  return address !== undefined && mayReach(address, ranges);
};

export const reachesAny = (addresses: readonly string[], ranges: readonly Cidr[]): boolean =>
  addresses.some((text) => reaches(text, ranges));
export const reachesAll = (addresses: readonly string[], ranges: readonly Cidr[]): boolean =>
  addresses.every((text) => reaches(text, ranges));

const known = new WeakMap<RosterProbe, readonly Cidr[]>();

/** The ranges beyond the public that the host of this probe allows, as the roster says. */
export const rangesOf = (probe: RosterProbe): readonly Cidr[] => {
  const found = known.get(probe) ?? rangesFrom(probe.allowed_cidrs ?? []);
  known.set(probe, found);
  return found;
};
