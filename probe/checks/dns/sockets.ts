import { randomInt } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import type { Resolver } from '../../../shared/checks/dns/config.ts';

/**
 * Why questions share sockets: with one for each (as the watched ones have it) a DNS check costs the
 * probe 32 µs more. That is 13 % of the CPU of the whole service at 500 checks a second: 218 µs a
 * check, 246 µs so. At 50 a second it drowns in the rest (1.7 ms). A test holds that both forms
 * hear the same.
 */

/**
 * UDP sockets by which a question leaves by a port and under an id that nobody can guess, without
 * the price of a socket for each: a few for all, which are soon renewed. A lone socket, for one
 * watched question, is retired from the start.
 */
export type UdpSockets = {
  /**
   * Sends a question; the asker hears what comes back to it from that very address and port, until
   * the ticket is cancelled. If it is `watched`, the asker is also told when the system did not
   * take it or when nobody listens at that port. That has the price of a socket of its own, and is
   * left out while too many have one. The first two bytes of the question are written over.
   */
  readonly ask: (resolver: Resolver, question: Buffer, asker: Asker, watched: boolean) => Ticket;
  readonly cancel: (ticket: Ticket) => void;
  readonly open: () => number;
  readonly close: () => void;
};

/**
 * Who asks: one object for all its datagrams, because what is made again for each check is what a
 * check costs.
 */
export type Asker = {
  readonly hear: (answer: Buffer, ticket: Ticket) => void;
  readonly fail: (error: Error, ticket: Ticket) => void;
};

/** One datagram that an answer is waited for. */
export type Ticket = {
  readonly resolver: Resolver;
  /** As it was given to `ask`; its first two bytes are the id of whatever was sent of it last. */
  readonly question: Buffer;
  readonly asker: Asker;
  readonly id: number;
  readonly slot: Slot;
  /** Until it is cancelled or its socket fails. */
  isWaiting: boolean;
};

/**
 * One socket and the datagrams that wait for an answer on it, by their ids. Modes: open → retired
 * (nothing more is asked by it, answers are taken until nothing is waited for) → closed.
 */
type Slot = {
  readonly socket: Socket;
  readonly waiting: Map<number, Ticket>;
  /** How many questions were sent by it. */
  sent: number;
  isRetired: boolean;
};

const questionsPerSocket = 1_000;
/**
 * When a whole network falls silent every question is watched; the sockets of a process are not
 * endless.
 */
const maxLone = 256;

/**
 * `slots`: how many ports questions are spread over at a time. More of them make no question harder
 * to guess, since each port is drawn from all there are and soon gives way to another; they only
 * make the system wake us for fewer answers at once.
 */
export function createUdpSockets({ slots = 4 }: { readonly slots?: number } = {}): UdpSockets {
  const alive = new Set<Slot>();
  const pools: Readonly<Record<4 | 6, Slot[]>> = { 4: [], 6: [] };
  let lone = 0;
  let isClosed = false;

  const closeWhenDone = (slot: Slot): void => {
    if (slot.isRetired && slot.waiting.size === 0 && alive.delete(slot)) slot.socket.close();
  };

  const retire = (slot: Slot): void => {
    slot.isRetired = true;
    closeWhenDone(slot);
  };

  /** Nothing that waits here is answered any more; returns what did. */
  const giveUp = (slot: Slot): readonly Ticket[] => {
    const tickets = [...slot.waiting.values()];
    slot.waiting.clear();
    for (const ticket of tickets) ticket.isWaiting = false;
    retire(slot);
    return tickets;
  };

  const open = (family: 4 | 6): Slot => {
    const socket = createSocket({
      type: family === 4 ? 'udp4' : 'udp6',
      // Only literal addresses come here: the system's own name lookup must never be reached, and
      // would cost a turn of the loop.
      lookup: (address, _options, done) => done(null, address, family),
    });
    const slot: Slot = { socket, waiting: new Map(), sent: 0, isRetired: false };
    alive.add(slot);
    socket.on('message', (answer, from) => {
      if (answer.length < 2) return;
      const ticket = slot.waiting.get(((answer[0] ?? 0) << 8) | (answer[1] ?? 0));
      if (
        ticket !== undefined &&
        ticket.resolver.port === from.port &&
        ticket.resolver.address === from.address
      )
        ticket.asker.hear(answer, ticket);
    });
    socket.on('error', (error) => {
      for (const ticket of giveUp(slot)) ticket.asker.fail(error, ticket);
    });
    return slot;
  };

  const expect = (slot: Slot, resolver: Resolver, question: Buffer, asker: Asker): Ticket => {
    let id = randomInt(0x10000);
    while (slot.waiting.has(id)) id = randomInt(0x10000);
    const ticket: Ticket = { resolver, question, asker, id, slot, isWaiting: true };
    slot.waiting.set(id, ticket);
    slot.sent += 1;
    return ticket;
  };

  /** One of the sockets for all, a new one where there is none or it is used up. */
  const pick = (family: 4 | 6): Slot => {
    const pool = pools[family];
    const place = randomInt(slots);
    const found = pool[place];
    if (found !== undefined && !found.isRetired && found.sent < questionsPerSocket) return found;
    if (found !== undefined) retire(found);
    const slot = open(family);
    pool[place] = slot;
    // Port 0: the system picks a free one at random.
    slot.socket.bind({ port: 0, exclusive: true });
    return slot;
  };

  /** Only to a connected socket does the system say that the other side refused a datagram. */
  const askAlone = (resolver: Resolver, question: Buffer, asker: Asker): Ticket => {
    const slot = open(resolver.family);
    const ticket = expect(slot, resolver, question, asker);
    retire(slot);
    // Nothing leaves any more, and it is waited for in vain.
    if (isClosed) return ticket;
    lone += 1;
    slot.socket.once('close', () => {
      lone -= 1;
    });
    const told = (error: Error | null | undefined): void => {
      if (error && ticket.isWaiting) asker.fail(error, ticket);
    };
    // To the callback node gives the error of a connection that fails, which its type leaves out.
    slot.socket.connect(resolver.port, resolver.address, (error?: Error) => {
      if (error) told(error);
      else if (ticket.isWaiting) slot.socket.send(underItsId(ticket), told);
    });
    return ticket;
  };

  return {
    ask: (resolver, question, asker, watched) => {
      if (isClosed || (watched && lone < maxLone)) return askAlone(resolver, question, asker);
      const slot = pick(resolver.family);
      const ticket = expect(slot, resolver, question, asker);
      slot.socket.send(underItsId(ticket), resolver.port, resolver.address);
      return ticket;
    },
    cancel: (ticket) => {
      if (!ticket.isWaiting) return;
      ticket.isWaiting = false;
      ticket.slot.waiting.delete(ticket.id);
      closeWhenDone(ticket.slot);
    },
    open: () => alive.size,
    close: () => {
      isClosed = true;
      for (const slot of alive) giveUp(slot);
    },
  };
}

/**
 * The question under its own id, in its one buffer: node hands it to the system before `send`
 * returns. Should the system not take it then, it may leave later under a newer id, and counts as
 * lost.
 */
function underItsId({ question, id }: Ticket): Buffer {
  question[0] = id >> 8;
  question[1] = id & 0xff;
  return question;
}
