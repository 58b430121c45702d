import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { connect, executeAll } from '../../../coordinator/database/connect.ts';
import { inSavepoint, inTransaction } from '../../../coordinator/database/sql.ts';
import { createTcpProxy } from '../../support/connections.ts';
import fc from '../../support/random.ts';
import { createDatabase } from '../../support/services.ts';

/** For the tests here: what the network does to statements in each of their phases. */

const faults = ['reset', 'freeze', 'cut', 'half-close'] as const;
const phases = ['before the write', 'after the write', 'in the answer', 'between'] as const;
const users = ['slot', 'question', 'transaction', 'savepoint', 'pool'] as const;

const large = 'x'.repeat(3_000);

type Case = readonly [
  user: (typeof users)[number],
  phase: (typeof phases)[number],
  fault: (typeof faults)[number],
  isLong: boolean,
  afterMs: number,
];

/**
 * Whatever the client throws beside its promises would end a coordinator. `lanes`: how many go
 * through their rounds at once, since most of a round is waiting, each with a database of its own.
 */
export const survivesFaults = async (rounds: number, lanes = 1): Promise<void> => {
  const uncaught: unknown[] = [];
  const note = (error: unknown): void =>
    void uncaught.push(error instanceof Error ? error.stack : error);
  process.prependListener('unhandledRejection', note);
  const left = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', note);
  const cases = fc.sample(
    fc.tuple(
      fc.constantFrom(...users),
      fc.constantFrom(...phases),
      fc.constantFrom(...faults),
      fc.boolean(),
      fc.integer({ min: 0, max: 8 }),
    ),
    rounds,
  );
  const each = Math.ceil(rounds / lanes);
  try {
    await Promise.all(
      Array.from({ length: lanes }, (_, lane) =>
        goThrough(cases.slice(lane * each, (lane + 1) * each), uncaught),
      ),
    );
  } finally {
    process.off('unhandledRejection', note);
    process.off('uncaughtException', note);
    for (const listener of left) process.on('uncaughtException', listener);
  }
};

const goThrough = async (cases: readonly Case[], uncaught: readonly unknown[]): Promise<void> => {
  const database = await createDatabase();
  let onBytes = (): void => undefined;
  const proxy = await createTcpProxy(database.url, {
    rewrite: (data) => {
      onBytes();
      return data;
    },
  });
  const sql = connect(proxy.url, {
    name: 'faults',
    connections: 2,
    patience: { statementMs: 1_000, silentMs: 300 },
  });
  const slot = sql.access.openSlot();
  const harm: Record<(typeof faults)[number], () => void> = {
    reset: () => void proxy.reset(),
    freeze: () => void proxy.freeze(),
    cut: () => {
      proxy.cut();
      proxy.heal();
    },
    'half-close': () => void proxy.halfClose(),
  };

  let trips = 0;
  const round = async (...[user, phase, fault, isLong, afterMs]: Case): Promise<void> => {
    const text = isLong ? large : 'x';
    const meanwhile = async (): Promise<void> => {
      if (phase === 'between') harm[fault]();
      await pause(afterMs);
    };
    const work: Record<typeof user, () => Promise<unknown>> = {
      slot: () => {
        trips += 1;
        const trip = trips;
        return slot.inOneTrip((session) => [
          session`insert into written (what, trip) values (${text}, ${trip})`,
          session`select ${text}::text, generate_series(1, 20)`,
          session`insert into written (what, trip) values ('second', ${trip})`,
        ]);
      },
      question: () =>
        slot.ask(async (session) => {
          await session`select ${text}::text`;
          await meanwhile();
          await Promise.allSettled([session`select ${text}::text`, session`select 1`]);
          return await session`select ${text}::text`;
        }),
      transaction: () =>
        inTransaction(sql, async (tx) => {
          trips += 1;
          const trip = trips;
          await tx`insert into written (what, trip) values (${text}, ${trip})`;
          await meanwhile();
          await Promise.allSettled([tx`select ${text}::text`, tx`select 1`]);
          await executeAll([
            tx`select ${text}::text`,
            tx`insert into written (what, trip) values ('second', ${trip})`,
          ]);
        }),
      savepoint: () =>
        inTransaction(sql, async (tx) => {
          await inSavepoint(tx, async (part) => {
            await part`select ${text}::text`;
            await meanwhile();
            return { result: await part`select 1`, stays: true };
          });
        }),
      pool: () =>
        Promise.all([
          sql`select ${text}::text`,
          sql`select ${text}::text`,
          sql`select 1`,
          sql`select pg_sleep(0.01)`,
        ]),
    };
    if (phase === 'before the write') harm[fault]();
    if (phase === 'in the answer')
      onBytes = () => {
        onBytes = () => undefined;
        setImmediate(harm[fault]);
      };
    const all = Promise.allSettled([work[user](), work[user]()]);
    if (phase === 'after the write') {
      await pause(afterMs);
      harm[fault]();
    }
    const settled = await Promise.race([all, pause(15_000, 'stuck')]);
    onBytes = () => undefined;
    expect(settled, `${user}, ${fault} ${phase}`).not.toBe('stuck');
    await pause(2);
    expect(uncaught, `${user}, ${fault} ${phase}`).toEqual([]);
  };

  try {
    await sql`create table written (what text, trip int)`;
    for (const one of cases) await round(...one);
    const halves = async (): Promise<unknown> =>
      await slot.ask(
        (session) => session`select trip from written group by trip having count(*) <> 2`,
      );
    // Nothing is left of the faults.
    const answer = async (): Promise<unknown> => {
      for (let nth = 0; ; nth += 1) {
        try {
          return await slot.ask((session) => session`select 1 as one`);
        } catch (error) {
          if (nth > 2) throw error;
        }
      }
    };
    expect(await answer()).toEqual([{ one: 1 }]);
    expect(uncaught).toEqual([]);
    // A transaction whose connection was lost leaves both of its rows, or none.
    expect(await halves()).toEqual([]);
  } finally {
    await slot.end();
    await sql.end({ timeout: 1 });
    await proxy.close();
    await database.drop();
  }
};
