import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newId } from '../../shared/base/crypto.ts';
import { eventually } from '../support/eventually.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { type Got, openReceiver, type Receiver, says } from '../support/receivers.ts';

/** A coordinator that is a process of its own is killed in the middle of delivery, and another one goes on. */

let network: Network;
let receiver: Receiver;
let folder: string;
beforeAll(async () => {
  network = await createNetwork();
  receiver = await openReceiver();
  folder = await mkdtemp(join(tmpdir(), 'antipode-killed-'));
});
afterAll(async () => {
  await network.close();
  await receiver.close();
  await rm(folder, { recursive: true, force: true });
});

const addChannel = async (path: string): Promise<void> => {
  const config = JSON.stringify({ url: `${receiver.url}${path}`, secret: `whsec_${Buffer.alloc(32, 7).toString('base64')}` });
  await network.sql`insert into channels (id, organisation_id, kind, name, config, verified_at)
    values (${newId()}, ${network.organisation}, 'webhook', ${path}, ${config}::text::jsonb, now())`;
};
/** A monitor that nobody checks goes down, and its "down" is due. */
const down = async (name: string): Promise<void> => {
  const [monitor, incident] = [newId(), newId()];
  await network.sql.begin(async (transaction) => {
    await transaction`insert into monitors (id, organisation_id, partition, name, type, target, interval_s, enabled, paused_at)
      values (${monitor}, ${network.organisation}, 3, ${name}, 'https', 'https://shop.example', 60, false, now())`;
    await transaction`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, seen_continent, seen_probe, cause)
      values (${incident}, ${network.organisation}, ${monitor}, now(), now(), 'Europe', 'Frankfurt', '{"class": "heartbeat_late", "params": {}}')`;
    await transaction`insert into alerts (organisation_id, monitor_id, incident_id, event, state, due_at)
      values (${network.organisation}, ${monitor}, ${incident}, 'down', 'due', now())`;
  });
};
const states = async () => (await network.sql<{ state: string }[]>`select state from messages order by state`).map(({ state }) => state);
const keysAt = (path: string) => receiver.got.filter((got: Got) => got.path === path).map(({ headers }) => headers['webhook-id']);

test('rules 28 and 31: kill -9 in the middle of delivery loses nothing, and sends once more what nobody answered, with the same key', async () => {
  await addChannel('/quick');
  await addChannel('/held');
  // One receiver answers, the other has the request and says nothing.
  receiver.answer((response, got) => {
    if (got.path === '/quick') says(204)(response, got);
  });
  const killed = await network.startCoordinatorProcess();
  await down('Shop');
  await eventually(async () => keysAt('/held').length > 0 && (await states()).join() === 'taken,waiting', 60_000);
  killed.signal('SIGKILL');
  await killed.exited;
  const [held, quick] = [keysAt('/held'), keysAt('/quick')];
  // Meanwhile another outage becomes due, of which nobody knows.
  await down('Mail');
  receiver.answer(says(204));
  // The claim of the dead one ends, as it does by itself.
  await network.sql`update messages set next_at = now(), claimed_until = now() where state = 'waiting'`;
  const other = await network.startCoordinatorProcess();
  await eventually(async () => (await states()).join() === 'taken,taken,taken,taken', 60_000);
  const [key] = held;
  expect(keysAt('/held').filter((each) => each === key).length).toBeGreaterThan(held.length);
  // What was taken is not sent again, and nothing is sent under another key.
  expect(keysAt('/quick').filter((each) => each === quick[0])).toEqual(quick);
  expect([new Set(keysAt('/held')).size, new Set(keysAt('/quick')).size]).toEqual([2, 2]);
  await other.stop();
});

test('rules 28 and 31: what a killed coordinator had claimed is sent at once by the one that starts in its place', async () => {
  await addChannel('/waits');
  receiver.answer((response, got) => {
    if (got.path !== '/waits') says(204)(response, got);
  });
  const here = { DATA_DIR: folder };
  const killed = await network.startCoordinatorProcess(here);
  await down('Stock');
  await eventually(async () => keysAt('/waits').length === 1, 60_000);
  killed.signal('SIGKILL');
  await killed.exited;
  const claimedUntil = async () =>
    (await network.sql<{ at: Date }[]>`select claimed_until as at from messages where state = 'waiting'`).map(({ at }) => at.getTime());
  const [until = 0] = await claimedUntil();
  receiver.answer(says(204));
  await network.startCoordinatorProcess(here);
  await eventually(async () => (await claimedUntil()).length === 0, 60_000);
  expect(Date.now()).toBeLessThan(until);
  const [key] = keysAt('/waits');
  expect(keysAt('/waits')).toEqual([key, key]);
});
