import { beforeAll, describe, expect, test } from 'vitest';
import type { Caller } from '../../../coordinator/gate/caller.ts';
import {
  changeMonitors,
  dashboardSorts,
  listDashboard,
  listFilters,
  noGroup,
  undoChange,
} from '../../../coordinator/monitors/contract.ts';
import { dashboardPage } from '../../../coordinator/monitors/dashboard-queries.ts';
import { search } from '../../../coordinator/search/contract.ts';
import { showFrame } from '../../../coordinator/web/contract.ts';
import { getCause } from '../../../shared/api/causes.ts';
import { createGroup, deleteGroup } from '../../../shared/api/groups.ts';
import { getIncident } from '../../../shared/api/incidents.ts';
import {
  createMaintenanceWindow,
  listMaintenanceWindows,
  updateMaintenanceWindow,
} from '../../../shared/api/maintenance.ts';
import {
  createMonitor,
  deleteMonitor,
  getMonitorStatus,
  updateMonitor,
} from '../../../shared/api/monitors.ts';
import { listAudit } from '../../../shared/api/organisations.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { makeCause } from '../../support/causes.ts';
import { type Demo, demoCount, seedDemo } from '../../support/demo.ts';
import { gateBench } from '../../support/gate.ts';
import {
  createTestOrganisation,
  type Person,
  type TestOrganisation,
} from '../../support/people.ts';

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
/** A member who acts on a page. */
const onPage = (): Caller => ({ ...house.member.caller, is: 'session' });
const namesOf = async (input: object) => (await list(input)).items.map(({ name }) => name);

