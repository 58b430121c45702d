import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { incidentThat, isConfirmed, isResolved, resultsOf, seenFrom } from '../support/incidents.ts';
import { type MortalServices, startMortalServices } from '../support/mortal-services.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { hasBinaries } from '../support/services.ts';
import { canMakeDisks, createSmallDisk, type SmallDisk } from '../support/small-disk.ts';
import { broken, fine, type Target } from '../support/targets.ts';

/** Whom Postgres runs as where the tests run as root, and only root may mount disks. */
const noOne = 65_534;

/** Disks that are full, at the probe and at the database, and a bus that was wiped when nothing was left to say. */

let mortal: MortalServices;
let network: Network;
let target: Target;

beforeAll(async () => {
  mortal = await startMortalServices();
  network = await createNetwork({ services: mortal.services });
  target = await network.startTarget();
  await network.startCoordinator({ timing: { digestMs: 2_000 } });
  await network.addProbe('Europe');
});
afterAll(async () => {
  await network.close();
  await mortal.stop();
});

const moreHits = async (path: string, count: number): Promise<void> => {
  const hits = () => target.hits.filter(({ url }) => url === path).length;
  const from = hits();
  await eventually(() => hits() >= from + count, 30_000);
};

const everythingArrives = async (monitor: string, path: string): Promise<void> => {
  const seen = target.hits.filter(({ url }) => url === path).length;
  await eventually(async () => (await resultsOf(network.sql, monitor)).length >= seen, 40_000);
  const times = (await resultsOf(network.sql, monitor)).map(({ continent, at }) => `${continent} ${Number(at)}`);
  expect(new Set(times).size).toBe(times.length);
};

describe.runIf(hasBinaries() && canMakeDisks())('a full disk', () => {
  let disk: SmallDisk | undefined;
  afterAll(() => disk?.close());

  test('at a probe: it goes on checking, tells what it sees from memory, and nothing is missing when there is room again', async () => {
    const made = await network.makeProbe('Asia');
    const small = createSmallDisk(join(mortal.folder, 'probe-disk'), 512);
    const probe = await network.startProbe({ ...made, folder: join(small.folder, 'data') });
    const monitor = await network.addMonitor({ target: target.url('/probe'), interval_s: 1 });
    await seenFrom(network.sql, monitor, 2);
    await small.fill();
    target.answer(broken);
    await moreHits('/probe', 4);
    await incidentThat(network.sql, monitor, isConfirmed);
    target.answer(fine);
    await incidentThat(network.sql, monitor, isResolved);
    await everythingArrives(monitor, '/probe');
    await small.free();
    await moreHits('/probe', 4);
    await everythingArrives(monitor, '/probe');
    await network.deleteMonitor(monitor);
    await probe.close();
    // Otherwise it would be counted on until it is taken for lost.
    await network.revokeProbe(made.id);
    small.close();
  });

  test('at the database: probes keep what it cannot take, and all of it is there, in its time, when there is room again', async () => {
    await network.addProbe('Asia');
    const monitor = await network.addMonitor({ target: target.url('/database'), interval_s: 1 });
    await seenFrom(network.sql, monitor, 2);
    const small = createSmallDisk(join(mortal.folder, 'tablespace'), 1_024, noOne);
    disk = small;
    const [name] = [new Date().toISOString().slice(0, 10).replaceAll('-', '')];
    // The files of a database are not to be moved while it runs, but a table may be put on another disk.
    await network.sql.unsafe(`create tablespace small location '${small.folder}'`);
    await network.sql.unsafe(`alter table results_${name} set tablespace small`);
    await small.fill();
    // What is left of the last page holds some more rows: only then is the disk full to Postgres, too.
    await network.sql
      .unsafe(`insert into results select 0, now(), 0, 1, 0, repeat('x', 500), null from generate_series(1, 20)`)
      .catch(() => undefined);
    await expect(
      network.sql.unsafe(`insert into results select 0, now(), 0, 1, 0, repeat('x', 500), null from generate_series(1, 50)`),
    ).rejects.toMatchObject({ code: '53100' });
    target.answer(broken);
    await moreHits('/database', 4);
    const firstBroken = target.hits.findLast(({ url }) => url === '/database')?.at ?? 0;
    await small.free();
    const incident = await incidentThat(network.sql, monitor, isConfirmed, 40_000);
    expect(Number(incident.started_at)).toBeLessThan(firstBroken);
    await everythingArrives(monitor, '/database');
    target.answer(fine);
    await incidentThat(network.sql, monitor, isResolved, 40_000);
    expect(await network.sql`select 1 from set_aside`).toHaveLength(0);
    await network.sql.unsafe(`alter table results_${name} set tablespace pg_default`);
    await network.sql.unsafe('drop tablespace small');
    await network.deleteMonitor(monitor);
  });
});

describe.runIf(hasBinaries())('a bus that was wiped', () => {
  test('while the last monitor was deleted: probes that held it drop it, although nothing is left that could be sent to them', async () => {
    const monitor = await network.addMonitor({ target: target.url('/last'), interval_s: 1 });
    await seenFrom(network.sql, monitor, 1);
    await mortal.nats.kill();
    await mortal.nats.wipe();
    await network.deleteMonitor(monitor);
    await moreHits('/last', 2);
    await mortal.nats.start();
    // Two turns of everybody without a single check.
    await eventually(() => (target.hits.findLast(({ url }) => url === '/last')?.at ?? 0) < Date.now() - 5_000, 60_000);
  });
});
