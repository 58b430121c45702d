import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { ensureStreams } from '../../coordinator/probes/bus-keeper.ts';
import { type Bus, connectBus } from '../../shared/bus/nats.ts';
import { streams } from '../../shared/bus/subjects.ts';
import { type OwnBus, startOwnBus } from '../support/buses.ts';
import { eventually } from '../support/eventually.ts';
import {
  type CoordinatorProcess,
  createNetwork,
  isWell,
  type Network,
  testLog,
} from '../support/network.ts';
import { hasBinaries } from '../support/services.ts';

/** Coordinators on a bus of three servers. */

let own: OwnBus;
let network: Network;
let bus: Bus;
let coordinator: CoordinatorProcess;

beforeAll(async () => {
  if (!hasBinaries()) return;
  own = await startOwnBus({ nodes: 3 });
  network = await createNetwork({ services: { ...inject('services'), nats: own.nats } });
  bus = await connectBus({
    url: own.nats.url,
    credentials: network.account.coordinatorCredentials,
    name: 'test',
    log: testLog(),
  });
});
afterAll(async () => {
  await bus?.close();
  await network?.close();
  await own?.stop();
});

const infoShape = z.object({ config: z.object({ num_replicas: z.number() }) });

const replicas = async (): Promise<number[]> =>
  Promise.all(
    Object.values(streams).map(async ({ name }) => {
      const { data } = await bus.request(`$JS.API.STREAM.INFO.${name}`, '', { timeoutMs: 5_000 });
      return infoShape.parse(JSON.parse(new TextDecoder().decode(data))).config.num_replicas;
    }),
  );

const healthShape = z.object({ parts: z.object({ bus: z.boolean(), streams: z.boolean() }) });

describe.runIf(hasBinaries())('a coordinator on a bus of three servers', () => {
  test('has its streams kept by all three where it is configured so, and one without the setting leaves them so', async () => {
    // Whichever server leads may still be learning of this new account and refuse it JetStream; a
    // coordinator asks until it is granted, too.
    await eventually(() => ensureStreams(bus).then(() => true), 30_000);
    expect(await replicas()).toEqual([1, 1, 1, 1, 1]);
    await (await network.startCoordinatorProcess({ NATS_REPLICAS: '3' })).close();
    expect(await replicas()).toEqual([3, 3, 3, 3, 3]);
    coordinator = await network.startCoordinatorProcess();
    expect(await replicas()).toEqual([3, 3, 3, 3, 3]);
  });

  test('is unhealthy while its streams have no leader, however well it reaches the bus', async () => {
    await eventually(() => isWell(coordinator.url), 30_000);
    await Promise.all(own.nodes.slice(1).map(({ kill }) => kill()));
    const look = async () => {
      const answer = await fetch(`${coordinator.url}/health`);
      return { status: answer.status, ...healthShape.parse(await answer.json()).parts };
    };
    const seen = await eventually(async () => {
      const now = await look();
      return now.bus && !now.streams ? now : undefined;
    }, 30_000);
    expect(seen).toEqual({ status: 503, bus: true, streams: false });
  });
});
