import { afterAll, afterEach, beforeAll, describe, expect } from 'vitest';
import { createApp } from '../../coordinator/app.ts';
import { readConfig } from '../../coordinator/config.ts';
import { connect } from '../../coordinator/database/connect.ts';
import { refuseTransactionPooling } from '../../coordinator/database/startup.ts';
import { ConfigurationFault } from '../../shared/base/env.ts';
import { findPgbouncer, type Pgbouncer, startPgbouncer } from '../support/databases.ts';
import { eventually, passed } from '../support/eventually.ts';
import {
  alertsOf,
  incidentThat,
  isConfirmed,
  resultsOf,
  seenFrom,
  watch,
} from '../support/monitors.ts';
import { createNetwork, isWell, type Network } from '../support/network.ts';
import { test } from '../support/network-test.ts';
import { repeatedChecks, storedChecks } from '../support/stored-checks.ts';
import { broken, fine } from '../support/targets.ts';

/**
 * A database that moves to another machine leaves connections behind that nobody answers and nobody
 * closes.
 */
describe.concurrent('connections to the database that hang', () => {
  test('are given up within seconds: an outage of that time is confirmed and notified', async ({
    network,
  }) => {
    const relay = await network.startRelay('database');
    const coordinator = await network.startCoordinatorProcess({ DATABASE_URL: relay.url });
    await network.addProbes('Asia', 'Europe');
    const { target, monitor } = await watch(network);
    expect(relay.freeze()).toBeGreaterThan(2);
    target.answer(broken);
    await incidentThat(network.sql, monitor, isConfirmed, 60_000);
    await eventually(async () => (await alertsOf(network.sql, monitor)).length > 0);
    await eventually(async () => (await fetch(`${coordinator.url}/health`)).status === 200);
    // What asks to be told of changes is connected anew, too.
    target.answer(fine);
    const other = await network.addMonitor({ target: target.url('/other'), interval_s: 1 });
    await seenFrom(network.sql, other, 2);
  });

  test('may still hold a commit: a late write exists once', async ({ network }) => {
    const { sql } = network;
    const relay = await network.startRelay('database');
    await network.startCoordinatorProcess({ DATABASE_URL: relay.url });
    await network.addProbes('Asia', 'Europe');
    const { monitor } = await watch(network);
    const waiting = async (): Promise<number> => {
      const [row] = await sql<{ count: number }[]>`
        select count(*)::int as count from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
      return row?.count ?? 0;
    };
    await sql.begin(async (transaction) => {
      await transaction`set local idle_in_transaction_session_timeout = 0`;
      // Who writes waits in the middle of it, who reads does not.
      await transaction`lock table watermarks in share row exclusive mode`;
      await eventually(async () => (await waiting()) > 0);
      const held = await waiting();
      relay.reset();
      // The partition is begun anew while the commit, which nobody waits for any more, is still
      // under way.
      await eventually(async () => (await waiting()) > held);
    });
    const [freed] = await sql<
      { at: number }[]
    >`select (extract(epoch from now()) * 1000)::float8 as at`;
    await eventually(async () =>
      (await resultsOf(sql, monitor)).some(
        ({ at }) => at > (freed?.at ?? Number.POSITIVE_INFINITY),
      ),
    );
    expect(await repeatedChecks(sql)).toEqual([]);
  });
});

/** A coordinator behind a real pgbouncer. */
describe('a pooler before the database', async () => {
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
    test('that pools sessions has its leases and its notifications: a monitor created beside it is up', async () => {
      const target = await network.startTarget();
      const coordinator = await network.startCoordinatorProcess({
        DATABASE_URL: await pooler('session'),
      });
      await network.addProbe('Europe');
      const monitor = await network.addMonitor({ target: target.url('/'), interval_s: 1 });
      await eventually(async () => {
        const headers = { authorization: `Bearer ${network.house.owner.readWrite}` };
        const answer = await fetch(`${coordinator.url}/api/v1/monitors/${monitor}/status`, {
          headers,
        });
        return (await answer.text()).includes('"up"');
      }, 60_000);
      const [leases] = await network.sql<
        { owned: number }[]
      >`select count(*) as owned from leases where expires_at > now()`;
      expect(leases?.owned).toBe(32);
      expect(await isWell(coordinator.url)).toBe(true);
      await coordinator.close();
    });

    test('that pools transactions ends at the start, and says what to do', async () => {
      const url = await pooler('transaction');
      const app = createApp(readConfig({ ...network.environment, DATABASE_URL: url }), {
        log: network.log,
      });
      const said: unknown = await app.start().catch((error: unknown) => error);
      await app.close();
      expect(said).toBeInstanceOf(ConfigurationFault);
      expect(said).toMatchObject({
        message: expect.stringContaining(`the pooler at ${new URL(url).host}`),
      });
      expect(said).toMatchObject({ message: expect.stringContaining('set pool_mode = session') });
    });

    test.each([{ mode: 'session' as const }, { mode: undefined }])(
      'is recognised by its behaviour, also while others work: $mode',
      async ({ mode }) => {
        const url = mode === undefined ? network.database.url : await pooler(mode);
        const busy = connect(url, { name: 'busy', connections: 6 });
        let isDone = false;
        const working = Array.from({ length: 6 }, async () => {
          while (!isDone)
            await busy.begin(async (transaction) => transaction`select pg_sleep(0.005)`);
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
      for (let time = 0; time < 5; time += 1)
        await expect(refuseTransactionPooling(sql, url)).rejects.toThrow(/transaction pooling/);
      isDone = true;
      await Promise.all(working);
      await Promise.all([sql.end(), busy.end()]);
    });
  });
});

/**
 * A coordinator on a machine whose clock is wrong: the operator is told, and it dates by the
 * database's.
 */
describe.concurrent('a clock that differs', () => {
  const notices = ({ sql }: Network) =>
    sql<{ message: string; is_over: boolean }[]>`
    select message, ended_at is not null as is_over from notices where kind = 'clock_differs' order by id`;

  test('a clock ten minutes ahead is a notice for as long as it is, and what is dated is dated right', async ({
    network,
    target,
  }) => {
    let aheadMs = 600_000;
    const hostClock = { now: () => Date.now() + aheadMs };
    await network.startCoordinator({ hostClock });
    await eventually(async () => (await notices(network)).length === 1);
    // It may have stood still between the two looks at the two clocks.
    expect((await notices(network))[0]?.message).toMatch(
      /\b60\d(?:\.\d)? s ahead of the database's/,
    );
    // A probe takes the time from the coordinator: what it sees is dated as wrong as that is.
    await network.addProbe('Europe');
    await network.addMonitor({ target: target.url('/'), interval_s: 1 });
    const off = await eventually(async () => {
      const last = (await storedChecks(network.sql)).at(-1);
      return last && (last.at - Date.now()) / 1_000;
    });
    expect(Math.abs(off)).toBeLessThan(60);
    aheadMs = 0;
    await eventually(async () => (await notices(network)).every(({ is_over }) => is_over));
    expect(await notices(network)).toHaveLength(1);
  });

  test('the clock report of a coordinator ends with it', async ({ network }) => {
    const wrong = await network.startCoordinator({ hostClock: { now: () => Date.now() - 30_000 } });
    await eventually(async () => (await notices(network)).length === 1);
    await wrong.close();
    await network.startCoordinator();
    await eventually(async () => (await notices(network)).every(({ is_over }) => is_over));
  });
});
