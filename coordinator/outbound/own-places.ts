import { isIP } from 'node:net';
import { isPublicOf, ownAddresses, parseAddress, sameAddress } from '../../shared/base/network.ts';
import type { IsOwnPlace, Lookup } from './connection.ts';

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
