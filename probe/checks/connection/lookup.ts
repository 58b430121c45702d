import { promises as dns } from 'node:dns';
import { readFileSync, statSync } from 'node:fs';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import pLimit from 'p-limit';
import { codeOf } from '../../../shared/base/errors.ts';
import type { Resolver } from '../../../shared/checks/dns/config.ts';
import {
  type AddressQuestion,
  type Answered,
  createAddressQuestions,
  createResolverCheck,
  systemResolvers,
} from '../dns/resolve.ts';
import type { UdpSockets } from '../dns/sockets.ts';
import type { CheckDeadline } from '../limits.ts';
import { type AnsweredBy, ownCodes } from './observation.ts';

/**
 * Whether the probe's own resolver works, for checks that resolve a name. A resolver that answers
 * for no name says nothing about this name (rule 1), even if the rest of the network works.
 */
export type OwnResolver = {
  /** The resolver answered for this name, or knows that the name does not exist. */
  readonly answered: (name: string) => void;
  /**
   * Whether the resolver answered for another name since then, or does now. Settles no later than
   * the deadline.
   */
  readonly works: (name: string, since: number, deadline: CheckDeadline) => Promise<boolean>;
};

export function createOwnResolver(sockets: UdpSockets, resolvers = systemResolvers): OwnResolver {
  const resolverCheck = createResolverCheck(sockets);
  // Two names are enough: for any name, at least one of the two newest answers was about another.
  let newest = { name: '', at: Number.NEGATIVE_INFINITY };
  let other = newest;
  return {
    answered: (name) => {
      if (newest.name !== name) other = newest;
      newest = { name, at: performance.now() };
    },
    works: async (name, since, deadline) => {
      if ((newest.name === name ? other : newest).at >= since) return true;
      const [first, ...rest] = resolvers();
      return (
        first !== undefined &&
        resolverCheck.reachedOther({ name, type: 'A' }, since, [first, ...rest], deadline)
      );
    },
  };
}

export type Families = { readonly 4: boolean; readonly 6: boolean };
export type IpFamily = 'any' | '4' | '6';

/** The family that was not answered in time, or not at all, while the other one was. */
export type SecondFamily = {
  readonly type: 'A' | 'AAAA';
  /** Its addresses, if they still come; empty otherwise. */
  readonly addresses: Promise<readonly string[]>;
  /** Why it has no answer now; null once there is one. */
  readonly fault: () => string | null;
  /** Its addresses are no longer wanted. */
  readonly end: () => void;
};

/**
 * The addresses of a name in the order to try them, or why there are none (a code of the resolver).
 */
export type LookupAnswer = (
  | { readonly addresses: readonly string[]; readonly second?: SecondFamily }
  | { readonly code: string }
) & {
  readonly by?: AnsweredBy;
};

/** Resolves a name freshly each time: an earlier check's answer must not hide the present one. */
export type Lookup = (
  name: string,
  family: IpFamily,
  deadline: CheckDeadline,
) => Promise<LookupAnswer>;

/** Codes that only a working resolver returns: the name does not exist, or has no such address. */
export const missingNameCodes: readonly string[] = ['ENOTFOUND', 'ENODATA', 'EBADNAME'];

/** Alternates families, IPv6 first, so a fallback switches to the other family at once. */
export function interleave(six: readonly string[], four: readonly string[]): string[] {
  return Array.from({ length: Math.max(six.length, four.length) }, (_, i) => [six[i], four[i]])
    .flat()
    .filter((address) => address !== undefined);
}

/**
 * Which address families lead out of this machine: those with any address beyond loopback and
 * link-local.
 */
export function ownFamilies(): Families {
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const has = (family: string) =>
    addresses.some(
      (one) =>
        one.family === family && !one.internal && !one.address.toLowerCase().startsWith('fe80'),
    );
  return { 4: has('IPv4'), 6: has('IPv6') };
}

/** `ownFamilies`, read again at most every ten seconds. */
export function watchFamilies(read: () => Families = ownFamilies): () => Families {
  let families = read();
  let at = performance.now();
  return () => {
    if (performance.now() - at > 10_000) {
      families = read();
      at = performance.now();
    }
    return families;
  };
}

export type LookupDependencies = {
  readonly families: () => Families;
  readonly sockets: UdpSockets;
  /**
   * Resolvers for every name that does not belong to this machine; without them, the machine's own
   * resolvers.
   */
  readonly resolvers?: () => readonly Resolver[];
  /** Called for each name about which they could say something. */
  readonly onAnswer?: (name: string) => void;
};

/**
 * Queries the machine's resolvers itself, each question separately. This avoids three problems: a
 * cache; a shared channel, where one bad answer would end all look-ups; and the four threads of
 * getaddrinfo, which one slow name would block for all. Exceptions are names of /etc/hosts,
 * `localhost`, and what only the system can know (single labels, .local).
 */
