import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { newId } from '../../shared/base/ids.ts';
import { connectBus } from '../../shared/bus/nats.ts';
import { partitionOf, subjects } from '../../shared/bus/subjects.ts';
import { createDelayProxy, type DelayProxy } from '../support/delay-proxy.ts';
import { incidentThat, isConfirmed, seenFrom } from '../support/incidents.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { broken, type Target } from '../support/targets.ts';

/** A partition whose monitors are all told to the bus anew, as when it was wiped or a continent got its first probe. */

let network: Network;
let target: Target;
let relay: DelayProxy;

beforeEach(async () => {
  network = await createNetwork();
  target = await network.startTarget();
  relay = await createDelayProxy(network.account.url, 60);
});
afterEach(async () => {
  await network.close();
  await relay.close();
});

/** So many in one partition, which nobody checks within this test. */
const addMany = async (count: number, partition: number): Promise<void> => {
  const rows: { id: string }[] = [];
  while (rows.length < count) {
    const id = newId();
    if (partitionOf(id) === partition) rows.push({ id });
  }
  await network.sql`insert into monitors (id, organisation_id, partition, name, type, target, interval_s, config)
    select id, ${network.organisation}, ${partition}, 'one of many', 'https', 'https://quiet.example', 86400, '{}'
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as r (id uuid)`;
};

describe('a partition whose assignments are published anew', () => {
  test('decides meanwhile: an outage is confirmed before all of them are there', async () => {
    const monitor = await network.addMonitor({ target: target.url(), interval_s: 1 });
    const partition = partitionOf(monitor);
    await addMany(12_000, partition);
    for (const continent of ['Asia', 'Europe'] as const) await network.startProbe(await network.makeProbe(continent));
    await network.startCoordinatorProcess({ NATS_URL: relay.url });
    await seenFrom(network.sql, monitor, 2);
    target.answer(broken);
    await incidentThat(network.sql, monitor, isConfirmed, 60_000);
    const { url, coordinatorCredentials: credentials } = network.account;
    const bus = await connectBus({ url, credentials, name: 'test', log: network.log });
    expect(await bus.last('ASSIGN', subjects.marker(partition))).toBeUndefined();
    await bus.close();
  }, 180_000);
});
