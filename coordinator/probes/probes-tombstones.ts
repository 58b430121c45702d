import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { Bus } from '../../shared/bus/nats.ts';
import { streams } from '../../shared/bus/subjects.ts';

/**
 * Takes tombstones off the bus that lie there for long: else every monitor that ever was deleted or paused would leave one for each
 * continent, and every new probe would read them all. Each message is looked at once, the oldest first: what is old and no tombstone can
 * only be replaced, and what replaces it is the youngest.
 *
 * Modes, for each stream: `walking` (some messages with each tick) ↔ `resting` (the next message is too young); from the beginning when the
 * stream was made anew.
 */
export type Tombstones = { readonly tick: () => Promise<void> };

type Parts = {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
  /** How long they lie there. */
  readonly keptMs: number;
};

/** So many messages of a stream are looked at with each tick: a hundred thousand old ones take a coordinator that is new to it a few hours. */
const atOnce = 500;

const walked = [streams.assignments.name, streams.pingKeys.name] as const;

/** Everything before `from` was looked at, in the stream that was made at `createdAt`. */
type Walk = { readonly createdAt: number; readonly from: number };

export const createTombstones = ({ bus, clock, log, keptMs }: Parts): Tombstones => {
  const walks = new Map<string, Walk>();

  const walk = async (stream: string): Promise<void> => {
    const state = await bus.streamState(stream);
    if (!state) return;
    const { createdAt } = state;
    const before = walks.get(stream);
    let from = before?.createdAt === createdAt ? before.from : 1;
    let removed = 0;
    for (let looked = 0; looked < atOnce; looked += 1) {
      const message = await bus.next(stream, from, '>');
      if (!message || message.storedAt + keptMs > clock.now()) break;
      // By its number: should the monitor have been resumed in this moment, its assignment has another.
      if (message.data.length === 0 && (await bus.remove(stream, message.seq))) removed += 1;
      from = message.seq + 1;
      walks.set(stream, { createdAt, from });
    }
    if (removed > 0) log.info({ stream, removed }, 'old tombstones are off the bus');
  };

  return {
    tick: async () => {
      if (!bus.isConnected()) return;
      for (const stream of walked) await walk(stream);
    },
  };
};
