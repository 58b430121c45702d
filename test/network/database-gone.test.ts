import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { alertsOf, incidentThat, isConfirmed, seenFrom } from '../support/incidents.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { broken, fine, type Target } from '../support/targets.ts';
import { createTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';

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
});
