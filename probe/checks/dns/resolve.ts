import { Resolver as SystemResolver } from 'node:dns';
import { performance } from 'node:perf_hooks';
import { parseResolver, type Resolver } from '../../../shared/checks/dns/config.ts';
import { type RecordType, rcodes, recordTypes } from '../../../shared/checks/dns/keys.ts';
import { dnsName } from '../../../shared/checks/dns/values.ts';
import { type AnsweredBy, ownCodes } from '../connection/observation.ts';
import { CheckDeadline } from '../limits.ts';
import { type Asking, type Exchange, exchange } from './exchange.ts';
import { type DnsMessage, type DnsRecord, type Question, write } from './message.ts';
import type { UdpSockets } from './sockets.ts';

/**
 * Records of the asked type at the end of the chain of aliases, the lowest TTL on the way, and the
 * aliases one after the other.
 */
export type ResolvedRecords = {
  readonly records: readonly DnsRecord[];
  readonly ttl: number | null;
  readonly aliases: readonly string[];
};

/** One for all, because most names have none. */
const noAliases: readonly string[] = [];

/**
 * What lies beside the chain was not asked for. Most answers are nothing but the records asked for,
 * and are taken as they are.
 */
export function recordsAsked(
  asked: { readonly name: string; readonly type: RecordType },
  answers: readonly DnsRecord[],
): ResolvedRecords {
  const wanted = recordTypes[asked.type];
  const passed: string[] = [];
  let { name } = asked;
  let lowest = Number.POSITIVE_INFINITY;
  for (;;) {
    const isPlain = answers.every((record) => isAsked(record, name, wanted));
    const records = isPlain ? answers : answers.filter((record) => isAsked(record, name, wanted));
    const alias = isPlain
      ? undefined
      : answers.find((record) => isAsked(record, name, recordTypes.CNAME));
    const next = alias?.fields?.[0];
    lowest = Math.min(lowest, lowestTtl(records));
    if (
      records.length > 0 ||
      alias === undefined ||
      next === undefined ||
      next === name ||
      passed.includes(next)
    )
      return {
        records,
        ttl: Number.isFinite(lowest) ? lowest : null,
        aliases: passed.length === 0 ? noAliases : [...passed.slice(1), name],
      };
    lowest = Math.min(lowest, alias.ttl);
    passed.push(name);
    name = next;
  }
}

function isAsked(
  { name, type, fields }: DnsRecord,
  wantedName: string,
  wantedType: number,
): boolean {
  return name === wantedName && type === wantedType && fields !== null;
}

function lowestTtl(records: readonly DnsRecord[]): number {
  let lowest = Number.POSITIVE_INFINITY;
  for (const { ttl } of records) if (ttl < lowest) lowest = ttl;
  return lowest;
}

/** Whether the name itself is there, as an alias, wherever that leads. */
export function isAlias(name: string, answers: readonly DnsRecord[]): boolean {
  return answers.some((record) => record.name === name && record.type === recordTypes.CNAME);
}

/**
 * The addresses of a name in one family, or why there are none: a code as resolvers of the system
 * have them, or one of ours.
 */
export type Answered = {
  readonly addresses: readonly string[];
  readonly code: string | null;
  /** Who answered, whatever was said; left out when nobody did. */
  readonly by?: AnsweredBy;
};

/**
 * How long a name is asked for at all, whatever time the check has: name servers that are silent
 * for so long do not answer.
 */
const maxMs = 10_000;

/**
 * A question under way. `end`: its answer is not wanted any more, and it is given up as unanswered.
 */
export type AddressQuestion = { readonly answered: Promise<Answered>; readonly end: () => void };

/**
 * Asks for addresses, each question apart from all others. An answer that cannot be read is asked
 * for once more, by a socket that carries nothing else: only if it comes again is it the name's
 * fault, else nothing is known (the resolver of the probe did not work).
 */
export function createAddressQuestions(sockets: UdpSockets, resolvers: () => readonly Resolver[]) {
  const askUntil = async (
    own: CheckDeadline,
    host: string,
    type: 'A' | 'AAAA',
    deadline: CheckDeadline,
  ): Promise<Answered> => {
    const name = dnsName(host);
    if (name === undefined) return none('EBADNAME');
    const [first, ...rest] = resolvers();
    if (first === undefined) return none(ownCodes.resolver);
    if (deadline.isOver()) return none(ownCodes.deadline);
    const whole = { expire: () => own.end() };
    deadline.listen(whole);
    const question = { name, type } as const;
    const patience_ms = patienceOf(own.due - own.began);
    const asking: Asking = {
      question,
      written: write(question),
      resolvers: [first, ...rest],
      transport: 'udp',
      patience_ms,
    };
    try {
      const seen = await exchange(sockets, asking, own);
      if (!isUnreadable(seen))
        return judged(name, type, seen, deadline.isOver() || performance.now() >= deadline.due);
      const again = await exchange(sockets, { ...asking, alone: true }, own);
      if (again.outcome.is === 'answer' || isUnreadable(again))
        return judged(name, type, again, false);
      return none(ownCodes.resolver);
    } finally {
      deadline.unlisten(whole);
      own.settle();
    }
  };

  return (host: string, family: 4 | 6, deadline: CheckDeadline): AddressQuestion => {
    const began = performance.now();
    const own = new CheckDeadline(began, Math.min(deadline.due, began + maxMs));
    return {
      answered: askUntil(own, host, family === 4 ? 'A' : 'AAAA', deadline),
      end: () => own.end(),
    };
  };
}

