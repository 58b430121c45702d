import { beforeAll, describe, expect, test } from 'vitest';
import { coverOfMonitors } from '../../../coordinator/maintenance/cover.ts';
import { expandWindows } from '../../../coordinator/maintenance/queries.ts';
import { createGroup, deleteGroup } from '../../../shared/api/groups.ts';
import {
  createMaintenanceWindow,
  deleteMaintenanceWindow,
  getMaintenanceWindow,
  listMaintenanceWindows,
  previewMaintenanceWindow,
  updateMaintenanceWindow,
} from '../../../shared/api/maintenance.ts';
import { createMonitor, deleteMonitor, updateMonitor } from '../../../shared/api/monitors.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';

const bench = gateBench();
const hour = 3_600_000;
const day = 24 * hour;
let house: TestOrganisation;
let unknownSender: TestOrganisation;

beforeAll(async () => {
  house = await createTestOrganisation(bench.sql, { time_zone: 'Europe/Berlin' });
  unknownSender = await createTestOrganisation(bench.sql);
});

const monitor = async (
  group: string | null = null,
  of: TestOrganisation = house,
): Promise<string> =>
  (await bench.call(createMonitor, of.owner, { type: 'heartbeat', name: 'job', group })).id;
const group = async (): Promise<string> =>
  (await bench.call(createGroup, house.owner, { name: newId() })).id;
const window = (input: object) => bench.call(createMaintenanceWindow, house.owner, input);
const times = { starts_at: '2030-06-01T02:00', ends_at: '2030-06-01T04:00' };

/** When a monitor is covered within some hours around a moment, in hours from it. */
const covered = async (id: string, around: number): Promise<[number, number][]> => {
  const found =
    (
      await coverOfMonitors(bench.sql, [id], { from: around - 100 * day, to: around + 100 * day })
    ).get(id) ?? [];
  return found.map(({ from, to }) => [(from - around) / hour, (to - around) / hour]);
};

const iso = (at: number): string => new Date(at).toISOString();

