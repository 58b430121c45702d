import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { App } from '../../coordinator/app.ts';
import { retrySetAside } from '../../coordinator/engine/queries.ts';
import { partitionOf } from '../../shared/bus/subjects.ts';
import { speakAs } from '../support/bus-voice.ts';
import { eventually } from '../support/eventually.ts';
import { incidentThat, isConfirmed, isResolved, resultsOf, seenFrom } from '../support/incidents.ts';
import { type MortalServices, startMortalServices } from '../support/mortal-services.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { hasBinaries } from '../support/services.ts';
import { broken, fine, type Target } from '../support/targets.ts';

/** What happens when parts fail: each fault for real. The runbook names each of them. */

let mortal: MortalServices;
let network: Network;
let coordinator: App;
let target: Target;
let monitor: string;

beforeAll(async () => {
  mortal = await startMortalServices();
  network = await createNetwork({ services: mortal.services });
  target = await network.startTarget();
  coordinator = await network.startCoordinator();
  for (const continent of ['Asia', 'Europe'] as const) await network.addProbe(continent);
  monitor = await network.addMonitor({ target: target.url(), interval_s: 1 });
  await seenFrom(network.sql, monitor, 2);
});
afterAll(async () => {
  await network.close();
  await mortal.stop();
});

/** Every check that the target saw up to now is stored, once. */
const everythingArrives = async (): Promise<void> => {
  const seen = target.hits.filter(({ url }) => url === '/').length;
  await eventually(async () => (await resultsOf(network.sql, monitor)).length >= seen, 40_000);
  const times = (await resultsOf(network.sql, monitor)).map(({ continent, at }) => `${continent} ${Number(at)}`);
  expect(new Set(times).size).toBe(times.length);
};

const moreHits = async (count: number): Promise<void> => {
  const from = target.hits.length;
  await eventually(() => target.hits.length >= from + count, 30_000);
};

describe.runIf(hasBinaries())('the network survives', () => {
  test('a nats-server that is killed: probes go on checking, and what they saw arrives when it is back', async () => {
    await mortal.nats.kill();
    await moreHits(4);
    await mortal.nats.start();
    await everythingArrives();
  });

  test('a bus whose store is wiped: assignments and unsent results come back from Postgres and the disks', async () => {
    await mortal.nats.kill();
    await moreHits(4);
    await mortal.nats.wipe();
    await mortal.nats.start();
    await everythingArrives();
    // A probe that knows nothing learns all of it from the new bus.
    const fresh = await network.addProbe('North America');
    await eventually(() => target.hits.some(({ continent }) => continent === 'North America'), 30_000);
    const added = await network.addMonitor({ target: target.url('/added'), interval_s: 1 });
    await seenFrom(network.sql, added, 3);
    await network.deleteMonitor(added);
    await fresh.close();
  });

  test('a Postgres that is killed: nothing that was seen is lost, and the outage of that time is dated right', async () => {
    await mortal.postgres.kill();
    target.answer(broken);
    await moreHits(4);
    const firstBroken = target.hits.at(-4)?.at ?? 0;
    await mortal.postgres.start();
    const incident = await incidentThat(network.sql, monitor, isConfirmed, 40_000);
    expect(Number(incident.started_at)).toBeLessThan(firstBroken + 2_500);
    await everythingArrives();
    target.answer(fine);
    await incidentThat(network.sql, monitor, isResolved, 40_000);
  });

  test('both at once, and the coordinator too', async () => {
    await Promise.all([mortal.nats.kill(), mortal.postgres.kill()]);
    await moreHits(2);
    await coordinator.close().catch(() => undefined);
    await Promise.all([mortal.postgres.start(), mortal.nats.start()]);
    coordinator = await network.startCoordinator();
    await everythingArrives();
  });

  test('a message that cannot be worked on: it is set aside and shown, those behind it are not held up, and it counts once when it is retried in the end', async () => {
    const voice = await speakAs(await network.makeProbe('Europe'));
    const before = (await resultsOf(network.sql, monitor)).length;
    const at = Date.now();
    await network.sql`alter table results add constraint no_poison check (cause_class is distinct from 'poison')`;
    const other = { took_ms: 5, phases: null };
    await voice.say(monitor, [{ seq: 1, at, outcome: 'ok', ...other }]);
    await voice.say(monitor, [{ seq: 2, at: at + 1, outcome: 'fail', ...other, cause: { class: 'poison', params: {} } }], 1);
    await voice.say(monitor, [{ seq: 3, at: at + 2, outcome: 'ok', ...other }], 2);
    await eventually(async () => (await network.sql`select 1 from set_aside`).length === 1, 40_000);
    await eventually(async () => {
      const [row] = await network.sql<{ seq: number }[]>`
        select max(seq) as seq from watermarks where generation = ${voice.generation} and partition = ${partitionOf(monitor)}`;
      return row?.seq === 3;
    }, 40_000);
    expect((await resultsOf(network.sql, monitor)).length).toBeGreaterThanOrEqual(before + 2);
    const [aside] = await network.sql`select subject, reason from set_aside`;
    expect(aside?.reason).toContain('no_poison');
    const asked = async () => network.sql.begin((transaction) => retrySetAside(transaction, null));
    await asked();
    await eventually(async () => (await network.sql`select 1 from set_aside where attempts = 1 and retry_asked_at is null`).length === 1);
    await network.sql`alter table results drop constraint no_poison`;
    const poison = () => network.sql`select 1 from results where cause_class = 'poison'`;
    expect((await poison()).length).toBe(0);
    await Promise.all([asked(), asked()]);
    await eventually(async () => (await network.sql`select 1 from set_aside`).length === 0);
    expect((await poison()).length).toBe(1);
    await voice.close();
  });
});
