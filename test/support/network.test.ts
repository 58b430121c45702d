import { afterAll, beforeAll, expect, test } from 'vitest';
import { createNetwork, type Network } from './network.ts';

let network: Network;

beforeAll(async () => {
  network = await createNetwork();
});
afterAll(() => network.close());

test('an added probe is known to every coordinator, and needs none where none runs', async () => {
  await network.addProbe('Africa', 'before anybody');
  // Nobody was heard yet of whom this one could be the last, which would tell it at once.
  await network.makeProbe('Oceania');
  const coordinators = [];
  for (const _ of [1, 2])
    coordinators.push(await network.startCoordinator({ timing: { networkTickMs: 1_500 } }));
  await network.addProbe('Asia', 'after them');
  for (const { url } of coordinators)
    expect(await (await fetch(`${url}/health`)).text()).toContain(
      '{"name":"after them","continent":"Asia","present":true}',
    );
});
