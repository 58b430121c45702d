import { createServer, type Server, Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { createSecureContext, TLSSocket } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type CommitSlot, connect, type Sql } from '../../../coordinator/database/connect.ts';
import { listenTo } from '../../../coordinator/database/listen.ts';
import { enqueue, markDone, partitionsWaiting } from '../../../coordinator/database/outbox.ts';
import { inTransaction } from '../../../coordinator/database/sql.ts';
import { commitUnits, emptyUnit } from '../../../coordinator/engine/commit.ts';
import { takeLeases } from '../../../coordinator/engine/queries.ts';
import { hourOf } from '../../../coordinator/results/chunk.ts';
import { makeJournalHours } from '../../../coordinator/results/journal.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { mint } from '../../support/certificates.ts';
import { createTcpProxy, portOf, type TcpProxy } from '../../support/connections.ts';
import { createFickleDatabase } from '../../support/databases.ts';
import { eventually } from '../../support/eventually.ts';
import { createDatabase, ownDatabase, type TestDatabase } from '../../support/services.ts';

describe('outbox', async () => {
  const { sql } = await ownDatabase();

  const change = (partition: number) =>
    enqueue(sql, {
      topic: 'monitor',
      payload: { monitor: newId(), change: 'edited', what_is_checked_changed: true },
      partition,
      organisation: null,
    });
  const all = Array.from({ length: 32 }, (_, partition) => partition);

  test('one query lists the partitions with pending changes and those with messages to retry', async () => {
    expect(await partitionsWaiting(sql, all)).toEqual([]);
    await change(3);
    await change(3);
    await change(7);
    await enqueue(sql, {
      topic: 'set_aside',
      payload: { id: 1 },
      partition: 31,
      organisation: null,
    });
    await enqueue(sql, {
      topic: 'probe',
      payload: { probe: newId(), change: 'created' },
      partition: null,
      organisation: null,
    });
    expect((await partitionsWaiting(sql, all)).toSorted((a, b) => a - b)).toEqual([3, 7, 31]);
    expect(await partitionsWaiting(sql, [7, 8])).toEqual([7]);
    expect(await partitionsWaiting(sql, [])).toEqual([]);
    const lines = await sql<{ id: number }[]>`select id from outbox where partition = 7`;
    await markDone(
      sql,
      lines.map(({ id }) => id),
    );
    expect((await partitionsWaiting(sql, all)).toSorted((a, b) => a - b)).toEqual([3, 31]);
  });
});

