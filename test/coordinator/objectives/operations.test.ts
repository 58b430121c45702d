import { beforeAll, describe, expect, test } from 'vitest';
import { createObjectiveEvaluation } from '../../../coordinator/objectives/evaluation.ts';
import { createAccountSecrets } from '../../../coordinator/secrets/account-secrets.ts';
import { publishedPage, readPublished } from '../../../coordinator/status-pages/public/queries.ts';
import { createGroup, deleteGroup } from '../../../shared/api/groups.ts';
import { createMonitor, getMonitor } from '../../../shared/api/monitors.ts';
import {
  createObjective,
  deleteObjective,
  getObjective,
  listObjectives,
  updateObjective,
} from '../../../shared/api/objectives.ts';
import { getUptimeReport } from '../../../shared/api/reports.ts';
import { addStatusPageMonitor, createStatusPage } from '../../../shared/api/status-pages.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { gateBench } from '../../support/gate.ts';
import {
  createTestOrganisation,
  type TestOrganisation,
  testSecretKey,
} from '../../support/people.ts';

const bench = gateBench();
const minute = 60_000;
const hour = 60 * minute;
const start = Date.parse('2026-11-20T12:00:00.000Z');
let house: TestOrganisation;
let group: string;
let shop: string;
let blog: string;

const evaluation = () =>
  createObjectiveEvaluation({
    sql: bench.sql,
    results: bench.results,
    clock: { now: () => bench.now },
    isLeader: () => true,
  });

