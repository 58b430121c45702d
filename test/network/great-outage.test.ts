import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { seenFrom } from '../support/incidents.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { broken, type Target } from '../support/targets.ts';

/** Rule 16 must not take the first other host of a great outage for sick: every failure begins while the others' last checks still passed. */

const count = 12;
let network: Network;
let target: Target;

beforeAll(async () => {
  network = await createNetwork();
  target = await network.startTarget({ host: '0.0.0.0' });
  await network.startCoordinator();
  for (const continent of ['Asia', 'Europe'] as const) await network.addProbe(continent);
});
afterAll(() => network.close());

test('when everything goes down at once, each outage is confirmed, and no probe is quarantined for having seen them first', async () => {
  const hosts = Array.from({ length: count }, (_, index) => `http://127.0.1.${index + 1}:${target.port}/`);
  const monitors = await Promise.all(hosts.map((url) => network.addMonitor({ target: url, interval_s: 2 })));
  for (const monitor of monitors) await seenFrom(network.sql, monitor, 2);
  target.answer(broken);
  const open = () => network.sql`select distinct monitor_id from incidents where confirmed_at is not null and resolved_at is null`;
  await eventually(async () => (await open()).length === count, 30_000);
  // Once more round for everybody, so that whoever would fall sick has had the time.
  const before = target.hits.length;
  await eventually(() => target.hits.length >= before + 2 * count, 30_000);
  expect(await network.sql`select kind, message from notices where kind = 'probe_quarantined'`).toEqual([]);
  expect(await network.sql`select name from probes where quarantined_at is not null`).toEqual([]);
  expect(await open()).toHaveLength(count);
});
