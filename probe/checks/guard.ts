import { createSocket } from 'node:dgram';
import {
  carriedIpv4,
  inRange,
  isLoopback,
  isMetadata,
  isNamed,
  isPrivateUse,
  isPublic,
  isPublicOf,
  isUnspecified,
  parseAddress,
  parseCidr,
  sameAddress,
  unmapped,
} from '../../shared/base/network.ts';
import type { Assignment, Roster } from '../../shared/checks/assignment.ts';
import type { Resolver } from '../../shared/checks/dns/config.ts';
import { insideOf, placeFor, rangesOf, reachesAll } from '../../shared/checks/placement.ts';
import { isPrivatePlace } from '../../shared/checks/places.ts';

/**
 * Which addresses a check may reach. Checks ask for each address at the moment of connecting, never
 * earlier. There is no other way to a socket.
 */
export type Guard = {
  /**
   * Whether a connection (or a datagram) may leave for this literal address and port. Anything else
   * than a literal address may not.
   */
  readonly allows: (address: string, port: number) => boolean;
  /**
   * Whether the address lies beyond the probe's own machine and beyond what its host allows of its
   * own network. Only the uplink reaches such an address.
   */
  readonly isOutside: (address: string) => boolean;
  /**
   * Whether refusing these addresses is this probe's own limit, which says nothing about the target
   * (rule 1). There are three cases: another probe that may check the target is allowed to reach
   * them; they are the machine's own public addresses; or only this probe checks the target, inside
   * a network that its host no longer allows, or never did.
   */
  readonly isOwnLimit: (
    addresses: readonly string[],
    assignment: Pick<Assignment, 'continents' | 'probe' | 'places' | 'kind' | 'target' | 'config'>,
  ) => boolean;
};

export type Endpoint = { readonly address: string; readonly port: number };

type GuardDependencies = {
  /**
   * Non-public ranges that the probe's own host allows (PROBE_ALLOW_CIDRS). The coordinator can
   * never add to them.
   */
  readonly allow: readonly string[];
  /**
   * Where the probe's own bus listens now, as literal addresses. They are closed unless the host
   * names them one by one.
   */
  readonly bus: () => readonly Endpoint[];
  /**
   * The machine's own addresses now. The list stays the same object while they do not change.
   * Services on them listen behind the host's firewall: the public ones are closed unless the host
   * names them one by one, and each of them could also lead to the probe's own bus.
   */
  readonly own: () => readonly string[];
  /**
   * The probes of the network with what their hosts allow; undefined while the probe has no roster.
   */
  readonly roster?: () => Roster | undefined;
};

/**
 * Lists the ranges that are neither addresses nor CIDRs, for the configuration to refuse at start.
 */
export function unreadableRanges(ranges: readonly string[]): string[] {
  return ranges.filter((range) => parseCidr(range) === undefined);
}

const maxRemembered = 10_000;

/**
 * Allows global unicast and what the probe's own host allows. Metadata addresses, the probe's own
 * bus and its own public addresses open only to a range that names one address.
 */
