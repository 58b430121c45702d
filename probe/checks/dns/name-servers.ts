import { performance } from 'node:perf_hooks';
import { hashOf } from '../../../shared/checks/assignment.ts';
import { parseResolver, type Resolver } from '../../../shared/checks/dns/config.ts';
import type { Warning } from '../../../shared/checks/result.ts';
import { CheckDeadline } from '../limits.ts';
import type { CheckContext } from '../types.ts';
import { exchange } from './exchange.ts';
import { type Question, write } from './message.ts';
import { recordsAsked } from './resolve.ts';
import type { UdpSockets } from './sockets.ts';

/** How often the name servers of a monitor's zone are asked, each continent in its turns. */
const everyMs = 900_000;
const wholeMs = 5_000;
/** How long a name server may be silent, and after how long it is asked again meanwhile. */
const silentMs = 2_000;
const patience_ms = 600;
const maxServers = 8;
const maxClimb = 6;
const maxSilent = 10_000;

type Own = readonly [Resolver, ...Resolver[]];

/**
 * Whether each name server of a name's zone answers (rule 44). Resolvers go round one that is
 * silent, so that a check passes. Now and then a check that passed asks each of them, and, once one
 * was silent, every check does.
 */
export type NameServerWatch = (
  context: CheckContext,
  name: string,
  own: Own,
) => Promise<Warning | undefined>;

export function createNameServerWatch(sockets: UdpSockets, port = 53): NameServerWatch {
  const silent = new Set<string>();

  const ask = (question: Question, resolvers: Own, deadline: CheckDeadline) =>
    exchange(
      sockets,
      { question, written: write(question), resolvers, transport: 'udp', patience_ms },
      deadline,
    );

  const textsOf = async (question: Question, own: Own, deadline: CheckDeadline) => {
    const { outcome } = await ask(question, own, deadline);
    return outcome.is === 'answer'
      ? recordsAsked(question, outcome.message.answers).records.flatMap(
          ({ fields }) => fields?.[0] ?? [],
        )
      : [];
  };

  /** The zone that the name is in, and its name servers. */
  const zoneOf = async (name: string, own: Own, deadline: CheckDeadline) => {
    let zone = name;
    for (let step = 0; step < maxClimb && zone.includes('.'); step += 1) {
      const servers = await textsOf({ name: zone, type: 'NS' }, own, deadline);
      if (servers.length > 0) return { zone, servers: servers.slice(0, maxServers) };
      zone = zone.slice(zone.indexOf('.') + 1);
    }
    return undefined;
  };

  const addressOf = async (server: string, own: Own, deadline: CheckDeadline) => {
    const [address] = await textsOf({ name: server, type: 'A' }, own, deadline);
    return address === undefined ? undefined : parseResolver(`${address}:${port}`);
  };

  const askEach = async (
    { guard }: CheckContext,
    name: string,
    own: Own,
    deadline: CheckDeadline,
  ): Promise<Warning | undefined> => {
    const found = await zoneOf(name, own, deadline);
    if (!found || found.servers.length < 2) return undefined;
    const addresses = await Promise.all(
      found.servers.map((server) => addressOf(server, own, deadline)),
    );
    const distinct = new Map(addresses.flatMap((one) => (one ? [[one.address, one]] : [])));
    const allowed = [...distinct.values()].filter((one) => guard.allows(one.address, one.port));
    const began = performance.now();
    const turn = new CheckDeadline(began, Math.min(deadline.due, began + silentMs));
    const stopping = { expire: () => turn.end() };
    deadline.listen(stopping);
    const seen = await Promise.all(
      allowed.map(async (server) => {
        const { outcome } = await ask({ name: found.zone, type: 'SOA' }, [server], turn);
        return { server, is: outcome.is };
      }),
    ).finally(() => {
      deadline.unlisten(stopping);
      turn.settle();
    });
    const isCut = performance.now() - began < silentMs - 50;
    // That one answers shows that this machine may ask name servers.
    if (!seen.some(({ is }) => is === 'answer')) return undefined;
    const mute = seen.find(({ is }) => (is === 'silent' && !isCut) || is === 'closed');
    return (
      mute && {
        code: 'name_server_silent',
        details: { server: mute.server.address, servers: seen.length },
      }
    );
  };

  return async (context, name, own) => {
    const { deadline, started_at, assignment } = context;
    const { monitor, interval_ms } = assignment;
    const isDue =
      hashOf(`${monitor} ${started_at}`) % Math.max(1, Math.round(everyMs / interval_ms)) === 0;
    if (!isDue && !silent.has(monitor)) return undefined;
    const began = performance.now();
    const whole = new CheckDeadline(began, Math.min(deadline.due, began + wholeMs));
    const stopping = { expire: () => whole.end() };
    if (deadline.isOver()) return undefined;
    deadline.listen(stopping);
    try {
      const warning = await askEach(context, name, own, whole);
      if (!warning) silent.delete(monitor);
      else if (silent.size < maxSilent) silent.add(monitor);
      return warning;
    } finally {
      deadline.unlisten(stopping);
      whole.settle();
    }
  };
}
