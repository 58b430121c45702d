import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type Cluster, type Supercluster, startSupercluster } from '../../support/buses.ts';
import { eventually } from '../../support/eventually.ts';
import {
  nothingLostDoubledOrFalse,
  outageDuring,
  startWatched,
  untilWhole,
  type Watched,
} from '../../support/monitors.ts';
import { type CoordinatorProcess, createNetwork, type Network } from '../../support/network.ts';
import { hasBinaries } from '../../support/services.ts';

/**
 * Three clusters: eu of three servers, with both coordinators and all streams, us and ap of one
 * each. Every probe knows the servers of its own cluster alone. One cluster after the other stands
 * still, as if it were cut off, or is killed.
 */

let all: Supercluster;
let network: Network;
let watched: Watched;
let coordinators: CoordinatorProcess[];

const clusterOf = (name: string): Cluster => {
  const found = all.clusters.find((cluster) => cluster.name === name);
  if (!found) throw new Error(`there is no cluster ${name}`);
  return found;
};

beforeAll(async () => {
  if (!hasBinaries()) return;
  all = await startSupercluster([
    { name: 'eu', nodes: 3 },
    { name: 'us', nodes: 1 },
    { name: 'ap', nodes: 1 },
  ]);
  network = await createNetwork({
    services: { ...inject('services'), nats: { ...all.bus.nats, url: clusterOf('eu').url } },
  });
  const settings = { NATS_REPLICAS: '3', NATS_PLACEMENT: 'cluster=eu' };
  coordinators = [
    await network.startCoordinatorProcess(settings),
    await network.startCoordinatorProcess(settings),
  ];
  await network.addProbe('Europe');
  await network.addProbe('North America', 'Virginia', { url: clusterOf('us').url });
  await network.addProbe('Asia', 'Singapore', { url: clusterOf('ap').url });
  watched = await startWatched(network, 3);
});
afterAll(async () => {
  await network?.close();
  await all?.bus.stop();
});

/** Every coordinator is well, and counts on so many probes. */
const arePresent = async (count: number): Promise<boolean> => {
  const seen = await Promise.all(
    coordinators.map(async ({ url }) => {
      const answer = await fetch(`${url}/health`);
      const { parts }: { parts: { probes: { present: boolean }[] } } = JSON.parse(
        await answer.text(),
      );
      return answer.ok && parts.probes.filter(({ present }) => present).length === count;
    }),
  );
  return seen.every(Boolean);
};

describe.runIf(hasBinaries())('on three clusters', () => {
  test.each(['ap', 'us'])(
    'an outage is confirmed within 30 s while %s is cut off, and over',
    async (name) => {
      await eventually(() => arePresent(3), 60_000);
      const { nodes } = clusterOf(name);
      await outageDuring(network, watched, `${name} cut off`, async () => {
        for (const node of nodes) node.freeze();
      });
      expect(await eventually(() => arePresent(2), 60_000)).toBe(true);
      for (const node of nodes) node.thaw();
    },
  );

  test('and while us is killed', async () => {
    await eventually(() => arePresent(3), 60_000);
    const [node] = clusterOf('us').nodes;
    await outageDuring(network, watched, 'us killed', async () => node?.kill());
    expect(await eventually(() => arePresent(2), 60_000)).toBe(true);
    await node?.start();
  });

  test('and while one server of eu is killed', async () => {
    await eventually(() => arePresent(3), 60_000);
    await untilWhole(network);
    const [node] = clusterOf('eu').nodes;
    await outageDuring(network, watched, 'one server of eu killed', async () => node?.kill());
    await node?.start();
  });

  test('nothing was lost, doubled or false', async () => {
    await eventually(() => arePresent(3), 60_000);
    await nothingLostDoubledOrFalse(network, watched);
  });
});