const fails = async (monitor: string, from: number, to: number | null): Promise<void> => {
  const ended = to === null ? null : new Date(start + to);
  await bench.sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at,
    resolved_at) values (${newId()}, ${house.organisation}, ${monitor}, ${new Date(start + from)},
    ${new Date(start + from)}, ${ended})`;
};

const warningsOf = (objective: string) =>
  bench.sql<{ code: string; monitor_id: string; from: number; to: number | null }[]>`
    select code, monitor_id, (date_part('epoch', began_at) * 1000)::bigint as from,
      (date_part('epoch', ended_at) * 1000)::bigint as to from warnings
    where objective_id = ${objective} order by key`;

const alertsOf = async (objective: string): Promise<string[]> =>
  (
    await bench.sql<{ event: string }[]>`select a.event from alerts a
      join warnings w on w.id = a.warning_id where w.objective_id = ${objective} order by a.id`
  ).map(({ event }) => event);

beforeAll(async () => {
  bench.now = start;
  const europe = await bench.addProbe('Europe');
  expect(europe).not.toBe('');
  house = await createTestOrganisation(bench.sql);
  ({ id: group } = await bench.call(createGroup, house.owner, { name: 'Web' }));
  const made = { type: 'https', target: 'https://example.com', group };
  ({ id: shop } = await bench.call(createMonitor, house.owner, { ...made, name: 'Shop' }));
  ({ id: blog } = await bench.call(createMonitor, house.owner, {
    ...made,
    name: 'Blog',
    tags: ['eu'],
  }));
  await bench.sql`update monitors set created_at = '2026-11-01T00:00:00Z'`;
  await bench.sql`update group_memberships set began_at = '2026-11-01T00:00:00Z'`;
  // What no check has covered is unknown up to ten days before.
  for (const id of [shop, blog])
    await bench.sql`insert into ledger (monitor_id, kind, began_at, ended_at, interval_s)
      values (${id}, 'unknown', '2026-11-01T00:00:00Z', '2026-11-10T12:00:00Z', 60)`;
});

describe('on status pages', () => {
  const pageOf = async (monitors: readonly string[], now = bench.now) => {
    const { id } = await bench.call(createStatusPage, house.owner, {
      name: 'Status',
      slug: newId(),
    });
    for (const monitor of monitors)
      await bench.call(addStatusPageMonitor, house.owner, { page_id: id, monitor });
    const found = await publishedPage(bench.sql, { id, organisation: house.organisation });
    const ids = createAccountSecrets(bench.sql, { secretKey: testSecretKey });
    return found && (await readPublished(bench.sql, bench.results, ids, found, now)).page;
  };

  test('stands as its owner reads it, on those that have all of its monitors, while wanted', async () => {
    const of = { name: 'Web', group, target: 99.95 };
    const made = await bench.call(createObjective, house.owner, { ...of, on_status_pages: true });
    const silent = await bench.call(createObjective, house.owner, { ...of, name: 'Not told' });
    expect([made.on_status_pages, silent.on_status_pages]).toEqual([true, false]);
    const { percent } = made;
    const told = { name: 'Web', target: 99.95, latency_ms: null, period: '30d', percent };
    expect((await pageOf([shop, blog]))?.objectives).toMatchObject([told]);
    expect((await pageOf([blog]))?.objectives).toEqual([]);
    expect((await pageOf([]))?.objectives).toEqual([]);
    await bench.call(updateObjective, house.owner, {
      ...{ objective_id: made.id, on_status_pages: false },
    });
    expect((await pageOf([shop, blog]))?.objectives).toEqual([]);
    for (const { id } of [made, silent])
      await bench.call(deleteObjective, house.owner, { objective_id: id });
  });
});

describe('an objective', () => {
  test('comes to what the report of its period comes to', async () => {
    await fails(blog, -24 * hour, -24 * hour + 1_234_567);
    const zone = (
      await bench.sql`select time_zone from organisations
      where id = ${house.organisation}`
    )[0]?.time_zone;
    for (const period of ['30d', 'month'] as const) {
      const made = await bench.call(createObjective, house.owner, {
        name: 'Web',
        group,
        target: 99.9,
        period,
      });
      const { total, from, to } = await bench.call(getUptimeReport, house.viewer, {
        ...(period === 'month'
          ? { period: 'this-month' }
          : { from: new Date(start - 30 * 24 * hour).toISOString() }),
        time_zone: zone,
        group,
        promised: 99.9,
      });
      expect(made).toMatchObject({
        of: 'Web',
        monitors: 2,
        from,
        percent: total.percent,
        budget_left_seconds: period === '30d' ? total.budget_left_seconds : expect.any(Number),
      });
      if (period === 'month') {
        // The rest of the month is in its budget, of both monitors.
        const rest = (2 * (Date.parse(made.to) - start)) / 1_000;
        expect(made.budget_left_seconds).toBeCloseTo(
          (total.budget_left_seconds ?? 0) + rest / 1_000,
          2,
        );
      } else expect(made.to).toBe(to);
      const seen = await bench.call(getObjective, house.viewer, { objective_id: made.id });
      expect(seen.course).toHaveLength(121);
      expect(seen.course.at(0)?.left_seconds).toBe(seen.budget_seconds);
      expect(seen.course.at(-1)).toEqual({
        at: new Date(start).toISOString(),
        left_seconds: seen.budget_left_seconds,
        left_checks: null,
      });
      await bench.call(deleteObjective, house.owner, { objective_id: made.id });
    }
    await bench.sql`delete from incidents`;
  });

  test('is listed, changed and deleted, and goes with its group', async () => {
    const other = await bench.call(createGroup, house.owner, { name: 'Other' });
    const { id } = await bench.call(createObjective, house.owner, {
      name: 'Other',
      group: other.id,
      target: 99,
    });
    await bench.call(updateObjective, house.owner, { objective_id: id, target: 99.95 });
    const { items } = await bench.call(listObjectives, house.viewer);
    expect(items).toMatchObject([
      { id, name: 'Other', target: 99.95, period: '30d', monitors: 0, budget_left_seconds: null },
    ]);
    await bench.call(deleteGroup, house.owner, { group_id: other.id });
    expect((await bench.call(listObjectives, house.viewer)).items).toEqual([]);
  });

  test('is of a target that leaves a budget, and of what exists', async () => {
    const code = (input: object) =>
      bench.refusal(createObjective, house.owner, { name: 'x', target: 99.9, ...input });
    for (const target of [0, 100, 101, 99.99999])
      expect(await code({ target })).toBe('objective_invalid');
    expect(await code({ monitor: newId() })).toBe('monitor_not_found');
    expect(await code({ group: newId() })).toBe('group_not_found');
    expect(await code({ tag: 'a b' })).toBe('tags_invalid');
    expect(await code({ name: ' ' })).toBe('name_invalid');
  });
});

describe('rule 52: a burning budget', () => {
  test('warns and stops at the minutes that a count of seconds says, once, whoever else judges', async () => {
    const { id } = await bench.call(createObjective, house.owner, {
      name: 'Web',
      group,
      target: 99.9,
    });
    const outages = [
      [shop, 20 * minute + 13_000, 22 * minute + 13_500],
      [blog, 60 * minute, 61 * minute + 1_000],
      [shop, 100 * minute + 59_000, 103 * minute],
      [blog, 180 * minute + 500, 184 * minute],
      [shop, 182 * minute, 183 * minute],
    ] as const;
    for (const outage of outages) await fails(...outage);

    const expected: { code: string; from: number; to: number | null }[] = [];
    const pairs = [
      ['burns_fast', 5, 60, 14.4],
      ['burns_fast', 30, 360, 6],
      ['burns_slowly', 360, 4_320, 1],
    ] as const;
    const open = new Map<string, (typeof expected)[number]>();
    const last = 4 * 60;
    // Half seconds that a monitor was down, up to each half second.
    const down = [0];
    for (let half = 0; half < last * 120; half += 1)
      down.push(
        (down[half] ?? 0) +
          outages.filter(([, began, ended]) => half * 500 >= began && half * 500 < ended).length,
      );
    const burning = (now: number, minutes: number, factor: number): boolean => {
      const from = Math.max(0, now - minutes * minute);
      const halves = (down[now / 500] ?? 0) - (down[from / 500] ?? 0);
      return halves / (2 * minutes * 120) > factor * 0.001;
    };
    const [one, other] = [evaluation(), evaluation()];
    for (let nth = 0; nth <= last; nth += 1) {
      const now = nth * minute;
      const before = open.size;
      for (const code of ['burns_fast', 'burns_slowly']) {
        const holds = pairs.some(
          ([each, short, long, factor]) =>
            each === code && burning(now, short, factor) && burning(now, long, factor),
        );
        const held = open.get(code);
        if (holds && !held) {
          const warning = { code, from: start + now, to: null };
          open.set(code, warning);
          expected.push(warning);
        } else if (!holds && held) {
          held.to = start + now;
          open.delete(code);
        }
      }
      // A tick comes some seconds after the minute.
      bench.now = start + now + 4_321;
      await Promise.all([one.tick(), ...(open.size === before ? [] : [other.tick()])]);
    }
    const seen = await warningsOf(id);
    expect(seen.map(({ monitor_id: _, ...warning }) => warning)).toEqual(expected);
    expect(expected.length).toBeGreaterThanOrEqual(4);
    expect(seen[0]?.monitor_id).toBe(shop);
    expect((await alertsOf(id)).toSorted()).toEqual(
      expected
        .flatMap(({ to }) => (to === null ? ['warning'] : ['warning', 'warning_over']))
        .toSorted(),
    );
    await bench.call(deleteObjective, house.owner, { objective_id: id });
    await bench.sql`delete from incidents`;
    await bench.sql`delete from warnings`;
  });

  test('is said on its monitor, and ends with the objective', async () => {
    bench.now = start;
    const { id } = await bench.call(createObjective, house.owner, {
      name: 'Shop',
      monitor: shop,
      target: 99.9,
    });
    await fails(shop, -10 * minute, null);
    await evaluation().tick();
    const { warnings } = await bench.call(getMonitor, house.viewer, { monitor_id: shop });
    expect(warnings.map(({ code, text }) => [code, text])).toEqual([
      ['burns_fast', 'The error budget of Shop burns 170 times as fast as it may, over 1 h'],
      ['burns_slowly', 'The error budget of Shop burns 2.3 times as fast as it may, over 72 h'],
    ]);
    await bench.call(deleteObjective, house.owner, { objective_id: id });
    bench.now += minute;
    await evaluation().tick();
    expect(await alertsOf(id)).toEqual(['warning', 'warning', 'warning_over', 'warning_over']);
  });
});
