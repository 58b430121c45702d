import { afterEach, beforeEach, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { createNetwork, type Network } from '../support/network.ts';

/** A coordinator on a machine whose clock is wrong: the operator is told, and it dates by the database's. */

let network: Network;

beforeEach(async () => {
  network = await createNetwork();
});
afterEach(() => network.close());

const notices = () =>
  network.sql<{ message: string; is_over: boolean }[]>`
    select message, ended_at is not null as is_over from notices where kind = 'clock_differs' order by id`;

test('a clock ten minutes ahead is a notice for as long as it is, and what is dated is dated right', async () => {
  let aheadMs = 600_000;
  const hostClock = { now: () => Date.now() + aheadMs };
  await network.startCoordinator({ hostClock });
  await eventually(async () => (await notices()).length === 1);
  // It may have stood still between the two looks at the two clocks.
  expect((await notices())[0]?.message).toMatch(/\b60\d s ahead of the database's/);
  // A probe takes the time from the coordinator: what it sees is dated as wrong as that is.
  const target = await network.startTarget();
  await network.addProbe('Europe');
  await network.addMonitor({ target: target.url('/'), interval_s: 1 });
  const off = await eventually(async () => {
    const [row] = await network.sql<{ off: number }[]>`select extract(epoch from max(at) - now())::float8 as off from results`;
    return row?.off;
  });
  expect(Math.abs(off)).toBeLessThan(60);
  aheadMs = 0;
  await eventually(async () => (await notices()).every(({ is_over }) => is_over));
  expect(await notices()).toHaveLength(1);
});

test('what a coordinator said of its clock ends with it', async () => {
  const wrong = await network.startCoordinator({ hostClock: { now: () => Date.now() - 30_000 } });
  await eventually(async () => (await notices()).length === 1);
  await wrong.close();
  await network.startCoordinator();
  await eventually(async () => (await notices()).every(({ is_over }) => is_over));
});
