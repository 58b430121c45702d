import { beforeAll, describe, expect, test } from 'vitest';
import { changeMonitors } from '../../../coordinator/monitors/contract.ts';
import { circlesAmong, type Dependent } from '../../../coordinator/monitors/dependencies.ts';
import { createGroup, deleteGroup } from '../../../shared/api/groups.ts';
import {
  batchMonitors,
  createMonitor,
  deleteMonitor,
  getMonitor,
  updateMonitor,
} from '../../../shared/api/monitors.ts';
import { restoreMonitor } from '../../../shared/api/trash.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';

describe('a circle', () => {
  const dependents = (all: Readonly<Record<string, Partial<Dependent>>>) =>
    new Map(
      Object.entries(all).map(([id, own]) => [
        id,
        { name: id, group: null, depends_on_monitors: [], depends_on_groups: [], ...own },
      ]),
    );

  test('rule 47: is found through monitors and groups, and told in words', () => {
    const all = dependents({
      shop: { depends_on_monitors: ['db', 'gateway'] },
      db: { depends_on_groups: ['routers'] },
      gateway: { group: 'routers', depends_on_monitors: ['isp'] },
      isp: {},
    });
    expect(circlesAmong(all)('shop')).toBeUndefined();
    const closed = new Map([...all, ...dependents({ isp: { depends_on_monitors: ['shop'] } })]);
    expect(circlesAmong(closed)('shop')).toBe(
      '"shop" depends on "gateway", which depends on "isp", which depends on "shop"',
    );
    expect(circlesAmong(closed)('db')).toBe(
      '"db" depends on the group of "gateway", which depends on "isp", which depends on "shop", which depends on "db"',
    );
  });

  test('rule 47: of others is none of its own, and a monitor is its own in its group', () => {
    const all = dependents({
      a: { depends_on_monitors: ['b'] },
      b: { depends_on_monitors: ['c'] },
      c: { depends_on_monitors: ['b'] },
      member: { group: 'web', depends_on_groups: ['web'] },
    });
    expect(circlesAmong(all)('a')).toBeUndefined();
    expect(circlesAmong(all)('b')).toBe('"b" depends on "c", which depends on "b"');
    expect(circlesAmong(all)('member')).toBe('"member" depends on the group of "member"');
  });

  test('of ten thousand is told in few words, and to few', () => {
    const name = (nth: number) => `m${nth % 10_000}`;
    const all = dependents(
      Object.fromEntries(
        Array.from({ length: 10_000 }, (_, nth) => [
          name(nth),
          { group: 'all', depends_on_monitors: [name(nth + 1)] },
        ]),
      ),
    );
    const circleOf = circlesAmong(all);
    expect(circleOf('m0')).toMatch(/^"m0" depends on "m1", .*"m10", and so on$/);
    for (let nth = 1; nth < 20; nth += 1) circleOf(name(nth));
    expect(circleOf('m20')).toBe('"m20" depends on itself by way of others');
    const ends = new Map([...all].filter(([id]) => id !== 'm9999'));
    const circleOfEnds = circlesAmong(ends);
    expect([...ends.keys()].map(circleOfEnds).filter((told) => told !== undefined)).toEqual([]);
  });
});

