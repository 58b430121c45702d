import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually, passed } from '../support/eventually.ts';
import { incidentThat, isConfirmed, seenFrom } from '../support/incidents.ts';
import { createNetwork, type Network } from '../support/network.ts';
import { broken, type Target } from '../support/targets.ts';
import { createTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';

/** A coordinator that reaches the database and not the bus decides about nothing: whoever can takes its share. */

let network: Network;
let target: Target;
let relays: TcpProxy[];

beforeEach(async () => {
  network = await createNetwork();
  target = await network.startTarget();
  relays = [await createTcpProxy(network.account.url), await createTcpProxy(network.account.url)];
  for (const { url } of relays) await network.startCoordinatorProcess({ NATS_URL: url });
  await eventually(async () => (await shares()).join() === '16,16');
});
afterEach(async () => {
  for (const relay of relays) relay.heal();
  await network.close();
  for (const relay of relays) await relay.close();
});

/** How many partitions each owner holds whose lease is in force. */
const shares = async (): Promise<number[]> => {
  const rows = await network.sql<{ held: number }[]>`
    select count(*) as held from leases where expires_at > now() and owner is not null group by owner order by held desc`;
  return rows.map(({ held }) => held);
};

const owners = async (): Promise<string> => {
  const rows = await network.sql<{ owner: string }[]>`select owner from leases order by partition`;
  return rows.map(({ owner }) => owner).join();
};

describe('a coordinator that lost the bus', () => {
  test('leaves its partitions to the one that has it, which confirms an outage of any monitor, and takes its share again', async () => {
    for (const continent of ['Asia', 'Europe'] as const) await network.addProbe(continent);
    const all: string[] = [];
    for (let nth = 0; nth < 8; nth += 1) all.push(await network.addMonitor({ target: target.url(`/${nth}`), interval_s: 1 }));
    for (const monitor of all) await seenFrom(network.sql, monitor, 2);
    relays[0]?.cut();
    await eventually(async () => (await shares()).join() === '32', 40_000);
    target.answer(broken);
    for (const monitor of all) await incidentThat(network.sql, monitor, isConfirmed, 40_000);
    relays[0]?.heal();
    await eventually(async () => (await shares()).join() === '16,16', 40_000);
  });

  test('keeps them while nobody has it', async () => {
    const before = await owners();
    for (const relay of relays) relay.cut();
    await passed(20_000);
    expect(await owners()).toBe(before);
    expect(await shares()).toEqual([16, 16]);
  });
});
