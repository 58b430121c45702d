import postgres from 'postgres';
import { codeOf } from '../../shared/base/error-code.ts';
import type { Sql, Transaction } from './database.ts';

const attempts = 5;

/** The database rolled one of two transactions back because they were in each other's way; nothing of it was written. */
const isConflict = (error: unknown): boolean => error instanceof postgres.PostgresError && error.code.startsWith('40');

/** How the client and the system name a lost connection; a refusal has a code, too, and is not meant. */
const isCutOff = (error: unknown): boolean => /^(CONNECTION_(CLOSED|ENDED|DESTROYED)|ECONN[A-Z]+|EPIPE)$/.test(codeOf(error));

/**
 * One transaction. When its connection is gone, its caller hears so at once, but the client never does: it would send a rollback to a
 * socket that is not there, which ends the process. The server has rolled back by itself.
 */
const once = async <Result>(sql: Sql, work: (transaction: Transaction) => Promise<Result>): Promise<Result> => {
  const cutOff = Promise.withResolvers<never>();
  const done = sql.begin(async (transaction) => {
    try {
      return { result: await work(transaction) };
    } catch (error) {
      if (!isCutOff(error)) throw error;
      cutOff.reject(error);
      return new Promise<never>(() => undefined);
    }
  });
  return (await Promise.race([done, cutOff.promise])).result;
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
