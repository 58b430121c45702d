import { afterAll, beforeAll, expect, test } from 'vitest';
import type { App } from '../../coordinator/app.ts';
import { trustProbe } from '../../coordinator/probes/contract.ts';
import { createDirectory } from '../../coordinator/probes/directory.ts';
import { rawInput } from '../../shared/api/operation.ts';
import { eventually } from '../support/eventually.ts';
import { incidentsOf, incidentThat, isConfirmed, resultsOf, seenFrom } from '../support/incidents.ts';
import { createNetwork, type MadeProbe, type Network } from '../support/network.ts';
import { broken } from '../support/targets.ts';
import { measuring } from '../support/whereabouts.ts';

/** Rule 16, with every part real but the ways between the probes, which are all on this host: whose place is doubted confirms nothing. */

let network: Network;
let app: App;
const made: MadeProbe[] = [];

beforeAll(async () => {
  network = await createNetwork();
  app = await network.startCoordinator();
  for (const continent of ['Europe', 'Africa', 'Oceania'] as const) made.push((await network.addProbe(continent)).made);
});
afterAll(() => network.close());

test('a probe whose place is doubted confirms no outage, and confirms it after the word of the operator', async () => {
  const { sql } = network;
  const [, , suva] = made;
  const target = await network.startTarget();
  const monitor = await network.addMonitor({ target: target.url(), interval_s: 1 });
  await seenFrom(sql, monitor, 3);
  // They are all at 127.0.0.1, which is nowhere: the coordinator itself doubts nobody.
  const directory = await createDirectory({ sql, log: network.log });
  const addresses = new Map(made.map(({ name }, index) => [name, ['198.41.0.4', '199.9.14.201', '192.33.4.12'][index] ?? '']));
  const near = { addresses, asked: [], isLeader: true, way: () => 30 };
  const { round } = measuring({ sql, directory, clock: { now: () => Date.now() }, made: near });
  await round();
  await round();
  const doubted = await sql<{ id: string }[]>`select id from probes where doubted_at is not null`;
  expect(doubted.map(({ id }) => id)).toEqual([suva?.id]);
  // The coordinator has heard of it: what the probe sees counts as unknown from now on.
  await eventually(async () => (await resultsOf(sql, monitor)).some(({ continent, outcome }) => continent === 'Oceania' && outcome === 2));
  target.answer(broken, ['Europe', 'Oceania']);
  const failuresOf = async (continent: string) =>
    (await resultsOf(sql, monitor)).filter((result) => result.continent === continent && result.outcome === 1).length;
  const seen = async () =>
    Math.min(await failuresOf('Europe'), (await resultsOf(sql, monitor)).filter((one) => one.continent === 'Oceania').length);
  const before = await seen();
  await eventually(async () => (await seen()) >= before + 5, 40_000);
  expect((await incidentsOf(sql, monitor)).filter(({ confirmed_at }) => confirmed_at !== null)).toEqual([]);

  const word = rawInput(trustProbe, { probe_id: suva?.id });
  await app.gate.executeForInstallation(trustProbe, word);
  const { seen_continent, confirmed_continent } = await incidentThat(sql, monitor, isConfirmed, 40_000);
  expect([seen_continent, confirmed_continent].toSorted()).toEqual(['Europe', 'Oceania']);
});
