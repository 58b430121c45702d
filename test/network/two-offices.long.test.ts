import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../shared/base/crypto.ts';
import { eventually } from '../support/eventually.ts';
import { canMakeTwoHosts, makeTwoHosts, type TwoHosts } from '../support/hosts.ts';
import { incidentThat, isConfirmed } from '../support/monitors.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { startProbeProcess } from '../support/probes.ts';
import type { ChildProgram } from '../support/processes.ts';
import { hasBinaries, servicesHere } from '../support/services.ts';

/**
 * Rule 10 where all probes come in at the coordinator's address: the bus sees the coordinator, and
 * only the address that it proves to each probe tells two offices apart.
 */
describe.runIf(hasBinaries() && canMakeTwoHosts())('two offices at two addresses', () => {
  const running: ChildProgram[] = [];
  let two: TwoHosts;
  let network: Network;
  let folder: string;

  beforeAll(async () => {
    two = await makeTwoHosts({}, 'public');
    folder = await mkdtemp(join(tmpdir(), 'antipode-offices-'));
    network = await createNetwork();
  });
  afterAll(async () => {
    for (const one of running) {
      one.signal('SIGKILL');
      await one.exited;
    }
    await network?.close();
    await two?.close();
    await rm(folder, { recursive: true, force: true });
  });

  test('confirm for each other by websockets', async () => {
    const { sql, organisation } = network;
    const { url } = await network.startCoordinatorProcess({
      HOST: '0.0.0.0',
      NATS_WEBSOCKET_URL: servicesHere().nats.websocket ?? '',
    });
    const bus = `ws://${two.here}:${new URL(url).port}/bus`;
    const places: string[] = [];
    for (const { netns } of two.hosts) {
      const made = await network.makeProbe('Europe', `office ${places.length}`, organisation);
      places.push(made.id);
      const machine = join(folder, netns);
      await writeFile(machine, newId());
      running.push(
        await startProbeProcess(made, { netns, machine, environment: { PROBE_NATS_URL: bus } }),
      );
    }
    await eventually(
      async () => (await sql`select from probes where way = 'websocket'`).length === 2,
      30_000,
    );
    let answers = true;
    const target = await two.target(() => answers);
    const monitor = await network.addMonitor({ target: target.url, interval_s: 2, places });
    await eventually(() => target.hits() > 4, 30_000);
    answers = false;
    const incident = await incidentThat(sql, monitor, isConfirmed);
    const [row] = await sql<{ seen_place: string; confirmed_place: string | null }[]>`
      select seen_place, confirmed_place from incidents where id = ${incident.id}`;
    expect([row?.seen_place, row?.confirmed_place].toSorted()).toEqual(places.toSorted());
  });
});
