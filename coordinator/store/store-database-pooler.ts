import { ConfigurationFault } from '../../shared/base/env.ts';
import { type Sql, wayOf } from './store-database.ts';
import { inTransaction } from './store-sql-transactions.ts';

/**
 * Whether a pooler between us and Postgres gives each transaction another session. Then nothing that belongs to one holds: what is listened for,
 * what was prepared, the time limits of statements. It is found by what happens, for a pooler does not say how it was set: one session that serves
 * two of our connections at once, or two that serve one of them.
 */

const rounds = 5;

/** Who works for a connection, and who the other end said that it is when the connection was made: of a pooler, it is somebody else. */
type Worker = { readonly pid: number; readonly promised: number };

/** In the simple protocol: what was prepared before would not be there in another session. */
const workerOf = async (sql: { readonly unsafe: Sql['unsafe'] }): Promise<Worker> => {
  const answer = await sql.unsafe<{ pid: number }[]>('select pg_backend_pid() as pid');
  const [row] = answer;
  if (!row) throw new Error('the database did not say who answers');
  return { pid: row.pid, promised: answer.state.pid };
};

const isShared = async (one: Sql, other: Sql): Promise<boolean> => {
  for (let round = 0; round < rounds; round += 1) {
    const before = await workerOf(one);
    const isFound = await inTransaction(other, async (transaction) => {
      const busy = await workerOf(transaction);
      if (busy.pid === before.pid) return true;
      const after = await workerOf(one);
      // A connection that was lost and made anew has another worker, too.
      return after.promised === before.promised && after.pid !== before.pid;
    });
    if (isFound) return true;
  }
  return false;
};

/** Costs one question where Postgres itself answers. @throws ConfigurationFault, with what to do. */
export const refuseTransactionPooling = async (sql: Sql, url: string): Promise<void> => {
  const first = await workerOf(sql);
  if (first.pid === first.promised) return;
  const [one, other] = [wayOf(sql).openBeside(), wayOf(sql).openBeside()];
  const isFound = await isShared(one, other).finally(() => Promise.all([one.end({ timeout: 0 }), other.end({ timeout: 0 })]));
  if (!isFound) return;
  const at = URL.canParse(url) ? new URL(url).host : 'that address';
  const why = `the pooler at ${at} gives each transaction another session (transaction pooling), but a coordinator needs sessions of its own`;
  throw new ConfigurationFault([
    `DATABASE_URL: ${why}: set pool_mode = session there for this database, or name the address of Postgres itself`,
  ]);
};
