import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { connect, type Sql } from '../../../coordinator/database/connect.ts';
import { makeResultDays } from '../../../coordinator/engine/result-queries.ts';
import { markSeen } from '../../../coordinator/monitors/status-queries.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { createTestOrganisation } from '../../support/people.ts';
import { createDatabase, type TestDatabase } from '../../support/services.ts';

/** The row of status that the database keeps of each monitor (migration 018). */

let database: TestDatabase;
let sql: Sql;
let organisation: string;
let monitor: string;

const made = new Date('2026-11-01T00:00:00Z');
const minute = (minutes: number): Date => new Date(made.getTime() + minutes * 60_000);

beforeAll(async () => {
  database = await createDatabase();
  sql = connect(database.url, { name: 'test', connections: 4 });
});
afterAll(async () => {
  await sql.end();
  await database.drop();
});

beforeEach(async () => {
  ({ organisation } = await createTestOrganisation(sql));
  monitor = newId();
  await sql`insert into monitors (id, organisation_id, partition, name, type, target, interval_s, created_at)
    values (${monitor}, ${organisation}, 0, 'Checkout', 'https', 'https://Shop.example/', 60, ${made})`;
});

const standing = async (): Promise<{ status: string; since: Date } | undefined> => {
  const [row] = await sql<{ status: string; since: Date }[]>`select status, since from monitor_status where monitor_id = ${monitor}`;
  return row && { status: row.status, since: row.since };
};

const gap = (from: Date, to: Date | null) =>
  sql`insert into ledger (monitor_id, kind, began_at, ended_at, interval_s) values (${monitor}, 'unknown', ${from}, ${to}, 60)`;
const firstCheck = () => gap(made, minute(0.1));
const outage = async (from: Date): Promise<string> => {
  const id = newId();
  await sql`insert into incidents (id, organisation_id, monitor_id, started_at) values (${id}, ${organisation}, ${monitor}, ${from})`;
  return id;
};

describe('the status of a monitor', () => {
  test('is pending until somebody has looked, and up from the end of the time that nobody knows of', async () => {
    expect(await standing()).toEqual({ status: 'pending', since: made });
    await gap(made, null);
    expect(await standing()).toEqual({ status: 'pending', since: made });
    await sql`update ledger set ended_at = ${minute(1)} where monitor_id = ${monitor}`;
    expect(await standing()).toEqual({ status: 'up', since: minute(1) });
  });

  test('follows an incident from the first failure to its end', async () => {
    await firstCheck();
    const incident = await outage(minute(10));
    expect(await standing()).toEqual({ status: 'verifying', since: minute(10) });
    await sql`update incidents set confirmed_at = ${minute(11)} where id = ${incident}`;
    expect(await standing()).toEqual({ status: 'down', since: minute(11) });
    await sql`update incidents set resolved_at = ${minute(20)} where id = ${incident}`;
    expect(await standing()).toEqual({ status: 'up', since: minute(20) });
  });

  test('is paused before all else, and pending again while nobody knows', async () => {
    await firstCheck();
    await outage(minute(10));
    await sql`update monitors set enabled = false, paused_at = ${minute(12)} where id = ${monitor}`;
    expect(await standing()).toEqual({ status: 'paused', since: minute(12) });
    await sql`update incidents set resolved_at = ${minute(12)} where monitor_id = ${monitor}`;
    await sql`update monitors set enabled = true, paused_at = null where id = ${monitor}`;
    await sql`insert into ledger (monitor_id, kind, began_at, ended_at, interval_s) values (${monitor}, 'paused', ${minute(12)}, ${minute(30)}, 60)`;
    await gap(minute(30), null);
    expect(await standing()).toEqual({ status: 'pending', since: minute(30) });
    await sql`delete from ledger where monitor_id = ${monitor} and ended_at is null`;
    expect(await standing()).toEqual({ status: 'up', since: minute(30) });
  });

  test('forgets nothing when old stretches of the ledger are forgotten', async () => {
    await firstCheck();
    await sql`delete from ledger where monitor_id = ${monitor}`;
    expect((await standing())?.status).toBe('up');
  });

  test('is up also when the first look came from a clock that is behind, and so closed nothing', async () => {
    await makeResultDays(sql, made.getTime(), minute(1).getTime());
    await sql`insert into results (monitor_key, at, probe_key, took_ms, outcome) select key, ${made}, 1, 50, 0 from monitors where id = ${monitor}`;
    await markSeen(sql);
    expect(await standing()).toEqual({ status: 'up', since: made });
  });

  test('goes with the monitor', async () => {
    await firstCheck();
    await sql`delete from monitors where id = ${monitor}`;
    expect(await standing()).toBe(undefined);
  });

  test('sees what two transactions change at once, whichever commits last', async () => {
    await firstCheck();
    const opened = Promise.withResolvers<void>();
    const renamed = Promise.withResolvers<void>();
    const engine = sql.begin(async (transaction) => {
      await transaction`insert into incidents (id, organisation_id, monitor_id, started_at) values (${newId()}, ${organisation}, ${monitor}, ${minute(5)})`;
      opened.resolve();
      await renamed.promise;
    });
    await opened.promise;
    const person = sql`update monitors set name = 'Till' where id = ${monitor}`.execute();
    const waiting = () => sql`select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    await expect.poll(async () => (await waiting()).length).toBeGreaterThan(0);
    renamed.resolve();
    await Promise.all([engine, person]);
    const [row] = await sql<{ status: string; name_folded: string }[]>`
      select status, name_folded from monitor_status where monitor_id = ${monitor}`;
    expect(row).toEqual({ status: 'verifying', name_folded: 'till' });
  });
});

describe('what a search looks in', () => {
  test('is name, target and group, as they are now', async () => {
    const words = async () => (await sql<{ words: string }[]>`select words from monitor_status where monitor_id = ${monitor}`)[0]?.words;
    expect(await words()).toBe('checkout https://shop.example/');
    const group = newId();
    await sql`insert into groups (id, organisation_id, name, name_folded) values (${group}, ${organisation}, 'Shops', 'shops')`;
    await sql`update monitors set group_id = ${group} where id = ${monitor}`;
    expect(await words()).toBe('checkout https://shop.example/ shops');
    await sql`update groups set name = 'Stores', name_folded = 'stores' where id = ${group}`;
    expect(await words()).toBe('checkout https://shop.example/ stores');
    await sql`delete from groups where id = ${group}`;
    expect(await words()).toBe('checkout https://shop.example/');
  });
});

describe('whoever looks at an organisation', () => {
  test('is told once of each transaction that changed something of it', async () => {
    const told: string[] = [];
    const { unlisten } = await sql.listen('changed', (of) => told.push(of));
    await firstCheck();
    await sql.begin(async (transaction) => {
      await transaction`update monitors set name = 'Till' where id = ${monitor}`;
      await transaction`insert into incidents (id, organisation_id, monitor_id, started_at) values (${newId()}, ${organisation}, ${monitor}, ${minute(5)})`;
    });
    await expect.poll(() => told).toEqual([organisation, organisation]);
    await unlisten();
  });
});