export function createGuard(dependencies: GuardDependencies): Guard {
  const allowed = dependencies.allow
    .map((range) => parseCidr(range))
    .filter((range) => range !== undefined);
  type Address = NonNullable<ReturnType<typeof parseAddress>>;
  const named = (address: Address): boolean => isNamed(address, allowed);
  const listed = (address: Address): boolean =>
    allowed.some((range) => inRange(address, range) || inRange(unmapped(address), range));

  let ownList: readonly string[] | undefined;
  let isPublicOfOwn = isPublicOf([]);
  /**
   * Runs before every connection, so it reads the list once for as long as the list is the same.
   */
  const isOwnPublic = (address: Address): boolean => {
    const own = dependencies.own();
    if (own !== ownList) {
      ownList = own;
      isPublicOfOwn = isPublicOf(own);
    }
    return isPublicOfOwn(address);
  };

  const isBus = (address: Address, port: number): boolean => {
    const bus = dependencies.bus();
    if (!bus.some((endpoint) => endpoint.port === port)) return false;
    const onPort = bus.filter((endpoint) => endpoint.port === port);
    const own = [...dependencies.own()].flatMap((text) => parseAddress(text) ?? []);
    const isOwn = (one: Address) => isLoopback(one) || own.some((mine) => sameAddress(mine, one));
    return onPort.some((endpoint) => {
      const at = parseAddress(endpoint.address);
      return at !== undefined && (sameAddress(at, address) || (isOwn(at) && isOwn(address)));
    });
  };

  const may = (address: Address, port: number): boolean => {
    if (
      isMetadata(address) ||
      isUnspecified(address) ||
      isBus(address, port) ||
      isOwnPublic(address)
    )
      return named(address);
    if (isPublic(address)) return true;
    if (!listed(address)) return false;
    // A translated or tunnelled address reaches the IPv4 address inside it, and that one must be
    // open too.
    return (
      unmapped(address) !== address || carriedIpv4(address).every((inside) => may(inside, port))
    );
  };

  /**
   * A public address, or a plain one of the host's own ranges, is open on every port except the
   * bus's, unless it is this machine's own.
   */
  const isOpen = (address: Address): boolean =>
    isPublic(address) ||
    (address.kind() === 'ipv4' &&
      !isMetadata(address) &&
      !isUnspecified(address) &&
      listed(address));

  // Parsing an address costs more than judging it, and the same few come repeatedly. Only what
  // never changes about an address is remembered.
  type Known = {
    readonly address: Address;
    readonly open: boolean;
    readonly beyond: boolean;
    readonly isPrivateUse: boolean;
  };
  const existing = new Map<string, Known | null>();
  const knownOf = (text: string): Known | null => {
    const found = existing.get(text);
    if (found !== undefined) return found;
    if (existing.size >= maxRemembered) existing.clear();
    const address = parseAddress(text);
    const made = address
      ? {
          address,
          open: isOpen(address),
          beyond: isPublic(address) && !listed(address),
          isPrivateUse: isPrivateUse(address),
        }
      : null;
    existing.set(text, made);
    return made;
  };

  const isOwn = (text: string): boolean => {
    const found = knownOf(text);
    return found !== null && isOwnPublic(found.address) && !named(found.address);
  };

  return {
    allows: (text, port) => {
      const found = knownOf(text);
      if (found === null) return false;
      return found.open && !isBus(found.address, port) && !isOwnPublic(found.address)
        ? true
        : may(found.address, port);
    },
    isOutside: (text) => {
      const found = knownOf(text);
      return found?.beyond === true && !dependencies.own().includes(text);
    },
    isOwnLimit: (addresses, assignment) => {
      const { probe, places, kind, target, config } = assignment;
      // Other probes can reach what listens on this very machine.
      if (addresses.some(isOwn) && addresses.every((text) => isOwn(text) || knownOf(text)?.open))
        return true;
      const isInside = insideOf(kind, target, config) !== undefined;
      if (places ? places.every(isPrivatePlace) : probe !== null)
        return isInside || addresses.every((text) => knownOf(text)?.isPrivateUse);
      // Public probes get such a target only where their hosts allow it.
      if (isInside && places?.some(isPrivatePlace)) return true;
      return (dependencies.roster?.()?.probes ?? []).some(
        (other) =>
          other.allowed_cidrs !== undefined &&
          other.organisation === null &&
          placeFor(assignment, other) !== undefined &&
          reachesAll(addresses, rangesOf(other)),
      );
    },
  };
}

/**
 * Returns our address from which the system sends to this resolver; null where there is no route.
 * Sends nothing.
 */
export function outgoingTo({ address, port, family }: Resolver): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = createSocket(family === 4 ? 'udp4' : 'udp6');
    // Node passes the error of a failed connection to the callback, although its type omits that.
    socket.connect(port, address, (error?: Error) => {
      const own = error ? null : socket.address().address;
      socket.close();
      resolve(own);
    });
  });
}
