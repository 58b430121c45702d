import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  listMaintenanceByTime,
  showMaintenanceWindow,
} from '../../../coordinator/maintenance/contract.ts';
import { coverOfMonitors } from '../../../coordinator/maintenance/cover.ts';
import { expandWindows } from '../../../coordinator/maintenance/queries.ts';
import { createGroup } from '../../../shared/api/groups.ts';
import {
  createMaintenanceWindow,
  deleteMaintenanceWindow,
  endMaintenanceNow,
  getMaintenanceWindow,
  listMaintenanceWindows,
  previewMaintenanceWindow,
  startMaintenanceNow,
  updateMaintenanceWindow,
} from '../../../shared/api/maintenance.ts';
import { createMonitor, getMonitorLedger } from '../../../shared/api/monitors.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';

/** Windows that are changed, begun and ended: what they covered stays covered (rule 24). */

const bench = gateBench();
const hour = 3_600_000;
const day = 24 * hour;
const begun = Date.now();
let house: TestOrganisation;

beforeAll(async () => {
  house = await createTestOrganisation(bench.sql, { time_zone: 'Europe/Berlin' });
});
beforeEach(() => {
  bench.now = begun;
});

const iso = (at: number): string => new Date(at).toISOString();
const monitor = async (name = 'job'): Promise<string> =>
  (await bench.call(createMonitor, house.owner, { type: 'heartbeat', name })).id;
const window = (input: object) => bench.call(createMaintenanceWindow, house.owner, input);
const change = (window_id: string, input: object) =>
  bench.call(updateMaintenanceWindow, house.owner, { window_id, ...input });
const end = (window_id: string) => bench.call(endMaintenanceNow, house.owner, { window_id });
const start = (window_id: string) => bench.call(startMaintenanceNow, house.owner, { window_id });
const later = (hours: number): void => {
  bench.now = begun + hours * hour;
};

/** When a monitor is covered in the next days, in hours from the beginning of the test. */
const covered = async (id: string, days = 3): Promise<[number, number][]> => {
  const found =
    (await coverOfMonitors(bench.sql, [id], { from: begun - day, to: begun + days * day })).get(
      id,
    ) ?? [];
  return found.map(({ from, to }) => [(from - begun) / hour, (to - begun) / hour]);
};

