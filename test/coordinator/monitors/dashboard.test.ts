import { beforeAll, describe, expect, test } from 'vitest';
import {
  changeMonitors,
  countOpenIncidents,
  dashboardSorts,
  listDashboard,
} from '../../../coordinator/monitors/contract.ts';
import { dashboardPage } from '../../../coordinator/monitors/dashboard-queries.ts';
import { search } from '../../../coordinator/search/contract.ts';
import { getMonitorStatus } from '../../../shared/api/monitors.ts';
import { type Demo, demoCount, seedDemo } from '../../support/demo.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';

const bench = gateBench();
let house: TestOrganisation;
let other: TestOrganisation;
let demo: Demo;

beforeAll(async () => {
  house = await createTestOrganisation(bench.sql, { name: 'Shop' });
  other = await createTestOrganisation(bench.sql);
  demo = await seedDemo(bench.sql, house.organisation, bench.now);
});

const list = (input: object = {}, who = house.viewer) => bench.call(listDashboard, who, input);
const namesOf = async (input: object) => (await list(input)).items.map(({ name }) => name);

describe('the dashboard', () => {
  test('counts every monitor once, maintenance before what it covers, and names who is in trouble', async () => {
    const { counts, down, verifying } = await list();
    expect(counts).toEqual({
      all: demoCount,
      down: 1,
      verifying: 1,
      up: demoCount - 5,
      maintenance: 1,
      pending: 0,
      paused: 2,
    });
    expect({ down, verifying }).toEqual({ down: ['Checkout'], verifying: ['Search API'] });
    expect(await bench.call(countOpenIncidents, house.viewer)).toEqual({ open: 2 });
  });

  test('says of each monitor what its own status says', async () => {
    for (const { id, name, status, percent } of (await list()).items.slice(0, 12)) {
      const own = await bench.call(getMonitorStatus, house.viewer, { monitor_id: id });
      expect([name, percent]).toEqual([name, own.uptime.percent]);
      if (status !== 'maintenance') expect([name, status]).toEqual([name, own.status]);
    }
  });

  test('shows trouble first, and then by group and name, those without a group at the end', async () => {
    const { items, groups } = await list();
    expect(items.slice(0, 4).map(({ name }) => name)).toEqual([
      'Checkout',
      'Search API',
      'Invoices',
      'Nightly backup',
    ]);
    expect(items.slice(-3).map(({ name, group }) => [name, group])).toEqual([
      ['Newcomer', null],
      ['Old shop', null],
      ['Staging', null],
    ]);
    const shop = groups.find(({ name }) => name === 'Shop');
    expect(shop).toMatchObject({ status: 'down', monitors: 13 });
    expect(groups.find(({ name }) => name === 'Jobs')).toMatchObject({ status: 'up', monitors: 2 });
  });

  test('shows a row with its day, its cause in our words, and what it is covered by', async () => {
    const { items } = await list();
    const rowOf = (name: string) => items.find((each) => each.name === name);
    expect(rowOf('Checkout')).toMatchObject({
      status: 'down',
      cause: 'Status 503, expected 2xx',
      incident: demo.incident,
    });
    expect(rowOf('Checkout')?.bars).toHaveLength(48);
    expect(rowOf('Checkout')?.bars.at(-1)).toBe('down');
    expect(rowOf('Search API')?.bars.at(-1)).toBe('verifying');
    expect(rowOf('Search API')?.seen_from).toBe('Asia');
    expect(rowOf('CDN')?.bars).toContain('unknown');
    expect(rowOf('Newcomer')?.bars.slice(0, 47)).toEqual(Array(47).fill('none'));
    expect(rowOf('Login')?.covered_until).toBe(new Date(bench.now + 48 * 60_000).toISOString());
    expect(rowOf('Cart')?.response.length).toBeGreaterThan(20);
    expect(rowOf('Staging')?.bars).toEqual(Array(48).fill('paused'));
  });

  test('filters by status, by words of name, target and group, and by group', async () => {
    expect(await namesOf({ status: 'down' })).toEqual(['Checkout']);
    expect(await namesOf({ status: 'maintenance' })).toEqual(['Login']);
    expect(await namesOf({ status: 'up', q: 'login' })).toEqual([]);
    expect(await namesOf({ q: 'BACKUP' })).toEqual(['Nightly backup']);
    expect(await namesOf({ q: 'store osaka' })).toEqual(['Store Osaka']);
    expect(await namesOf({ q: '100%_' })).toEqual([]);
    const { items, matching, counts } = await list({
      group: (await list()).groups.find(({ name }) => name === 'Jobs')?.id,
    });
    expect(items.map(({ name }) => name)).toEqual(['Invoices', 'Nightly backup']);
    expect([matching, counts.all]).toEqual([2, demoCount]);
  });

  test('sorts by name, by downtime and by the newest change', async () => {
    expect((await namesOf({ sort: 'name' })).slice(0, 3)).toEqual(['Auth', 'Builds', 'Cart']);
    expect((await namesOf({ sort: 'downtime' })).slice(0, 3)).toEqual([
      'Store Oslo',
      'Checkout',
      'Payments',
    ]);
    expect((await namesOf({ sort: 'changed' }))[0]).toBe('Search API');
  });

  test.each(dashboardSorts)(
    'its pages follow each other without a gap, also where trouble ends within one: by %s',
    async (sort) => {
      const page = (offset: number, limit: number) =>
        dashboardPage(
          bench.sql,
          house.organisation,
          { status: null, search: '', group: null, tag: null },
          [],
          {
            sort,
            offset,
            most: limit,
            since: 0,
          },
        );
      const all = await page(0, demoCount);
      expect(all).toHaveLength(demoCount);
      const pages = await Promise.all([0, 3, 6].map((offset) => page(offset, 3)));
      expect(pages.flat()).toEqual(all.slice(0, 9));
      expect((await Promise.all([0, 1, 2, 3].map((offset) => page(offset, 1)))).flat()).toEqual(
        all.slice(0, 4),
      );
    },
  );

  test('is another one for another organisation, and an empty one', async () => {
    const { counts, items } = await list({}, other.owner);
    expect([counts.all, items]).toEqual([0, []]);
  });

  test('takes no page and no filter that there is not', async () => {
    expect(await bench.refusal(listDashboard, house.owner, { page: 0 })).toBe('faults');
    expect(await bench.refusal(listDashboard, house.owner, { status: 'broken' })).toBe('faults');
    expect((await list({ page: 7 })).items).toEqual([]);
  });
});

