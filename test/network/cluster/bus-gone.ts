import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { partitionCount } from '../../../shared/bus/subjects.ts';
import { memoryOf } from '../../bench/processes.ts';
import { type OwnBus, startOwnBus } from '../../support/buses.ts';
import { eventually, passed } from '../../support/eventually.ts';
import {
  areAllWell,
  nothingLostDoubledOrFalse,
  startWatched,
  untilWhole,
  type Watched,
} from '../../support/monitors.ts';
import { type CoordinatorProcess, createNetwork, type Network } from '../../support/network.ts';
import { hasBinaries } from '../../support/services.ts';
import { storedChecks } from '../../support/stored-checks.ts';

/**
 * Two coordinators and five probes on a bus of three servers that all go away: for a while, for
 * long, and again at once.
 */

let own: OwnBus;
let network: Network;
let watched: Watched;
let coordinators: CoordinatorProcess[];
/** MB of each coordinator's memory before anything was away. */
let before: readonly number[] | undefined;

beforeAll(async () => {
  if (!hasBinaries()) return;
  own = await startOwnBus({ nodes: 3 });
  network = await createNetwork({ services: { ...inject('services'), nats: own.nats } });
  const replicas = { NATS_REPLICAS: '3' };
  coordinators = [
    await network.startCoordinatorProcess(replicas),
    await network.startCoordinatorProcess(replicas),
  ];
  await network.addProbes('Europe', 'Europe', 'Asia', 'Asia', 'Africa');
  watched = await startWatched(network, 3);
  const more = await network.startTarget();
  for (let nth = 0; (await partitionsWithMonitors()) < partitionCount; nth += 1)
    await network.addMonitor({ target: more.url(`/${nth}`), interval_s: 10 });
});
afterAll(async () => {
  await network?.close();
  await own?.stop();
});

const partitionsWithMonitors = async (): Promise<number> => {
  const [row] = await network.sql<
    { count: number }[]
  >`select count(distinct partition)::int as count from monitors`;
  return row?.count ?? 0;
};

/**
 * Partitions that have written down a check that was made since then. Whether they have owners is
 * another matter.
 */
const movedSince = async (at: number): Promise<number> => {
  const checks = await storedChecks(network.sql, { since: at + 1 });
  return new Set(checks.map(({ partition }) => partition)).size;
};

const goneFor = async (seconds: number): Promise<void> => {
  await Promise.all(own.nodes.map(({ kill }) => kill()));
  await passed(1_000 * seconds);
  await Promise.all(own.nodes.map(({ start }) => start()));
};

/**
 * Servers of 2.10 that begin in the same moment may not hear one of them until it begins anew
 * (support/own-bus.ts). That is theirs; it is said loudly.
 */
const untilBusIsWhole = (): Promise<void> =>
  untilWhole(network).catch(async (error: unknown) => {
    process.stderr.write(
      `a server of the bus was not heard by the others (${String(error)}): all are started anew\n`,
    );
    await goneFor(0);
    await untilWhole(network);
  });

/** For how long at a time; `BUS_GONE` names others. */
const absences = (process.env.BUS_GONE ?? '20,20 20,240 20')
  .split(',')
  .map((words) => words.split(' ').map(Number));

describe.runIf(hasBinaries())('with all servers of the bus away', () => {
  test.each(absences.map((seconds) => ({ seconds })))(
    'for $seconds s, all partitions go on within 30 s of its return',
    async ({ seconds }) => {
      await untilBusIsWhole();
      await eventually(() => areAllWell(coordinators), 60_000);
      const memory = () => coordinators.map(({ pid }) => Math.round(memoryOf(pid)));
      before ??= memory();
      const usual = before;
      for (const one of seconds) await goneFor(one);
      const [back, backAt] = [performance.now(), Date.now()];
      const secondsSince = (): string => ((performance.now() - back) / 1_000).toFixed(1);
      const well = eventually(() => areAllWell(coordinators), 30_000).then(secondsSince);
      const moved = eventually(
        async () => (await movedSince(backAt)) === partitionCount,
        30_000,
      ).then(secondsSince);
      const [wellAfter, movedAfter] = await Promise.all([well, moved]).catch(
        async (error: unknown) => {
          const seen = await Promise.all(
            coordinators.map(async ({ url }) => (await fetch(`${url}/health`)).text()),
          );
          throw new Error(
            `${seen.join('\n')}\n${await movedSince(backAt)} partitions moved\n${coordinators.map(({ output }) => output().slice(-6_000)).join('\n=====\n')}`,
            {
              cause: error,
            },
          );
        },
      );
      process.stdout.write(
        `  away for ${seconds.join(' and ')} s: well ${wellAfter} s and all partitions moving ${movedAfter} s after its return, MB of memory before ${usual} and after ${memory()}\n`,
      );
      // What was kept meanwhile is let go.
      await eventually(
        () => memory().every((now, place) => now < 1.5 * (usual[place] ?? 0)),
        60_000,
      );
    },
  );

  test('nothing was lost, doubled or false', async () => {
    await eventually(() => areAllWell(coordinators), 60_000);
    expect(coordinators.length).toBe(2);
    await nothingLostDoubledOrFalse(network, watched);
  });
});
