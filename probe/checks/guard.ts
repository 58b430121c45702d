import { createSocket } from 'node:dgram';
import {
  carriedIpv4,
  inRange,
  isLoopback,
  isMetadata,
  isPrivateUse,
  isPublic,
  isUnspecified,
  namesOne,
  parseAddress,
  parseCidr,
  sameAddress,
  unmapped,
} from '../../shared/base/network.ts';
import type { Assignment, Roster } from '../../shared/checks/assignment.ts';
import type { Resolver } from '../../shared/checks/dns/config.ts';
import { insideOf, rangesOf, reachesAll } from '../../shared/checks/placement.ts';

/** Which addresses a check may reach. Asked for each address at the moment of connecting, never earlier; there is no other way to a socket. */
export type Guard = {
  /** Whether a connection (or a datagram) to this literal address and port may leave. Anything that is no literal address may not. */
  readonly allows: (address: string, port: number) => boolean;
  /** Whether it lies beyond the probe's own machine and what its host allows of its own network: it can only be reached by the way out. */
  readonly isOutside: (address: string) => boolean;
  /**
   * Whether to be refused these addresses is this probe's own limit, which says nothing about the target (rule 1): some other probe that may
   * check it is allowed to reach them; or they are its machine's own public ones; or it is for this probe alone, and its host no longer allows what it did, or never did, inside a network.
   */
  readonly isOwnLimit: (
    addresses: readonly string[],
    assignment: Pick<Assignment, 'continents' | 'probe' | 'kind' | 'target' | 'config'>,
  ) => boolean;
};

export type Endpoint = { readonly address: string; readonly port: number };

export type GuardDependencies = {
  /** Ranges beyond the public that the probe's own host allows (PROBE_ALLOW_CIDRS); never anything that the coordinator sent. */
  readonly allow: readonly string[];
  /** Where the probe's own bus listens now, as literal addresses: shut unless named singly. */
  readonly bus: () => readonly Endpoint[];
  /**
   * The machine's own addresses now, the same list for as long as they are the same. What listens there does so behind the firewall of its host: the
   * public ones of them are shut unless named singly, and by any of them its own bus could be reached too.
   */
  readonly own: () => readonly string[];
  /** The probes of the network, with what their hosts allow; undefined while nothing is known of them. */
  readonly roster?: () => Roster | undefined;
};

/** The ranges of a list that cannot be read as addresses or CIDRs, for the configuration to refuse at start. */
export const unreadableRanges = (ranges: readonly string[]): string[] => ranges.filter((range) => parseCidr(range) === undefined);

const maxRemembered = 10_000;

/**
 * Global unicast, and what the probe's own host allows. Metadata addresses, the probe's own bus and its own public addresses open only to a range
 * that names one address.
 */
export const createGuard = (parts: GuardDependencies): Guard => {
  const allowed = parts.allow.map((range) => parseCidr(range)).filter((range) => range !== undefined);
  type Address = NonNullable<ReturnType<typeof parseAddress>>;
  const named = (address: Address): boolean => allowed.some((range) => namesOne(range) && sameAddress(range[0], address));
  const listed = (address: Address): boolean => allowed.some((range) => inRange(address, range) || inRange(unmapped(address), range));

  let ownList: readonly string[] | undefined;
  let ownPublic: ReadonlySet<string> = new Set();
  /** Asked before every connection, so that the list is read once for as long as it is the same. */
  const isOwnPublic = (address: Address): boolean => {
    const own = parts.own();
    if (own !== ownList) {
      ownList = own;
      const addresses = own.flatMap((text) => parseAddress(text) ?? []);
      ownPublic = new Set(addresses.filter(isPublic).map((one) => one.toNormalizedString()));
    }
    return ownPublic.size > 0 && ownPublic.has(unmapped(address).toNormalizedString());
  };

  const isBus = (address: Address, port: number): boolean => {
    const bus = parts.bus();
    if (!bus.some((endpoint) => endpoint.port === port)) return false;
    const onPort = bus.filter((endpoint) => endpoint.port === port);
    const own = [...parts.own()].flatMap((text) => parseAddress(text) ?? []);
    const isOwn = (one: Address) => isLoopback(one) || own.some((mine) => sameAddress(mine, one));
    return onPort.some((endpoint) => {
      const at = parseAddress(endpoint.address);
      return at !== undefined && (sameAddress(at, address) || (isOwn(at) && isOwn(address)));
    });
  };

  const may = (address: Address, port: number): boolean => {
    if (isMetadata(address) || isUnspecified(address) || isBus(address, port) || isOwnPublic(address)) return named(address);
    if (isPublic(address)) return true;
    if (!listed(address)) return false;
    // A translated or tunnelled address reaches the IPv4 address inside it, so that must be open by itself.
    return unmapped(address) !== address || carriedIpv4(address).every((inside) => may(inside, port));
  };

  /** A public address, or a plain one of the host's own ranges, is open to every port but the bus's, unless it is this machine's own. */
  const isOpen = (address: Address): boolean =>
    isPublic(address) || (address.kind() === 'ipv4' && !isMetadata(address) && !isUnspecified(address) && listed(address));

  // Reading an address costs more than judging it, and the same few come again and again. Only what can never change of it is remembered.
  type Known = { readonly address: Address; readonly open: boolean; readonly beyond: boolean; readonly isPrivateUse: boolean };
  const known = new Map<string, Known | null>();
  const knownOf = (text: string): Known | null => {
    const found = known.get(text);
    if (found !== undefined) return found;
    if (known.size >= maxRemembered) known.clear();
    const address = parseAddress(text);
    const made = address
      ? { address, open: isOpen(address), beyond: isPublic(address) && !listed(address), isPrivateUse: isPrivateUse(address) }
      : null;
    known.set(text, made);
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
      return found.open && !isBus(found.address, port) && !isOwnPublic(found.address) ? true : may(found.address, port);
    },
    isOutside: (text) => {
      const found = knownOf(text);
      return found?.beyond === true && !parts.own().includes(text);
    },
    isOwnLimit: (addresses, { continents, probe, kind, target, config }) => {
      // What stands on this very machine, others reach.
      if (addresses.some(isOwn) && addresses.every((text) => isOwn(text) || knownOf(text)?.open)) return true;
      if (probe !== null) return insideOf(kind, target, config) !== undefined || addresses.every((text) => knownOf(text)?.isPrivateUse);
      return (parts.roster?.()?.probes ?? []).some(
        (other) =>
          other.allowed_cidrs !== undefined &&
          other.organisation === null &&
          (continents === null || continents.includes(other.continent)) &&
          reachesAll(addresses, rangesOf(other)),
      );
    },
  };
};

/** Whether it may be told which of our addresses the other side saw: one that is not public is changed on its way out, and nobody's business. */
export const mayReportOutgoing = (own: string | null, other: string | null): own is string => {
  const [from, to] = [own, other].map((text) => (text === null ? undefined : parseAddress(text)));
  return from !== undefined && to !== undefined && (isPublic(from) || !isPublic(to));
};

/** From which of our addresses the system sends to this resolver; null where there is no way. Nothing is sent. */
export const outgoingTo = ({ address, port, family }: Resolver): Promise<string | null> =>
  new Promise((resolve) => {
    const socket = createSocket(family === 4 ? 'udp4' : 'udp6');
    // To the callback node gives the error of a connection that fails, which its type leaves out.
    socket.connect(port, address, (error?: Error) => {
      const own = error ? null : socket.address().address;
      socket.close();
      resolve(own);
    });
  });
