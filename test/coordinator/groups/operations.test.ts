import { beforeAll, describe, expect, test } from 'vitest';
import {
  listGroupStatuses,
  listMonitorsOutside,
  showGroup,
} from '../../../coordinator/groups/contract.ts';
import { groupStatus } from '../../../coordinator/groups/model.ts';
import { changeMonitors } from '../../../coordinator/monitors/contract.ts';
import { createChannel } from '../../../shared/api/channels.ts';
import {
  createGroup,
  deleteGroup,
  getGroup,
  listGroups,
  updateGroup,
} from '../../../shared/api/groups.ts';
import {
  createMaintenanceWindow,
  deleteMaintenanceWindow,
} from '../../../shared/api/maintenance.ts';
import { createMonitor, getMonitor, updateMonitor } from '../../../shared/api/monitors.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';

describe('operations', () => {
  const bench = gateBench();
  let house: TestOrganisation;
  let unknownSender: TestOrganisation;

  beforeAll(async () => {
    house = await createTestOrganisation(bench.sql);
    unknownSender = await createTestOrganisation(bench.sql);
  });

  describe('createGroup', () => {
    test('makes a group, and gives the same one for the same name trimmed and without case', async () => {
      const made = await bench.answer(createGroup, house.member, {
        name: '  Größe  ',
        description: 'First',
      });
      expect(made.status).toBeUndefined();
      expect(made.body).toMatchObject({ name: 'Größe', description: 'First', monitors: 0 });
      const again = await bench.answer(createGroup, house.owner, {
        name: 'GRÖßE',
        description: 'Second',
      });
      expect(again).toEqual({ status: 200, body: made.body });
      for (const name of ['GRÖSSE', 'grösse', 'GRÖẞE', 'Gro\u0308ße'])
        expect((await bench.answer(createGroup, house.owner, { name })).body).toEqual(made.body);
      expect(
        (await bench.answer(createGroup, unknownSender.owner, { name: 'Größe' })).status,
      ).toBeUndefined();
    });

    test('makes one group, however many ask for it at once', async () => {
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          bench.answer(createGroup, house.owner, { name: index % 2 ? 'Race' : 'RACE ' }),
        ),
      );
      expect(answers.filter(({ status }) => status === undefined)).toHaveLength(1);
      expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    });

    test('wants a name of one line and a description that is not too long', async () => {
      for (const name of [
        '',
        '   ',
        'x'.repeat(201),
        'a\nb',
        'a\u007f',
        '\u200b',
        '\u00a0\u2060\u00ad',
      ])
        expect(await bench.refusal(createGroup, house.owner, { name }), JSON.stringify(name)).toBe(
          'name_invalid',
        );
      expect(await bench.refusal(createGroup, house.owner, { name: '😀'.repeat(200) })).toBe(
        'taken',
      );
      for (const description of ['x'.repeat(2001)])
        expect(await bench.refusal(createGroup, house.owner, { name: 'Fine', description })).toBe(
          'description_invalid',
        );
      expect(await bench.refusal(createGroup, house.owner, {})).toBe('faults');
    });
  });

  describe('a group', () => {
    test('counts its monitors', async () => {
      const { id } = await bench.call(createGroup, house.owner, { name: 'Counted' });
      for (const name of ['a', 'b'])
        await bench.call(createMonitor, house.owner, { type: 'heartbeat', name, group: id });
      expect((await bench.call(getGroup, house.viewer, { group_id: id })).monitors).toBe(2);
      expect(
        (await bench.call(listGroups, house.viewer)).items.find((group) => group.id === id)
          ?.monitors,
      ).toBe(2);
    });

    test('changes what is sent; an empty description takes the old one away', async () => {
      const { id } = await bench.call(createGroup, house.owner, {
        name: 'Before',
        description: 'Old',
      });
      expect(
        await bench.call(updateGroup, house.member, { group_id: id, name: 'After' }),
      ).toMatchObject({
        name: 'After',
        description: 'Old',
      });
      expect(
        await bench.call(updateGroup, house.member, { group_id: id, name: null, description: '' }),
      ).toMatchObject({
        name: 'After',
        description: null,
      });
      expect(
        await bench.call(updateGroup, house.member, { group_id: id, name: 'AFTER' }),
      ).toMatchObject({ name: 'AFTER' });
    });

    test('cannot take the name of another', async () => {
      const { id } = await bench.call(createGroup, house.owner, { name: 'Mine' });
      await bench.call(createGroup, house.owner, { name: 'Other' });
      expect(await bench.refusal(updateGroup, house.owner, { group_id: id, name: ' other' })).toBe(
        'name_taken',
      );
      expect(await bench.refusal(updateGroup, house.owner, { group_id: id, name: ' ' })).toBe(
        'name_invalid',
      );
    });

    test('can be deleted; its monitors stay, without a group', async () => {
      const { id } = await bench.call(createGroup, house.owner, { name: 'Going' });
      const monitor = await bench.call(createMonitor, house.owner, {
        type: 'heartbeat',
        name: 'stays',
        group: id,
      });
      expect(
        (await bench.answer(deleteGroup, house.member, { group_id: id })).body,
      ).toBeUndefined();
      expect(
        (await bench.call(getMonitor, house.owner, { monitor_id: monitor.id })).group,
      ).toBeNull();
      expect(
        await bench.sql`select ended_at is null as open from group_memberships where monitor_id = ${monitor.id}`,
      ).toEqual([{ open: false }]);
      expect(await bench.refusal(deleteGroup, house.owner, { group_id: id })).toBe(
        'group_not_found',
      );
    });
  });
});

