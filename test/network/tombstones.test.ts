import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { endPingTokens } from '../../coordinator/monitors/queries.ts';
import type { ProbeApp } from '../../probe/app.ts';
import type { Continent } from '../../shared/base/continents.ts';
import { presenceMessage } from '../../shared/bus/messages.ts';
import { type Bus, connectBus } from '../../shared/bus/nats.ts';
import { probeConsumers, streams, subjects } from '../../shared/bus/subjects.ts';
import { eventually } from '../support/eventually.ts';
import { addHeartbeat, call, type Heartbeat, ping } from '../support/heartbeats.ts';
import { createNetwork, type MadeProbe, type Network, quickResync } from '../support/network.ts';

/** A probe that was away for longer than a tombstone lies on the bus: nothing there tells it any more what was deleted meanwhile. */

let network: Network;
let bus: Bus;

beforeAll(async () => {
  network = await createNetwork();
  await network.startCoordinator({ timing: { digestMs: 500, housekeepMs: 300, tombstoneMs: 1_500, ...quickResync() } });
  const { url, coordinatorCredentials: credentials } = network.account;
  bus = await connectBus({ url, credentials, name: 'test', log: network.log });
});
afterAll(async () => {
  await bus.close();
  await network.close();
});

const receiverOf = ({ ear }: ProbeApp): string => {
  if (ear === null) throw new Error('this probe has no ear');
  return ear;
};

const everythingTaken = (probe: MadeProbe) =>
  eventually(async () => {
    const { name } = probeConsumers.assignments(probe.id, '');
    const [assigned, keys] = await Promise.all([
      bus.consumerState(streams.assignments.name, name),
      bus.consumerState(streams.pingKeys.name, probeConsumers.pingKeys(probe.id, null).name),
    ]);
    return [assigned, keys].every((state) => state?.pending === 0 && state.unacknowledged === 0);
  });

/** How many monitors the probe says it holds, each time that it says so. */
const countsSaid = (probe: MadeProbe) => {
  const counts: number[] = [];
  const hearing = bus.subscribe(subjects.presence(probe.id), ({ data }) => {
    counts.push(presenceMessage.parse(JSON.parse(new TextDecoder().decode(data))).assignments.count);
  });
  return { counts, stop: hearing.stop };
};

/** Deletes them, and settles when the bus holds no trace of them. */
const deleteForGood = async (continent: Continent, monitor: string, heartbeat: Heartbeat): Promise<void> => {
  await network.sql.begin((tx) => endPingTokens(tx, network.organisation, heartbeat.monitor));
  await network.deleteMonitor(monitor);
  await network.deleteMonitor(heartbeat.monitor);
  const traces = [
    [streams.assignments.name, subjects.assignment(continent, monitor)],
    [streams.assignments.name, subjects.assignment(continent, heartbeat.monitor)],
    [streams.pingKeys.name, subjects.pingKey(network.organisation, heartbeat.key)],
  ] as const;
  for (const [stream, subject] of traces) await eventually(async () => (await bus.last(stream, subject)) === undefined, 30_000);
};

const addPair = async (continent: Continent, ear: string): Promise<{ monitor: string; heartbeat: Heartbeat }> => {
  const target = await network.startTarget();
  const config = { continents: [continent] };
  const monitor = await network.addMonitor({ target: target.url(), interval_s: 1, config });
  const heartbeat = await addHeartbeat(network, config, 3_600);
  await ping(ear, heartbeat);
  await eventually(() => target.hits.length > 0, 40_000);
  return { monitor, heartbeat };
};

describe('a probe that comes back after tombstones were taken off the bus', () => {
  test('drops what was deleted, and its ping receiver the keys, although the bus has nothing for it any more', async () => {
    const probe = await network.addProbe('Europe', 'europe', { ear: true });
    const { monitor, heartbeat } = await addPair('Europe', receiverOf(probe));
    await everythingTaken(probe.made);
    await probe.close();
    await deleteForGood('Europe', monitor, heartbeat);
    const said = countsSaid(probe.made);
    const again = await network.startProbe(probe.made, { ear: true });
    await eventually(() => said.counts.at(-1) === 0, 90_000);
    // It had come back with what it held when it went.
    expect(said.counts[0]).toBe(2);
    await eventually(async () => (await call(receiverOf(again), heartbeat.token)).status === 404, 90_000);
    said.stop();
    await again.close();
  });

  test('keeps what is still there', async () => {
    const probe = await network.addProbe('Asia', 'asia', { ear: true });
    const gone = await addPair('Asia', receiverOf(probe));
    const kept = await addPair('Asia', receiverOf(probe));
    await everythingTaken(probe.made);
    await probe.close();
    await deleteForGood('Asia', gone.monitor, gone.heartbeat);
    const said = countsSaid(probe.made);
    const again = await network.startProbe(probe.made, { ear: true });
    await eventually(() => said.counts.at(-1) === 2, 90_000);
    expect(said.counts[0]).toBe(4);
    await eventually(async () => (await call(receiverOf(again), gone.heartbeat.token)).status === 404, 90_000);
    expect((await call(receiverOf(again), kept.heartbeat.token)).status).toBe(200);
    said.stop();
    await again.close();
  });
});