describe('a window that is changed', () => {
  test('covers from now on as it is now, and covered before as it was', async () => {
    const [one, two] = [await monitor(), await monitor()];
    const { id } = await window({
      starts_at: iso(begun),
      ends_at: iso(begun + 4 * hour),
      monitors: [one],
    });
    later(1);
    await change(id, { ends_at: iso(begun + 2 * hour) });
    expect(await covered(one)).toEqual([[0, 2]]);
    later(1.5);
    await change(id, { monitors: [two] });
    expect([await covered(one), await covered(two)]).toEqual([[[0, 1.5]], [[1.5, 2]]]);
    later(2.5);
    await change(id, {
      starts_at: iso(begun + 5 * hour),
      ends_at: iso(begun + 6 * hour),
      monitors: [one, two],
    });
    expect([await covered(one), await covered(two)]).toEqual([
      [
        [0, 1.5],
        [5, 6],
      ],
      [
        [1.5, 2],
        [5, 6],
      ],
    ]);
    later(5.5);
    await bench.call(deleteMaintenanceWindow, house.owner, { window_id: id });
    expect((await covered(two)).at(-1)).toEqual([5, 5.5]);
  });

  test('is still one window: in lists, by its name in the ledger, and its earlier versions are hidden', async () => {
    const id = await monitor('ledger');
    const made = await window({
      starts_at: iso(begun),
      ends_at: iso(begun + 4 * hour),
      monitors: [id],
      name: 'Old name',
    });
    const before = (await bench.call(listMaintenanceWindows, house.owner)).items.length;
    later(1);
    await change(made.id, { ends_at: iso(begun + 3 * hour), name: 'New name' });
    expect((await bench.call(listMaintenanceWindows, house.owner)).items).toHaveLength(before);
    const { stretches } = await bench.call(getMonitorLedger, house.owner, {
      monitor_id: id,
      days: 1,
    });
    const of = stretches.filter(({ state }) => state === 'maintenance');
    expect(new Set(of.map(({ window: cause, window_name }) => `${cause} ${window_name}`))).toEqual(
      new Set([`${made.id} New name`]),
    );
    const versions = await bench.sql<
      { id: string }[]
    >`select id from maintenance_windows where version_of = ${made.id}`;
    expect(versions).toHaveLength(1);
    expect(
      await bench.refusal(getMaintenanceWindow, house.owner, { window_id: versions[0]?.id }),
    ).toBe('maintenance_window_not_found');
  });

  test('keeps no version of a past in which it covered nothing, or when only its name changes', async () => {
    const { id } = await window({
      starts_at: iso(begun + day),
      ends_at: iso(begun + day + hour),
      monitors: [await monitor()],
    });
    later(1);
    await change(id, { starts_at: iso(begun + day - hour) });
    later(24);
    expect(await change(id, { name: 'Only a name' })).toMatchObject({ name: 'Only a name' });
    expect(
      await bench.sql`select 1 from maintenance_windows where version_of = ${id}`,
    ).toHaveLength(0);
    expect(await change(id, { name: '' })).toMatchObject({ name: null });
  });

  test('keeps its clock, keeps what is not sent, and ceases to repeat with an empty rule', async () => {
    const made = await window({
      starts_at: '2030-06-01T02:00',
      ends_at: '2030-06-01T04:00',
      rrule: 'FREQ=DAILY',
      monitors: [await monitor()],
    });
    await bench.sql`update organisations set time_zone = 'Asia/Tokyo' where id = ${house.organisation}`;
    try {
      const moved = await change(made.id, { starts_at: '2030-06-01T01:00' });
      expect(moved).toMatchObject({
        starts_at: '2030-05-31T23:00:00.000Z',
        ends_at: made.ends_at,
        rrule: 'FREQ=DAILY',
        time_zone: 'Europe/Berlin',
      });
      expect(moved.next_occurrences[1]).toMatchObject({
        local_start: '2030-06-02T01:00:00',
        local_end: '2030-06-02T04:00:00',
      });
      expect(await change(made.id, { rrule: ' ' })).toMatchObject({
        rrule: null,
        repeats: null,
        starts_at: moved.starts_at,
      });
    } finally {
      await bench.sql`update organisations set time_zone = 'Europe/Berlin' where id = ${house.organisation}`;
    }
  });

  test('is validated like a new one, and stays as it was when refused', async () => {
    const made = await window({
      starts_at: '2030-06-01T02:00',
      ends_at: '2030-06-01T04:00',
      monitors: [await monitor()],
    });
    const code = (input: object) =>
      bench.refusal(updateMaintenanceWindow, house.owner, { window_id: made.id, ...input });
    expect(await code({ ends_at: '2030-06-01T02:00' })).toBe('window_invalid');
    expect(await code({ rrule: 'FREQ=SECONDLY' })).toBe('rrule_invalid');
    expect(await code({ monitors: [] })).toBe('window_invalid');
    expect(await code({ groups: [made.id] })).toBe('group_not_found');
    expect(await code({ name: 'x'.repeat(201) })).toBe('name_invalid');
    expect(await bench.call(getMaintenanceWindow, house.viewer, { window_id: made.id })).toEqual(
      made,
    );
  });

  test('is still expanded by the housekeeper, by its new rule', async () => {
    const id = await monitor();
    const made = await window({
      starts_at: iso(begun + hour),
      ends_at: iso(begun + 2 * hour),
      rrule: 'FREQ=DAILY',
      monitors: [id],
    });
    await change(made.id, { rrule: 'FREQ=WEEKLY' });
    bench.now = begun + 80 * day;
    while ((await expandWindows(bench.sql, bench.now)) > 0);
    const rows = await bench.sql<
      { began_at: number }[]
    >`select began_at from maintenance_occurrences where window_id = ${made.id} order by 1`;
    const gaps = new Set(
      rows
        .slice(1)
        .map(({ began_at }, at) => Math.round((began_at - (rows[at]?.began_at ?? 0)) / day)),
    );
    expect([...gaps]).toEqual([7]);
    expect(rows.length).toBeGreaterThan(20);
  });
});

describe('ended now', () => {
  test('a window that does not repeat is over, and what it covered stays covered', async () => {
    const id = await monitor();
    const made = await window({
      starts_at: iso(begun),
      ends_at: iso(begun + 4 * hour),
      monitors: [id],
    });
    later(1);
    expect(await end(made.id)).toMatchObject({ ends_at: iso(begun + hour), next_occurrences: [] });
    expect(await covered(id)).toEqual([[0, 1]]);
    expect(await bench.refusal(endMaintenanceNow, house.owner, { window_id: made.id })).toBe(
      'window_invalid',
    );
  });

  test('one that repeats goes on with its next occurrence, also where they lie on each other', async () => {
    for (const lasts of [4, 30]) {
      later(0);
      const id = await monitor();
      const made = await window({
        starts_at: iso(begun),
        ends_at: iso(begun + lasts * hour),
        rrule: 'FREQ=DAILY',
        monitors: [id],
      });
      later(1);
      const ended = await end(made.id);
      expect(Date.parse(ended.next_occurrences[0]?.starts_at ?? '')).toBeGreaterThan(bench.now);
      const [first, second] = await covered(id);
      expect(first).toEqual([0, 1]);
      expect(Math.abs((second?.[0] ?? 0) - 24)).toBeLessThanOrEqual(1);
      later(2);
      expect(
        await bench.call(showMaintenanceWindow, house.viewer, { window_id: made.id }),
      ).toMatchObject({
        state: 'coming',
        last_ended_at: iso(begun + hour),
        monitors: [{ id, name: 'job' }],
        groups: [],
      });
    }
  });
});

