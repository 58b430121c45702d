import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connect, type Sql } from '../../../coordinator/database/connect.ts';
import { inTransaction } from '../../../coordinator/database/sql.ts';
import { eventually } from '../../support/eventually.ts';
import { createDatabase, type TestDatabase } from '../../support/services.ts';

/** Whatever the client does wrong after its connection is gone ends the process, and this file with it. */

let database: TestDatabase;
let sql: Sql;
beforeAll(async () => {
  database = await createDatabase();
  sql = connect(database.url, { name: 'transactions', connections: 3 });
  await sql`create table written (what text)`;
});
afterAll(async () => {
  await sql.end({ timeout: 5 });
  await database.drop();
});

/** Ends the connection of a transaction, while its work waits for something else than the database. */
const cutOff = async (pid: number | undefined): Promise<void> => {
  await sql`select pg_terminate_backend(${pid ?? 0})`;
  await eventually(async () => (await sql`select 1 from pg_stat_activity where pid = ${pid ?? 0}`).length === 0);
};

describe('a transaction whose connection goes while its work waits for something else', () => {
  test.each([
    ['fails there', () => Promise.reject(new Error('the bus does not answer'))],
    ['comes to its end', () => Promise.resolve('done')],
  ])('is over for its caller, also when the work %s after that, and ends nobody', async (_, end) => {
    const waiting = Promise.withResolvers<void>();
    const worked = Promise.withResolvers<void>();
    const all = inTransaction(sql, async (tx) => {
      await tx`insert into written (what) values ('lost')`;
      const [row] = await tx<{ pid: number }[]>`select pg_backend_pid() as pid`;
      await cutOff(row?.pid);
      await waiting.promise;
      worked.resolve();
      return end();
    });
    await expect(all).rejects.toThrow();
    waiting.resolve();
    await worked.promise;
    // By now whatever the client does about it is done.
    for (let count = 0; count < 20; count += 1) await sql`select 1`;
    expect(await sql`select what from written`).toEqual([]);
  });

  test('that the database ended because it waited for too long is done anew by the next', async () => {
    await expect(
      inTransaction(sql, async (tx) => {
        await tx`set local idle_in_transaction_session_timeout = 100`;
        await tx`insert into written (what) values ('late')`;
        await eventually(async () => (await sql`select 1 from pg_stat_activity where state = 'idle in transaction'`).length === 0);
        throw new Error('the bus did not take it in time');
      }),
    ).rejects.toThrow();
    await inTransaction(sql, (tx) => tx`insert into written (what) values ('in time')`);
    expect(await sql`select what from written`).toEqual([{ what: 'in time' }]);
  });
});
