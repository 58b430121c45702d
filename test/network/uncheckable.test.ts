import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { createNetwork, type Network } from '../support/network.ts';

/** Rule 5: a choice that comes to be one that no probe can serve is shown. */

let network: Network;

beforeAll(async () => {
  network = await createNetwork();
  await network.startCoordinator();
  await network.makeProbe('Europe');
});
afterAll(() => network.close());

const open = () =>
  network.sql<{ kind: string; message: string }[]>`select kind, message from notices where kind = 'nobody_can_check' and ended_at is null`;

test('monitors whose last probe was revoked are told to the operator in one notice, until somebody can check them again', async () => {
  const far = await network.addMonitor({ target: 'https://far.example/', name: 'far', config: { continents: ['Oceania'] } });
  await network.addMonitor({ target: 'https://both.example/', name: 'both', config: { continents: ['Oceania', 'Europe'] } });
  await network.addMonitor({ target: 'https://10.1.2.3/', name: 'inside' });
  // After them: where nobody is uncheckable it is looked again when the probes change, for by the API no such monitor could be made.
  const { id } = await network.makeProbe('Oceania');
  const inside = /^Nobody can check this monitor: "inside" \(target: 10\.1\.2\.3 is not a public address/;
  await eventually(async () => inside.test((await open())[0]?.message ?? ''));
  await network.revokeProbe(id);
  await eventually(async () => (await open())[0]?.message.startsWith('Nobody can check these 2 monitors') === true);
  expect((await open())[0]?.message).toContain('"far" (config.continents: no probe is in Oceania; probes are in Europe)');
  expect((await open())[0]?.message).not.toContain('"both"');
  await network.editMonitor(far, { config: {} });
  await eventually(async () => (await open())[0]?.message.startsWith('Nobody can check this monitor: "inside"') === true);
  const [europe] = await network.sql<{ id: string }[]>`select id from probes where continent = 'Europe'`;
  await network.sql`update probes set allowed_cidrs = '{10.0.0.0/8}' where id = ${europe?.id ?? ''}`;
  await eventually(async () => (await open()).length === 0);
});
