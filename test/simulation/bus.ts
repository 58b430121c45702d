import type { Result } from '../../shared/checks/result.ts';
import type { Agenda } from './agenda.ts';
import type { Made } from './database.ts';
import { noise } from './story.ts';
import type { Truth } from './truth.ts';

/**
 * The simulated NATS: a work queue of batches that keeps what has landed until it is acknowledged,
 * and words that may get lost.
 */

export type Entry = { readonly result: Result; readonly made: Made };
export type Batch = {
  readonly probe: number;
  readonly generation: number;
  readonly after: number | null;
  readonly entries: readonly Entry[];
};
type Waiting = { readonly batch: Batch; readonly landedAt: number; takenBy: number | null };

export type Bus = {
  /** Tells whether the sender will learn that it landed; if not, it is to send again. */
  readonly publish: (batch: Batch) => boolean;
  /** Whatever waits, for this owner; it stays until it is acknowledged. */
  readonly take: (owner: number, limit: number) => Waiting[];
  readonly ack: (waiting: readonly Waiting[]) => void;
  /** What an owner (null: any) took and did not acknowledge comes back. */
  readonly giveBack: (owner: number | null) => void;
  readonly wipe: () => void;
  /** A word from one to another, kept by nobody: it may be lost, late or twice. */
  readonly say: (subject: number, act: () => void) => void;
  readonly isEmpty: () => boolean;
  readonly messages: () => number;
  onLanded: () => void;
};

export type { Waiting };

export const createBus = (seed: number, agenda: Agenda, truth: Truth): Bus => {
  let queue: Waiting[] = [];
  let count = 0;
  let underWay = 0;

  const chance = (subject: number, salt: number) => noise(seed, subject, count, salt);
  const latency = (subject: number) => 2 + chance(subject, 1) * 60;

  /** How many of a message arrive, and how much later than usual. */
  const fate = (subject: number): readonly number[] => {
    count += 1;
    const rough = truth.roughness(agenda.now());
    if (!rough) return [latency(subject)];
    if (chance(subject, 2) < rough.drops) return [];
    const late = chance(subject, 3) < rough.delays ? chance(subject, 4) * rough.delay_ms : 0;
    const first = latency(subject) + late;
    return chance(subject, 5) < rough.repeats
      ? [first, first + chance(subject, 6) * 3000]
      : [first];
  };

  const bus: Bus = {
    publish: (batch) => {
      const arrivals = fate(batch.probe);
      for (const wait of arrivals) {
        underWay += 1;
        agenda.at(agenda.now() + wait, () => {
          underWay -= 1;
          queue.push({ batch, landedAt: agenda.now(), takenBy: null });
          bus.onLanded();
        });
      }
      return arrivals.length > 0;
    },
    take: (owner, limit) => {
      const free = queue.filter(({ takenBy }) => takenBy === null).slice(0, limit);
      for (const waiting of free) waiting.takenBy = owner;
      return free;
    },
    ack: (done) => {
      queue = queue.filter((waiting) => !done.includes(waiting));
    },
    giveBack: (owner) => {
      for (const waiting of queue)
        if (owner === null || waiting.takenBy === owner) waiting.takenBy = null;
      bus.onLanded();
    },
    wipe: () => {
      queue = [];
    },
    say: (subject, act) => {
      if (truth.isBusAway(agenda.now())) return;
      for (const wait of fate(1000 + subject))
        agenda.at(agenda.now() + Math.min(wait, 30_000), act);
    },
    isEmpty: () => queue.length === 0 && underWay === 0,
    messages: () => count,
    onLanded: () => undefined,
  };
  return bus;
};
