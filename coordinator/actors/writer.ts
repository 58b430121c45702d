import type { Log } from '../../shared/base/log.ts';
import { commitUnits, type Unit } from '../store/commit.ts';
import { isPassing, type Sql } from '../store/database.ts';
import { Fenced } from '../store/leases.ts';

/**
 * The one writer of a coordinator: commits what its partitions decided, all that waits in one transaction.
 * Modes: `idle` → `writing` (one transaction at a time; what comes meanwhile waits for the next) → `idle`; `closed`.
 */
export type Writer = {
  /** Settles when the unit is committed. @throws Fenced when its lease is another's; else what the database said. */
  readonly commit: (unit: Unit) => Promise<void>;
  readonly close: () => Promise<void>;
};

type Waiting = { readonly unit: Unit; readonly resolve: () => void; readonly reject: (error: unknown) => void };

const mostResults = 20_000;

export const createWriter = ({ sql, owner, log }: { readonly sql: Sql; readonly owner: string; readonly log: Log }): Writer => {
  let queue: Waiting[] = [];
  let writing: Promise<void> | undefined;
  let closed = false;

  const takeSome = (): Waiting[] => {
    let results = 0;
    let count = 0;
    while (count < queue.length && (count === 0 || results < mostResults)) {
      results += queue[count]?.unit.results.length ?? 0;
      count += 1;
    }
    return queue.splice(0, count);
  };

  const write = async (batch: readonly Waiting[], again = false): Promise<void> => {
    if (batch.length === 0) return;
    try {
      await commitUnits(
        sql,
        owner,
        batch.map(({ unit }) => unit),
      );
      for (const { resolve } of batch) resolve();
    } catch (error) {
      if (error instanceof Fenced) {
        const isFenced = ({ unit }: Waiting) => error.partitions.includes(unit.lease.partition);
        for (const waiting of batch.filter(isFenced)) waiting.reject(error);
        return write(batch.filter((waiting) => !isFenced(waiting)));
      }
      if (isPassing(error) || again) {
        for (const { reject } of batch) reject(error);
        return;
      }
      // One of them may be poison, and nobody else shall suffer from it; or a monitor was deleted between two statements, and once more will do.
      log.warn({ err: error, partitions: batch.length }, 'a commit failed; each partition is written on its own');
      for (const waiting of batch) await write([waiting], true);
    }
  };

  const run = async () => {
    while (queue.length > 0) await write(takeSome());
    writing = undefined;
  };

  return {
    commit: (unit) => {
      if (closed) return Promise.reject(new Error('the writer is closed'));
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      queue.push({ unit, resolve, reject });
      writing ??= Promise.resolve().then(run);
      return promise;
    },
    close: async () => {
      closed = true;
      await writing;
      queue = [];
    },
  };
};
