import { performance } from 'node:perf_hooks';
import type { Resolver } from '../../shared/checks/dns/checks-dns-config.ts';
import { dnsName } from '../../shared/checks/dns/checks-dns-name.ts';
import { rcodes } from '../../shared/checks/dns/checks-dns-record-types.ts';
import { CheckDeadline } from './check-deadline.ts';
import { isAlias, recordsAsked } from './dns-chain.ts';
import { type Asking, type Exchange, exchange } from './dns-exchange.ts';
import { type DnsMessage, type DnsRecord, write } from './dns-message.ts';
import type { UdpSockets } from './dns-sockets.ts';
import { type AnsweredBy, ownCodes } from './https-observation.ts';

/** The addresses of a name in one family, or why there are none: a code as resolvers of the system have them, or one of ours. */
export type Answered = {
  readonly addresses: readonly string[];
  readonly code: string | null;
  /** Who answered, whatever was said; left out when nobody did. */
  readonly by?: AnsweredBy;
};

/** How long a name is asked for at all, whatever time the check has: name servers that are silent for so long do not answer. */
const mostMs = 10_000;
/** After so long it is asked again, or of the next resolver; less where the check has little time. */
const patienceOf = (ms: number): number => Math.min(1_000, Math.max(100, Math.floor(ms / 5)));

/** A question under way. `end`: its answer is not wanted any more, and it is given up as unanswered. */
export type AddressQuestion = { readonly answered: Promise<Answered>; readonly end: () => void };

const none = (code: string): Answered => ({ addresses: [], code });

const read = (name: string, { rcode, answers }: DnsMessage, records: readonly DnsRecord[]): Answered => {
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
};

const isUnreadable = ({ outcome }: Exchange): boolean => outcome.is === 'malformed' || outcome.is === 'oversized';

const judged = (name: string, type: 'A' | 'AAAA', { outcome, resolver }: Exchange, isOver: boolean): Answered => {
  if (outcome.is === 'answer') {
    const { records, ttl, aliases } = recordsAsked({ name, type }, outcome.message.answers);
    return { ...read(name, outcome.message, records), by: { resolver, ttl, aliases } };
  }
  if (outcome.is === 'silent' || outcome.is === 'wrong_question') return none(isOver ? ownCodes.deadline : 'ETIMEOUT');
  return none(outcome.is === 'closed' || outcome.is === 'refused' ? 'ECONNREFUSED' : 'EBADRESP');
};

/**
 * Asks for addresses, each question apart from all others. An answer that cannot be read is asked for once more, by a socket that carries nothing
 * else: only if it comes again is it the name's fault, else nothing is known (the resolver of the probe did not work).
 */
export const createAddressQuestions = (sockets: UdpSockets, resolvers: () => readonly Resolver[]) => {
  const askUntil = async (own: CheckDeadline, host: string, type: 'A' | 'AAAA', deadline: CheckDeadline): Promise<Answered> => {
    const name = dnsName(host);
    if (name === undefined) return none('EBADNAME');
    const [first, ...rest] = resolvers();
    if (first === undefined) return none(ownCodes.resolver);
    if (deadline.isOver()) return none(ownCodes.deadline);
    const whole = { expire: () => own.end() };
    deadline.listen(whole);
    const question = { name, type } as const;
    const patience_ms = patienceOf(own.due - own.began);
    const asking: Asking = { question, written: write(question), resolvers: [first, ...rest], transport: 'udp', patience_ms };
    try {
      const seen = await exchange(sockets, asking, own);
      if (!isUnreadable(seen)) return judged(name, type, seen, deadline.isOver() || performance.now() >= deadline.due);
      const again = await exchange(sockets, { ...asking, alone: true }, own);
      if (again.outcome.is === 'answer' || isUnreadable(again)) return judged(name, type, again, false);
      return none(ownCodes.resolver);
    } finally {
      deadline.unlisten(whole);
      own.settle();
    }
  };

  return (host: string, family: 4 | 6, deadline: CheckDeadline): AddressQuestion => {
    const began = performance.now();
    const own = new CheckDeadline(began, Math.min(deadline.due, began + mostMs));
    return { answered: askUntil(own, host, family === 4 ? 'A' : 'AAAA', deadline), end: () => own.end() };
  };
};
