import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Continent } from '../../shared/base/continents.ts';
import { eventually } from '../support/eventually.ts';
import { incidentsOf, incidentThat, isConfirmed, isNothingStoredAfter, resultsOf, seenFrom } from '../support/incidents.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { broken, type Target } from '../support/targets.ts';
import { createTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';

/** After a glitch of the bus the past waits for who is still away (rule 4): for those alone who could have seen it. */

const places = ['Africa', 'Asia', 'Europe'] as const satisfies readonly Continent[];
let network: Network;
let target: Target;
let relays: readonly { readonly continent: Continent; readonly relay: TcpProxy }[];

beforeEach(async () => {
  network = await createNetwork();
  target = await network.startTarget();
  relays = await Promise.all(places.map(async (continent) => ({ continent, relay: await createTcpProxy(network.account.url) })));
  // Nobody is given up for lost in this test: who is away is waited for as long as may be.
  await network.startCoordinator({ timing: { lostAfterMs: 120_000 } });
  for (const { continent, relay } of relays) await network.addProbe(continent, continent, { url: relay.url });
});
afterEach(async () => {
  for (const { relay } of relays) relay.heal();
  await network.close();
  for (const { relay } of relays) await relay.close();
});

test('an outage that began during a glitch is confirmed when those are back who check the monitor, whoever else is away', async () => {
  const monitor = await network.addMonitor({ target: target.url(), interval_s: 1, config: { continents: ['Asia', 'Europe'] } });
  const known = await network.startTarget();
  const everywhere = await network.addMonitor({ target: known.url(), interval_s: 1 });
  await seenFrom(network.sql, monitor, 2);
  await seenFrom(network.sql, everywhere, 3);
  for (const { relay } of relays) relay.cut();
  const cutAt = Date.now();
  const hits = async (count: number) => {
    const from = target.hits.length;
    await eventually(() => target.hits.length >= from + count, 30_000);
  };
  await hits(2);
  target.answer(broken);
  await hits(6);
  for (const { continent, relay } of relays) if (continent !== 'Africa') relay.heal();
  const { id } = await incidentThat(network.sql, monitor, isConfirmed, 40_000);
  // What Africa could have seen, too, waits for it meanwhile.
  expect(await isNothingStoredAfter(network.sql, everywhere, cutAt, 2)).toBe(true);
  const fails = (await resultsOf(network.sql, monitor)).filter(({ outcome }) => outcome === 1);
  const [first] = fails;
  const second = fails.find(({ continent }) => continent !== first?.continent);
  const [incident, ...others] = await incidentsOf(network.sql, monitor);
  expect(others).toEqual([]);
  expect(incident).toMatchObject({ id, seen_continent: first?.continent, confirmed_continent: second?.continent });
  expect([Number(incident?.started_at), Number(incident?.confirmed_at)]).toEqual([Number(first?.at), Number(second?.at)]);
});