describe('a window', () => {
  test('is in the time zone of the organisation, or at the given instants', async () => {
    const monitors = [await monitor()];
    const local = await window({ ...times, name: 'Deploy', monitors });
    expect(local).toMatchObject({
      name: 'Deploy',
      starts_at: '2030-06-01T00:00:00.000Z',
      ends_at: '2030-06-01T02:00:00.000Z',
      rrule: null,
      monitors,
      groups: [],
    });
    const instants = await window({
      starts_at: '2030-06-01T02:00:00Z',
      ends_at: '2030-06-01T06:00+02:00',
      monitors,
    });
    expect(instants).toMatchObject({
      starts_at: '2030-06-01T02:00:00.000Z',
      ends_at: '2030-06-01T04:00:00.000Z',
      name: null,
    });
    expect(await bench.call(getMaintenanceWindow, house.viewer, { window_id: local.id })).toEqual(
      local,
    );
    expect((await bench.call(listMaintenanceWindows, house.viewer)).items.slice(0, 2)).toEqual([
      instants,
      local,
    ]);
  });

  test('keeps the zone that the organisation had, and writes its occurrences down ahead', async () => {
    const { id } = await window({
      starts_at: '2030-03-24T02:30',
      ends_at: '2030-03-24T03:30',
      rrule: 'FREQ=WEEKLY',
      monitors: [await monitor()],
    });
    const rows = await bench.sql<
      { began_at: number }[]
    >`select began_at from maintenance_occurrences where window_id = ${id} order by 1`;
    // On March 31 the clock goes from 02:00 to 03:00, so that 02:30 does not exist.
    expect(rows.slice(0, 3).map(({ began_at }) => new Date(began_at).toISOString())).toEqual([
      '2030-03-24T01:30:00.000Z',
      '2030-03-31T01:30:00.000Z',
      '2030-04-07T00:30:00.000Z',
    ]);
    expect(rows.length).toBeGreaterThanOrEqual(12);
  });

  test('is in its given time zone, which must be valid', async () => {
    const times = { starts_at: '2030-03-24T02:30', ends_at: '2030-03-24T03:30' };
    const input = { ...times, time_zone: 'asia/tokyo', monitors: [await monitor()] };
    expect(await window(input)).toMatchObject({
      time_zone: 'Asia/Tokyo',
      starts_at: '2030-03-23T17:30:00.000Z',
    });
    const preview = { ...times, time_zone: 'Asia/Tokyo' };
    const { next_occurrences } = await bench.call(previewMaintenanceWindow, house.viewer, preview);
    expect(next_occurrences).toMatchObject([{ starts_at: '2030-03-23T17:30:00.000Z' }]);
    const wrong = { ...input, time_zone: '+02:00' };
    expect(await bench.refusal(createMaintenanceWindow, house.owner, wrong)).toBe(
      'time_zone_invalid',
    );
  });

  test('names monitors and groups of its own organisation, at least one', async () => {
    const code = (input: object) =>
      bench.refusal(createMaintenanceWindow, house.owner, { ...times, ...input });
    expect(await code({})).toBe('window_invalid');
    expect(await code({ monitors: [await monitor(null, unknownSender)] })).toBe(
      'monitor_not_found',
    );
    expect(await code({ monitors: [await monitor(), newId()] })).toBe('monitor_not_found');
    expect(await code({ groups: [newId()] })).toBe('group_not_found');
    const twice = await monitor();
    expect((await window({ ...times, monitors: [twice, twice] })).monitors).toEqual([twice]);
    expect(await code({ monitors: [twice], name: '' })).toBe('name_invalid');
    expect(await code({ monitors: [twice], ends_at: times.starts_at })).toBe('window_invalid');
    expect(await code({ monitors: [twice], rrule: 'FREQ=SECONDLY' })).toBe('rrule_invalid');
    expect(await code({ monitors: [twice], rrule: 'FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30' })).toBe(
      'rrule_invalid',
    );
    expect(await code({ monitors: [twice], starts_at: 'soon' })).toBe('faults');
  });

  test('is refused when all of it is over, and may begin in the past while some of it is to come', async () => {
    const monitors = [await monitor()];
    const { now } = bench;
    const past = { starts_at: iso(now - 5 * hour), ends_at: iso(now - 2 * hour), monitors };
    await expect(window(past)).rejects.toThrow(/wholly in the past.*it must end after now/);
    await expect(window({ ...past, rrule: 'FREQ=DAILY;COUNT=1' })).rejects.toThrow(
      /its last occurrence must end after now/,
    );
    const until = iso(now - 10 * day).replaceAll(/[-:]|\.\d+/g, '');
    const began = { starts_at: iso(now - 20 * day), ends_at: iso(now - 20 * day + hour), monitors };
    await expect(window({ ...began, rrule: `FREQ=WEEKLY;UNTIL=${until}` })).rejects.toThrow(
      /wholly in the past/,
    );
    expect(
      await bench.refusal(previewMaintenanceWindow, house.owner, {
        starts_at: past.starts_at,
        ends_at: past.ends_at,
      }),
    ).toBe('window_invalid');
    expect(await window({ ...began, rrule: 'FREQ=YEARLY' })).toMatchObject({
      rrule: 'FREQ=YEARLY',
    });
    const running = await window({ ...past, ends_at: iso(now + hour) });
    const change = (input: object) =>
      bench.refusal(updateMaintenanceWindow, house.owner, { window_id: running.id, ...input });
    expect(await change({ ends_at: iso(now - hour) })).toBe('window_invalid');
    bench.now = now + 3 * hour;
    expect(await change({ name: 'What it was for' })).toBe('taken');
    bench.now = now;
  });

  test('names a group no longer that is deleted, and stays', async () => {
    const [gone, kept, alone] = [await group(), await group(), await group()];
    const { id } = await window({ ...times, groups: [gone, kept] });
    const empty = await window({ ...times, groups: [alone] });
    for (const each of [gone, alone])
      await bench.call(deleteGroup, house.owner, { group_id: each });
    expect(
      (await bench.call(getMaintenanceWindow, house.viewer, { window_id: id })).groups,
    ).toEqual([kept]);
    expect(
      (await bench.call(listMaintenanceWindows, house.viewer)).items.find(
        (one) => one.id === empty.id,
      )?.groups,
    ).toEqual([]);
  });

  test('is gone from everywhere once it is deleted', async () => {
    const { id } = await window({ ...times, monitors: [await monitor()] });
    await bench.call(deleteMaintenanceWindow, house.member, { window_id: id });
    expect(await bench.refusal(getMaintenanceWindow, house.owner, { window_id: id })).toBe(
      'maintenance_window_not_found',
    );
    expect(await bench.refusal(deleteMaintenanceWindow, house.owner, { window_id: id })).toBe(
      'maintenance_window_not_found',
    );
    expect(
      (await bench.call(listMaintenanceWindows, house.owner)).items.map((item) => item.id),
    ).not.toContain(id);
  });
});

describe('cover', () => {
  test('begins at the later of start and creation, and ends now when the window is deleted; overlaps are one', async () => {
    const begun = Date.now();
    bench.now = begun;
    const id = await monitor();
    const long = await window({
      starts_at: iso(begun - 5 * hour),
      ends_at: iso(begun + 10 * hour),
      monitors: [id],
    });
    await window({
      starts_at: iso(begun + 8 * hour),
      ends_at: iso(begun + 12 * hour),
      monitors: [id],
    });
    expect(await covered(id, begun)).toEqual([[0, 12]]);
    bench.now = begun + 3 * hour;
    await bench.call(deleteMaintenanceWindow, house.owner, { window_id: long.id });
    expect(await covered(id, begun)).toEqual([
      [0, 3],
      [8, 12],
    ]);
    bench.now = begun;
  });

  test('through a group follows membership, and outlives the group', async () => {
    const begun = Date.now();
    const [shop, id, later] = [await group(), await monitor(), await monitor()];
    await bench.call(updateMonitor, house.owner, { monitor_id: id, group: shop });
    await window({ starts_at: iso(begun - hour), ends_at: iso(begun + 5 * hour), groups: [shop] });
    expect(await covered(later, begun)).toEqual([]);
    const [during] = await covered(id, begun);
    expect(during?.[1]).toBe(5);
    await bench.call(updateMonitor, house.owner, { monitor_id: later, group: shop });
    expect((await covered(later, begun))[0]?.[1]).toBe(5);
    await bench.call(updateMonitor, house.owner, { monitor_id: id, ungroup: true });
    const [before] = await covered(id, begun);
    expect(before?.[1]).toBeLessThan(0.1);
    await bench.call(deleteGroup, house.owner, { group_id: shop });
    const [past] = await covered(later, begun);
    expect(past?.[1]).toBeLessThan(0.1);
    expect(await covered(id, begun)).toEqual([before]);
  });

  test('of a deleted monitor is deleted with it, and the window stays', async () => {
    const [one, two] = [await monitor(), await monitor()];
    const { id } = await window({ ...times, monitors: [one, two] });
    await bench.call(deleteMonitor, house.owner, { monitor_id: one });
    expect(
      (await bench.call(getMaintenanceWindow, house.owner, { window_id: id })).monitors,
    ).toEqual([two]);
  });
});

