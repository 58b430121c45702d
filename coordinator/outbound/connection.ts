import { promises as dns } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import pLimit from 'p-limit';
import type { buildConnector as BuildConnector } from 'undici';
import { codeOf } from '../../shared/base/errors.ts';
import {
  isNamed,
  isPublicOf,
  mayReach,
  ownAddresses,
  parseAddress,
  parseCidr,
  sameAddress,
} from '../../shared/base/network.ts';

/**
 * Connects to other people's addresses under the rules of public probes. The name is resolved,
 * every address is judged, and the connection goes to the judged addresses only. So a name that
 * changes in between leads nowhere else.
 */

export class BlockedAddress extends Error {
  constructor() {
    super('the address lies inside a network to which nothing is sent');
    this.name = 'BlockedAddress';
  }
}

export class UnknownName extends Error {
  constructor(options?: ErrorOptions) {
    super('the name leads to no address', options);
    this.name = 'UnknownName';
  }
}

/** All addresses of a name. @throws UnknownName. */
export type Lookup = (name: string) => Promise<readonly string[]>;

/**
 * Asks the machine's resolvers without the four threads of getaddrinfo, which foreign names could
 * block for all. Single labels, and names that the resolvers do not know, may be the machine's own
 * (/etc/hosts, a container's network), which only the system knows.
 */
export function createLookup(): Lookup {
  const bySystem = pLimit(2);
  const resolver = new dns.Resolver({ timeout: 2_000, tries: 2 });
  const unlessAbsent = (error: unknown): string[] => {
    if (isAbsent(error)) return [];
    throw new UnknownName({ cause: error });
  };
  return async (given) => {
    const name = given.toLowerCase().replace(/\.$/, '');
    // Whatever a resolver answers (RFC 6761).
    if (name === 'localhost' || name.endsWith('.localhost')) return ['127.0.0.1', '::1'];
    if (name.includes('.') && !name.endsWith('.local')) {
      const [four, six] = await Promise.allSettled([
        resolver.resolve4(name),
        resolver.resolve6(name),
      ]);
      const found = [four, six].flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
      if (found.length > 0) return found;
      for (const one of [four, six]) if (one.status === 'rejected') unlessAbsent(one.reason);
    }
    try {
      return (await bySystem(() => dns.lookup(name, { all: true, order: 'verbatim' }))).map(
        ({ address }) => address,
      );
    } catch (error) {
      throw new UnknownName({ cause: error });
    }
  };
}

/** Error codes that mean: the name, or an address of the kind, does not exist. */
function isAbsent(error: unknown): boolean {
  return ['ENOTFOUND', 'ENODATA', 'EBADNAME'].includes(codeOf(error));
}

/**
 * Whether an address and port are this service's own: a public address of this machine, where
 * services listen behind its firewall, the bus, the database, or another port of the host that
 * serves the base URL, which may be this machine behind a translated address.
 */
type IsOwnPlace = (address: NonNullable<ReturnType<typeof parseAddress>>, port: number) => boolean;

export type ConnectionDependencies = {
  readonly allow: readonly string[];
  readonly lookup: Lookup;
  /** Closed unless `allow` names one by one. */
  readonly ownPlaces: (lookup: Lookup) => Promise<IsOwnPlace>;
};

