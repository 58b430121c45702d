import { performance } from 'node:perf_hooks';
import type { Assignment } from '../../shared/checks/assignment.ts';
import { type DnsTerms, dnsTerms, type Resolver } from '../../shared/checks/dns/config.ts';
import type { Verdict } from '../../shared/checks/result.ts';
import { noPhases } from '../../shared/checks/result.ts';
import type { Check } from './check.ts';
import { clearAlarm, newAlarm, setAlarm } from './dns-alarms.ts';
import { type Exchange, exchange, type Written, write } from './dns-exchange.ts';
import { createResolverWitness, systemResolvers } from './dns-resolvers.ts';
import type { UdpSockets } from './dns-sockets.ts';
import { judge, resolverSuspected } from './dns-verdict.ts';
import { type Families, ownFamilies } from './https-lookup.ts';

export type DnsParts = {
  readonly sockets: UdpSockets;
  /** The probe's own resolvers now. */
  readonly resolvers?: () => readonly Resolver[];
  readonly families?: () => Families;
};

/** A share of the time limit, so that several datagrams fit into it; at most what a slow resolver far away needs. */
const patienceOf = (limit_ms: number): number => Math.min(1_000, Math.max(100, Math.floor(limit_ms / 5)));

type Prepared = { readonly terms: DnsTerms; readonly written: Written };

/** Whether a resolver was to be asked by TCP and could not even be connected to. */
const takesNoTcp = ({ outcome, transport, connected_ms }: Exchange): boolean =>
  outcome.is !== 'answer' && transport === 'tcp' && connected_ms === null;

/** One DNS check: a question to the named resolver or to the probe's own, its answer judged. */
export const createDnsCheck = (parts: DnsParts): Check => {
  const { sockets, resolvers = systemResolvers, families = ownFamilies } = parts;
  const witness = createResolverWitness(sockets);
  const known = new WeakMap<Assignment, Prepared>();

  const prepare = (assignment: Assignment): Prepared => {
    const found = known.get(assignment);
    if (found) return found;
    const terms = dnsTerms(assignment);
    if (!terms) throw new Error(`the target of monitor ${assignment.monitor} is no name`);
    const made = { terms, written: write(terms) };
    known.set(assignment, made);
    return made;
  };

  return async ({ assignment, deadline, evidence_wanted, guard }) => {
    const { terms, written } = prepare(assignment);
    const limit_ms = assignment.timeout_ms;
    const asking = { question: terms, transport: terms.transport, patience_ms: patienceOf(limit_ms), deadline };

    if (terms.resolver) {
      if (!guard.allows(terms.resolver.address, terms.resolver.port))
        return notPublic(terms.resolver, guard.isOwnLimit([terms.resolver.address], assignment));
      const seen = await exchange(sockets, { ...asking, resolvers: [terms.resolver] }, written);
      const has_family = seen.outcome.is !== 'unreachable' || families()[terms.resolver.family];
      return judge(terms, { exchange: seen, own: false, vouched: false, has_family, limit_ms, evidence_wanted });
    }

    const [first, ...rest] = resolvers();
    if (!first) return { outcome: 'unknown', cause: { class: 'probe_resolver', params: {} }, phases: noPhases, evidence: { resolvers: 0 } };
    const own: readonly [Resolver, ...Resolver[]] = [first, ...rest];
    const since = performance.now();
    // A silent resolver is only known at the deadline: who else it answers is asked in time, once its patience is over.
    let doubt: Promise<boolean> | undefined;
    const suspect = (): Promise<boolean> => {
      doubt ??= witness.vouch(terms, since, own, deadline);
      return doubt;
    };
    const doubting = newAlarm(suspect);
    setAlarm(doubting, since + asking.patience_ms * 2);
    let seen: Exchange;
    try {
      seen = await exchange(sockets, { ...asking, resolvers: own }, written);
      // By TCP one is asked at a time: the next takes the place of one that takes no connection, while there is time.
      for (const next of terms.transport === 'tcp' ? rest : [])
        if (takesNoTcp(seen) && !deadline.aborted) seen = await exchange(sockets, { ...asking, resolvers: [next] }, written);
    } finally {
      clearAlarm(doubting);
    }
    witness.saw(terms, seen);
    // What vouches for it is asked by UDP, and says nothing of its TCP.
    const vouched = resolverSuspected(seen, terms.rcode) && !takesNoTcp(seen) ? await suspect() : false;
    return judge(terms, { exchange: seen, own: true, vouched, has_family: true, limit_ms, evidence_wanted });
  };
};

const notPublic = ({ address, port }: Resolver, isOwnLimit: boolean): Verdict => ({
  outcome: isOwnLimit ? 'unknown' : 'fail',
  cause: { class: isOwnLimit ? 'probe_may_not_reach' : 'address_not_public', params: {} },
  phases: noPhases,
  evidence: { resolver: { address, port, own: false } },
});
