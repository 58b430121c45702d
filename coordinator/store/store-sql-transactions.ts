import postgres from 'postgres';
import { codeOf } from '../../shared/base/errors.ts';
import type { Sql, Transaction } from './store-database.ts';
import { LostConnection } from './store-database-line.ts';

const attempts = 5;

/** The database rolled one of two transactions back because they were in each other's way; nothing of it was written. */
const isConflict = (error: unknown): boolean => error instanceof postgres.PostgresError && error.code.startsWith('40');

/** How a lost connection is named; a refusal has a code, too, and is not meant. */
const isCutOff = (error: unknown): boolean =>
  error instanceof LostConnection || /^CONNECTION_(CLOSED|ENDED|DESTROYED)$/.test(codeOf(error));

/**
 * One transaction. When its connection is gone, its caller hears so at once, but the client never does: it would send a rollback, or a
 * commit, to a socket that is not there, which ends the process. The server has rolled back by itself.
 */
const once = async <Result>(sql: Sql, work: (transaction: Transaction) => Promise<Result>): Promise<Result> => {
  const cutOff = Promise.withResolvers<never>();
  const never = new Promise<never>(() => undefined);
  let isGone = false;
  const done = sql.begin(async (transaction) => {
    try {
      const result = await work(transaction);
      return isGone ? await never : { result };
    } catch (error) {
      if (!isGone && !isCutOff(error)) throw error;
      cutOff.reject(error);
      return never;
    }
  });
  // It also goes while the work waits for something else, as for the bus: then nothing of the work shows it.
  const watched = done.catch((error: unknown) => {
    isGone = isCutOff(error);
    throw error;
  });
  return (await Promise.race([watched, cutOff.promise])).result;
};

/**
 * One transaction, begun anew when it was in another's way: operations take the lock of their organisation first, but the engine's
 * writer holds rows, too, and can meet them the other way round. `work` must do nothing that a rollback does not undo.
 */
export const inTransaction = async <Result>(sql: Sql, work: (transaction: Transaction) => Promise<Result>): Promise<Result> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await once(sql, work);
    } catch (error) {
      if (attempt >= attempts || !isConflict(error)) throw error;
    }
  }
};
