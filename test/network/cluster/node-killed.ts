import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { CoordinatorProcess } from '../../support/coordinator-process.ts';
import { eventually } from '../../support/eventually.ts';
import { incidentsOf, incidentThat, isConfirmed, isResolved, seenFrom } from '../../support/incidents.ts';
import { createNetwork, type Network } from '../../support/network.ts';
import { type OwnBus, startOwnBus } from '../../support/own-bus.ts';
import { hasBinaries } from '../../support/services.ts';
import { broken, fine, type Target } from '../../support/targets.ts';

/** Two coordinators and three probes on a bus of three servers that keep each stream three times, while one server after the other is killed. */

let own: OwnBus;
let network: Network;
let coordinators: CoordinatorProcess[];
let target: Target;
let monitor: string;
/** Its target never fails. */
let steady: string;

beforeAll(async () => {
  if (!hasBinaries()) return;
  own = await startOwnBus({ nodes: 3 });
  network = await createNetwork({ services: { ...inject('services'), nats: own.nats } });
  const replicas = { NATS_REPLICAS: '3' };
  coordinators = [await network.startCoordinatorProcess(replicas), await network.startCoordinatorProcess(replicas)];
  for (const continent of ['Europe', 'Asia', 'Africa'] as const) await network.addProbe(continent);
  target = await network.startTarget();
  monitor = await network.addMonitor({ target: target.url(), interval_s: 1 });
  steady = await network.addMonitor({ target: (await network.startTarget()).url(), interval_s: 1 });
  for (const each of [monitor, steady]) await seenFrom(network.sql, each, 3);
});
afterAll(async () => {
  await network?.close();
  await own?.stop();
});

const areWell = async (): Promise<boolean> =>
  (await Promise.all(coordinators.map(async ({ url }) => (await fetch(`${url}/health`)).status === 200))).every(Boolean);

describe.runIf(hasBinaries())('with one of three servers of the bus killed', () => {
  test.each([0, 1, 2])('(server %i) an outage is confirmed within 30 s, and over', async (index) => {
    await eventually(areWell, 60_000);
    const before = (await incidentsOf(network.sql, monitor)).length;
    const node = own.nodes[index];
    await node?.kill();
    target.answer(broken);
    const fresh = await eventually(async () => {
      const all = await incidentsOf(network.sql, monitor);
      return all.length > before && all.some(isConfirmed);
    }, 30_000);
    expect(fresh).toBe(true);
    target.answer(fine);
    await eventually(async () => (await incidentsOf(network.sql, monitor)).every(isResolved), 60_000);
    await node?.start();
  });

  test('nothing was lost and nothing was false: what was well all the time has no gap and no incident', async () => {
    await eventually(areWell, 60_000);
    await incidentThat(network.sql, monitor, isResolved);
    expect(await incidentsOf(network.sql, steady)).toEqual([]);
    const gaps = await network.sql`select began_at, ended_at from ledger where monitor_id = ${steady} and kind = 'unknown'
      and began_at > (select created_at + interval '30 seconds' from monitors where id = ${steady})`;
    expect([...gaps]).toEqual([]);
    // Every turn of every probe that it handed over is there once.
    const [twice] = await network.sql<{ count: number }[]>`select count(*)::int as count from (
      select r.probe_key, r.at from results r join monitors m on m.key = r.monitor_key where m.id = ${steady} group by 1, 2 having count(*) > 1) t`;
    expect(twice?.count).toBe(0);
  });
});