describe('line', () => {
  let database: TestDatabase;
  let relay: TcpProxy;
  let ends: (() => Promise<unknown>)[] = [];

  /** The database by a port of this machine. */
  const by = (port: number, more: string): string => {
    const url = new URL(relay.url);
    url.port = String(port);
    return `${url.href}${more}`;
  };

  const pool = (
    url: string,
    options: Parameters<typeof connect>[1] = { name: 'line', connections: 4 },
  ): Sql => {
    const sql = connect(url, options);
    ends.push(() => sql.end({ timeout: 1 }));
    return sql;
  };

  beforeAll(async () => {
    database = await createDatabase();
    relay = await createTcpProxy(database.url);
  });
  afterAll(async () => {
    for (const end of ends) await end();
    ends = [];
    await relay.close();
    await database.drop();
  });

  /**
   * Stands before the relay and takes TLS, as a database that has a certificate does; `letter` N
   * refuses it.
   */
  const serveTls = async (letter: 'S' | 'N', more = ''): Promise<number> => {
    const { chain, key } = mint({ names: ['localhost'] });
    const open = new Set<Socket>();
    const server: Server = createServer((from) => {
      open.add(from);
      from.on('error', () => from.destroy());
      from.once('data', () => {
        from.write(`${letter}${more}`);
        if (letter === 'N') return;
        const secured = new TLSSocket(from, {
          isServer: true,
          secureContext: createSecureContext({ cert: chain, key }),
        });
        const to = new Socket().connect(relay.port, '127.0.0.1');
        open.add(to);
        for (const [one, other] of [[secured, to] as const, [to, secured] as const]) {
          one.on('data', (data: Buffer) => void other.write(data));
          one.on('error', () => one.destroy());
          // However it ended, the client hears a reset.
          one.on('close', () => {
            from.resetAndDestroy();
            to.destroy();
          });
        }
      });
    });
    const port = await portOf(server);
    ends.push(async () => {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    });
    return port;
  };

  /**
   * Asks all the time, each time as soon as an answer came, whatever it was, while connections are
   * reset; says how many never heard anything.
   */
  const neverSettled = async (
    sql: Sql,
  ): Promise<{ asked: number; answered: number; left: number }> => {
    let [asked, answered, left] = [0, 0, 0];
    let isOver = false;
    const asker = async (nth: number): Promise<void> => {
      while (!isOver) {
        asked += 1;
        left += 1;
        const question =
          nth % 3 === 0
            ? inTransaction(sql, (tx) => tx`select ${nth}::int as nth, ${asked}::int as asked`)
            : sql`select ${nth}::int as nth`;
        await question.then(
          () => {
            answered += 1;
          },
          () => undefined, // That it heard anything is what counts here.
        );
        left -= 1;
      }
    };
    const askers = Array.from({ length: 40 }, (_, nth) => asker(nth));
    for (let resets = 0; resets < 15; resets += 1) {
      const before = answered;
      // Reset in the midst of answers: only those who hear them can be caught between two.
      await eventually(() => answered > before + 200);
      expect(relay.reset()).toBeGreaterThan(0);
    }
    const before = answered;
    await eventually(() => answered > before + 200);
    isOver = true;
    await Promise.race([Promise.all(askers), pause(30_000)]);
    return { asked, answered, left };
  };

  describe('connections to the database that are reset under load', () => {
    test('leave no query pending, and are opened again', async () => {
      const { left } = await neverSettled(pool(relay.url));
      expect(left).toBe(0);
    });

    test('nor under TLS', async () => {
      const { left } = await neverSettled(pool(by(await serveTls('S'), '?sslmode=require')));
      expect(left).toBe(0);
    });
  });

  describe('a database that should speak TLS', () => {
    test('and has none gets no message from us', async () => {
      const port = await serveTls('N');
      await expect(pool(by(port, '?sslmode=require'))`select 1`).rejects.toMatchObject({
        code: 'NO_TLS',
      });
    });

    test('is not trusted with what came in the clear after its consent', async () => {
      const port = await serveTls('S', 'and a word of somebody between us');
      await expect(pool(by(port, '?sslmode=require'))`select 1`).rejects.toMatchObject({
        code: 'NO_TLS',
      });
    });

    test('is refused with an unknown certificate, where it is to be verified', async () => {
      const port = await serveTls('S');
      await expect(pool(by(port, '?sslmode=verify-full'))`select 1`).rejects.toThrow(/certificate/);
    });
  });

  describe('a statement', () => {
    test('that runs too long is ended by the database', async () => {
      const sql = pool(database.url, {
        name: 'slow',
        connections: 1,
        patience: { statementMs: 200, silentMs: 60_000 },
      });
      await expect(sql`select pg_sleep(30)`).rejects.toMatchObject({ code: '57014' });
      expect(await sql`select 1 as one`).toEqual([{ one: 1 }]);
    });

    test('that is not answered fails with its connection, and the next gets another', async () => {
      const sql = pool(relay.url, {
        name: 'silent',
        connections: 1,
        patience: { statementMs: 60_000, silentMs: 300 },
      });
      await sql`select 1`;
      expect(relay.freeze()).toBeGreaterThan(0);
      await expect(sql`select 1`).rejects.toMatchObject({ code: 'CONNECTION_SILENT' });
      expect(await sql`select 1 as one`).toEqual([{ one: 1 }]);
    });

    test('may be long, as long as the database answers', async () => {
      const sql = pool(relay.url, {
        name: 'long',
        connections: 1,
        patience: { statementMs: 60_000, silentMs: 1_000 },
      });
      const rows =
        await sql`select pg_sleep(0.3)::text, repeat('x', 20000) from generate_series(1, 6)`;
      expect(rows.length).toBe(6);
    });

    test('finds the settings of its session, which no startup message names', async () => {
      const [row] = await pool(
        database.url,
      )`select current_setting('statement_timeout') as statement,
      current_setting('idle_in_transaction_session_timeout') as idle, current_setting('application_name') as name`;
      expect(row).toEqual({ statement: '20s', idle: '4s', name: 'line' });
    });
  });
});