export function createConnector(
  build: typeof BuildConnector,
  { allow, lookup, ownPlaces }: ConnectionDependencies,
): BuildConnector.connector {
  const ranges = allow.flatMap((range) => {
    const read = parseCidr(range);
    return read === undefined ? [] : [read];
  });
  const allows = (text: string, port: number, isOwn: IsOwnPlace): boolean => {
    const address = parseAddress(text);
    if (address === undefined || !mayReach(address, ranges)) return false;
    return !isOwn(address, port) || isNamed(address, ranges);
  };

  /**
   * The allowed addresses. One forbidden address refuses all: a name that also leads inside is
   * suspicious.
   */
  const judged = async (
    host: string,
    port: number,
  ): Promise<{ readonly addresses: readonly string[]; readonly isOwn: IsOwnPlace }> => {
    const isOwn = await ownPlaces(lookup);
    const addresses = isIP(host) === 0 ? await lookup(host) : [host];
    if (addresses.length === 0) throw new UnknownName();
    if (!addresses.every((address) => allows(address, port, isOwn))) throw new BlockedAddress();
    return { addresses, isOwn };
  };

  return (options, callback) => {
    const host = options.hostname.replace(/^\[(.*)\]$/, '$1');
    const port = Number(options.port) || (options.protocol === 'https:' ? 443 : 80);
    judged(host, port).then(
      ({ addresses, isOwn }) => {
        const given = addresses.map((address) => ({ address, family: isIP(address) }));
        const judgedLookup: LookupFunction = (_name, { all }, done) => {
          const [first] = given;
          if (all) done(null, given);
          else if (first === undefined) done(new UnknownName(), '');
          else done(null, first.address, first.family);
        };
        const connect = build({
          timeout: 10_000,
          maxCachedSessions: 0,
          autoSelectFamily: true,
          lookup: judgedLookup,
        });
        connect(options, (...[error, socket]) => {
          if (error !== null) return callback(error, null);
          // No socket continues to an address that was not judged, whatever led it there.
          if (socket.remoteAddress !== undefined && !allows(socket.remoteAddress, port, isOwn)) {
            socket.destroy();
            return callback(new BlockedAddress(), null);
          }
          callback(null, socket);
        });
      },
      (error: unknown) => callback(error instanceof Error ? error : new Error(String(error)), null),
    );
  };
}

/** Read again once a minute, by the lookup of whoever connects. */
type Dependencies = {
  /** Where bus and database are. */
  readonly servers?: readonly string[];
  readonly baseUrl?: () => string;
  readonly own?: () => readonly string[];
};

const everyMs = 60_000;
/** What the base URL's host serves to everybody. */
const publicPorts = [80, 443];

export function createOwnPlaces({
  servers = [],
  baseUrl = () => '',
  own = ownAddresses,
}: Dependencies = {}): (lookup: Lookup) => Promise<IsOwnPlace> {
  // What was found stays until something else is: a broken resolver opens nothing.
  const found = new Map<string, readonly string[]>();
  let readAt = Number.NEGATIVE_INFINITY;
  let machine: readonly string[] = [];
  let reading: Promise<unknown> = Promise.resolve();

  const read = async (lookup: Lookup): Promise<void> => {
    machine = own();
    await Promise.allSettled(
      [...servers, baseUrl()].flatMap(hostsOf).map(async (host) => {
        found.set(host, isIP(host) === 0 ? await lookup(host) : [host]);
      }),
    );
  };

  return async (lookup) => {
    if (performance.now() - readAt > everyMs) {
      readAt = performance.now();
      reading = read(lookup);
    }
    await reading;
    const isOwnPublic = isPublicOf(machine);
    const among = (urls: readonly string[], address: Parameters<IsOwnPlace>[0]): boolean =>
      urls.flatMap(hostsOf).some((host) =>
        (found.get(host) ?? []).some((text) => {
          const at = parseAddress(text);
          return at !== undefined && sameAddress(at, address);
        }),
      );
    return (address, port) =>
      isOwnPublic(address) ||
      among(servers, address) ||
      (!publicPorts.includes(port) && among([baseUrl()], address));
  };
}

/** The hosts of one or several URLs, or of one that lists several. */
function hostsOf(urls: string): readonly string[] {
  return urls.split(',').flatMap((each) => {
    const [place = ''] = each.replace(/^[a-z][a-z0-9+]*:\/\//i, '').split(/[/?#]/);
    const [, six, name] = /^(?:\[([^\]]+)\]|([^:]+))/.exec(place.replace(/^.*@/, '')) ?? [];
    return six ?? name ?? [];
  });
}
