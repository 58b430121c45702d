import postgres from 'postgres';
import type { Sql, Transaction } from './database.ts';

const attempts = 5;

/** The database rolled one of two transactions back because they were in each other's way; nothing of it was written. */
const isConflict = (error: unknown): boolean => error instanceof postgres.PostgresError && error.code.startsWith('40');

/**
 * Work whose connection is gone never ends: the client would otherwise send a rollback to a socket that is not there, which ends the
 * process. The transaction itself is over all the same, and its caller hears why.
 */
const unlessCutOff = async <Result>(work: Promise<Result>): Promise<Result> => {
  try {
    return await work;
  } catch (error) {
    if (error instanceof postgres.PostgresError || !(error instanceof Error && 'code' in error)) throw error;
    return new Promise<never>(() => undefined);
  }
};

/**
 * One transaction, begun anew when it was in another's way: operations take the lock of their organisation first, but the engine's
 * writer holds rows, too, and can meet them the other way round. `work` must do nothing that a rollback does not undo.
 */
export const inTransaction = async <Result>(sql: Sql, work: (transaction: Transaction) => Promise<Result>): Promise<Result> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const { result } = await sql.begin(async (transaction) => ({ result: await unlessCutOff(work(transaction)) }));
      return result;
    } catch (error) {
      if (attempt >= attempts || !isConflict(error)) throw error;
    }
  }
};
