import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDirectory } from '../../../coordinator/probes/directory.ts';
import { createNetwork, type Network, testLog } from '../../support/network.ts';

let network: Network;
beforeAll(async () => {
  network = await createNetwork();
});
afterAll(() => network.close());

test('a probe that was just made and speaks twice at once is known both times', async () => {
  const directory = await createDirectory({ sql: network.sql, log: testLog() });
  const { id } = await network.makeProbe('Europe');
  const found = await Promise.all([directory.find(id), directory.find(id)]);
  expect(found.map((row) => row?.id)).toEqual([id, id]);
});
