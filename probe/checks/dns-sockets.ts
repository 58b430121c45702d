import { randomFillSync } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { createRecentCache } from '../../shared/base/recent-cache.ts';
import type { Resolver } from '../../shared/checks/dns/checks-dns-config.ts';
import { clearAlarm, newAlarm, setAlarm } from './check-timers.ts';
import { createOpener, SocketPool } from './dns-pool.ts';
import type { Asker, Ticket, UnderWay } from './dns-slot.ts';

/**
 * A resolver as the sockets know it.
 *
 * Modes: quiet (it is asked by the sockets for everybody) → busy (so many questions are under way that sockets of its own pay) → quiet (its sockets
 * have had nothing to send for a while).
 */
type Peer = UnderWay & {
  /** Its own sockets; undefined while it is quiet. */
  own: SocketPool | undefined;
};

type Peers = {
  readonly of: (resolver: Resolver) => Peer;
  readonly close: () => void;
};

const busyFrom = 8;
const mostKnown = 10_000;

/** `idleMs`: how long a resolver's own sockets stay open, once or twice, after its last question. */
const createPeers = (poolFor: (resolver: Resolver) => SocketPool, idleMs: number): Peers => {
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

/**
 * UDP sockets by which a question leaves by a port and under an id that nobody can guess, without the price of a socket for each: pools of sockets
 * that are soon renewed, one for everybody and one for each resolver of which much is asked. A lone socket, for one watched question, is
 * retired from the start.
 */
export type UdpSockets = {
  /**
   * Sends a question; the asker hears what comes back to it from that very address and port, until the ticket is cancelled. If it is `watched`, the
   * asker is also told when the system did not take it or when nobody listens at that port. That has the price of a socket of its own,
   * and is left out while too many have one. The first two bytes of the question are written over.
   */
  readonly ask: (resolver: Resolver, question: Buffer, asker: Asker, watched: boolean) => Ticket;
  readonly cancel: (ticket: Ticket) => void;
  readonly open: () => number;
  readonly close: () => void;
};

/** When a whole network falls silent every question is watched; the sockets of a process are not without end. */
const mostLone = 256;

/** Random 16-bit numbers, drawn in bulk because each draw alone costs more than the rest of a question. */
const createDraw = (): (() => number) => {
  const numbers = new Uint16Array(4_096);
  let next = numbers.length;
  return () => {
    if (next >= numbers.length) {
      randomFillSync(numbers);
      next = 0;
    }
    const number = numbers[next] ?? 0;
    next += 1;
    return number;
  };
};

/**
 * The question under its own id, in its one buffer: node hands it to the system before `send` returns. Should the system not take it then, it may
 * leave later under a newer id, and counts as lost.
 */
const underItsId = ({ question, id }: Ticket): Buffer => {
  question[0] = id >> 8;
  question[1] = id & 0xff;
  return question;
};

/**
 * `slots`: how many ports each pool spreads questions over at a time. More of them make no question harder to guess, since each port is drawn from all
 * there are and soon gives way to another; they only make the system wake us for fewer answers at once. `idleMs`: how long a resolver's own sockets
 * stay open without a question.
 */
export const createUdpSockets = ({
  slots = 4,
  idleMs = 10_000,
}: {
  readonly slots?: number;
  readonly idleMs?: number;
} = {}): UdpSockets => {
  const draw = createDraw();
  const { alive, open } = createOpener();
  const poolOf = (family: 4 | 6, to: Resolver | null): SocketPool => new SocketPool(open, slots, family, to);
  const forAll = { 4: poolOf(4, null), 6: poolOf(6, null) };
  const peers = createPeers((resolver) => poolOf(resolver.family, resolver), idleMs);
  let lone = 0;
  let isClosed = false;

  /** Only to a connected socket does the system say that the other side refused a datagram. */
  const askAlone = (resolver: Resolver, question: Buffer, asker: Asker): Ticket => {
    const slot = open(resolver.family, true);
    const { socket } = slot;
    const ticket = slot.expect(resolver, question, asker, draw);
    slot.retire();
    // Whoever asks now waits for nothing.
    if (isClosed) return ticket;
    lone += 1;
    socket.once('close', () => {
      lone -= 1;
    });
    socket.on('error', (error) => {
      for (const told of slot.giveUp()) asker.fail(error, told);
    });
    const told = (error: Error | null | undefined): void => {
      if (error && ticket.isWaiting) asker.fail(error, ticket);
    };
    // To the callback node gives the error of a connection that fails, which its type leaves out.
    socket.connect(resolver.port, resolver.address, (error?: Error) => {
      if (error) told(error);
      else if (ticket.isWaiting) socket.send(underItsId(ticket), told);
    });
    return ticket;
  };

  let leaving: Ticket[] = [];
  /** What is asked in one turn of the loop leaves together: the other side is then woken once for many, which makes sending cheaper. */
  const leave = (): void => {
    const tickets = leaving;
    leaving = [];
    for (const ticket of tickets) {
      if (!ticket.isWaiting) continue;
      const { slot, resolver } = ticket;
      if (slot.isConnected) slot.socket.send(underItsId(ticket));
      else slot.socket.send(underItsId(ticket), resolver.port, resolver.address);
    }
  };

  return {
    ask: (resolver, question, asker, watched) => {
      if ((watched && lone < mostLone) || isClosed) return askAlone(resolver, question, asker);
      const peer = peers.of(resolver);
      const pool = peer.own ?? forAll[resolver.family];
      const ticket = pool.pick(draw()).expect(resolver, question, asker, draw, peer);
      peer.waiting += 1;
      if (leaving.push(ticket) === 1) setImmediate(leave);
      return ticket;
    },
    cancel: (ticket) => {
      if (ticket.peer) ticket.peer.waiting -= 1;
      ticket.peer = undefined;
      ticket.slot.cancel(ticket);
    },
    open: () => alive.size,
    close: () => {
      isClosed = true;
      peers.close();
      for (const slot of alive) slot.giveUp();
    },
  };
};
