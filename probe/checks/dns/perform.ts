import { performance } from 'node:perf_hooks';
import type { Assignment } from '../../../shared/checks/assignment.ts';
import { type DnsSettings, dnsSettings, type Resolver } from '../../../shared/checks/dns/config.ts';
import { noPhases, type Verdict } from '../../../shared/checks/result.ts';
import { mayReportOutgoing } from '../connection/evidence.ts';
import { type Families, ownFamilies } from '../connection/lookup.ts';
import { outgoingTo } from '../guard.ts';
import { clearAlarm, newAlarm, setAlarm } from '../limits.ts';
import type { Check, CheckContext } from '../types.ts';
import { type Asking, type Exchange, exchange } from './exchange.ts';
import { write } from './message.ts';
import { createNameServerWatch } from './name-servers.ts';
import { createResolverCheck, systemResolvers } from './resolve.ts';
import type { UdpSockets } from './sockets.ts';
import { judge, resolverSuspected } from './verdict.ts';

export type DnsDependencies = {
  readonly sockets: UdpSockets;
  /** The probe's own resolvers now. */
  readonly resolvers?: () => readonly Resolver[];
  readonly families?: () => Families;
  /** Where name servers listen. */
  readonly nameServerPort?: number;
};

/** What is asked of the named resolver, or still of nobody where the probe's own is to be asked. */
type Prepared = {
  readonly terms: DnsSettings;
  readonly named: Named | null;
  readonly unaddressed: Omit<Asking, 'resolvers'>;
};
type Named = { readonly resolver: Resolver; readonly asking: Asking };

const noResolver: Verdict = {
  outcome: 'unknown',
  cause: { class: 'probe_resolver', params: {} },
  phases: noPhases,
  evidence: { resolvers: 0 },
};

/** One DNS check: a question to the named resolver or to the probe's own, its answer judged. */
export function createDnsCheck(dependencies: DnsDependencies): Check {
  const { sockets, resolvers = systemResolvers, families = ownFamilies } = dependencies;
  const resolverCheck = createResolverCheck(sockets);
  const nameServers = createNameServerWatch(sockets, dependencies.nameServerPort);
  // Prepared once: each time it would take 14 of the 220 µs of a check.
  const known = new WeakMap<Assignment, Prepared>();

  const prepare = (assignment: Assignment): Prepared => {
    const found = known.get(assignment);
    if (found) return found;
    const made = preparedFor(assignment);
    known.set(assignment, made);
    return made;
  };

  const askOwn = async (
    { terms, unaddressed }: Prepared,
    context: CheckContext,
  ): Promise<{ readonly verdict: Verdict; readonly resolver?: Resolver }> => {
    const { assignment, deadline, evidence_wanted } = context;
    const [first, ...rest] = resolvers();
    if (!first) return { verdict: noResolver };
    const own: readonly [Resolver, ...Resolver[]] = [first, ...rest];
    const since = deadline.began;
    // A silent resolver is only known at the deadline: who else it answers is asked in time, once
    // its patience is over.
    let doubt: Promise<boolean> | undefined;
    const suspect = (): Promise<boolean> => {
      doubt ??= resolverCheck.reachedOther(terms, since, own, deadline);
      return doubt;
    };
    const doubting = newAlarm(suspect);
    setAlarm(doubting, since + unaddressed.patience_ms * 2);
    let seen: Exchange;
    try {
      seen = await exchange(sockets, { ...unaddressed, resolvers: own }, deadline);
      // By TCP one is asked at a time: the next takes the place of one that takes no connection,
      // while there is time.
      for (const next of terms.transport === 'tcp' ? rest : [])
        if (takesNoTcp(seen) && !deadline.isOver()) {
          const asking = { ...unaddressed, resolvers: [next] } as const;
          seen = await exchange(sockets, asking, deadline, performance.now());
        }
    } finally {
      clearAlarm(doubting);
    }
    resolverCheck.saw(terms, seen);
    // What vouches for it is asked by UDP, and says nothing of its TCP.
    const reached_other =
      resolverSuspected(seen, terms.rcode) && !takesNoTcp(seen) ? await suspect() : false;
    const verdict = judge(terms, {
      exchange: seen,
      own: true,
      reached_other,
      has_family: true,
      limit_ms: assignment.timeout_ms,
      evidence_wanted,
    });
    const warning =
      verdict.outcome === 'ok' ? await nameServers(context, terms.name, own) : undefined;
    const warned = warning ? { ...verdict, warnings: [warning] } : verdict;
    return { verdict: warned, resolver: seen.resolver };
  };

  const judgeNamed = (
    terms: DnsSettings,
    { assignment, evidence_wanted }: CheckContext,
    seen: Exchange,
  ): Verdict => {
    const has_family = seen.outcome.is !== 'unreachable' || families()[seen.resolver.family];
    return judge(terms, {
      exchange: seen,
      own: false,
      reached_other: false,
      has_family,
      limit_ms: assignment.timeout_ms,
      evidence_wanted,
    });
  };

  return async (context) => {
    const prepared = prepare(context.assignment);
    const { terms, named } = prepared;
    if (named === null) {
      const { verdict, resolver } = await askOwn(prepared, context);
      return resolver === undefined ? verdict : withOutgoing(verdict, resolver, context);
    }
    const { resolver, asking } = named;
    const { guard, deadline, assignment } = context;
    if (!guard.allows(resolver.address, resolver.port))
      return notPublic(resolver, guard.isOwnLimit([resolver.address], assignment));
    const verdict = judgeNamed(terms, context, await exchange(sockets, asking, deadline));
    return withOutgoing(verdict, resolver, context);
  };
}