describe('a listener to the database', async () => {
  const { database, sql } = await ownDatabase();
  const ends: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  });

  const through = async (refuses: (call: number) => boolean): Promise<Sql> => {
    const fickle = await createFickleDatabase(database.url, refuses);
    const pool = connect(fickle.url, { name: 'test listening', connections: 1 });
    ends.push(fickle.close, () => pool.end({ timeout: 0 }));
    return pool;
  };

  /** Counts what is warned of. */
  const warnings = () => {
    let count = 0;
    const warn = (): void => {
      count += 1;
    };
    return { log: { warn }, count: () => count };
  };

  test('waits until it has a connection, and then receives each line once', async () => {
    const pool = await through((call) => call <= 2);
    const { log, count } = warnings();
    const heard: string[] = [];
    const listening = await listenTo(pool, 'trial', (line) => heard.push(line), { log });
    const other: string[] = [];
    const beside = await listenTo(pool, 'trial', (line) => other.push(line), { log });
    expect(count()).toBeGreaterThan(0);
    await sql`select pg_notify('trial', 'one'), pg_notify('trial', 'two')`;
    await eventually(() => heard.includes('two') && other.includes('two'));
    expect([heard, other]).toEqual([
      ['one', 'two'],
      ['one', 'two'],
    ]);
    await listening.unlisten();
    await sql`select pg_notify('trial', 'three')`;
    await eventually(() => other.includes('three'));
    expect(heard).toEqual(['one', 'two']);
    await beside.unlisten();
  });

  test('is told when it ends while it waits', async () => {
    const pool = await through(() => true);
    const leaving = new AbortController();
    const { log, count } = warnings();
    const waiting = listenTo(pool, 'trial', () => undefined, { log, signal: leaving.signal });
    await eventually(() => count() > 0);
    leaving.abort(new Error('it ends'));
    await expect(waiting).rejects.toThrow('it ends');
    await expect(
      listenTo(pool, 'trial', () => undefined, { log, signal: leaving.signal }),
    ).rejects.toThrow('it ends');
  });

  test('fails at once where waiting cannot help', async () => {
    const url = new URL(database.url);
    url.pathname = '/no_such_database';
    const pool = connect(url.href, { name: 'test listening', connections: 1 });
    ends.push(() => pool.end({ timeout: 0 }));
    await expect(listenTo(pool, 'trial', () => undefined, warnings())).rejects.toMatchObject({
      code: '3D000',
    });
  });
});

describe('commit slot', () => {
  let database: TestDatabase;
  let relay: TcpProxy;
  let pool: Sql;
  let slot: CommitSlot;
  /** Straight to the database. */
  let sql: Sql;
  /**
   * How often the client spoke and then listened: what came before it spoke again is one answer.
   */
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
    slot = pool.access.openSlot();
    await sql`create table written (what text unique)`;
  });
  afterAll(async () => {
    await slot.end();
    await pool.end({ timeout: 1 });
    await sql.end();
    await relay.close();
    await database.drop();
  });

  const write = (...whats: readonly string[]) =>
    slot.inOneTrip((tx) => whats.map((what) => tx`insert into written (what) values (${what})`));
  const written = async () =>
    (await sql<{ what: string }[]>`select what from written order by what`).map(({ what }) => what);

  describe('a pipelined transaction', () => {
    test('is one round trip, with its beginning and its end, once it is prepared', async () => {
      await slot.prepare();
      trips = 0;
      await write('a', 'b', 'c');
      expect(trips).toBe(1);
      expect(await written()).toEqual(['a', 'b', 'c']);
    });

    test('is all or nothing, and fails with the first error', async () => {
      await expect(write('d', 'a', 'e')).rejects.toMatchObject({ code: '23505' });
      await write('f');
      expect(await written()).toEqual(['a', 'b', 'c', 'f']);
    });

    test('that cannot be written is not begun', async () => {
      const fault = () => {
        throw new Error('no such row');
      };
      await expect(
        slot.inOneTrip((tx) => [tx`insert into written (what) values ('half')`, fault()]),
      ).rejects.toThrow('no such row');
      await write('g');
      expect(await written()).not.toContain('half');
    });

    test('that loses its connection midway writes nothing on the next one, and the next transaction has another', async () => {
      for (let nth = 0; nth < 12; nth += 1) {
        const name = `lost ${nth}`;
        // The first statement is not prepared here: what stands behind it waits in the client when
        // the connection goes.
        const going = slot
          .inOneTrip((tx) => [
            tx.unsafe(`select ${nth}, $1::text`, [name]),
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
      const [lease] = await takeLeases(sql, owner, [0], 60_000);
      if (!lease) throw new Error('no lease');
      await makeJournalHours(sql, Date.now(), Date.now() + 60_000);
      await slot.prepare();
      trips = 0;
      const incident = newId();
      await commitUnits({ sql: pool, slot }, owner, [
        {
          ...emptyUnit(lease),
          journal: [
            {
              arrival: hourOf(Date.now()),
              partition: lease.partition,
              probe: 1,
              data: new Uint8Array(),
              counts: { ok: 0, fail: 1, unknown: 0 },
              oldest: Date.now(),
              signature: null,
              digests: null,
            },
          ],
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
          ledger: [
            {
              monitor: newId(),
              kind: 'unknown',
              put: [{ began_at: 1, ended_at: null, interval_ms: 1_000 }],
              drop: [0],
            },
          ],
          alerts: [{ event: 'down', incident, due_at: 0 }],
          done: [1],
          checkpoint: { takenAt: 0, state: new Uint8Array([1]) },
        },
      ]);
      expect(trips).toBe(1);
    });
  });
});
