import { createServer, type Server, Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { createSecureContext, TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connect, type Sql } from '../../../coordinator/database/connect.ts';
import { inTransaction } from '../../../coordinator/database/sql.ts';
import { mint } from '../../support/certificates.ts';
import { createTcpProxy, type TcpProxy } from '../../support/connections.ts';
import { eventually } from '../../support/eventually.ts';
import { createDatabase, type TestDatabase } from '../../support/services.ts';

let database: TestDatabase;
let relay: TcpProxy;
let ends: (() => Promise<unknown>)[] = [];

/** The database by a port of this machine. */
const by = (port: number, more: string): string => {
  const url = new URL(relay.url);
  url.port = String(port);
  return `${url.href}${more}`;
};

const pool = (url: string, options: Parameters<typeof connect>[1] = { name: 'line', connections: 4 }): Sql => {
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

/** Stands before the relay and takes TLS, as a database that has a certificate does; `letter` N refuses it. */
const serveTls = async (letter: 'S' | 'N', more = ''): Promise<number> => {
  const { chain, key } = mint({ names: ['localhost'] });
  const open = new Set<Socket>();
  const server: Server = createServer((from) => {
    open.add(from);
    from.on('error', () => from.destroy());
    from.once('data', () => {
      from.write(`${letter}${more}`);
      if (letter === 'N') return;
      const secured = new TLSSocket(from, { isServer: true, secureContext: createSecureContext({ cert: chain, key }) });
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
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ends.push(async () => {
    for (const socket of open) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
};

/** Asks all the time, each time as soon as an answer came, whatever it was, while connections are reset; says how many never heard anything. */
const neverSettled = async (sql: Sql): Promise<{ asked: number; answered: number; left: number }> => {
  let [asked, answered, left] = [0, 0, 0];
  let isOver = false;
  const asker = async (nth: number): Promise<void> => {
    while (!isOver) {
      asked += 1;
      left += 1;
      const question =
        nth % 3 === 0 ? inTransaction(sql, (tx) => tx`select ${nth}::int as nth, ${asked}::int as asked`) : sql`select ${nth}::int as nth`;
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
  test('leave no question without an end, and are made anew', async () => {
    const { left } = await neverSettled(pool(relay.url));
    expect(left).toBe(0);
  });

  test('nor under TLS', async () => {
    const { left } = await neverSettled(pool(by(await serveTls('S'), '?sslmode=require')));
    expect(left).toBe(0);
  });
});

describe('a database that should speak TLS', () => {
  test('and has none is told nothing', async () => {
    const port = await serveTls('N');
    await expect(pool(by(port, '?sslmode=require'))`select 1`).rejects.toThrow('does not take TLS');
  });

  test('is not believed what came in the clear behind its consent', async () => {
    const port = await serveTls('S', 'and a word of somebody between us');
    await expect(pool(by(port, '?sslmode=require'))`select 1`).rejects.toThrow('does not take TLS');
  });

  test('is not talked to with a certificate that nobody knows, where it is to be verified', async () => {
    const port = await serveTls('S');
    await expect(pool(by(port, '?sslmode=verify-full'))`select 1`).rejects.toThrow(/certificate/);
  });
});

describe('a statement', () => {
  test('that the database works on for too long is ended by the database', async () => {
    const sql = pool(database.url, { name: 'slow', connections: 1, patience: { statementMs: 200, silentMs: 60_000 } });
    await expect(sql`select pg_sleep(30)`).rejects.toMatchObject({ code: '57014' });
    expect(await sql`select 1 as one`).toEqual([{ one: 1 }]);
  });

  test('that is not answered at all fails with its connection, and the next gets another', async () => {
    const sql = pool(relay.url, { name: 'silent', connections: 1, patience: { statementMs: 60_000, silentMs: 300 } });
    await sql`select 1`;
    expect(relay.freeze()).toBeGreaterThan(0);
    await expect(sql`select 1`).rejects.toMatchObject({ code: 'CONNECTION_SILENT' });
    expect(await sql`select 1 as one`).toEqual([{ one: 1 }]);
  });

  test('that is long may be so, as long as the database speaks', async () => {
    const sql = pool(relay.url, { name: 'long', connections: 1, patience: { statementMs: 60_000, silentMs: 1_000 } });
    const rows = await sql`select pg_sleep(0.3)::text, repeat('x', 20000) from generate_series(1, 6)`;
    expect(rows.length).toBe(6);
  });

  test('finds the settings of its session, which no startup message names', async () => {
    const [row] = await pool(database.url)`select current_setting('statement_timeout') as statement,
      current_setting('idle_in_transaction_session_timeout') as idle, current_setting('application_name') as name`;
    expect(row).toEqual({ statement: '20s', idle: '4s', name: 'line' });
  });
});