function preparedFor(assignment: Assignment): Prepared {
  const terms = dnsSettings(assignment);
  if (!terms) throw new Error(`the target of monitor ${assignment.monitor} is no name`);
  const { resolver, transport } = terms;
  const unaddressed = {
    question: terms,
    written: write(terms),
    transport,
    patience_ms: patienceOf(assignment.timeout_ms),
  };
  return {
    terms,
    unaddressed,
    named: resolver && { resolver, asking: { ...unaddressed, resolvers: [resolver] } },
  };
}

/**
 * A share of the time limit, so that several datagrams fit into it; at most what a slow resolver
 * far away needs.
 */
function patienceOf(limit_ms: number): number {
  return Math.min(1_000, Math.max(100, Math.floor(limit_ms / 5)));
}

/** Whether a resolver was to be asked by TCP and could not even be connected to. */
function takesNoTcp({ outcome, transport, connected_ms }: Exchange): boolean {
  return outcome.is !== 'answer' && transport === 'tcp' && connected_ms === null;
}

/**
 * What is shown of a check is worth a socket that asks the system which way it went; the many that
 * pass in silence are not.
 */
function withOutgoing(
  verdict: Verdict,
  resolver: Resolver,
  { evidence_wanted }: CheckContext,
): Verdict | Promise<Verdict> {
  return verdict.outcome === 'ok' && !evidence_wanted ? verdict : addOutgoing(verdict, resolver);
}

async function addOutgoing(verdict: Verdict, resolver: Resolver): Promise<Verdict> {
  const own = await outgoingTo(resolver);
  return mayReportOutgoing(own, resolver.address)
    ? { ...verdict, evidence: { ...verdict.evidence, outgoing_address: own } }
    : verdict;
}

function notPublic({ address, port }: Resolver, isOwnLimit: boolean): Verdict {
  return {
    outcome: isOwnLimit ? 'unknown' : 'fail',
    cause: { class: isOwnLimit ? 'probe_may_not_reach' : 'address_not_public', params: {} },
    phases: noPhases,
    evidence: { resolver: { address, port, own: false } },
  };
}