function none(code: string): Answered {
  return { addresses: [], code };
}

/**
 * After so long it is asked again, or of the next resolver; less where the check has little time.
 */
function patienceOf(ms: number): number {
  return Math.min(1_000, Math.max(100, Math.floor(ms / 5)));
}

function isUnreadable({ outcome }: Exchange): boolean {
  return outcome.is === 'malformed' || outcome.is === 'oversized';
}

function judged(
  name: string,
  type: 'A' | 'AAAA',
  { outcome, resolver }: Exchange,
  isOver: boolean,
): Answered {
  if (outcome.is === 'answer') {
    const { records, ttl, aliases } = recordsAsked({ name, type }, outcome.message.answers);
    return { ...read(name, outcome.message, records), by: { resolver, ttl, aliases } };
  }
  if (outcome.is === 'silent' || outcome.is === 'wrong_question')
    return none(isOver ? ownCodes.deadline : 'ETIMEOUT');
  return none(outcome.is === 'closed' || outcome.is === 'refused' ? 'ECONNREFUSED' : 'EBADRESP');
}

function read(
  name: string,
  { rcode, answers }: DnsMessage,
  records: readonly DnsRecord[],
): Answered {
  switch (rcode) {
    case rcodes.NOERROR: {
      const addresses = records.flatMap(({ fields }) => fields?.[0] ?? []);
      return addresses.length > 0 ? { addresses, code: null } : none('ENODATA');
    }
    // What an alias leads to does not exist; the name itself is there, without an address.
    case rcodes.NXDOMAIN:
      return none(isAlias(name, answers) ? 'ENODATA' : 'ENOTFOUND');
    case rcodes.REFUSED:
      return none('EREFUSED');
    default:
      return none('ESERVFAIL');
  }
}

const rereadMs = 10_000;
let readResolvers: { readonly at: number; readonly resolvers: readonly Resolver[] } | undefined;

/**
 * The resolvers of the machine, in its order. Only a new resolver of the library reads them again,
 * so that is made now and then: a laptop or a container may be given others while it runs.
 */
export function systemResolvers(): readonly Resolver[] {
  const at = performance.now();
  if (readResolvers === undefined || at - readResolvers.at > rereadMs) {
    const resolvers = new SystemResolver()
      .getServers()
      .flatMap((text) => parseResolver(text) ?? []);
    readResolvers = { at, resolvers };
  }
  return readResolvers.resolvers;
}

/**
 * Whether the probe's own resolver works, told from a name that does not: it does if it answered
 * for another name since the check began, or answers now who serves the root, which every resolver
 * knows.
 */
export type ResolverCheck = {
  /** To be told of every exchange with the probe's own resolver. */
  readonly saw: (question: Question, seen: Exchange) => void;
  readonly reachedOther: (
    question: Question,
    since: number,
    resolvers: readonly [Resolver, ...Resolver[]],
    deadline: CheckDeadline,
  ) => Promise<boolean>;
};

const root: Question = { name: '.', type: 'NS' };
const writtenRoot = write(root);
const patienceMs = 500;

export function createResolverCheck(sockets: UdpSockets): ResolverCheck {
  // Two names are enough: for any question, at least one of the two newest answers was to another
  // name.
  let newest = { name: '', at: Number.NEGATIVE_INFINITY };
  let other = newest;
  let asking: Promise<boolean> | undefined;

  return {
    saw: ({ name }, seen) => {
      if (!answered(seen)) return;
      if (newest.name !== name) other = newest;
      newest = { name, at: performance.now() };
    },
    reachedOther: async ({ name }, since, resolvers, deadline) => {
      const another = newest.name === name ? other : newest;
      if (another.at >= since) return true;
      // Many checks suspect the resolver in the same moment: one question answers for all of them,
      // and has a time of its own, because the check that asked it may be over first.
      if (asking === undefined) {
        const own = new CheckDeadline(performance.now(), deadline.due);
        asking = exchange(
          sockets,
          {
            question: root,
            written: writtenRoot,
            resolvers,
            transport: 'udp',
            patience_ms: patienceMs,
          },
          own,
        )
          .then((seen) => answered(seen))
          .finally(() => {
            asking = undefined;
          });
      }
      return orOver(asking, deadline);
    },
  };
}

/** A name that is answered for, or known not to exist: either took a resolver that works. */
function answered({ outcome }: Exchange): boolean {
  return outcome.is === 'answer' && [0, 3].includes(outcome.message.rcode);
}

/** An answer that comes after the deadline is none. */
function orOver(asking: Promise<boolean>, deadline: CheckDeadline): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const expiring = { expire: () => resolve(false) };
    if (deadline.isOver()) return expiring.expire();
    deadline.listen(expiring);
    asking.then(resolve, reject).finally(() => deadline.unlisten(expiring));
  });
}