describe('started now', () => {
  test('one that is to come is moved, as long as it was', async () => {
    const id = await monitor();
    const made = await window({
      starts_at: iso(begun + day),
      ends_at: iso(begun + day + 2 * hour),
      monitors: [id],
    });
    later(1);
    expect(await start(made.id)).toMatchObject({
      id: made.id,
      starts_at: iso(begun + hour),
      ends_at: iso(begun + 3 * hour),
    });
    expect(await covered(id)).toEqual([[1, 3]]);
    expect(await bench.refusal(startMaintenanceNow, house.owner, { window_id: made.id })).toBe(
      'window_invalid',
    );
  });

  test('creates one that covers the same, once, for one that repeats or is over', async () => {
    const id = await monitor();
    const made = await window({
      starts_at: iso(begun),
      ends_at: iso(begun + hour),
      rrule: 'FREQ=DAILY',
      monitors: [id],
      name: 'Nightly',
    });
    later(3);
    const extra = await start(made.id);
    expect(extra).toMatchObject({
      name: 'Nightly',
      rrule: null,
      monitors: [id],
      ends_at: iso(begun + 4 * hour),
    });
    expect(extra.id).not.toBe(made.id);
    expect((await covered(id, 0.5)).slice(0, 2)).toEqual([
      [0, 1],
      [3, 4],
    ]);
    later(5);
    expect((await start(extra.id)).id).not.toBe(extra.id);
  });
});

test('a preview says when a window would be, by the clock that it would have, and saves nothing', async () => {
  const before = await bench.sql`select id from maintenance_windows`;
  const times = {
    starts_at: '2030-03-24T02:30',
    ends_at: '2030-03-24T03:30',
    rrule: 'FREQ=WEEKLY;BYDAY=SU',
  };
  const preview = await bench.call(previewMaintenanceWindow, house.viewer, times);
  expect(preview).toMatchObject({ time_zone: 'Europe/Berlin', repeats: 'every week on Sunday' });
  expect(preview.next_occurrences).toHaveLength(10);
  expect(preview.next_occurrences[1]).toEqual({
    starts_at: '2030-03-31T01:30:00.000Z',
    ends_at: '2030-03-31T02:30:00.000Z',
    local_start: '2030-03-31T03:30:00',
    local_end: '2030-03-31T04:30:00',
    notes: ['The clock is put forward over 02:30 that night, so it begins at 03:30.'],
  });
  expect(
    await bench.refusal(previewMaintenanceWindow, house.viewer, { ...times, rrule: 'FREQ=NEVER' }),
  ).toBe('rrule_invalid');
  expect(await bench.sql`select id from maintenance_windows`).toEqual(before);
});

test('by time: active, upcoming, and past, counted', async () => {
  const own = await createTestOrganisation(bench.sql);
  const as = own.owner;
  const group = (await bench.call(createGroup, as, { name: 'Shop' })).id;
  const ids: string[] = [];
  for (const name of ['A', 'B', 'C'])
    ids.push((await bench.call(createMonitor, as, { type: 'heartbeat', name })).id);
  const make = (name: string, from: number, to: number, more: object = {}) =>
    bench.call(createMaintenanceWindow, as, {
      name,
      starts_at: iso(begun + from * hour),
      ends_at: iso(begun + to * hour),
      monitors: ids,
      ...more,
    });
  const { now: present } = bench;
  bench.now = begun - 6 * hour;
  await make('over', -5, -4);
  await make('over later', -3, -2);
  bench.now = present;
  await make('far', 2 * 24, 3 * 24);
  await make('soon', 1, 2, { groups: [group] });
  await make('running', -1, 1);
  await make('yearly', -48, -47, { rrule: 'FREQ=YEARLY' });
  const now = await bench.call(listMaintenanceByTime, own.viewer);
  expect(now).toMatchObject({ running: 1, coming: 3, over: 2 });
  expect(now.items.map(({ name, state }) => [name, state])).toEqual([
    ['running', 'running'],
    ['soon', 'coming'],
    ['far', 'coming'],
    ['yearly', 'coming'],
  ]);
  expect(now.items[1]).toMatchObject({
    covers: ['Shop', 'A', 'B'],
    monitors: 3,
    groups: 1,
    starts_at: iso(begun + hour),
    repeats: null,
  });
  expect(Date.parse(now.items[3]?.starts_at ?? '')).toBeGreaterThan(begun + 300 * day);
  const over = await bench.call(listMaintenanceByTime, own.viewer, { over: true });
  expect(over.items.map(({ name, state }) => [name, state])).toEqual([
    ['over later', 'over'],
    ['over', 'over'],
  ]);
});
