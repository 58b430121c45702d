import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createApp } from '../../coordinator/app.ts';
import { readConfig } from '../../coordinator/config.ts';
import { connect } from '../../coordinator/database/connect.ts';
import { refuseTransactionPooling } from '../../coordinator/database/startup.ts';
import { ConfigurationFault } from '../../shared/base/env.ts';
import { findPgbouncer, type Pgbouncer, startPgbouncer } from '../support/databases.ts';
import { eventually, passed } from '../support/eventually.ts';
import { createNetwork, isWell, type Network } from '../support/network.ts';

/** A coordinator behind a real pgbouncer. */

const program = await findPgbouncer();
let network: Network;
const poolers: Pgbouncer[] = [];

beforeAll(async () => {
  network = await createNetwork();
});
afterEach(async () => {
  for (const { stop } of poolers.splice(0)) await stop();
});
afterAll(() => network.close());

const pooler = async (mode: 'session' | 'transaction'): Promise<string> => {
  if (!program) throw new Error('there is no pgbouncer');
  const made = await startPgbouncer(program, network.database.url, mode);
  poolers.push(made);
  return made.url;
};

describe.runIf(program !== undefined)('a coordinator behind pgbouncer', () => {
  test('that pools sessions has its leases and its notifications: a monitor made beside it is up', async () => {
    const target = await network.startTarget();
    const coordinator = await network.startCoordinatorProcess({ DATABASE_URL: await pooler('session') });
    await network.addProbe('Europe');
    const monitor = await network.addMonitor({ target: target.url('/'), interval_s: 1 });
    await eventually(async () => {
      const headers = { authorization: `Bearer ${network.house.owner.readWrite}` };
      const answer = await fetch(`${coordinator.url}/api/v1/monitors/${monitor}/status`, { headers });
      return (await answer.text()).includes('"up"');
    }, 60_000);
    const [leases] = await network.sql<{ owned: number }[]>`select count(*) as owned from leases where expires_at > now()`;
    expect(leases?.owned).toBe(32);
    expect(await isWell(coordinator.url)).toBe(true);
    await coordinator.close();
  });

  test('that pools transactions ends at the start, and says what to do', async () => {
    const url = await pooler('transaction');
    const app = createApp(readConfig({ ...network.environment, DATABASE_URL: url }), { log: network.log });
    const said: unknown = await app.start().catch((error: unknown) => error);
    await app.close();
    expect(said).toBeInstanceOf(ConfigurationFault);
    expect(said).toMatchObject({ message: expect.stringContaining(`the pooler at ${new URL(url).host}`) });
    expect(said).toMatchObject({ message: expect.stringContaining('set pool_mode = session') });
  });

  test.each([{ mode: 'session' as const }, { mode: undefined }])(
    'is told from one that is not by what happens, also while others work: $mode',
    async ({ mode }) => {
      const url = mode === undefined ? network.database.url : await pooler(mode);
      const busy = connect(url, { name: 'busy', connections: 6 });
      let isDone = false;
      const working = Array.from({ length: 6 }, async () => {
        while (!isDone) await busy.begin(async (transaction) => transaction`select pg_sleep(0.005)`);
      });
      const sql = connect(url, { name: 'asking', connections: 2 });
      for (let time = 0; time < 5; time += 1) await refuseTransactionPooling(sql, url);
      isDone = true;
      await Promise.all(working);
      await Promise.all([sql.end(), busy.end()]);
    },
    60_000,
  );

  test('that pools transactions is found while others work', async () => {
    const url = await pooler('transaction');
    const busy = connect(url, { name: 'busy', connections: 6 });
    let isDone = false;
    const working = Array.from({ length: 6 }, async () => {
      while (!isDone) {
        await busy.unsafe('select pg_sleep(0.002)');
        await passed(3);
      }
    });
    const sql = connect(url, { name: 'asking', connections: 2 });
    for (let time = 0; time < 5; time += 1) await expect(refuseTransactionPooling(sql, url)).rejects.toThrow(/transaction pooling/);
    isDone = true;
    await Promise.all(working);
    await Promise.all([sql.end(), busy.end()]);
  });
});