export function createLookup({
  families,
  sockets,
  resolvers,
  onAnswer = () => undefined,
}: LookupDependencies): Lookup {
  const hosts = watched('/etc/hosts', parseHosts);
  const ask = createAddressQuestions(sockets, resolvers ?? systemResolvers);
  const bySystem = pLimit(2);

  const query = (name: string, family: 4 | 6, deadline: CheckDeadline): AddressQuestion => {
    const { answered, end } = ask(name, family, deadline);
    const told = answered.then((one) => {
      if (one.code === null || missingNameCodes.includes(one.code)) onAnswer(name);
      return one;
    });
    return { answered: told, end };
  };

  const askSystem = async (name: string, family: IpFamily): Promise<LookupAnswer> => {
    try {
      return answer(
        (await bySystem(() => dns.lookup(name, { all: true, order: 'verbatim' }))).map(
          ({ address }) => address,
        ),
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
    if (name === 'localhost' || name.endsWith('.localhost'))
      return answer(['127.0.0.1', '::1'], family);
    if (!resolvers && (!name.includes('.') || name.endsWith('.local')))
      return askSystem(name, family);

    if (family !== 'any') {
      const only = await query(name, family === '4' ? 4 : 6, deadline).answered;
      return only.addresses.length > 0
        ? { addresses: only.addresses, ...saidBy(only) }
        : { code: worst([only.code]), ...saidBy(only) };
    }
    if (families()[6]) return inBoth(query(name, 4, deadline), query(name, 6, deadline));
    const four = await query(name, 4, deadline).answered;
    if (four.addresses.length > 0) return { addresses: four.addresses, ...saidBy(four) };
    // Without IPv6, the probe still queries for it when there is nothing else. This separates a
    // name that has only IPv6 from one that does not exist.
    const six = four.code === 'ENOTFOUND' ? undefined : await query(name, 6, deadline).answered;
    if (six && six.addresses.length > 0) return { addresses: six.addresses, ...saidBy(six) };
    return { code: worst([four.code, six?.code ?? null]), ...saidBy(four, six) };
  };
}

const reread = 5_000;

/**
 * What a file says, parsed again after it changed and read at most every five seconds. A missing
 * file says nothing.
 */
function watched<Parsed>(path: string, parse: (text: string) => Parsed): () => Parsed {
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
}

function parseHosts(text: string): ReadonlyMap<string, readonly string[]> {
  const hosts = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (isIP(address) === 0) continue;
    for (const name of names)
      hosts.set(name.toLowerCase(), [...(hosts.get(name.toLowerCase()) ?? []), address]);
  }
  return hosts;
}

function answer(addresses: readonly string[], family: IpFamily): LookupAnswer {
  const wanted = ofFamily(addresses, family);
  return wanted.length > 0 ? { addresses: wanted } : { code: 'ENODATA' };
}

function ofFamily(addresses: readonly string[], family: IpFamily): string[] {
  return addresses.filter((address) => family === 'any' || isIP(address) === Number(family));
}

/** Who answered: of several families, the first. */
function saidBy(...answers: readonly (Answered | undefined)[]): { readonly by?: AnsweredBy } {
  const by = answers.find((one) => one?.by !== undefined)?.by;
  return by === undefined ? {} : { by };
}

/** Worse codes first: decides which code counts when the two families' queries differ. */
function worst(codes: readonly (string | null)[]): string {
  const told = codes.filter((code) => code !== null);
  return (
    told.find((code) => code !== 'ENODATA' && code !== 'ENOTFOUND') ??
    told.find((code) => code === 'ENODATA') ??
    'ENOTFOUND'
  );
}

async function inBoth(
  askedFour: AddressQuestion,
  askedSix: AddressQuestion,
): Promise<LookupAnswer> {
  const [four, six] = await bothOrFirst(askedFour.answered, askedSix.answered);
  const addresses = interleave(six?.addresses ?? [], four?.addresses ?? []);
  if (addresses.length === 0)
    return { code: worst([four?.code ?? null, six?.code ?? null]), ...saidBy(four, six) };
  const second = six?.addresses.length
    ? secondOf('A', four, askedFour)
    : secondOf('AAAA', six, askedSix);
  return { addresses, ...second, ...(four?.addresses.length ? saidBy(four) : saidBy(six)) };
}

/**
 * How long the addresses of one family wait for those of the other, in ms. RFC 8305 has 50 ms;
 * resolvers on another continent need more.
 */
const resolutionDelay = 250;

/** Both answers, or only the one that has addresses once the other is `resolutionDelay` late. */
function bothOrFirst(
  four: Promise<Answered>,
  six: Promise<Answered>,
): Promise<readonly [Answered | undefined, Answered | undefined]> {
  return new Promise((resolve, reject) => {
    let first: Answered | undefined;
    let timer: NodeJS.Timeout | undefined;
    const settle = (four: Answered | undefined, six: Answered | undefined): void => {
      if (four && six) {
        clearTimeout(timer);
        resolve([four, six]);
      } else if ((four ?? six)?.addresses.length)
        timer = setTimeout(resolve, resolutionDelay, [four, six]);
    };
    const keep = (answered: Answered): Answered | undefined => {
      const before = first;
      first = answered;
      return before;
    };
    four.then((answered) => settle(answered, keep(answered)), reject);
    six.then((answered) => settle(keep(answered), answered), reject);
  });
}

/** What may still come of one family after the other has addresses; nothing if it was answered. */
function secondOf(
  type: 'A' | 'AAAA',
  answered: Answered | undefined,
  question: AddressQuestion,
): { readonly second?: SecondFamily } {
  let fault = answered ? faultOf(answered) : ownCodes.deadline;
  if (fault === null) return {};
  const addresses = question.answered.then((late) => {
    fault = faultOf(late);
    return late.addresses;
  });
  return { second: { type, addresses, fault: () => fault, end: question.end } };
}

/** Codes that say nothing about the name. */
const noAnswer: readonly string[] = [
  'ETIMEOUT',
  'EBADRESP',
  'ECONNREFUSED',
  ownCodes.deadline,
  ownCodes.resolver,
];

function faultOf({ code }: Answered): string | null {
  return code !== null && noAnswer.includes(code) ? code : null;
}
