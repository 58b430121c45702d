import { isIP, type Socket } from 'node:net';
import type { Phases } from '../../../shared/checks/result.ts';
import type { CheckDeadline } from '../limits.ts';
import type { CheckContext } from '../types.ts';
import { type Connected, connectFirst, type Open } from './connect.ts';
import {
  type Families,
  type IpFamily,
  type Lookup,
  type LookupAnswer,
  missingNameCodes,
  type OwnResolver,
} from './lookup.ts';
import { type Failure, ownCodes, type ReachSeen } from './observation.ts';
import type { ChecksProxy } from './proxy.ts';
import type { Trust } from './trust.ts';

/** What a probe has for every kind of check that connects. */
export type ConnectionDependencies = {
  readonly lookup: Lookup;
  readonly resolver: Pick<OwnResolver, 'works'>;
  readonly families: () => Families;
  readonly trust: Trust;
  readonly proxy?: ChecksProxy | undefined;
};

/** Where to connect: a host's name or literal address, without brackets. */
export type Endpoint = {
  readonly host: string;
  readonly port: number;
  readonly ip_family: IpFamily;
};

/** A connection to the server, or why there is none. */
export type Reached = {
  readonly seen: ReachSeen;
  readonly phases: Pick<Phases, 'dns' | 'tcp'>;
  /** null where there is a failure. */
  readonly socket: Socket | null;
  /** The performance.now() at which it was connected, or known not to be. */
  readonly at: number;
  readonly failure: Failure<'dns' | 'tcp'> | null;
  /** Connects once more to the addresses that are known. */
  readonly connectAgain: (open: Open) => Promise<Connected>;
};

/** Resolves, lets the guard judge each address, and connects. Settles no later than the deadline. */
export async function reach(
  { host, port, ip_family }: Endpoint,
  open: Open,
  context: CheckContext,
  dependencies: ConnectionDependencies,
): Promise<Reached> {
  const { deadline, guard } = context;
  const { families, proxy } = dependencies;
  const isName = isIP(host) === 0;
  const began = performance.now();
  const found = await findAddresses(host, ip_family, dependencies, context);
  const lookedUp = performance.now();
  let phases: Reached['phases'] = { dns: isName ? lookedUp - began : null, tcp: null };
  let seen: ReachSeen = {
    addresses: [],
    by: found.by ?? null,
    unanswered: null,
    attempts: [],
    outgoing: null,
  };
  const connect = (open: Open, late?: Promise<readonly string[]>): Promise<Connected> =>
    connectFirst(seen.addresses, port, guard, families(), deadline, open, proxy, late);
  const failed = (at: number, failure: Reached['failure']): Reached => ({
    seen,
    phases,
    socket: null,
    at,
    failure,
    connectAgain: connect,
  });
  if ('code' in found) return failed(lookedUp, { phase: 'dns', code: found.code });

  seen = { ...seen, addresses: found.addresses };
  const { second } = found;
  const { socket, code, at, addresses, attempts } = await connect(open, second?.addresses);
  const fault = second?.fault() ?? null;
  second?.end();
  seen = {
    ...seen,
    addresses,
    attempts,
    unanswered: second && fault !== null ? second.type : null,
    outgoing: proxy ? null : (socket?.localAddress ?? null),
  };
  if (attempts.length > 0) phases = { ...phases, tcp: at - lookedUp };
  if (socket) return { seen, phases, socket, at, failure: null, connectAgain: connect };
  // If no packet was sent, the look-up took all the time, or gave no address that this machine can
  // use.
  const isLookup =
    code === ownCodes.deadline ? isName : code === ownCodes.noFamily && fault !== null;
  if (attempts.length === 0 && isLookup) {
    phases = { ...phases, dns: at - began };
    return failed(at, { phase: 'dns', code: fault ?? code });
  }
  const isOwnLimit = code === ownCodes.notPublic && guard.isOwnLimit(addresses, context.assignment);
  return failed(at, { phase: 'tcp', code: isOwnLimit ? ownCodes.ownLimit : code });
}

/** The addresses of a host, or why there are none. Settles no later than the deadline. */
export async function findAddresses(
  host: string,
  family: IpFamily,
  dependencies: Pick<ConnectionDependencies, 'lookup' | 'resolver'>,
  context: CheckContext,
): Promise<LookupAnswer> {
  return isIP(host) === 0 ? lookUp(host, family, dependencies, context) : literal(host, family);
}

function literal(host: string, family: string): LookupAnswer {
  return family === 'any' || isIP(host) === Number(family)
    ? { addresses: [host] }
    : { code: 'ENODATA' };
}

/**
 * A silent resolver is only known at the deadline. After this time, the check asks whether the
 * resolver answers for any other name.
 */
const resolverTimeout = 1_500;

/**
 * Resolves a name. A resolver's failure counts against the name only if the resolver works for
 * others.
 */
async function lookUp(
  name: string,
  family: IpFamily,
  { lookup, resolver }: Pick<ConnectionDependencies, 'lookup' | 'resolver'>,
  context: CheckContext,
): Promise<LookupAnswer> {
  const since = performance.now();
  let asked: Promise<boolean> | undefined;
  const works = (): Promise<boolean> => {
    asked ??= resolver.works(name, since, context.deadline);
    return asked;
  };
  const timer = setTimeout(works, Math.min(resolverTimeout, context.assignment.timeout_ms / 3));
  const found = await orDeadline(lookup(name, family, context.deadline), context.deadline).finally(
    () => clearTimeout(timer),
  );
  if (!('code' in found) || missingNameCodes.includes(found.code)) return found;
  return (await works()) ? found : { code: ownCodes.resolver };
}

/** Settles no later than the deadline; the work itself ends by its own limits. */
function orDeadline(work: Promise<LookupAnswer>, deadline: CheckDeadline): Promise<LookupAnswer> {
  return new Promise((resolve, reject) => {
    const stopping = { expire: () => void setImmediate(resolve, { code: ownCodes.deadline }) };
    if (deadline.isOver()) return stopping.expire();
    deadline.listen(stopping);
    work.then(resolve, reject).finally(() => deadline.unlisten(stopping));
  });
}