describe('the housekeeper', () => {
  test('writes occurrences that lie on each other as the one stretch that they cover, and goes on with it', async () => {
    const begun = Date.parse('2030-01-01T00:00:00Z');
    bench.now = begun;
    const dense = {
      starts_at: '2029-12-31T00:00',
      ends_at: '2030-12-31T00:00',
      rrule: 'FREQ=MINUTELY;INTERVAL=27',
    };
    const { id } = await window({ ...dense, monitors: [await monitor()] });
    const stretches = () => bench.sql<{ began_at: number; ended_at: number }[]>`
      select began_at, ended_at from maintenance_occurrences where window_id = ${id} order by began_at`;
    const [written] = await stretches();
    expect(await stretches()).toHaveLength(1);
    expect(written?.ended_at).toBeGreaterThan(begun + (89 + 365) * day);
    await expandWindows(bench.sql, begun + 60 * day);
    const all = await stretches();
    expect(all).toHaveLength(2);
    expect(all[1]?.ended_at).toBeGreaterThan(begun + (149 + 365) * day);
    expect(all[1]?.began_at).toBeLessThan(written?.ended_at ?? 0);
    bench.now = Date.now();
  });

  test('writes on before the written occurrences run out, the same as at once, and stops when the rule ends', async () => {
    const begun = Date.parse('2030-01-01T00:00:00Z');
    bench.now = begun;
    const monitors = [await monitor()];
    const daily = await window({
      starts_at: '2030-01-01T02:00',
      ends_at: '2030-01-01T03:00',
      rrule: 'FREQ=DAILY',
      monitors,
    });
    const ending = await window({
      starts_at: '2030-01-01T02:00',
      ends_at: '2030-01-01T03:00',
      rrule: 'FREQ=DAILY;COUNT=100',
      monitors,
    });
    const count = async (id: string) =>
      (await bench.sql`select 1 from maintenance_occurrences where window_id = ${id}`).length;
    expect([await count(daily.id), await count(ending.id)]).toEqual([91, 91]);
    for (let now = begun; now < begun + 400 * day; now += day) await expandWindows(bench.sql, now);
    expect(await count(ending.id)).toBe(100);
    expect(
      await bench.sql`select expanded_until from maintenance_windows where id = ${ending.id}`,
    ).toEqual([{ expanded_until: null }]);
    const rows = await bench.sql<
      { began_at: number }[]
    >`select began_at from maintenance_occurrences where window_id = ${daily.id} order by 1`;
    expect(rows.length).toBeGreaterThan(400 + 60);
    const gaps = rows
      .slice(1)
      .map(({ began_at }, index) => (began_at - (rows[index]?.began_at ?? 0)) / hour);
    expect(gaps.filter((gap) => gap === 24).length + 3).toBe(gaps.length);
    expect(gaps.filter((gap) => gap !== 24).toSorted()).toEqual([23, 23, 25]);
    bench.now = Date.now();
  });

  test('works beside another: two at once write each occurrence once', async () => {
    const begun = Date.parse('2031-01-01T00:00:00Z');
    bench.now = begun;
    const made = await Promise.all(
      Array.from({ length: 8 }, async () =>
        window({
          ...times,
          starts_at: '2031-01-01T02:00',
          ends_at: '2031-01-01T02:50',
          rrule: 'FREQ=HOURLY',
          monitors: [await monitor()],
        }),
      ),
    );
    await Promise.all([1, 2, 3].map(() => expandWindows(bench.sql, begun + 40 * day)));
    for (const { id } of made) {
      const [row] = await bench.sql<{ count: number; until: number }[]>`
        select (select count(*) from maintenance_occurrences where window_id = w.id) as count, expanded_until as until from maintenance_windows w where id = ${id}`;
      expect(row?.until).toBeGreaterThan(begun + 120 * day);
      expect(row?.count).toBeGreaterThan(120 * 24);
    }
    bench.now = Date.now();
  });
});
