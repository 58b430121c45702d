import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { type OwnBus, startOwnBus } from '../../support/buses.ts';
import { eventually } from '../../support/eventually.ts';
import { areAllWell, untilWhole } from '../../support/monitors.ts';
import { type CoordinatorProcess, createNetwork, type Network } from '../../support/network.ts';
import { hasBinaries } from '../../support/services.ts';

/**
 * A coordinator on a bus of three servers of which two are away: nothing is led, and nobody answers
 * what is asked of a stream.
 */

let own: OwnBus;
let network: Network;
let coordinator: CoordinatorProcess;

beforeAll(async () => {
  if (!hasBinaries()) return;
  own = await startOwnBus({ nodes: 3 });
  network = await createNetwork({ services: { ...inject('services'), nats: own.nats } });
  coordinator = await network.startCoordinatorProcess({ NATS_REPLICAS: '3' });
  await network.addProbes('Europe', 'Asia');
  await untilWhole(network);
});
afterAll(async () => {
  for (const node of own?.nodes.slice(0, 2) ?? []) await node.start();
  await network?.close();
  await own?.stop();
});

describe.runIf(hasBinaries())('while no stream has a leader', () => {
  test('a coordinator that is told to stop gives back its partitions and ends well', async () => {
    await own.nodes[0]?.kill();
    await own.nodes[1]?.kill();
    await eventually(async () => !(await areAllWell([coordinator])), 60_000);
    await eventually(
      () =>
        coordinator.output().includes('reloading it from the database') ||
        coordinator.output().includes('could not be created'),
      60_000,
    );
    expect(await coordinator.stop(), coordinator.output()).toBe(0);
  });
});
