import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CommitSlot } from '../../../coordinator/database/connect.ts';
import { connect, type Sql, wayOf } from '../../../coordinator/database/connect.ts';
import { commitUnits, emptyUnit, prepareCommits } from '../../../coordinator/engine/commit.ts';
import { takeLeases } from '../../../coordinator/engine/queries.ts';
import { makeResultDays } from '../../../coordinator/engine/result-queries.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { createTcpProxy, type TcpProxy } from '../../support/connections.ts';
import { eventually } from '../../support/eventually.ts';
import { createDatabase, type TestDatabase } from '../../support/services.ts';

let database: TestDatabase;
let relay: TcpProxy;
let pool: Sql;
let slot: CommitSlot;
/** Straight to the database. */
let sql: Sql;
/** How often the client spoke and then listened: what came before it spoke again is one answer. */
let trips = 0;
let isSpeaking = false;

beforeAll(async () => {
  database = await createDatabase();
  sql = connect(database.url, { name: 'straight', connections: 2 });
  relay = await createTcpProxy(database.url, {
    delayMs: 20,
    rewrite: (data) => {
      if (isSpeaking) trips += 1;
      isSpeaking = false;
      return data;
    },
    overhear: () => {
      isSpeaking = true;
    },
  });
  pool = connect(relay.url, { name: 'slot', connections: 1 });
  slot = wayOf(pool).openSlot();
  await sql`create table written (what text unique)`;
});
afterAll(async () => {
  await slot.end();
  await pool.end({ timeout: 1 });
  await sql.end();
  await relay.close();
  await database.drop();
});

const write = (...whats: readonly string[]) => slot.inOneTrip((tx) => whats.map((what) => tx`insert into written (what) values (${what})`));
const written = async () => (await sql<{ what: string }[]>`select what from written order by what`).map(({ what }) => what);

describe('a transaction by the lane', () => {
  test('is one round trip, with its beginning and its end, once it is prepared', async () => {
    await slot.prepare((tx) => [tx`insert into written (what) values (${''})`]);
    trips = 0;
    await write('a', 'b', 'c');
    expect(trips).toBe(1);
    expect(await written()).toEqual(['a', 'b', 'c']);
  });

  test('is all or nothing, and fails with what failed first', async () => {
    await expect(write('d', 'a', 'e')).rejects.toMatchObject({ code: '23505' });
    await write('f');
    expect(await written()).toEqual(['a', 'b', 'c', 'f']);
  });

  test('that cannot be written is not begun', async () => {
    const fault = () => {
      throw new Error('no such row');
    };
    await expect(slot.inOneTrip((tx) => [tx`insert into written (what) values ('half')`, fault()])).rejects.toThrow('no such row');
    await write('g');
    expect(await written()).not.toContain('half');
  });

  test('that loses its connection in the midst writes nothing on the next one, and the next transaction has another', async () => {
    for (let nth = 0; nth < 12; nth += 1) {
      const name = `lost ${nth}`;
      // The first statement is not prepared here: what stands behind it waits in the client when the connection goes.
      const going = slot
        .inOneTrip((tx) => [
          tx.unsafe(`select ${nth}, $1::text`, [name], { prepare: true }),
          tx`insert into written (what) values (${name})`,
          tx`insert into written (what) values (${`${name}, too`})`,
        ])
        .then(
          () => 'written',
          () => 'failed',
        );
      const reset = new Promise((resolve) => setTimeout(() => resolve(relay.reset()), nth * 10));
      const outcome = await going;
      await reset;
      await eventually(() =>
        slot
          .ask((tx) => tx`select 1`)
          .then(
            () => true,
            () => false,
          ),
      );
      const found = (await written()).filter((what) => what.startsWith(name)).length;
      if (outcome === 'written') expect(found).toBe(2);
      else expect([0, 2]).toContain(found);
    }
  });
});

describe('a commit', () => {
  test('of everything that leads to a confirmation is one round trip', async () => {
    const owner = newId();
    const [lease] = await takeLeases(sql, owner, 1, 60_000);
    if (!lease) throw new Error('no lease');
    await makeResultDays(sql, Date.now(), Date.now() + 60_000);
    await prepareCommits(slot);
    trips = 0;
    const incident = newId();
    await commitUnits({ sql: pool, slot }, owner, [
      {
        ...emptyUnit(lease),
        results: [{ monitor_key: 1, probe_key: 1, at: Date.now(), took_ms: 1, outcome: 'fail', cause_class: 'refused', phases: null }],
        staleHours: [0],
        watermarks: [],
        evidence: [
          {
            incident,
            row: {
              part: 'seen',
              continent: 'Asia',
              probe: 'x',
              at: 0,
              outcome: 'fail',
              took_ms: 1,
              cause: null,
              phases: null,
              evidence: null,
            },
          },
        ],
        ledger: [{ monitor: newId(), kind: 'unknown', put: [{ began_at: 1, ended_at: null, interval_ms: 1_000 }], drop: [0] }],
        alerts: [{ event: 'down', incident, due_at: 0 }],
        done: [1],
        checkpoint: { takenAt: 0, state: new Uint8Array([1]) },
      },
    ]);
    expect(trips).toBe(1);
  });
});
