import { isPublic, parseAddress, unmapped } from '../../shared/base/network.ts';

/**
 * Which private places of an organisation could fail together (rule 10): those that share a host or
 * a public address, also through a third, are at one site.
 */

/** What is known of a private probe that was heard. */
export type PlacedProbe = {
  readonly place: string;
  readonly organisation: string;
  /** What its host is, as the probe says; undefined where it does not. */
  readonly host: string | undefined;
  /** Where it comes from. */
  readonly address: string | undefined;
};

/**
 * The site of each place that has a probe here: the name of one of its places. Null where host or
 * public address of one of its probes is not known: then it could fail together with any other.
 */
export function sitesOf(probes: readonly PlacedProbe[]): ReadonlyMap<string, string | null> {
  const joined = new Map<string, string>();
  const rootOf = (name: string): string => {
    const parent = joined.get(name);
    return parent === undefined || parent === name ? name : rootOf(parent);
  };
  const join = (one: string, other: string): void => {
    const [first = one, second = other] = [rootOf(one), rootOf(other)].toSorted();
    if (first !== second) joined.set(second, first);
  };
  const byIpv4 = new Set(
    probes.flatMap(({ organisation, address }) =>
      lineOf(address)?.is === 'ipv4' ? [organisation] : [],
    ),
  );
  const unknown = new Set<string>();
  for (const { place, organisation, host, address } of probes) {
    const line = lineOf(address);
    // A line has addresses of both families, which do not show that they belong together.
    const isComparable = line?.is === 'ipv4' || !byIpv4.has(organisation);
    if (host === undefined || line === undefined || !isComparable) unknown.add(place);
    // Names of places sort before these, so that a site has the name of a place.
    if (host !== undefined) join(place, `~${organisation} host ${host}`);
    if (line !== undefined) join(place, `~${organisation} line ${line.name}`);
  }
  return new Map(
    probes.map(({ place }) => [place, unknown.has(place) ? null : rootOf(place)] as const),
  );
}

type Line = { readonly is: 'ipv4' | 'ipv6'; readonly name: string };

/** Bits of an IPv6 address that one customer has. */
const customerBits = 48;

/** The line that a public address belongs to. */
function lineOf(text: string | undefined): Line | undefined {
  const address = text === undefined ? undefined : parseAddress(text);
  if (address === undefined || !isPublic(unmapped(address))) return undefined;
  const plain = unmapped(address);
  return plain.kind() === 'ipv4'
    ? { is: 'ipv4', name: plain.toString() }
    : {
        is: 'ipv6',
        name: plain
          .toByteArray()
          .slice(0, customerBits / 8)
          .join('.'),
      };
}
