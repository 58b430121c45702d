import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Continent } from '../../shared/base/continents.ts';
import { eventually } from '../support/eventually.ts';
import { incidentsOf, incidentThat, isConfirmed, resultsOf, seenFrom } from '../support/incidents.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { broken, type Target } from '../support/targets.ts';
import { createTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';

/** After a glitch of the bus the past waits for who is still away (rule 4), and what begins now does not. */

const places = ['Africa', 'Asia', 'Europe'] as const satisfies readonly Continent[];
let network: Network;
let target: Target;
let coordinator: { readonly close: () => Promise<void> };
const timing = { lostAfterMs: 120_000 };
let relays: readonly { readonly continent: Continent; readonly relay: TcpProxy }[];

const relayOf = (continent: Continent): TcpProxy => {
  const found = relays.find((each) => each.continent === continent);
  if (!found) throw new Error(`no relay in ${continent}`);
  return found.relay;
};

beforeEach(async () => {
  network = await createNetwork();
  target = await network.startTarget();
  relays = await Promise.all(places.map(async (continent) => ({ continent, relay: await createTcpProxy(network.account.url) })));
  // Nobody is given up for lost in this test: who is away is waited for as long as may be.
  coordinator = await network.startCoordinator({ timing });
  for (const { continent, relay } of relays) await network.addProbe(continent, continent, { url: relay.url });
});
afterEach(async () => {
  for (const { relay } of relays) relay.heal();
  await network.close();
  for (const { relay } of relays) await relay.close();
});

const hits = async (count: number): Promise<void> => {
  const from = target.hits.length;
  await eventually(() => target.hits.length >= from + count, 30_000);
};

const name = 'an outage that begins after a glitch is confirmed at once by those who are back, and dated by whoever saw it first';
test.each([
  [name, false],
  [`${name}, also when another coordinator goes on with what still waits`, true],
])(
  '%s',
  async (_, isReplaced) => {
    const monitor = await network.addMonitor({ target: target.url(), interval_s: 1 });
    await seenFrom(network.sql, monitor, 3);
    for (const { relay } of relays) relay.cut();
    await hits(7);
    relayOf('Asia').heal();
    relayOf('Europe').heal();
    await hits(5);
    const brokeAt = Date.now();
    target.answer(broken);
    // What was kept waits for up to thirty seconds for Africa, from the healing on.
    const { id } = await incidentThat(network.sql, monitor, isConfirmed, 20_000);
    expect((await resultsOf(network.sql, monitor)).some(({ continent, at }) => continent === 'Africa' && Number(at) > brokeAt)).toBe(false);
    if (isReplaced) {
      await coordinator.close();
      await network.startCoordinator({ timing });
    }
    relayOf('Africa').heal();
    await eventually(async () => {
      const fails = (await resultsOf(network.sql, monitor)).filter(({ outcome }) => outcome === 1);
      return fails.some(({ continent }) => continent === 'Africa');
    }, 30_000);
    const rows = await resultsOf(network.sql, monitor);
    const fails = rows.filter(({ outcome }) => outcome === 1).toSorted((a, b) => Number(a.at) - Number(b.at));
    const second = fails.find(({ continent }) => continent !== fails[0]?.continent);
    const [incident, ...others] = await incidentsOf(network.sql, monitor);
    expect(others).toEqual([]);
    expect(incident).toMatchObject({ id, seen_continent: fails[0]?.continent, confirmed_continent: second?.continent });
    expect([Number(incident?.started_at), Number(incident?.confirmed_at)]).toEqual([Number(fails[0]?.at), Number(second?.at)]);
    // Decided once, whether it went ahead or waited.
    const names = rows.map(({ continent, at }) => `${continent} ${Number(at)}`);
    expect(new Set(names).size).toBe(names.length);
  },
  120_000,
);
