import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { CommitSlot } from '../database/connect.ts';
import { isTransient, type Sql } from '../database/connect.ts';
import { type Figures, noFigures } from '../health/meters.ts';
import { commitUnits, resultsIn, type Unit } from './commit.ts';
import { Fenced } from './queries.ts';

/**
 * The one writer of a coordinator: it commits the decisions of its partitions, all that wait in one
 * transaction. Modes: `idle` → `writing` (two transactions at a time, of different partitions, so
 * that the database works while we prepare the next; new units wait) → `idle`; `closed`.
 */
export type Writer = {
  /**
   * Settles when the unit is committed. @throws Fenced when another coordinator owns its lease;
   * else the database's error.
   */
  readonly commit: (unit: Unit) => Promise<void>;
  /** Makes its connections and prepares every statement that it may run. */
  readonly prepare: () => Promise<void>;
  readonly close: () => Promise<void>;
};

type Waiting = {
  readonly unit: Unit;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
};

const maxResults = 5_000;
const maxSlots = 2;

type Dependencies = {
  readonly sql: Sql;
  readonly owner: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly figures?: Figures;
};

export function createWriter({
  sql,
  owner,
  clock,
  log,
  figures = noFigures,
}: Dependencies): Writer {
  let queue: Waiting[] = [];
  const slots = Array.from({ length: maxSlots }, () => sql.access.openSlot());
  /** Slots that write nothing. */
  const idle = [...slots];
  const writing = new Set<Promise<void>>();
  let closed = false;

  const takeSome = (): Waiting[] => {
    let results = 0;
    let count = 0;
    while (count < queue.length && (count === 0 || results < maxResults)) {
      const next = queue[count];
      results += next ? resultsIn(next.unit) : 0;
      count += 1;
    }
    return queue.splice(0, count);
  };

  const write = async (
    slot: CommitSlot,
    batch: readonly Waiting[],
    again = false,
  ): Promise<void> => {
    if (batch.length === 0) return;
    try {
      const units = batch.map(({ unit }) => unit);
      const began = performance.now();
      await commitUnits({ sql, slot }, owner, units);
      figures.committed(units, performance.now() - began, clock.now());
      for (const { resolve } of batch) resolve();
    } catch (error) {
      if (error instanceof Fenced) {
        const isFenced = ({ unit }: Waiting) => error.partitions.includes(unit.lease.partition);
        for (const waiting of batch.filter(isFenced)) waiting.reject(error);
        return write(
          slot,
          batch.filter((waiting) => !isFenced(waiting)),
        );
      }
      if (isTransient(error) || again) {
        for (const { reject } of batch) reject(error);
        return;
      }
      // One of them may be poison and must not harm the others; or a monitor was deleted between
      // two statements, and a second try succeeds.
      log.warn(
        { err: error, partitions: batch.length },
        'a commit failed; committing each partition separately',
      );
      for (const waiting of batch) await write(slot, [waiting], true);
    }
  };

  const run = async (slot: CommitSlot) => {
    while (queue.length > 0) await write(slot, takeSome());
  };

  const wake = () => {
    const slot = idle.pop();
    if (!slot) return;
    const work: Promise<void> = Promise.resolve()
      .then(() => run(slot))
      .finally(() => {
        writing.delete(work);
        idle.push(slot);
        if (queue.length > 0) wake();
      });
    writing.add(work);
  };

  return {
    commit: (unit) => {
      if (closed) return Promise.reject(new Error('the writer is closed'));
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      queue.push({ unit, resolve, reject });
      wake();
      return promise;
    },
    prepare: async () => {
      await Promise.all(slots.map((slot) => slot.prepare()));
    },
    close: async () => {
      closed = true;
      await Promise.all(writing);
      queue = [];
      await Promise.all(slots.map((slot) => slot.end()));
    },
  };
}
