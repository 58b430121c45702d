import { randomFillSync } from 'node:crypto';
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import type { Resolver } from '../../shared/checks/dns/config.ts';
import { withId } from './dns-message.ts';

/**
 * A pool of UDP sockets, so that a question leaves by a port and under an id that nobody can guess, without the price of a socket for each.
 * A slot of the pool: `empty` → `open` (up to 1,000 questions) → `retired` (takes answers until nothing is waited for) → closed; its place
 * is empty again as soon as it retires. A socket that fails retires at once, and who waited on it is told. A lone socket, for one watched question,
 * is retired from the start.
 */
export type UdpSockets = {
  /**
   * Sends a question; the asker hears what comes back to it from that very address and port, until the ticket is cancelled. If it is `watched`, the
   * asker is also told when the system did not take it or when nobody listens at that port. That has the price of a socket of its own,
   * and is left out while too many have one.
   */
  readonly ask: (resolver: Resolver, question: Buffer, asker: Asker, watched: boolean) => Ticket;
  readonly cancel: (ticket: Ticket) => void;
  readonly open: () => number;
  readonly close: () => void;
};

/** Who asks: one object for all its datagrams, because what is made anew for each check is what a check costs. */
export type Asker = {
  readonly hear: (answer: Buffer, ticket: Ticket) => void;
  readonly fail: (error: Error, ticket: Ticket) => void;
};

/** One datagram that an answer is waited for. */
export type Ticket = {
  readonly resolver: Resolver;
  /** As it was given to `ask`. */
  readonly question: Buffer;
  readonly asker: Asker;
  readonly id: number;
  readonly slot: Slot;
};

type Slot = { readonly socket: Socket; readonly waiting: Map<number, Ticket>; sent: number; retired: boolean };

const questionsPerSocket = 1_000;
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
 * `slots`: how many ports of each family questions are spread over at a time. More of them make no question harder to guess, since each port
 * is drawn from all there are and soon gives way to another; they only make the system wake us for fewer answers at once.
 */
export const createUdpSockets = ({ slots = 16 }: { readonly slots?: number } = {}): UdpSockets => {
  const draw = createDraw();
  const pools: Record<4 | 6, (Slot | undefined)[]> = { 4: [], 6: [] };
  const alive = new Set<Slot>();
  let lone = 0;

  const closeWhenDone = (slot: Slot): void => {
    if (slot.retired && slot.waiting.size === 0 && alive.delete(slot)) slot.socket.close();
  };

  const retire = (slot: Slot, family: 4 | 6): void => {
    slot.retired = true;
    const index = pools[family].indexOf(slot);
    if (index >= 0) pools[family][index] = undefined;
    closeWhenDone(slot);
  };

  const open = (family: 4 | 6, retired = false): Slot => {
    const socket = createSocket({
      type: family === 4 ? 'udp4' : 'udp6',
      // Only literal addresses come here: the system's own name lookup must never be reached, and would cost a turn of the loop.
      lookup: (address, _options, done) => done(null, address, family),
    });
    const slot: Slot = { socket, waiting: new Map(), sent: 0, retired };
    alive.add(slot);
    socket.on('message', (answer: Buffer, from: RemoteInfo) => {
      if (answer.length < 2) return;
      const ticket = slot.waiting.get(((answer[0] ?? 0) << 8) | (answer[1] ?? 0));
      if (ticket && ticket.resolver.port === from.port && ticket.resolver.address === from.address) ticket.asker.hear(answer, ticket);
    });
    socket.on('error', (error) => {
      const told = [...slot.waiting.values()];
      slot.waiting.clear();
      retire(slot, family);
      for (const ticket of told) ticket.asker.fail(error, ticket);
    });
    return slot;
  };

  const pick = (family: 4 | 6): Slot => {
    const index = draw() % slots;
    const found = pools[family][index];
    if (found) return found;
    const made = open(family);
    // Port 0: the system picks a free one at random.
    made.socket.bind({ port: 0, exclusive: true });
    pools[family][index] = made;
    return made;
  };

  const isWaiting = (ticket: Ticket): boolean => ticket.slot.waiting.get(ticket.id) === ticket;

  /** Only to a connected socket does the system say that the other side refused a datagram. */
  const sendAlone = (ticket: Ticket): void => {
    const { socket } = ticket.slot;
    const told = (error: Error | null | undefined): void => {
      if (error && isWaiting(ticket)) ticket.asker.fail(error, ticket);
    };
    // To the callback node gives the error of a connection that fails, which its type leaves out.
    socket.connect(ticket.resolver.port, ticket.resolver.address, (error?: Error) => {
      if (error) told(error);
      else if (isWaiting(ticket)) socket.send(withId(ticket.question, ticket.id), told);
    });
  };

  let leaving: Ticket[] = [];
  /** What is asked in one turn of the loop leaves together: the other side is then woken once for many, which makes sending cheaper. */
  const leave = (): void => {
    const tickets = leaving;
    leaving = [];
    for (const ticket of tickets) {
      const { slot, question, id, resolver } = ticket;
      if (isWaiting(ticket)) slot.socket.send(withId(question, id), resolver.port, resolver.address);
    }
  };

  return {
    ask: (resolver, question, asker, watched) => {
      const isAlone = watched && lone < mostLone;
      const slot = isAlone ? open(resolver.family, true) : pick(resolver.family);
      let id = draw();
      while (slot.waiting.has(id)) id = draw();
      const ticket: Ticket = { resolver, question, asker, id, slot };
      slot.waiting.set(id, ticket);
      if (isAlone) {
        lone += 1;
        slot.socket.once('close', () => {
          lone -= 1;
        });
        sendAlone(ticket);
        return ticket;
      }
      slot.sent += 1;
      if (slot.sent >= questionsPerSocket) retire(slot, resolver.family);
      if (leaving.push(ticket) === 1) setImmediate(leave);
      return ticket;
    },
    cancel: ({ slot, id }) => {
      slot.waiting.delete(id);
      if (slot.retired) closeWhenDone(slot);
    },
    open: () => alive.size,
    close: () => {
      for (const slot of alive) {
        slot.waiting.clear();
        slot.socket.close();
      }
      alive.clear();
    },
  };
};
