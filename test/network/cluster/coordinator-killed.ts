import { afterAll, beforeAll, describe, inject, test } from 'vitest';
import { type OwnBus, startOwnBus } from '../../support/buses.ts';
import { eventually } from '../../support/eventually.ts';
import {
  areAllWell,
  nothingLostDoubledOrFalse,
  outageDuring,
  startWatched,
  type Watched,
} from '../../support/monitors.ts';
import { type CoordinatorProcess, createNetwork, type Network } from '../../support/network.ts';
import { hasBinaries } from '../../support/services.ts';

/**
 * Three coordinators on a bus of three servers that keep each stream three times, while one
 * coordinator after the other is killed.
 */

let own: OwnBus;
let network: Network;
let watched: Watched;
const coordinators: CoordinatorProcess[] = [];
const settings = { NATS_REPLICAS: '3' };

beforeAll(async () => {
  if (!hasBinaries()) return;
  own = await startOwnBus({ nodes: 3 });
  network = await createNetwork({ services: { ...inject('services'), nats: own.nats } });
  for (let index = 0; index < 3; index += 1)
    coordinators.push(await network.startCoordinatorProcess(settings));
  await network.addProbes('Europe', 'Asia', 'Africa');
  watched = await startWatched(network, 3);
});
afterAll(async () => {
  await network?.close();
  await own?.stop();
});

const areWell = (): Promise<boolean> => areAllWell(coordinators);

/** Who owns the partition in which the monitor lies is the one whose death is felt most. */
const sharesAreEven = async (): Promise<boolean> => {
  const rows = await network.sql<{ held: number }[]>`
    select count(*)::int as held from leases where expires_at > now() and owner is not null group by owner`;
  return rows.length === 3 && rows.every(({ held }) => held >= 10);
};

describe.runIf(hasBinaries())('with one of three coordinators killed', () => {
  test.each([0, 1, 2])(
    '(coordinator %i) an outage is confirmed within 30 s, and over',
    async (index) => {
      await eventually(async () => (await areWell()) && (await sharesAreEven()), 60_000);
      await outageDuring(network, watched, `coordinator ${index} killed`, async () =>
        coordinators[index]?.signal('SIGKILL'),
      );
      coordinators[index] = await network.startCoordinatorProcess(settings);
    },
  );

  test('nothing was lost, doubled or false', async () => {
    await eventually(areWell, 60_000);
    await nothingLostDoubledOrFalse(network, watched);
  });
});