describe('the search', () => {
  const found = async (q: string, who = house.viewer) =>
    (await bench.call(search, who, { q })).items.map(({ kind, name }) => `${kind} ${name}`);

  test('finds monitors, groups and incidents by all of its words, those whose names begin so first', async () => {
    expect(await found('check')).toEqual([
      'monitor Checkout',
      'incident Checkout',
      'incident Checkout',
    ]);
    expect((await found('shop'))[0]).toBe('monitor Shop & co');
    expect(await found('jobs')).toEqual([
      'monitor Invoices',
      'monitor Nightly backup',
      'group Jobs',
    ]);
    expect(await found('osaka STORES')).toEqual(['monitor Store Osaka']);
    expect(await found('%')).toEqual([]);
  });

  test('shows trouble while nothing is typed, and nothing of others', async () => {
    expect(await found(' ')).toEqual(['monitor Checkout', 'monitor Search API']);
    expect(await found('check', other.owner)).toEqual([]);
  });
});

describe('several monitors at once', () => {
  const chosen = () => ['CDN', 'Docs', 'Staging'].map(demo.idOf);
  const lines = async () =>
    bench.sql<
      { change: string; partition: number }[]
    >`select payload->>'change' as change, partition from outbox order by id`;

  test('are paused and resumed; those that were so already stay, and their owners hear nothing', async () => {
    expect(
      await bench.call(changeMonitors, house.member, { monitors: chosen(), change: 'pause' }),
    ).toEqual({ changed: 2 });
    expect((await list()).counts.paused).toBe(4);
    expect((await lines()).map(({ change }) => change)).toEqual(['paused', 'paused']);
    expect(
      await bench.call(changeMonitors, house.member, {
        monitors: chosen().slice(0, 2),
        change: 'resume',
      }),
    ).toEqual({ changed: 2 });
    expect((await lines()).slice(2).map(({ change }) => change)).toEqual(['resumed', 'resumed']);
    expect((await list()).counts.paused).toBe(2);
  });

  test('are moved to a group, and out of any', async () => {
    const jobs = (await list()).groups.find(({ name }) => name === 'Jobs')?.id;
    expect(
      await bench.call(changeMonitors, house.member, {
        monitors: chosen(),
        change: 'group',
        group: jobs,
      }),
    ).toEqual({ changed: 3 });
    expect(await namesOf({ group: jobs })).toEqual([
      'CDN',
      'Docs',
      'Invoices',
      'Nightly backup',
      'Staging',
    ]);
    const [open] = await bench.sql<
      { count: number }[]
    >`select count(*) as count from group_memberships where group_id = ${jobs ?? ''} and ended_at is null`;
    expect(open?.count).toBe(5);
    await bench.call(changeMonitors, house.member, { monitors: chosen(), change: 'group' });
    expect(await namesOf({ group: jobs })).toEqual(['Invoices', 'Nightly backup']);
  });

  test('are all changed or none: one that is another’s changes nothing', async () => {
    const before = await list();
    expect(
      await bench.refusal(changeMonitors, other.owner, { monitors: chosen(), change: 'pause' }),
    ).toBe('monitor_not_found');
    expect(
      await bench.refusal(changeMonitors, house.member, {
        monitors: [...chosen(), house.owner.user],
        change: 'pause',
      }),
    ).toBe('monitor_not_found');
    expect(
      await bench.refusal(changeMonitors, house.member, {
        monitors: chosen(),
        change: 'group',
        group: house.owner.user,
      }),
    ).toBe('group_not_found');
    expect(
      await bench.refusal(changeMonitors, house.viewer, { monitors: chosen(), change: 'pause' }),
    ).toBe('role_insufficient');
    expect(
      await bench.refusal(changeMonitors, house.member, { monitors: [], change: 'pause' }),
    ).toBe('faults');
    expect((await list()).counts).toEqual(before.counts);
  });
});
