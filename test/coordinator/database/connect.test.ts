import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connect, isTransient, type Sql } from '../../../coordinator/database/connect.ts';
import { inCopyTransaction, inTransaction } from '../../../coordinator/database/sql.ts';
import { eventually } from '../../support/eventually.ts';
import { createDatabase, ownDatabase, type TestDatabase } from '../../support/services.ts';

describe('reachability', async () => {
  const { sql } = await ownDatabase({ name: 'way', connections: 1 });

  test('a connection that only asks whether connected to the database can be ended at any moment, and the process goes on', async () => {
    const { openAnother, openDedicated } = sql.access;
    const left: unknown[] = [];
    const note = (reason: unknown) => void left.push(reason);
    process.prependListener('unhandledRejection', note);
    for (let nth = 0; nth < 300; nth += 1) {
      const asked = nth % 2 === 0 ? openAnother() : openDedicated();
      const question = asked`select 1`.then(
        () => true,
        () => false,
      );
      await pause(nth % 12);
      // One that is ended before it has connected may never settle: nobody who asks like this waits
      // for it without an end.
      await Promise.race([Promise.all([question, asked.end({ timeout: 0 })]), pause(200)]);
    }
    process.off('unhandledRejection', note);
    expect(left).toEqual([]);
  });
});

describe('a prepared statement', async () => {
  const { sql } = await ownDatabase({ name: 'prepared', connections: 1 });

  test('is prepared again once a migration changed its table, which fails at most once, as transient', async () => {
    await sql`create table changing (a int)`;
    await sql`insert into changing values (1)`;
    const ask = () => sql`select * from changing`;
    expect(await ask()).toEqual([{ a: 1 }]);
    await sql`alter table changing add column b int default 2`;
    const failed: unknown = await ask().catch((error: unknown) => error);
    expect(isTransient(failed)).toBe(true);
    expect(await ask()).toEqual([{ a: 1, b: 2 }]);
  });
});

describe('a transaction', async () => {
  const { sql } = await ownDatabase({ name: 'over', connections: 1 });

  test("takes no statement once it is over, which would be another's", async () => {
    await sql`create table written (what text)`;
    let late = (): PromiseLike<unknown> => sql`select 1`;
    await sql.begin(async (transaction) => {
      late = () => transaction`insert into written (what) values ('late')`;
    });
    await expect(late()).rejects.toThrow('the transaction is over');
    expect(await sql`select what from written`).toEqual([]);
  });

  test('one of whose statements failed is not committed in silence', async () => {
    await expect(
      sql.begin(async (transaction) => {
        await transaction`select 1 / 0`.catch(() => undefined);
      }),
    ).rejects.toThrow('rolled back');
  });
});

describe('a COPY', async () => {
  const { sql } = await ownDatabase({ name: 'copies', connections: 1 });

  test('that is left in its midst ends its transaction with the reason, and holds up nothing', async () => {
    await expect(
      inCopyTransaction(sql, '', async (transaction) => {
        const rows = transaction.session.copyTo(
          "copy (select repeat('x', 1000) from generate_series(1, 100000)) to stdout",
        );
        for await (const _ of rows) throw new Error('the disk is full');
      }),
    ).rejects.toThrow('the disk is full');
  });
});

describe('sql arrays', async () => {
  const { sql } = await ownDatabase();

  test('arrays of texts come back unchanged, whatever they contain', async () => {
    const texts = [
      '',
      'NULL',
      'null',
      'a,b',
      '{x}',
      'say "no"',
      'C:\\dir\\',
      'two\nlines',
      ' spaces ',
      'Straße',
      '🙂',
    ];
    const [row] = await sql<
      { back: string[]; none: string[] }[]
    >`select ${texts}::text[] as back, ${[] as string[]}::text[] as none`;
    expect(row).toEqual({ back: texts, none: [] });
  });

  test('an array that has nothing at a place says so', async () => {
    const [row] =
      await sql`select array[null, 'a']::text[] as texts, array[1.5, null]::real[] as numbers`;
    expect(row).toEqual({ texts: [null, 'a'], numbers: [1.5, null] });
  });

  test('arrays of numbers and of ids come back as they went', async () => {
    const ids = ['0190b5a0-0000-7000-8000-000000000001', '0190b5a0-0000-7000-8000-000000000002'];
    const [row] =
      await sql`select ${[1, -2]}::smallint[] as small, ${[3]}::int[] as middle, ${[2 ** 40]}::bigint[] as big,
    ${[0.25, 1e300]}::float8[] as float, ${ids}::uuid[] as ids, ${'{4,5}'}::int[] as written`;
    expect(row).toEqual({
      small: [1, -2],
      middle: [3],
      big: [2 ** 40],
      float: [0.25, 1e300],
      ids,
      written: [4, 5],
    });
  });
});

/**
 * Whatever the client does wrong after its connection is gone ends the process, and this file with
 * it.
 */
describe('a transaction that loses its connection while its work waits elsewhere', () => {
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

  /**
   * Ends the connection of a transaction, while its work waits for something else than the
   * database.
   */
  const cutOff = async (pid: number | undefined): Promise<void> => {
    await sql`select pg_terminate_backend(${pid ?? 0})`;
    await eventually(
      async () => (await sql`select 1 from pg_stat_activity where pid = ${pid ?? 0}`).length === 0,
    );
  };

  test.each([
    ['fails there', () => Promise.reject(new Error('the bus does not answer'))],
    ['comes to its end', () => Promise.resolve('done')],
  ])(
    'fails for its caller, also when the work %s after that, and ends no other',
    async (_, end) => {
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
    },
  );

  test('that the database ended after a timeout is repeated by the next', async () => {
    await expect(
      inTransaction(sql, async (tx) => {
        await tx`set local idle_in_transaction_session_timeout = 100`;
        await tx`insert into written (what) values ('late')`;
        await eventually(
          async () =>
            (await sql`select 1 from pg_stat_activity where state = 'idle in transaction'`)
              .length === 0,
        );
        throw new Error('the bus did not take it in time');
      }),
    ).rejects.toThrow();
    await inTransaction(sql, (tx) => tx`insert into written (what) values ('in time')`);
    expect(await sql`select what from written`).toEqual([{ what: 'in time' }]);
  });
});
