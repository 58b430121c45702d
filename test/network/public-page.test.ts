import { afterEach, beforeEach, expect, test } from 'vitest';
import { pause } from '../../shared/base/async.ts';
import { newId } from '../../shared/base/crypto.ts';
import { createTcpProxy, type TcpProxy } from '../support/connections.ts';
import { eventually } from '../support/eventually.ts';
import { seenFrom } from '../support/monitors.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { broken, fine } from '../support/targets.ts';

let network: Network;
let relay: TcpProxy;

beforeEach(async () => {
  network = await createNetwork();
  relay = await createTcpProxy(network.database.url);
});
afterEach(async () => {
  await network.close();
  await relay.close();
});

/** Readers who ask again and again, but leave the machine to others in between; what they were answered with, by how often. */
const readAll = (url: string, readers: number) => {
  const statuses = new Map<number, number>();
  let isOver = false;
  const reading = Array.from({ length: readers }, async () => {
    while (!isOver) {
      const { status, body } = await fetch(url);
      await body?.cancel();
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      await pause(10);
    }
  });
  return async (): Promise<ReadonlyMap<number, number>> => {
    isOver = true;
    await Promise.all(reading);
    return statuses;
  };
};

test('a page that is read all the time shows what goes down and comes back, and is there while the database is not', async () => {
  const target = await network.startTarget();
  const { url } = await network.startCoordinatorProcess({ DATABASE_URL: relay.url });
  for (const continent of ['Asia', 'Europe'] as const) await network.addProbe(continent);
  const monitor = await network.addMonitor({ target: target.url(), interval_s: 1, name: 'inner name' });
  const page = newId();
  await network.sql`insert into status_pages (id, organisation_id, name, slug) values (${page}, ${network.organisation}, 'Shop status', 'shop')`;
  await network.sql`insert into status_page_monitors (page_id, monitor_id, display_name, position) values (${page}, ${monitor}, 'Checkout', 0)`;
  await seenFrom(network.sql, monitor, 2);
  const text = async (): Promise<string> => (await fetch(`${url}/status/shop`)).text();
  await eventually(async () => (await text()).includes('Everything is up.'), 60_000);
  const stop = readAll(`${url}/status/shop`, 4);
  target.answer(broken);
  await eventually(async () => (await text()).includes('Checkout is down.'), 60_000);
  relay.cut();
  await eventually(async () => (await text()).includes('Newer figures cannot be read right now.'), 60_000);
  target.answer(fine);
  relay.heal();
  await eventually(async () => (await text()).includes('Everything is up.'), 60_000);
  const statuses = await stop();
  expect([...statuses.keys()]).toEqual([200]);
});
