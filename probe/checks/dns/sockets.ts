import { randomFillSync } from 'node:crypto';
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { performance } from 'node:perf_hooks';
import { createRecentCache } from '../../../shared/base/async.ts';
import { codeOf } from '../../../shared/base/errors.ts';
import type { Resolver } from '../../../shared/checks/dns/config.ts';
import { clearAlarm, newAlarm, setAlarm } from '../limits.ts';

/** Who asks: one object for all its datagrams, because what is made anew for each check is what a check costs. */
export type Asker = {
  readonly hear: (answer: Buffer, ticket: Ticket) => void;
  readonly fail: (error: Error, ticket: Ticket) => void;
};

/** How much is under way to somebody. */
export type UnderWay = { waiting: number };

/** One datagram that an answer is waited for. */
export type Ticket = {
  readonly resolver: Resolver;
  /** As it was given to `ask`; its first two bytes are the id of whatever was sent of it last. */
  readonly question: Buffer;
  readonly asker: Asker;
  readonly id: number;
  readonly slot: Slot;
  /** With whom it counts as under way. */
  peer: UnderWay | undefined;
  /** Until it is cancelled or its socket fails. */
  isWaiting: boolean;
  /** Another one whose id ends alike. The slot's business only. */
  next: Ticket | undefined;
};

const places = 32;

/**
 * One UDP socket and the datagrams that wait for an answer on it. These stand in a small table by the ends of their ids: a Map makes itself
 * anew every few entries that come and go, which costs as much as all the rest that is done with them.
 *
 * Modes: open → retired (nothing more is asked by it, answers are taken until nothing is waited for) → closed.
 */
export class Slot {
  readonly socket: Socket;
  /** Whether it is connected to one resolver. */
  readonly isConnected: boolean;
  readonly #closed: (slot: Slot) => void;
  readonly #waiting: (Ticket | undefined)[] = new Array(places).fill(undefined);
  #size = 0;
  #isRetired = false;
  /** How many questions were sent by it. */
  sent = 0;

