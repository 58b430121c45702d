import { backoff, pause } from '../../shared/base/async.ts';
import type { Session } from './session.ts';

type Hearing = {
  readonly hear: (line: string) => void;
  /** Called each time when it begins: what was said before, no one heard. */
  readonly onListening: () => void;
  readonly onFailure: (error: unknown) => void;
};

const restMs = { first: 50, most: 1_000 };

/**
 * Listens to channels of the database on one connection of its own, and goes on with the next when
 * that is lost.
 */
export class Listener {
  readonly #open: () => Promise<Session>;
  readonly #hearings = new Map<string, Set<Hearing>>();
  #session: Session | undefined;
  #isKept = false;

  constructor(open: () => Promise<Session>) {
    this.#open = open;
  }

  /** @returns what ends it. */
  add(channel: string, hearing: Hearing): () => Promise<void> {
    const here = this.#hearings.get(channel);
    if (here) here.add(hearing);
    else this.#hearings.set(channel, new Set([hearing]));
    if (this.#session) void this.#listen(this.#session, channel, [hearing]);
    else void this.#keep();
    return () => this.#remove(channel, hearing);
  }

  end(): void {
    this.#hearings.clear();
    void this.#session?.end();
  }

  async #remove(channel: string, hearing: Hearing): Promise<void> {
    const here = this.#hearings.get(channel);
    here?.delete(hearing);
    if (here?.size === 0) this.#hearings.delete(channel);
    if (this.#hearings.size === 0) await this.#session?.end();
  }

  async #keep(): Promise<void> {
    if (this.#isKept) return;
    this.#isKept = true;
    for (let attempt = 0; this.#hearings.size > 0; attempt += 1) {
      try {
        const session = await this.#open();
        session.onNotification((channel, line) => {
          for (const { hear } of this.#hearings.get(channel) ?? []) hear(line);
        });
        this.#session = session;
        attempt = 0;
        for (const [channel, hearings] of this.#hearings)
          void this.#listen(session, channel, [...hearings]);
        if (this.#hearings.size === 0) await session.end();
        await session.lost;
      } catch (error) {
        this.#session = undefined;
        for (const { onFailure } of [...this.#hearings.values()].flatMap((all) => [...all]))
          onFailure(error);
      }
      if (this.#hearings.size > 0) await pause(backoff(attempt, restMs.first, restMs.most));
    }
    this.#isKept = false;
  }

  async #listen(session: Session, channel: string, hearings: readonly Hearing[]): Promise<void> {
    try {
      await session.run(`listen "${channel}"`);
      for (const { onListening } of hearings) onListening();
    } catch (error) {
      if (!session.isLost) for (const { onFailure } of hearings) onFailure(error);
    }
  }
}
