import type { RemoteInfo, Socket } from 'node:dgram';
import type { Resolver } from '../../shared/checks/dns/checks-dns-config.ts';

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