describe('group details', () => {
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
      ids.push(
        (
          await bench.call(createMonitor, house.owner, {
            type: 'heartbeat',
            name,
            group: name === 'Alone' ? null : shop,
          })
        ).id,
      );
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
    expect(await bench.call(showGroup, house.viewer, { group_id: shop })).toMatchObject({
      status: 'pending',
      down: 1,
    });
    await down(checkout);
    const { items, matching } = await bench.call(listGroupStatuses, house.viewer);
    expect(matching).toBe(2);
    expect(
      items.map(({ name, status, monitors, down: fails }) => [name, status, monitors, fails]),
    ).toEqual([
      ['Idle', 'pending', 0, 0],
      ['Shop', 'down', 3, 2],
    ]);
    expect((await bench.call(listGroupStatuses, house.viewer, { page: 2 })).items).toEqual([]);
  });

  test('counts maintenance before the status that it covers, as the dashboard does', async () => {
    const [checkout = ''] = ids;
    const times = {
      starts_at: new Date(bench.now - 60_000).toISOString(),
      ends_at: new Date(bench.now + 3_600_000).toISOString(),
    };
    const { id } = await bench.call(createMaintenanceWindow, house.owner, {
      ...times,
      monitors: [checkout],
    });
    const counts = { monitors: 3, maintenance: 1, down: 1, paused: 1 };
    expect(await bench.call(showGroup, house.viewer, { group_id: shop })).toMatchObject(counts);
    const { items } = await bench.call(listGroupStatuses, house.viewer);
    expect(items.find(({ name }) => name === 'Shop')).toMatchObject(counts);
    await bench.call(deleteMaintenanceWindow, house.owner, { window_id: id });
  });

  test('everything that names a group is listed, so that it can be shown before the group is deleted', async () => {
    const times = {
      starts_at: new Date(bench.now + 3_600_000).toISOString(),
      ends_at: new Date(bench.now + 7_200_000).toISOString(),
    };
    const window = await bench.call(createMaintenanceWindow, house.owner, {
      name: 'Upgrade',
      ...times,
      groups: [shop],
    });
    const { now } = bench;
    bench.now = now - 86_400_000;
    const past = {
      starts_at: new Date(bench.now).toISOString(),
      ends_at: new Date(bench.now + 3_600_000).toISOString(),
    };
    await bench.call(createMaintenanceWindow, house.owner, {
      name: 'Long over',
      ...past,
      groups: [shop],
    });
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

  test('monitors that could be moved in are listed with their current group, those without one first', async () => {
    const outside = await bench.call(listMonitorsOutside, house.viewer, { group_id: idle });
    expect(outside.items.map(({ name, group }) => [name, group])).toEqual([
      ['Alone', null],
      ['Cart', 'Shop'],
      ['Checkout', 'Shop'],
      ['Search', 'Shop'],
    ]);
    expect(
      (await bench.call(listMonitorsOutside, house.viewer, { group_id: shop })).items.map(
        ({ name }) => name,
      ),
    ).toEqual(['Alone']);
  });
});

describe('rule 29: the one status of a group', () => {
  const member = (
    status: Parameters<typeof groupStatus>[0][number]['status'],
    affects_group_status = true,
  ) => ({
    status,
    affects_group_status,
  });
  test.each([
    ['the worst of its members', [member('up'), member('down'), member('verifying')], 'down'],
    ['verifying before pending', [member('pending'), member('verifying')], 'verifying'],
    ['pending before up', [member('pending'), member('up')], 'pending'],
    ['members that do not affect it do not count', [member('down', false), member('up')], 'up'],
    ['paused members do not count', [member('paused'), member('up')], 'up'],
    ['paused when none is enabled', [member('paused'), member('paused', false)], 'paused'],
    [
      'paused when the only one is not enabled, affect it or not',
      [member('paused', false)],
      'paused',
    ],
    [
      'paused when none that affects it is enabled',
      [member('paused'), member('up', false)],
      'paused',
    ],
    [
      'pending when none affects it and one is enabled',
      [member('paused', false), member('up', false)],
      'pending',
    ],
    ['pending when the only one does not affect it', [member('up', false)], 'pending'],
    ['pending without members', [], 'pending'],
  ] as const)('rule 29: %s', (_, members, expected) => {
    expect(groupStatus(members)).toBe(expected);
  });
});
