import { afterAll, beforeAll, describe, inject, test } from 'vitest';
import { type OwnBus, startOwnBus } from '../../support/buses.ts';
import { eventually } from '../../support/eventually.ts';
import {
  areAllWell,
  nothingLostDoubledOrFalse,
  outageDuring,
  startWatched,
  untilWhole,
  type Watched,
} from '../../support/monitors.ts';
import { type CoordinatorProcess, createNetwork, type Network } from '../../support/network.ts';
import { hasBinaries } from '../../support/services.ts';

/**
 * Two coordinators and three probes on a bus of three servers that keep each stream three times,
 * while one server after the other is killed.
 */

let own: OwnBus;
let network: Network;
let watched: Watched;
let coordinators: CoordinatorProcess[];

beforeAll(async () => {
  if (!hasBinaries()) return;
  own = await startOwnBus({ nodes: 3 });
  network = await createNetwork({ services: { ...inject('services'), nats: own.nats } });
  const replicas = { NATS_REPLICAS: '3' };
  coordinators = [
    await network.startCoordinatorProcess(replicas),
    await network.startCoordinatorProcess(replicas),
  ];
  await network.addProbes('Europe', 'Asia', 'Africa');
  watched = await startWatched(network, 3);
});
afterAll(async () => {
  await network?.close();
  await own?.stop();
});

const areWell = (): Promise<boolean> => areAllWell(coordinators);

describe.runIf(hasBinaries())('with one of three servers of the bus killed', () => {
  test.each([0, 1, 2])(
    '(server %i) an outage is confirmed within 30 s, and over',
    async (index) => {
      await untilWhole(network);
      await eventually(areWell, 60_000);
      await outageDuring(network, watched, `server ${index} killed`, async () =>
        own.nodes[index]?.kill(),
      );
      await own.nodes[index]?.start();
    },
  );

  test('nothing was lost, doubled or false', async () => {
    await eventually(areWell, 60_000);
    await nothingLostDoubledOrFalse(network, watched);
  });
});