  constructor(socket: Socket, isConnected: boolean, closed: (slot: Slot) => void) {
    this.socket = socket;
    this.isConnected = isConnected;
    this.#closed = closed;
    socket.on('message', (answer, from) => this.#hear(answer, from));
  }

  /** `draw`: numbers that nobody can guess. */
  expect(resolver: Resolver, question: Buffer, asker: Asker, draw: () => number, peer?: UnderWay): Ticket {
    let id = draw();
    while (this.#find(id) !== undefined) id = draw();
    const place = id % places;
    const ticket: Ticket = { resolver, question, asker, id, slot: this, peer, isWaiting: true, next: this.#waiting[place] };
    this.#waiting[place] = ticket;
    this.#size += 1;
    this.sent += 1;
    return ticket;
  }

  cancel(ticket: Ticket): void {
    if (!ticket.isWaiting) return;
    ticket.isWaiting = false;
    this.#size -= 1;
    const place = ticket.id % places;
    const first = this.#waiting[place];
    if (first === ticket) this.#waiting[place] = ticket.next;
    else {
      let before = first;
      while (before !== undefined && before.next !== ticket) before = before.next;
      if (before !== undefined) before.next = ticket.next;
    }
    if (this.#isRetired) this.#closeWhenDone();
  }

  retire(): void {
    this.#isRetired = true;
    this.#closeWhenDone();
  }

  /** Nothing that waits here is answered any more; returns what did. */
  giveUp(): Ticket[] {
    const told: Ticket[] = [];
    for (const first of this.#waiting) for (let one = first; one !== undefined; one = one.next) told.push(one);
    this.#waiting.fill(undefined);
    this.#size = 0;
    for (const ticket of told) ticket.isWaiting = false;
    this.retire();
    return told;
  }

  #hear(answer: Buffer, from: RemoteInfo): void {
    if (answer.length < 2) return;
    const ticket = this.#find(((answer[0] ?? 0) << 8) | (answer[1] ?? 0));
    if (ticket !== undefined && ticket.resolver.port === from.port && ticket.resolver.address === from.address)
      ticket.asker.hear(answer, ticket);
  }

  #find(id: number): Ticket | undefined {
    let ticket = this.#waiting[id % places];
    while (ticket !== undefined && ticket.id !== id) ticket = ticket.next;
    return ticket;
  }

  #closeWhenDone(): void {
    if (this.#size === 0) this.#closed(this);
  }
}

const questionsPerSocket = 1_000;

type Open = (family: 4 | 6, isConnected: boolean) => Slot;

/** The sockets of a process, whoever has them: what is open is known in one place. */
export const createOpener = () => {
  const alive = new Set<Slot>();
  const closed = (slot: Slot): void => {
    if (alive.delete(slot)) slot.socket.close();
  };
  return {
    alive,
    open: (family: 4 | 6, isConnected: boolean): Slot => {
      const socket = createSocket({
        type: family === 4 ? 'udp4' : 'udp6',
        // Only literal addresses come here: the system's own name lookup must never be reached, and would cost a turn of the loop.
        lookup: (address, _options, done) => done(null, address, family),
      });
      const slot = new Slot(socket, isConnected, closed);
      alive.add(slot);
      return slot;
    },
  };
};

/**
 * Places for sockets by which many questions leave: to anybody, or connected to one resolver. For a connected socket the system neither looks up
 * the way nor reads the address again for each question.
 *
 * Modes of a place: empty → open (a socket, for up to 1,000 questions) → empty, when its socket retires. A socket that fails retires at once, and who
 * waited on it is told; that the other side refused one of many questions says nothing of the rest.
 */
export class SocketPool {
  readonly #open: Open;
  readonly #family: 4 | 6;
  readonly #to: Resolver | null;
  readonly #places: (Slot | undefined)[];
  /** How many questions the socket at each place had sent when this was last looked at. */
  readonly #sentBefore: number[];

  constructor(open: Open, size: number, family: 4 | 6, to: Resolver | null) {
    this.#open = open;
    this.#family = family;
    this.#to = to;
    this.#places = new Array(size).fill(undefined);
    this.#sentBefore = new Array(size).fill(0);
  }

  /** The socket at a place that `drawn` says, a new one where there is none or it is used up. */
  pick(drawn: number): Slot {
    const place = drawn % this.#places.length;
    const found = this.#places[place];
    if (found !== undefined && found.sent < questionsPerSocket) return found;
    found?.retire();
    return this.#fill(place);
  }

  /** Sockets by which nothing left since this was last called are closed. Returns whether there are any left. */
  retireIdle(): boolean {
    let isUsed = false;
    for (const [place, slot] of this.#places.entries()) {
      if (slot === undefined) continue;
      if (slot.sent === this.#sentBefore[place]) this.#empty(place);
      else isUsed = true;
      this.#sentBefore[place] = slot.sent;
    }
    return isUsed;
  }

  #empty(place: number): void {
    this.#places[place]?.retire();
    this.#places[place] = undefined;
  }

  #fill(place: number): Slot {
    const slot = this.#open(this.#family, this.#to !== null);
    this.#places[place] = slot;
    this.#sentBefore[place] = 0;
    const { socket } = slot;
    socket.on('error', (error) => {
      if (this.#to !== null && codeOf(error) === 'ECONNREFUSED') return;
      if (this.#places[place] === slot) this.#places[place] = undefined;
      for (const ticket of slot.giveUp()) ticket.asker.fail(error, ticket);
    });
    // Port 0: the system picks a free one at random.
    socket.bind({ port: 0, exclusive: true });
    if (this.#to !== null) socket.connect(this.#to.port, this.#to.address);
    return slot;
  }
}

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
const maxKnown = 10_000;

/** `idleMs`: how long a resolver's own sockets stay open, once or twice, after its last question. */
const createPeers = (poolFor: (resolver: Resolver) => SocketPool, idleMs: number): Peers => {
  /** By the object first, because the same monitor always has the same. */
  const known = new WeakMap<Resolver, Peer>();
  /** A busy one that was forgotten here finds itself again by its objects. */
  const byAddress = createRecentCache<string, Peer>(maxKnown);
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
const maxLone = 256;

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
      if ((watched && lone < maxLone) || isClosed) return askAlone(resolver, question, asker);
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
