import { promises as dns } from 'node:dns';
import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import pLimit from 'p-limit';
import { codeOf } from '../../shared/base/error-code.ts';
import type { Resolver } from '../../shared/checks/dns/checks-dns-config.ts';
import type { CheckDeadline } from './check-deadline.ts';
import { type Answered, createAddressQuestions } from './dns-addresses.ts';
import { systemResolvers } from './dns-resolvers.ts';
import type { UdpSockets } from './dns-sockets.ts';
import type { AnsweredBy } from './https-observation.ts';

export type Families = { readonly 4: boolean; readonly 6: boolean };
export type IpFamily = 'any' | '4' | '6';

/** The addresses of a name, in the order to try them, or why there are none (a code of the resolver). */
export type LookupAnswer = ({ readonly addresses: readonly string[] } | { readonly code: string }) & { readonly by?: AnsweredBy };

/** Looks a name up afresh each time: what was true for an earlier check must not hide what is true now. */
export type Lookup = (name: string, family: IpFamily, deadline: CheckDeadline) => Promise<LookupAnswer>;

/** What only a resolver that works says: that there is no such name, or no address of the kind. */
export const tellsOfName: readonly string[] = ['ENOTFOUND', 'ENODATA', 'EBADNAME'];

const reread = 5_000;

/** What a file says, parsed again after it changed; looked at no more often than every five seconds. A file that is not there says nothing. */
const watched = <Parsed>(path: string, parse: (text: string) => Parsed): (() => Parsed) => {
  let parsed = parse('');
  let changed = -1;
  let looked = Number.NEGATIVE_INFINITY;
  return () => {
    if (performance.now() - looked < reread) return parsed;
    looked = performance.now();
    const modified = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    if (modified !== changed) {
      changed = modified;
      parsed = parse(modified === 0 ? '' : readFileSync(path, 'utf8'));
    }
    return parsed;
  };
};

const parseHosts = (text: string): ReadonlyMap<string, readonly string[]> => {
  const hosts = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (isIP(address) === 0) continue;
    for (const name of names) hosts.set(name.toLowerCase(), [...(hosts.get(name.toLowerCase()) ?? []), address]);
  }
  return hosts;
};

/** Alternating families, IPv6 first, so that a fallback crosses to the other family at once. */
const interleave = (six: readonly string[], four: readonly string[]): string[] =>
  Array.from({ length: Math.max(six.length, four.length) }, (_, i) => [six[i], four[i]])
    .flat()
    .filter((address) => address !== undefined);

const ofFamily = (addresses: readonly string[], family: IpFamily): string[] =>
  addresses.filter((address) => family === 'any' || isIP(address) === Number(family));

const answer = (addresses: readonly string[], family: IpFamily): LookupAnswer => {
  const wanted = ofFamily(addresses, family);
  return wanted.length > 0 ? { addresses: wanted } : { code: 'ENODATA' };
};

/** Which address families lead out of this machine: any address beyond loopback and link-local. */
export const ownFamilies = (): Families => {
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const has = (family: string) =>
    addresses.some((one) => one.family === family && !one.internal && !one.address.toLowerCase().startsWith('fe80'));
  return { 4: has('IPv4'), 6: has('IPv6') };
};

/** `ownFamilies`, read again at most every ten seconds. */
export const watchFamilies = (read: () => Families = ownFamilies): (() => Families) => {
  let families = read();
  let at = performance.now();
  return () => {
    if (performance.now() - at > 10_000) {
      families = read();
      at = performance.now();
    }
    return families;
  };
};

/** Worse codes first: what one family's query says when the other's says something else. */
const worst = (codes: readonly (string | null)[]): string => {
  const told = codes.filter((code) => code !== null);
  return told.find((code) => code !== 'ENODATA' && code !== 'ENOTFOUND') ?? told.find((code) => code === 'ENODATA') ?? 'ENOTFOUND';
};

/** Who said so: of several families the first that answered. */
const saidBy = (...answers: readonly (Answered | undefined)[]): { readonly by?: AnsweredBy } => {
  const by = answers.find((one) => one?.by !== undefined)?.by;
  return by === undefined ? {} : { by };
};

export type LookupParts = {
  readonly families: () => Families;
  readonly sockets: UdpSockets;
  /** Who is asked for every name that is not of this machine; without them the machine's own resolvers are. */
  readonly resolvers?: () => readonly Resolver[];
  /** Hears of each name that they could say something about. */
  readonly onAnswer?: (name: string) => void;
};

/**
 * Asks the machine's resolvers itself, each question apart from all others: without a cache, without a channel of which one bad answer would end the
 * look-ups of everybody, and without the four threads of getaddrinfo, which one slow name would block for all. Names of /etc/hosts, `localhost`,
 * and what only the system can know (single labels, .local) excepted.
 */
export const createLookup = ({ families, sockets, resolvers, onAnswer = () => undefined }: LookupParts): Lookup => {
  const hosts = watched('/etc/hosts', parseHosts);
  const ask = createAddressQuestions(sockets, resolvers ?? systemResolvers);
  const bySystem = pLimit(2);

  const query = async (name: string, family: 4 | 6, deadline: CheckDeadline): Promise<Answered> => {
    const answered = await ask(name, family, deadline);
    if (answered.code === null || tellsOfName.includes(answered.code)) onAnswer(name);
    return answered;
  };

  const askSystem = async (name: string, family: IpFamily): Promise<LookupAnswer> => {
    try {
      return answer(
        (await bySystem(() => dns.lookup(name, { all: true, order: 'verbatim' }))).map(({ address }) => address),
        family,
      );
    } catch (error) {
      return { code: codeOf(error, 'EUNKNOWN') };
    }
  };

  return async (given, family, deadline) => {
    if (isIP(given) !== 0) return answer([given], family);
    const name = given.toLowerCase().replace(/\.$/, '');
    const listed = hosts().get(name);
    if (listed) return answer(listed, family);
    if (name === 'localhost' || name.endsWith('.localhost')) return answer(['127.0.0.1', '::1'], family);
    if (!resolvers && (!name.includes('.') || name.endsWith('.local'))) return askSystem(name, family);

    if (family !== 'any') {
      const only = await query(name, family === '4' ? 4 : 6, deadline);
      return only.addresses.length > 0 ? { addresses: only.addresses, ...saidBy(only) } : { code: worst([only.code]), ...saidBy(only) };
    }
    const has = families();
    const [four, six] = has[6]
      ? await Promise.all([query(name, 4, deadline), query(name, 6, deadline)])
      : [await query(name, 4, deadline), undefined];
    if (four.addresses.length > 0) return { addresses: interleave(six?.addresses ?? [], four.addresses), ...saidBy(four) };
    // A probe without IPv6 asks all the same when there is nothing else, to know a name that is only there from one that is nowhere.
    const other = six ?? (four.code === 'ENOTFOUND' ? undefined : await query(name, 6, deadline));
    if (other && other.addresses.length > 0) return { addresses: other.addresses, ...saidBy(other) };
    return { code: worst([four.code, other?.code ?? null]), ...saidBy(four, other) };
  };
};