describe('dependencies', () => {
  const bench = gateBench();
  let house: TestOrganisation;
  let other: TestOrganisation;

  beforeAll(async () => {
    house = await createTestOrganisation(bench.sql, { name: 'Shop' });
    other = await createTestOrganisation(bench.sql);
    await bench.addProbe('Europe');
  });

  const create = async (name: string, input: object = {}, of = house) =>
    (
      await bench.call(createMonitor, of.member, {
        type: 'https',
        target: 'https://example.com/',
        name,
        ...input,
      })
    ).id;
  const parentsOf = async (monitor_id: string) => {
    const row = await bench.call(getMonitor, house.viewer, { monitor_id });
    return [...row.depends_on_monitors, ...row.depends_on_groups];
  };
  const group = async (name: string, of = house) =>
    (await bench.call(createGroup, of.member, { name })).id;

  test('rule 47: are kept as they are sent, changed alone, and end with whom they name', async () => {
    const [gateway, routers] = [await create('Gateway'), await group('Routers')];
    const shop = await create('Shop', {
      depends_on_monitors: [gateway],
      depends_on_groups: [routers],
    });
    await bench.call(updateMonitor, house.member, { monitor_id: shop, name: 'Store' });
    expect(await parentsOf(shop)).toEqual([gateway, routers]);
    await bench.call(deleteGroup, house.member, { group_id: routers });
    expect(await parentsOf(shop)).toEqual([gateway]);
    await bench.call(deleteMonitor, house.member, { monitor_id: gateway });
    expect(await parentsOf(shop)).toEqual([]);
    await bench.call(restoreMonitor, house.member, { monitor_id: gateway });
    await bench.call(updateMonitor, house.member, {
      monitor_id: shop,
      depends_on_monitors: [gateway],
    });
    await bench.call(updateMonitor, house.member, { monitor_id: shop, depends_on_monitors: [] });
    expect(await parentsOf(shop)).toEqual([]);
  });

  test('on what is not of the organisation are refused as what is unknown is, and so are too many', async () => {
    const [theirs, theirGroup] = [await create('Theirs', {}, other), await group('Theirs', other)];
    for (const id of [theirs, newId()])
      expect(
        await bench.refusal(createMonitor, house.member, {
          type: 'https',
          target: 'https://example.com/',
          depends_on_monitors: [id],
        }),
      ).toBe('monitor_not_found');
    const monitor_id = await create('Shop');
    expect(
      await bench.refusal(updateMonitor, house.member, {
        monitor_id,
        depends_on_groups: [theirGroup],
      }),
    ).toBe('group_not_found');
    const many = Array.from({ length: 11 }, newId);
    await expect(
      bench.call(updateMonitor, house.member, { monitor_id, depends_on_monitors: many }),
    ).rejects.toThrow('there are 11; 10 are the most');
  });

  test('rule 47: that would close a circle are refused, whoever closes it', async () => {
    const [gateway, web] = [await create('Gateway'), await group('Web')];
    const shop = await create('Shop', { depends_on_monitors: [gateway] });
    const circle = (input: object) => bench.refusal(updateMonitor, house.member, input as never);
    await expect(
      bench.call(updateMonitor, house.member, { monitor_id: gateway, depends_on_monitors: [shop] }),
    ).rejects.toThrow(
      'A monitor cannot depend on itself: "Gateway" depends on "Shop", which depends on "Gateway".',
    );
    expect(await circle({ monitor_id: gateway, depends_on_monitors: [gateway] })).toBe(
      'dependencies_invalid',
    );
    await bench.call(updateMonitor, house.member, {
      monitor_id: gateway,
      depends_on_groups: [web],
    });
    expect(await circle({ monitor_id: shop, group: web })).toBe('dependencies_invalid');
    expect(
      await bench.refusal(changeMonitors, house.member, {
        monitors: [shop],
        change: 'group',
        group: web,
      }),
    ).toBe('dependencies_invalid');
    await bench.call(deleteMonitor, house.member, { monitor_id: shop });
    const again = await create('Again', { group: web });
    await bench.call(deleteMonitor, house.member, { monitor_id: again });
    await bench.call(restoreMonitor, house.member, { monitor_id: shop });
    expect(await parentsOf(shop)).toEqual([gateway]);
  });

  test('rule 47: a monitor whose return would close a circle stays in the trash', async () => {
    const web = await group('Members');
    const gateway = await create('Uplink');
    const shop = await create('Member', { group: web, depends_on_monitors: [gateway] });
    await bench.call(deleteMonitor, house.member, { monitor_id: shop });
    await bench.call(updateMonitor, house.member, {
      monitor_id: gateway,
      depends_on_groups: [web],
    });
    expect(await bench.refusal(restoreMonitor, house.member, { monitor_id: shop })).toBe(
      'dependencies_invalid',
    );
  });

  test('turn round in one batch', async () => {
    const item = (external_id: string, depends_on_monitors: string[]) => ({
      type: 'https',
      target: 'https://example.com/',
      external_id,
      depends_on_monitors,
    });
    const first = await create('First', { external_id: 'first' });
    const second = await create('Second', {
      external_id: 'second',
      depends_on_monitors: [first],
    });
    const batch = await bench.call(batchMonitors, house.member, {
      items: [item('first', [second]), item('second', [])],
    });
    expect(batch).toMatchObject({ applied: true, changed: 2 });
    expect(await parentsOf(first)).toEqual([second]);
    expect(await parentsOf(second)).toEqual([]);
  });
});
