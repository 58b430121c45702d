import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { memoryOf } from '../../bench/bench-processes.ts';
import { areAllWell, nothingLostDoubledOrFalse, startWatched, untilWhole, type Watched } from '../../support/support-cluster-outages.ts';
import type { CoordinatorProcess } from '../../support/support-coordinator-process.ts';
import { eventually, passed } from '../../support/support-eventually.ts';
import { createNetwork, type Network } from '../../support/support-network.ts';
import { type OwnBus, startOwnBus } from '../../support/support-own-bus.ts';
import { hasBinaries } from '../../support/support-services.ts';

/** Two coordinators and five probes on a bus of three servers that all go away: for a while, for long, and again at once. */

let own: OwnBus;
let network: Network;
let watched: Watched;
let coordinators: CoordinatorProcess[];

beforeAll(async () => {
  if (!hasBinaries()) return;
  own = await startOwnBus({ nodes: 3 });
  network = await createNetwork({ services: { ...inject('services'), nats: own.nats } });
  const replicas = { NATS_REPLICAS: '3' };
  coordinators = [await network.startCoordinatorProcess(replicas), await network.startCoordinatorProcess(replicas)];
  for (const continent of ['Europe', 'Europe', 'Asia', 'Asia', 'Africa'] as const) await network.addProbe(continent);
  watched = await startWatched(network, 3);
  const more = await network.startTarget();
  for (let nth = 0; nth < 40; nth += 1) await network.addMonitor({ target: more.url(`/${nth}`), interval_s: 10 });
});
afterAll(async () => {
  await network?.close();
  await own?.stop();
});

const goneFor = async (seconds: number): Promise<void> => {
  await Promise.all(own.nodes.map(({ kill }) => kill()));
  await passed(1_000 * seconds);
  await Promise.all(own.nodes.map(({ start }) => start()));
};

/** For how long at a time; `BUS_GONE` names others. */
const absences = (process.env.BUS_GONE ?? '20,20 20,240 20').split(',').map((words) => words.split(' ').map(Number));

describe.runIf(hasBinaries())('with all servers of the bus away', () => {
  test.each(absences.map((seconds) => ({ seconds })))(
    'for $seconds s, all partitions go on within 30 s of its return',
    async ({ seconds }) => {
      await untilWhole(network);
      await eventually(() => areAllWell(coordinators), 60_000);
      const memory = () => coordinators.map(({ pid }) => Math.round(memoryOf(pid)));
      const before = memory();
      for (const one of seconds) await goneFor(one);
      const back = performance.now();
      await eventually(() => areAllWell(coordinators), 30_000).catch(async (error: unknown) => {
        const seen = await Promise.all(coordinators.map(async ({ url }) => (await fetch(`${url}/health`)).text()));
        throw new Error(`${seen.join('\n')}\n${coordinators.map(({ output }) => output().slice(-6_000)).join('\n=====\n')}`, {
          cause: error,
        });
      });
      process.stdout.write(
        `  away for ${seconds.join(' and ')} s: well ${((performance.now() - back) / 1_000).toFixed(1)} s after its return, MB of memory before ${before} and after ${memory()}\n`,
      );
      // What was kept meanwhile is let go.
      await eventually(() => memory().every((now, place) => now < 1.5 * (before[place] ?? 0)), 60_000);
    },
  );

  test('nothing was lost, doubled or false', async () => {
    await eventually(() => areAllWell(coordinators), 60_000);
    expect(coordinators.length).toBe(2);
    await nothingLostDoubledOrFalse(network, watched);
  });
});
