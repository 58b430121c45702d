import { Resolver as SystemResolver } from 'node:dns';
import { parseResolver, type Resolver } from '../../shared/checks/dns/checks-dns-config.ts';
import { CheckDeadline } from './check-deadline.ts';
import { type Exchange, exchange } from './dns-exchange.ts';
import { type Question, write } from './dns-message.ts';
import type { UdpSockets } from './dns-sockets.ts';

const rereadMs = 10_000;
let read: { readonly at: number; readonly resolvers: readonly Resolver[] } | undefined;

/**
 * The resolvers of the machine, in its order. Only a new resolver of the library reads them anew, so that is made now and then: a laptop or
 * a container may be given others while it runs.
 */
export const systemResolvers = (): readonly Resolver[] => {
  const at = performance.now();
  if (read === undefined || at - read.at > rereadMs) {
    const resolvers = new SystemResolver().getServers().flatMap((text) => parseResolver(text) ?? []);
    read = { at, resolvers };
  }
  return read.resolvers;
};

/**
 * Whether the probe's own resolver works, told from a name that does not: it does if it answered for another name since the check began, or
 * answers now who serves the root, which every resolver knows.
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

/** A name that is answered for, or known not to exist: either took a resolver that works. */
const answered = ({ outcome }: Exchange): boolean => outcome.is === 'answer' && [0, 3].includes(outcome.message.rcode);

/** An answer that comes after the deadline is none. */
const orOver = (asking: Promise<boolean>, deadline: CheckDeadline): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const expiring = { expire: () => resolve(false) };
    if (deadline.isOver()) return expiring.expire();
    deadline.listen(expiring);
    asking.then(resolve, reject).finally(() => deadline.unlisten(expiring));
  });

export const createResolverCheck = (sockets: UdpSockets): ResolverCheck => {
  // Two names are enough: for any question, at least one of the two newest answers was to another name.
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
      // Many checks suspect the resolver in the same moment: one question answers for all of them, and has a time of its own, because
      // the check that asked it may be over first.
      if (asking === undefined) {
        const own = new CheckDeadline(performance.now(), deadline.due);
        asking = exchange(sockets, { question: root, written: writtenRoot, resolvers, transport: 'udp', patience_ms: patienceMs }, own)
          .then((seen) => answered(seen))
          .finally(() => {
            asking = undefined;
          });
      }
      return orOver(asking, deadline);
    },
  };
};
