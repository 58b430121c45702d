import { createSocket } from 'node:dgram';
import { codeOf } from '../../shared/base/error-code.ts';
import type { Resolver } from '../../shared/checks/dns/checks-dns-config.ts';
import { Slot } from './dns-slot.ts';

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