describe('the dashboard', () => {
  test('counts every monitor once, maintenance before what it covers, and names who is in trouble', async () => {
    const { counts, failing, items } = await list();
    expect(counts).toEqual({
      all: demoCount,
      down: 1,
      verifying: 1,
      up: demoCount - 5,
      maintenance: 1,
      pending: 0,
      warned: 6,
      paused: 2,
    });
    expect(
      failing.map(({ name, status, cause, witnesses }) => [name, status, cause, ...witnesses]),
    ).toEqual([
      [
        'Checkout',
        'down',
        'Status 503, expected 2xx',
        { place: 'Europe', outcome: 'fail', after_ms: 0 },
        { place: 'North America', outcome: 'fail', after_ms: 263 },
        { place: 'Asia', outcome: 'ok', after_ms: 311 },
      ],
      [
        'Search API',
        'verifying',
        'Status 503, expected 2xx',
        { place: 'Asia', outcome: 'fail', after_ms: 0 },
      ],
    ]);
    expect(failing[0]?.incident).toBe(demo.incident);
    // Since it began, as the incident itself says.
    const { started_at } = await bench.call(getIncident, house.viewer, {
      incident_id: demo.incident,
    });
    expect(failing[0]?.since).toBe(started_at);
    expect(items.find(({ name }) => name === 'Checkout')?.since).toBe(started_at);
    expect((await bench.call(showFrame, house.viewer)).outages).toBe(1);
  });

  test('says of each monitor what its own status says', async () => {
    for (const { id, name, status, percent } of (await list()).items.slice(0, 12)) {
      const own = await bench.call(getMonitorStatus, house.viewer, { monitor_id: id });
      expect([name, percent]).toEqual([name, own.uptime.percent]);
      if (status !== 'maintenance') expect([name, status]).toEqual([name, own.status]);
    }
  });

  test('folds those that are down by one cause into one row, as far as they match', async () => {
    const own = await createTestOrganisation(bench.sql);
    const down = async (name: string): Promise<string> => {
      const { id } = await bench.call(createMonitor, own.owner, { type: 'heartbeat', name });
      const incident = newId();
      await bench.sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at)
        values (${incident}, ${own.organisation}, ${id}, now(), now())`;
      await bench.sql`update monitor_status set status = 'down' where monitor_id = ${id}`;
      return incident;
    };
    const members = [await down('Shop 1'), await down('Shop 2'), await down('Mail')];
    await down('Alone');
    const cause = await makeCause(bench.sql, own.organisation, ...members);
    const { name } = await bench.call(getCause, own.viewer, { cause_id: cause });
    const shown = async (q: string) => {
      const { causes, failing } = await list({ q }, own.viewer);
      return [causes.map((each) => [each.name, each.down]), failing.map((each) => each.name)];
    };
    expect(await shown('')).toEqual([[[name, 3]], ['Alone']]);
    expect(await shown('shop')).toEqual([[[name, 2]], []]);
    expect(await shown('mail')).toEqual([[], ['Mail']]);
    await bench.sql`update causes set ended_at = now() where id = ${cause}`;
    expect((await list({}, own.viewer)).causes).toEqual([]);
  });

  test('has no uptime while less than an hour was measured, however old the monitor is', async () => {
    const [newcomer] = (await list({ q: 'Newcomer' })).items;
    expect(newcomer).toMatchObject({ name: 'Newcomer', percent: null });
    const own = await createTestOrganisation(bench.sql);
    const { id } = await bench.call(createMonitor, own.owner, { type: 'heartbeat', name: 'Old' });
    await bench.sql`update monitors set created_at = now() - interval '40 days' where id = ${id}`;
    const fails = async (minutes: number) => {
      await bench.sql`delete from incidents where monitor_id = ${id}`;
      const began = new Date(bench.now - minutes * 60_000);
      await bench.sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at)
        values (${newId()}, ${own.organisation}, ${id}, ${began}, ${began})`;
      return (await list({}, own.viewer)).items[0]?.percent;
    };
    expect([await fails(4), await fails(61)]).toEqual([null, 0]);
  });

  test('shows monitors by group and name, those without a group at the end, or trouble first', async () => {
    const { items, groups } = await list();
    const troubleFirst = (await namesOf({ sort: 'state' })).slice(0, 4);
    expect(troubleFirst).toEqual(['Checkout', 'Search API', 'Invoices', 'Nightly backup']);
    expect(items.slice(0, 2).map(({ name }) => name)).toEqual(['Invoices', 'Nightly backup']);
    expect(items.slice(-3).map(({ name, group }) => [name, group])).toEqual([
      ['Newcomer', null],
      ['Old shop', null],
      ['Staging', null],
    ]);
    const shop = groups.find(({ name }) => name === 'Shop');
    expect(shop).toMatchObject({ status: 'down', monitors: 13 });
    // What the heading says is what its rows say.
    const failing = items.filter(
      ({ group, status }) => group === shop?.id && (status === 'down' || status === 'verifying'),
    );
    expect(shop?.failing).toBe(failing.length);
    expect(groups.find(({ name }) => name === 'Jobs')).toMatchObject({ status: 'up', monitors: 2 });
  });

  test('counts what maintenance covers among the failing of no group', async () => {
    const login = (await list()).items.find(({ name }) => name === 'Login');
    const failing = async () =>
      (await list()).groups.find(({ id }) => id === login?.group)?.failing;
    const before = await failing();
    const set = (status: string) =>
      bench.sql`update monitor_status set status = ${status} where monitor_id = ${login?.id ?? ''}`;
    await set('down');
    expect(await failing()).toBe(before);
    await set('up');
    expect(before).toBeGreaterThanOrEqual(0);
  });

  test('shows a row with its day, its cause in our words, and what it is covered by', async () => {
    const { items } = await list();
    const rowOf = (name: string) => items.find((each) => each.name === name);
    expect(rowOf('Checkout')).toMatchObject({
      status: 'down',
      cause: 'Status 503, expected 2xx',
      incident: demo.incident,
    });
    expect(rowOf('Checkout')?.bars).toHaveLength(24);
    expect(rowOf('Checkout')?.bars.at(-1)).toBe('down');
    expect(rowOf('Search API')?.bars.at(-1)).toBe('verifying');
    expect(rowOf('CDN')?.bars).toContain('unknown');
    expect(rowOf('Newcomer')?.bars.slice(0, 23)).toEqual(Array(23).fill('none'));
    expect(rowOf('Login')?.covered_until).toBe(new Date(bench.now + 48 * 60_000).toISOString());
    expect(rowOf('Cart')?.response.length).toBeGreaterThan(20);
    expect(rowOf('Staging')?.bars).toEqual(Array(24).fill('paused'));
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
    expect([matching, counts.all]).toEqual([2, 2]);
    expect(await namesOf({ group: noGroup })).toEqual(
      (await list()).items.flatMap(({ name, group }) => (group === null ? [name] : [])),
    );
  });

  test('filters compose, and counts, trouble and further filters are of what is left', async () => {
    const of = await createTestOrganisation(bench.sql);
    const make = (name: string, tags: string[], type = 'https') =>
      bench.call(createMonitor, of.owner, {
        name,
        tags,
        type,
        target: type === 'dns' ? 'shop.example' : type === 'https' ? 'https://shop.example/' : '',
        ...(type === 'heartbeat' ? { config: { grace_s: 60 } } : {}),
      });
    await make('One', ['eu', 'pay']);
    await make('Two', ['eu']);
    await make('Three', ['pay'], 'dns');
    const left = async (input: object) => {
      const { items, counts } = await list(input, of.owner);
      return [items.map(({ name }) => name).toSorted(), counts.all];
    };
    const offered = async (input: object) =>
      (await bench.call(listFilters, of.viewer, input)).items.map(
        ({ facet, value, monitors }) => `${facet} ${value} ${monitors}`,
      );
    expect(await left({ tag: 'eu' })).toEqual([['One', 'Two'], 2]);
    expect(await left({ tag: 'pay, EU' })).toEqual([['One'], 1]);
    expect(await left({ tag: 'pay', kind: 'dns' })).toEqual([['Three'], 1]);
    // Words find tags too; a status narrows the rows alone.
    expect(await left({ q: 'pay', status: 'up' })).toEqual([[], 2]);
    const all = [`group ${noGroup} 3`, 'kind dns 1', 'kind https 2', 'tag eu 2', 'tag pay 2'];
    expect((await offered({})).toSorted()).toEqual(all);
    expect((await offered({ kind: 'dns' })).toSorted()).toEqual([
      `group ${noGroup} 1`,
      'kind dns 1',
      'kind https 2',
      'tag pay 1',
    ]);
    const [two] = (await list({ q: 'two' }, of.owner)).items;
    await bench.call(updateMonitor, of.owner, { monitor_id: two?.id, tags: ['us'] });
    expect((await offered({})).toSorted()).toEqual([
      `group ${noGroup} 3`,
      'kind dns 1',
      'kind https 2',
      'tag eu 1',
      'tag pay 2',
      'tag us 1',
    ]);
    await bench.call(deleteMonitor, of.owner, { monitor_id: two?.id });
    expect(await offered({})).not.toContain('tag us 1');
    expect(await offered({})).toContain('kind https 1');
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
          { status: null, kind: null, search: '', group: null, tags: [], warning: null },
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

  test('shows an empty organisation', async () => {
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
    >`select payload->>'change' as change, partition from outbox where organisation_id = ${house.organisation} order by id`;

  test('are paused and resumed; those already in that state stay, and their owners get no event', async () => {
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

  test('are moved into a group, and out of any', async () => {
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

  test('are tagged and untagged, and an invalid tag changes nothing', async () => {
    const tagsOf = async () =>
      (await list()).items.filter(({ id }) => chosen().includes(id)).map(({ tags }) => tags);
    const change = (input: object) =>
      bench.call(changeMonitors, house.member, { monitors: chosen(), ...input });
    expect(await change({ change: 'tag', tag: ' Night ' })).toEqual({ changed: 3 });
    expect(await change({ change: 'tag', tag: 'night' })).toEqual({ changed: 0 });
    expect(await tagsOf()).toEqual([['night'], ['night'], ['night']]);
    expect(
      await bench.refusal(changeMonitors, house.member, {
        monitors: chosen(),
        change: 'tag',
        tag: 'two words',
      }),
    ).toBe('tags_invalid');
    expect(await change({ change: 'untag', tag: 'night' })).toEqual({ changed: 3 });
    expect(await tagsOf()).toEqual([[], [], []]);
  });

  test('are restored when their last change is undone, by its author, once, for a minute', async () => {
    const of = async () =>
      (await list({ sort: 'name' })).items.map(({ name, enabled, group, tags, muted }) => [
        name,
        enabled,
        group,
        tags,
        muted,
      ]);
    const undo = () => bench.call(undoChange, onPage());
    const before = await of();
    const jobs = (await list()).groups.find(({ name }) => name === 'Jobs')?.id;
    for (const change of [
      { change: 'pause' },
      { change: 'group', group: jobs },
      { change: 'tag', tag: 'night' },
      { change: 'mute', minutes: 60 },
    ]) {
      await bench.call(changeMonitors, onPage(), { monitors: chosen(), ...change });
      expect(await of()).not.toEqual(before);
      expect(await bench.refusal(undoChange, house.owner)).toBe('nothing_to_undo');
      // What a program of the same user changed since is its own.
      const byProgram = { monitors: chosen(), change: 'untag', tag: 'none' };
      await bench.call(changeMonitors, house.member, byProgram);
      await undo();
      expect(await of()).toEqual(before);
      expect(await bench.refusal(undoChange, onPage())).toBe('nothing_to_undo');
    }
    await bench.call(changeMonitors, onPage(), { monitors: chosen(), change: 'pause' });
    // Someone else resumed one of them since: it stays as it is now.
    await bench.call(updateMonitor, house.owner, { monitor_id: chosen()[0], enabled: true });
    expect(await undo()).toEqual({ changed: 1 });
    expect(await of()).toEqual(before);
  });

  test('keep the tags, mutes and groups that someone else gave them since, when a change is undone', async () => {
    const [first = '', second = '', third = ''] = chosen();
    const change = (who: Person | Caller, input: object) => {
      bench.now += 1_000;
      return bench.call(changeMonitors, who, { monitors: chosen(), ...input });
    };
    const undo = () => bench.call(undoChange, onPage());
    const newest = async () =>
      (await bench.call(listAudit, house.owner, { operation: 'undoChange', limit: 1 })).items[0];
    const of = async (id: string) => (await list()).items.find((each) => each.id === id);
    const names = (await list()).items.flatMap(({ id, name }) =>
      [second, third].includes(id) ? [name] : [],
    );

    await change(onPage(), { change: 'tag', tag: 'night' });
    await change(house.owner, { monitors: [first], change: 'tag', tag: 'paid' });
    await undo();
    expect((await of(first))?.tags).toEqual(['paid']);
    await change(house.owner, { monitors: [first], change: 'untag', tag: 'paid' });

    await change(onPage(), { change: 'mute', minutes: 60 });
    await change(house.owner, { monitors: [first], change: 'mute', minutes: null });
    expect(await undo()).toEqual({ changed: 2 });
    expect((await of(first))?.muted).toMatchObject({ until: null });
    expect((await of(second))?.muted).toBeNull();
    expect((await newest())?.after?.names).toEqual(expect.arrayContaining(names));
    expect((await newest())?.after?.names).toHaveLength(2);

    await change(house.owner, { change: 'mute', minutes: 60 });
    await change(onPage(), { change: 'unmute' });
    await change(house.owner, { monitors: [first], change: 'mute', minutes: null });
    expect(await undo()).toEqual({ changed: 2 });
    expect((await of(first))?.muted).toMatchObject({ until: null });
    expect((await of(second))?.muted).toMatchObject({ until: expect.any(String) });
    await change(house.owner, { change: 'unmute' });

    const make = async (name: string) => (await bench.call(createGroup, house.owner, { name })).id;
    const [kept, gone, target] = [await make('Kept'), await make('Gone'), await make('Target')];
    await change(house.owner, { monitors: [first], change: 'group', group: gone });
    await change(house.owner, { monitors: [second], change: 'group', group: kept });
    await change(onPage(), { change: 'group', group: target });
    await bench.call(deleteGroup, house.owner, { group_id: gone });
    expect(await undo()).toEqual({ changed: 2 });
    expect((await of(first))?.group).toBe(target);
    expect((await of(second))?.group).toBe(kept);
    expect((await of(third))?.group).toBeNull();
    expect((await newest())?.after?.names).toHaveLength(2);
    await change(house.owner, { change: 'group', group: null });
    for (const group_id of [kept, target]) await bench.call(deleteGroup, house.owner, { group_id });
  });

  test('covered by a new window are not, once their maintenance is undone', async () => {
    const windows = async () =>
      (await bench.call(listMaintenanceWindows, house.member)).items.map(({ id }) => id);
    const before = await windows();
    const plan = (who: Caller) =>
      bench.call(createMaintenanceWindow, who, {
        monitors: chosen(),
        starts_at: new Date(bench.now).toISOString(),
        ends_at: new Date(bench.now + 3_600_000).toISOString(),
      });
    const { id } = await plan(onPage());
    expect(await windows()).toContain(id);
    expect(await bench.refusal(undoChange, house.owner)).toBe('nothing_to_undo');
    await bench.call(undoChange, onPage());
    expect(await windows()).toEqual(before);
    // What someone else changed since stays.
    const { id: window_id } = await plan(onPage());
    await bench.call(updateMaintenanceWindow, house.owner, { window_id, name: 'Ours' });
    expect(await bench.refusal(undoChange, onPage())).toBe('nothing_to_undo');
    // What a program planned is its own.
    await plan(house.member.caller);
    expect(await bench.refusal(undoChange, onPage())).toBe('nothing_to_undo');
  });

  test('are named in the audit log, with what was done to them', async () => {
    const newest = async () =>
      (await bench.call(listAudit, house.owner, { operation: 'changeMonitors', limit: 1 }))
        .items[0];
    const names = ['Checkout', 'Search API'];
    const monitors = (await list()).items.flatMap(({ id, name }) =>
      names.includes(name) ? [id] : [],
    );
    for (const [change, what] of [
      [{ change: 'pause' }, 'Paused 2 monitors'],
      [{ change: 'resume' }, 'Resumed 2 monitors'],
      [{ change: 'tag', tag: 'night' }, 'Tagged 2 monitors'],
      [{ change: 'untag', tag: 'night' }, 'Untagged 2 monitors'],
      [{ change: 'mute', minutes: 5 }, 'Muted 2 monitors'],
      [{ change: 'unmute' }, 'Unmuted 2 monitors'],
    ] as const) {
      await bench.call(changeMonitors, house.member, { monitors, ...change });
      const entry = await newest();
      expect(entry?.what).toBe(what);
      expect(entry?.after?.names).toEqual(expect.arrayContaining(names));
    }
  });

  test('are all changed or none: one of another organisation changes nothing', async () => {
    const before = await list();
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
      await bench.refusal(changeMonitors, house.member, { monitors: [], change: 'pause' }),
    ).toBe('faults');
    expect((await list()).counts).toEqual(before.counts);
  });
});
