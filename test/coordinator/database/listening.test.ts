import { afterEach, describe, expect, test } from 'vitest';
import { connect, type Sql } from '../../../coordinator/database/connect.ts';
import { listenTo } from '../../../coordinator/database/listen.ts';
import { createFickleDatabase } from '../../support/databases.ts';
import { eventually } from '../../support/eventually.ts';
import { ownDatabase } from '../../support/services.ts';

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

describe('whoever listens to the database', () => {
  test('waits until it has a connection, and then hears each line once', async () => {
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

  test('is told that it ends while it waits', async () => {
    const pool = await through(() => true);
    const leaving = new AbortController();
    const { log, count } = warnings();
    const waiting = listenTo(pool, 'trial', () => undefined, { log, signal: leaving.signal });
    await eventually(() => count() > 0);
    leaving.abort(new Error('it ends'));
    await expect(waiting).rejects.toThrow('it ends');
    await expect(listenTo(pool, 'trial', () => undefined, { log, signal: leaving.signal })).rejects.toThrow('it ends');
  });

  test('hears at once why waiting helps nobody', async () => {
    const url = new URL(database.url);
    url.pathname = '/no_such_database';
    const pool = connect(url.href, { name: 'test listening', connections: 1 });
    ends.push(() => pool.end({ timeout: 0 }));
    await expect(listenTo(pool, 'trial', () => undefined, warnings())).rejects.toMatchObject({ code: '3D000' });
  });
});
