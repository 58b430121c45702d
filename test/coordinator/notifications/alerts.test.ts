import { beforeEach, describe, expect, test } from 'vitest';
import { executeAll } from '../../../coordinator/database/connect.ts';
import { inTransaction } from '../../../coordinator/database/sql.ts';
import { takeLeases } from '../../../coordinator/engine/queries.ts';
import { heldAlerts, type Owned, releaseAlerts, writeAlerts, writeDowns } from '../../../coordinator/notifications/release.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { ownDatabase } from '../../support/services.ts';

/** What the core decides of alerts (core/incident.ts) is what the table says, also when two decide at once. */

const { sql } = await ownDatabase();
let incident: string;
let owned: Owned;
const time = Date.UTC(2026, 0, 1);

beforeEach(async () => {
  await sql`delete from alerts`;
  await sql`update leases set owner = null, expires_at = 'epoch'`;
  owned = { owner, leases: await takeLeases(sql, owner, 32, 60_000) };
  incident = newId();
  const [organisation, monitor] = [newId(), newId()];
  await sql`insert into organisations (id, name, plan, time_zone) values (${organisation}, ${organisation}, 'team', 'UTC')`;
  await sql`insert into monitors (id, organisation_id, partition, name, type, target, interval_s)
    values (${monitor}, ${organisation}, 3, 'shop', 'https', 'https://shop.example', 60)`;
  await sql`insert into incidents (id, organisation_id, monitor_id, started_at) values (${incident}, ${organisation}, ${monitor}, ${new Date(time)})`;
});

const owner = newId();
const rows = () =>
  sql<{ event: string; state: string; settled: boolean }[]>`
    select event, state, settled_at is not null as settled from alerts where incident_id = ${incident} order by id`;
const write = (...writes: Parameters<typeof writeAlerts>[1]) => inTransaction(sql, (transaction) => writeAlerts(transaction, writes));
type Down = Parameters<typeof writeDowns>[1][number];
const writeOnly = (...writes: Down[]) => inTransaction(sql, (transaction) => executeAll(writeDowns(transaction, writes)));
const down = { event: 'down', due_at: time } as const;
const up = { event: 'up', at: time + 60_000 } as const;
const ids = async () => (await sql<{ id: number }[]>`select id from alerts where incident_id = ${incident}`).map(({ id }) => id);

describe('alerts', () => {
  test('rule 28: a "down" that is told twice is one', async () => {
    await write({ ...down, incident });
    await write({ ...down, incident, due_at: time + 1 }, { ...down, incident });
    expect(await rows()).toEqual([{ event: 'down', state: 'held', settled: false }]);
  });

  test.each([
    ['beside others', write],
    ['in one trip', writeOnly],
  ])('rule 25: one that waits is due when its incident is dated anew, written %s; one that left has left', async (_, tell) => {
    const dueAt = async () =>
      (await sql<{ due_at: Date }[]>`select due_at from alerts where incident_id = ${incident}`)[0]?.due_at.getTime();
    await tell({ ...down, incident });
    await tell({ ...down, incident, due_at: time + 1 }, { ...down, incident, due_at: time + 2 });
    expect(await dueAt()).toBe(time + 2);
    expect(await releaseAlerts(sql, owned, await ids())).toBe(1);
    await tell({ ...down, incident, due_at: time + 3 });
    expect(await dueAt()).toBe(time + 2);
    expect(await rows()).toEqual([{ event: 'down', state: 'due', settled: false }]);
  });

  test('rule 25: what is over before it was due is dropped, and nobody is told', async () => {
    await write({ ...down, incident });
    await write({ ...up, incident });
    expect(await rows()).toEqual([{ event: 'down', state: 'dropped', settled: true }]);
    expect(await releaseAlerts(sql, owned, await ids())).toBe(0);
  });

  test('rule 25: what is raised and over in one transaction is dropped', async () => {
    await write({ ...down, incident }, { ...up, incident });
    expect(await rows()).toMatchObject([{ event: 'down', state: 'dropped' }]);
  });

  test('rule 25: whoever was told "down" is told of the end, once', async () => {
    await write({ ...down, incident });
    expect(await releaseAlerts(sql, owned, await ids())).toBe(1);
    await write({ ...up, incident });
    await write({ ...up, event: 'closed', incident });
    expect(await rows()).toEqual([
      { event: 'down', state: 'due', settled: false },
      { event: 'up', state: 'due', settled: false },
    ]);
  });

  test('an end of what was never raised tells nobody', async () => {
    await write({ ...up, incident });
    expect(await rows()).toEqual([]);
  });

  test('rule 17: whoever was told "down" is told "closed" when the monitor is deleted, whose incidents are gone by then', async () => {
    await write({ ...down, incident });
    expect(await releaseAlerts(sql, owned, await ids())).toBe(1);
    await sql`delete from monitors`;
    await write({ ...up, event: 'closed', incident });
    expect(await rows()).toMatchObject([
      { event: 'down', state: 'due' },
      { event: 'closed', state: 'due' },
    ]);
  });

  test('are let go by the owner of their partition alone, and not by one that was replaced', async () => {
    await write({ ...down, incident });
    const mine = owned.leases.filter(({ partition }) => partition === 3);
    const others = owned.leases.filter(({ partition }) => partition !== 3);
    expect(await heldAlerts(sql, { owner, leases: others }, time, 0, 10)).toEqual([]);
    expect(await heldAlerts(sql, { owner, leases: mine }, time, 0, 10)).toMatchObject([{ partition: 3, by_target: true }]);
    await sql`update leases set expires_at = now() - interval '1 second'`;
    await takeLeases(sql, newId(), 32, 60_000);
    expect(await releaseAlerts(sql, owned, await ids())).toBe(0);
    expect(await rows()).toMatchObject([{ state: 'held' }]);
  });

  test('rule 25: one that is let go while its incident ends is dropped, or told of: never both', async () => {
    await write({ ...down, incident });
    const held = await ids();
    let released: Promise<number> = Promise.resolve(0);
    await inTransaction(sql, async (transaction) => {
      await writeAlerts(transaction, [{ ...up, incident }]);
      // Waits for the end of this transaction, and finds it dropped.
      released = releaseAlerts(sql, owned, held);
      await transaction`select pg_sleep(0)`;
    });
    expect(await released).toBe(0);
    expect(await rows()).toMatchObject([{ event: 'down', state: 'dropped' }]);
  });
});
