import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { incidentThat, isConfirmed, isNothingStoredAfter, resultsOf, seenFrom } from '../support/incidents.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { broken, type Target } from '../support/targets.ts';
import { createTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';

/** After a glitch of the bus what is seen by one private probe alone waits for nobody (rules 4 and 14): it hands over in order. */

let network: Network;
let target: Target;
let everybody: TcpProxy;
let africa: TcpProxy;

beforeEach(async () => {
  network = await createNetwork({
    busVia: async (url) => {
      everybody = await createTcpProxy(url);
      return everybody.url;
    },
  });
  target = await network.startTarget();
  africa = await createTcpProxy(network.account.url);
  // Nobody is given up for lost in this test: who is away is waited for as long as may be.
  await network.startCoordinator({ timing: { lostAfterMs: 120_000 } });
  await network.addProbe('Asia');
  await network.addProbe('Africa', 'away', { url: africa.url });
});
afterEach(async () => {
  everybody.heal();
  africa.heal();
  await network.close();
  await africa.close();
  await everybody.close();
});

test('an outage that a private probe saw during a glitch is confirmed and dated at once, though a public probe is still away', async () => {
  const made = await network.makeProbe('Asia', 'office', network.organisation);
  await network.startProbe(made);
  const monitor = await network.addMonitor({ target: target.url(), interval_s: 2, config: { probe: made.id } });
  const known = await network.startTarget();
  const everywhere = await network.addMonitor({ target: known.url(), interval_s: 1 });
  await seenFrom(network.sql, monitor, 1);
  await seenFrom(network.sql, everywhere, 2);
  africa.cut();
  everybody.cut();
  const cutAt = Date.now();
  const before = target.hits.length;
  await eventually(() => target.hits.length >= before + 2);
  target.answer(broken);
  await eventually(() => target.hits.length >= before + 6, 40_000);
  everybody.heal();
  const { started_at } = await incidentThat(network.sql, monitor, isConfirmed, 40_000);
  // What public probes kept waits for the one in Africa meanwhile.
  expect(await isNothingStoredAfter(network.sql, everywhere, cutAt, 2)).toBe(true);
  const fails = (await resultsOf(network.sql, monitor)).filter(({ outcome }) => outcome === 1).map(({ at }) => Number(at));
  expect(Number(started_at)).toBe(Math.min(...fails));
});
