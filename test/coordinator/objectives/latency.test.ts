import { beforeAll, describe, expect, test } from 'vitest';
import { createObjectiveEvaluation } from '../../../coordinator/objectives/evaluation.ts';
import { makeDays } from '../../../coordinator/results/days.ts';
import { createMonitor } from '../../../shared/api/monitors.ts';
import {
  createObjective,
  deleteObjective,
  getObjective,
  updateObjective,
} from '../../../shared/api/objectives.ts';
import { createLog } from '../../../shared/base/log.ts';
import { storeChecks } from '../../support/checks.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';

const bench = gateBench();
const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const start = Date.parse('2026-11-20T12:00:00.000Z');
let house: TestOrganisation;
let europe: string;

const monitorOf = async (name: string): Promise<string> =>
  (
    await bench.call(createMonitor, house.owner, {
      type: 'https',
      target: 'https://a.example',
      name,
    })
  ).id;

beforeAll(async () => {
  bench.now = start;
  europe = await bench.addProbe('Europe');
  house = await createTestOrganisation(bench.sql);
});

/** The end of the step that a limit is in, in milliseconds: steps are of 4 %. */
const endOf = (limit_ms: number): number =>
  1.04 ** Math.ceil(Math.log(limit_ms * 10) / Math.log(1.04)) / 10;

describe('rule 52.4: an objective of response times', () => {
  test('counts passing checks as they are, before and after rows of days hold them', async () => {
    const shop = await monitorOf('Shop');
    const checks = Array.from({ length: 32 * 24 * 6 }, (_, nth) => ({
      probe: europe,
      at: start - 32 * day + nth * 10 * minute + 1_234,
      took_ms: 50 + ((nth * 7_919) % 9_000) / 10,
      outcome: nth % 11 === 0 ? ('fail' as const) : ('ok' as const),
    }));
    await storeChecks(bench.sql, shop, checks);
    for (const latency_ms of [400, 401, 700]) {
      const counted = checks.filter(
        ({ at, outcome }) => outcome === 'ok' && at >= start - 30 * day && at < start,
      );
      const slow = counted.filter(({ took_ms }) => took_ms > endOf(latency_ms)).length;
      const budget_checks = Math.floor(counted.length * 0.4);
      const expected = {
        ...{ latency_ms, budget_seconds: null, budget_left_seconds: null, budget_checks },
        budget_left_checks: budget_checks - slow,
      };
      const made = await bench.call(createObjective, house.owner, {
        ...{ name: 'Fast', monitor: shop, target: 60, latency_ms },
      });
      expect(made).toMatchObject(expected);
      expect(made.percent).toBeCloseTo((100 * (counted.length - slow)) / counted.length, 3);
      expect(slow).toBeGreaterThan(0);
      const log = createLog({ name: 'test', level: 'silent' });
      await bench.sql.begin((sql) => makeDays(sql, { now: Date.now() + hour, batchSize: 99, log }));
      const seen = await bench.call(getObjective, house.viewer, { objective_id: made.id });
      expect(seen).toMatchObject(expected);
      expect([seen.course.at(0)?.left_checks, seen.course.at(-1)?.left_checks]).toEqual([
        expected.budget_checks,
        expected.budget_left_checks,
      ]);
      await bench.call(deleteObjective, house.owner, { objective_id: made.id });
    }
    const [days] = await bench.sql<{ count: number }[]>`select count(*) from days`;
    expect(days?.count).toBeGreaterThan(30);
  });

  test('has a limit that checks can keep, and takes another target', async () => {
    const make = (latency_ms: number) => ({ name: 'Fast', target: 95, latency_ms });
    for (const latency_ms of [0, 120_001])
      expect(await bench.refusal(createObjective, house.owner, make(latency_ms))).toBe(
        'objective_invalid',
      );
    const { id } = await bench.call(createObjective, house.owner, make(400));
    expect(
      await bench.call(updateObjective, house.owner, { objective_id: id, target: 90 }),
    ).toMatchObject({ latency_ms: 400, target: 90, budget_seconds: null });
    await bench.call(deleteObjective, house.owner, { objective_id: id });
  });

  test('warns and stops at the minutes that a count of its checks says', async () => {
    const [shop, blog] = [await monitorOf('Slow shop'), await monitorOf('Blog')];
    await bench.sql`update monitors set tags = array['fast'] where id in (${shop}, ${blog})`;
    const first = -7 * 60;
    const isSlow = (nth: number): boolean =>
      (nth >= 30 && nth < 100) || (nth >= 200 && nth < 215 && nth % 2 === 0);
    const checksOf = (slow: boolean) =>
      Array.from({ length: 11 * 60 }, (_, index) => ({
        probe: europe,
        at: start + (first + index) * minute + 5_000,
        took_ms: slow && isSlow(first + index) ? 900 : 100,
      }));
    await storeChecks(bench.sql, shop, checksOf(true));
    await storeChecks(bench.sql, blog, checksOf(false));
    const { id } = await bench.call(createObjective, house.owner, {
      ...{ name: 'Fast', tag: 'fast', target: 98, latency_ms: 400 },
    });
    const burns = (now: number, minutes: number, factor: number): boolean => {
      const from = Math.max(first, now - minutes);
      const slow = Array.from({ length: now - from }, (_, nth) => isSlow(from + nth));
      return slow.filter(Boolean).length / (2 * slow.length) > factor * 0.02;
    };
    const holds = {
      burns_fast: (now: number) =>
        (burns(now, 5, 14.4) && burns(now, 60, 14.4)) || (burns(now, 30, 6) && burns(now, 360, 6)),
      burns_slowly: (now: number) => burns(now, 360, 1) && burns(now, 4_320, 1),
    };
    const expected: string[] = [];
    const evaluation = createObjectiveEvaluation({
      sql: bench.sql,
      results: bench.results,
      clock: { now: () => bench.now },
      isLeader: () => true,
    });
    const open = new Set<string>();
    for (let now = 0; now < 4 * 60; now += 1) {
      bench.now = start + now * minute + 1_234;
      await evaluation.tick();
      for (const [code, does] of Object.entries(holds))
        if (does(now) !== open.has(code)) {
          expected.push(`${code} ${does(now) ? 'from' : 'to'} ${now}`);
          if (!open.delete(code)) open.add(code);
        }
    }
    const seen = await bench.sql<{ code: string; monitor_id: string; from: number; to: number }[]>`
      select code, monitor_id, (date_part('epoch', began_at) * 1000)::bigint as from,
        (date_part('epoch', ended_at) * 1000)::bigint as to from warnings
      where objective_id = ${id} order by key`;
    const at = (moment: number): number => (moment - start) / minute;
    expect(
      seen
        .flatMap(({ code, from, to }) => [
          `${code} from ${at(from)}`,
          ...(to === null ? [] : [`${code} to ${at(to)}`]),
        ])
        .toSorted(),
    ).toEqual(expected.toSorted());
    expect(expected.length).toBeGreaterThanOrEqual(3);
    expect(new Set(seen.map(({ monitor_id }) => monitor_id))).toEqual(new Set([shop]));
  });
});
