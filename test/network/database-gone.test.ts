import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createTcpProxy, type TcpProxy } from '../support/connections.ts';
import { eventually } from '../support/eventually.ts';
import { alertsOf, incidentThat, isConfirmed, resultsOf, seenFrom } from '../support/monitors.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { broken, fine, type Target } from '../support/targets.ts';

/** A database that moves to another machine leaves connections behind that nobody answers and nobody closes. */

let network: Network;
let target: Target;
let relay: TcpProxy;

beforeEach(async () => {
  network = await createNetwork();
  target = await network.startTarget();
  relay = await createTcpProxy(network.database.url);
});
afterEach(async () => {
  await network.close();
  await relay.close();
});

describe('connections to the database that nobody answers any more', () => {
  test('are given up within seconds: an outage of that time is confirmed and told', async () => {
    const coordinator = await network.startCoordinatorProcess({ DATABASE_URL: relay.url });
    for (const continent of ['Asia', 'Europe'] as const) await network.addProbe(continent);
    const monitor = await network.addMonitor({ target: target.url(), interval_s: 1 });
    await seenFrom(network.sql, monitor, 2);
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

  test('may still hold a commit: what it wrote after all is there once', async () => {
    const { sql } = network;
    await network.startCoordinatorProcess({ DATABASE_URL: relay.url });
    for (const continent of ['Asia', 'Europe'] as const) await network.addProbe(continent);
    const monitor = await network.addMonitor({ target: target.url(), interval_s: 1 });
    await seenFrom(sql, monitor, 2);
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
      // The partition is begun anew while the commit, which nobody waits for any more, is still under way.
      await eventually(async () => (await waiting()) > held);
    });
    const [freed] = await sql<{ at: number }[]>`select (extract(epoch from now()) * 1000)::float8 as at`;
    await eventually(async () => (await resultsOf(sql, monitor)).some(({ at }) => at.getTime() > (freed?.at ?? Number.POSITIVE_INFINITY)));
    const twice = await sql`select monitor_key, probe_key, at from results group by 1, 2, 3 having count(*) > 1`;
    expect(twice).toEqual([]);
  });
});
