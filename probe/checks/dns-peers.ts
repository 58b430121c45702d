import { performance } from 'node:perf_hooks';
import { createRecentCache } from '../../shared/base/recent-cache.ts';
import type { Resolver } from '../../shared/checks/dns/config.ts';
import { clearAlarm, newAlarm, setAlarm } from './alarms.ts';
import type { SocketPool } from './dns-pool.ts';
import type { UnderWay } from './dns-slot.ts';

/**
 * A resolver as the sockets know it.
 *
 * Modes: quiet (it is asked by the sockets for everybody) → busy (so many questions are under way that sockets of its own pay) → quiet (its sockets
 * have had nothing to send for a while).
 */
export type Peer = UnderWay & {
  /** Its own sockets; undefined while it is quiet. */
  own: SocketPool | undefined;
};

export type Peers = {
  readonly of: (resolver: Resolver) => Peer;
  readonly close: () => void;
};

const busyFrom = 8;
const mostKnown = 10_000;

/** `idleMs`: how long a resolver's own sockets stay open, once or twice, after its last question. */
export const createPeers = (poolFor: (resolver: Resolver) => SocketPool, idleMs: number): Peers => {
  /** By the object first, because the same monitor always has the same. */
  const known = new WeakMap<Resolver, Peer>();
  /** A busy one that was forgotten here finds itself again by its objects. */
  const byAddress = createRecentCache<string, Peer>(mostKnown);
  const busy = new Set<Peer>();

  const find = (resolver: Resolver): Peer => {
    const key = `${resolver.address} ${resolver.port}`;
    const found = byAddress.find(key);
    if (found) return found;
    const made: Peer = { waiting: 0, own: undefined };
    byAddress.keep(key, made);
    return made;
  };

  const sweep = newAlarm(() => {
    for (const peer of busy) {
      if (peer.own?.retireIdle()) continue;
      peer.own = undefined;
      busy.delete(peer);
    }
    if (busy.size > 0) setAlarm(sweep, performance.now() + idleMs);
  });

  return {
    of: (resolver) => {
      let peer = known.get(resolver);
      if (peer === undefined) {
        peer = find(resolver);
        known.set(resolver, peer);
      }
      if (peer.own === undefined && peer.waiting >= busyFrom) {
        peer.own = poolFor(resolver);
        if (busy.size === 0) setAlarm(sweep, performance.now() + idleMs);
        busy.add(peer);
      }
      return peer;
    },
    close: () => clearAlarm(sweep),
  };
};
