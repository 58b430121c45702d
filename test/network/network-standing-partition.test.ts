import { afterEach, beforeEach, test } from 'vitest';
import { eventually } from '../support/support-eventually.ts';
import { incidentThat, isConfirmed, seenFrom } from '../support/support-incidents.ts';
import { createNetwork, type Network } from '../support/support-network.ts';
import { broken } from '../support/support-targets.ts';

/** A partition that waits for something that does not come, while its coordinator lives, renews its lease and answers. */

let network: Network;
beforeEach(async () => {
  network = await createNetwork();
});
afterEach(() => network.close());

test('a partition whose message stands is given up and begun anew, the health says so meanwhile, and its outage is found', async () => {
  const { sql } = network;
  const coordinator = await network.startCoordinator({ timing: { standstillMs: 1_000, movementMs: 100, unmovedMs: 300 } });
  for (const continent of ['Asia', 'Europe'] as const) await network.addProbe(continent);
  const target = await network.startTarget();
  const monitor = await network.addMonitor({ target: target.url(), interval_s: 1 });
  await seenFrom(sql, monitor, 2);
  const health = async () => (await fetch(`${coordinator.url}/health`)).status;
  await eventually(async () => (await health()) === 200);
  const epochs = async () => {
    const [row] = await sql<{ epoch: number }[]>`
      select l.epoch from leases l join monitors m on m.partition = l.partition where m.id = ${monitor}`;
    return row?.epoch ?? 0;
  };
  const before = await epochs();

  const isFreed = Promise.withResolvers<void>();
  const isHeld = Promise.withResolvers<void>();
  const held = sql.begin(async (transaction) => {
    await transaction`set local idle_in_transaction_session_timeout = 0`;
    // Whoever opens an incident waits for its organisation; leases go on.
    await transaction`select 1 from organisations for update`;
    isHeld.resolve();
    await isFreed.promise;
  });
  await isHeld.promise;
  target.answer(broken);
  await eventually(async () => (await health()) === 503);
  await eventually(async () => (await epochs()) > before);
  isFreed.resolve();
  await held;
  await incidentThat(sql, monitor, isConfirmed, 30_000);
  await eventually(async () => (await health()) === 200);
});
