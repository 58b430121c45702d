import { beforeAll, expect, test } from 'vitest';
import { listGroupStatuses, listMonitorsOutside, showGroup } from '../../../coordinator/groups/contract.ts';
import { changeMonitors } from '../../../coordinator/monitors/contract.ts';
import { createChannel } from '../../../shared/api/channels.ts';
import { createGroup } from '../../../shared/api/groups.ts';
import { createMaintenanceWindow } from '../../../shared/api/maintenance.ts';
import { createMonitor, updateMonitor } from '../../../shared/api/monitors.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';

const bench = gateBench();
let house: TestOrganisation;
let shop: string;
let idle: string;
const ids: string[] = [];

beforeAll(async () => {
  house = await createTestOrganisation(bench.sql);
  shop = (await bench.call(createGroup, house.owner, { name: 'Shop' })).id;
  idle = (await bench.call(createGroup, house.owner, { name: 'Idle' })).id;
  for (const name of ['Checkout', 'Search', 'Cart', 'Alone'])
    ids.push((await bench.call(createMonitor, house.owner, { type: 'heartbeat', name, group: name === 'Alone' ? null : shop })).id);
});

const down = async (monitor: string): Promise<void> => {
  await bench.sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, scope, layer)
    values (${newId()}, ${house.organisation}, ${monitor}, now(), now(), 'everywhere', 'assertion')`;
};

test('rule 29: a group has the worst status of those that count, and counts all that are in it', async () => {
  const [checkout = '', search = '', cart = ''] = ids;
  await bench.call(changeMonitors, house.owner, { monitors: [search], change: 'pause' });
  expect(await bench.call(showGroup, house.viewer, { group_id: shop })).toMatchObject({
    status: 'pending',
    monitors: 3,
    paused: 1,
    pending: 2,
  });
  await down(cart);
  await bench.call(updateMonitor, house.owner, { monitor_id: cart, affects_group_status: false });
  expect(await bench.call(showGroup, house.viewer, { group_id: shop })).toMatchObject({ status: 'pending', down: 1 });
  await down(checkout);
  const { items, matching } = await bench.call(listGroupStatuses, house.viewer);
  expect(matching).toBe(2);
  expect(items.map(({ name, status, monitors, down: fails }) => [name, status, monitors, fails])).toEqual([
    ['Idle', 'pending', 0, 0],
    ['Shop', 'down', 3, 2],
  ]);
  expect((await bench.call(listGroupStatuses, house.viewer, { page: 2 })).items).toEqual([]);
});

test('what names a group is told, so that it can be said before the group is deleted', async () => {
  const times = { starts_at: new Date(bench.now + 3_600_000).toISOString(), ends_at: new Date(bench.now + 7_200_000).toISOString() };
  const window = await bench.call(createMaintenanceWindow, house.owner, { name: 'Upgrade', ...times, groups: [shop] });
  const { now } = bench;
  bench.now = now - 86_400_000;
  const past = { starts_at: new Date(bench.now).toISOString(), ends_at: new Date(bench.now + 3_600_000).toISOString() };
  await bench.call(createMaintenanceWindow, house.owner, { name: 'Long over', ...past, groups: [shop] });
  bench.now = now;
  const hook = {
    kind: 'webhook',
    config: { url: 'https://hooks.example.org/' },
    name: 'Hook',
    covers: 'chosen',
    try: false,
    groups: [shop],
  };
  const channel = await bench.call(createChannel, house.owner, hook);
  expect(await bench.call(showGroup, house.viewer, { group_id: shop })).toMatchObject({
    windows: [{ id: window.id, name: 'Upgrade' }],
    channels: [{ id: channel.id, name: 'Hook' }],
    pages: [],
  });
});

test('those that could be moved in are told with the group that they are in, those without one first', async () => {
  const outside = await bench.call(listMonitorsOutside, house.viewer, { group_id: idle });
  expect(outside.items.map(({ name, group }) => [name, group])).toEqual([
    ['Alone', null],
    ['Cart', 'Shop'],
    ['Checkout', 'Shop'],
    ['Search', 'Shop'],
  ]);
  expect((await bench.call(listMonitorsOutside, house.viewer, { group_id: shop })).items.map(({ name }) => name)).toEqual(['Alone']);
});
