import { codeOf } from '../../shared/base/errors.ts';
import { LostConnection } from './store-database-line.ts';
import type { Queryable, Sql } from './store-sql.ts';
import type { Statement } from './store-sql-statements.ts';

/**
 * One connection for those who are in a hurry: what they ask goes out at once, one statement behind the other, and the database answers all of it in
 * one round trip, a whole transaction with its beginning and its end. From a pool a question may have to wait for a connection to be made, which
 * takes seven, or for its statement to be prepared there.
 *
 * Modes: `none` → (first question) `held` → (the connection is gone) `none`.
 */
export type CommitSlot = {
  /**
   * A transaction of statements of which none needs to know what another one answered. @throws what the first of them failed with that failed by
   * itself; then nothing of it is written, unless the connection went with the answer.
   */
  readonly inOneTrip: (statements: (sql: Queryable) => readonly Statement[]) => Promise<void>;
  /** One question outside of any transaction. */
  readonly ask: <Answer>(question: (sql: Queryable) => Promise<Answer>) => Promise<Answer>;
  /** Has these prepared, so that the first who comes need not wait for it. Nothing is executed. */
  readonly prepare: (statements: (sql: Queryable) => readonly Statement[]) => Promise<void>;
  readonly end: () => Promise<void>;
};

type Held = { readonly session: Awaited<ReturnType<Sql['reserve']>>; readonly lost: PromiseWithResolvers<never> };

/** What was asked after something else of the transaction had failed fails for that reason alone. */
const isFollowing = (error: unknown): boolean => codeOf(error) === '25P02';

const lostSlot = (): LostConnection => new LostConnection('the connection to the database was lost', 'CONNECTION_CLOSED');

/** `open`: a pool of one connection, which tells when that is gone. */
export const createCommitSlot = (open: (onClose: () => void) => Sql): CommitSlot => {
  let held: Promise<Held> | undefined;
  let current: Held | undefined;

  const sql = open(() => {
    current?.lost.reject(lostSlot());
    current = undefined;
    held = undefined;
  });

  const reserve = async (): Promise<Held> => {
    // The client never gives out a connection that it made to be reserved: one is made by a question, and is there when that is answered.
    await sql`select 1`;
    const session = await sql.reserve();
    const lost = Promise.withResolvers<never>();
    // Nobody may be waiting when it goes.
    lost.promise.catch(() => undefined);
    current = { session, lost };
    return current;
  };

  const hold = async (): Promise<Held> => {
    for (;;) {
      held ??= reserve();
      const mine = held;
      const got = await mine.catch((error: unknown) => {
        if (held === mine) held = undefined;
        throw error;
      });
      if (got === current) return got;
    }
  };

  return {
    inOneTrip: async (statements) => {
      const { session, lost } = await hold();
      // All are written before the first is sent: what cannot be written leaves no half of a transaction.
      const [begin, ended] = [session`begin`, session`commit`];
      const all: Statement[] = [begin, ...statements(session), ended];
      const outcomes = await Promise.race([Promise.allSettled(all.map((statement) => statement.execute())), lost.promise]);
      const failed = outcomes.filter((outcome) => outcome.status === 'rejected');
      const cause = failed.find(({ reason }) => !isFollowing(reason)) ?? failed[0];
      if (cause) throw cause.reason;
      if ((await ended).command !== 'COMMIT') throw new Error('the transaction was rolled back');
    },
    ask: async (question) => {
      const { session, lost } = await hold();
      return Promise.race([question(session), lost.promise]);
    },
    prepare: async (statements) => {
      const { session, lost } = await hold();
      const all: Statement[] = [session`begin`, ...statements(session), session`commit`];
      const described = Promise.all(all.map((statement) => statement.describe()));
      // A description is there a moment before the database is ready for more.
      await Promise.race([described.then(() => session`select 1`), lost.promise]);
    },
    end: async () => {
      current?.session.release();
      await sql.end({ timeout: 1 });
    },
  };
};
