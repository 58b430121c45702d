import { afterAll, beforeAll, beforeEach, describe, expect, it, test, vi } from 'vitest';
import { connect, type Sql } from '../../../coordinator/database/connect.ts';
import {
  createRememberedMonitors,
  type RememberedMonitors,
} from '../../../coordinator/monitors/memory.ts';
import {
  type MonitorList,
  monitorStatusPage,
} from '../../../coordinator/monitors/status-queries.ts';
import { readExport } from '../../../coordinator/offboarding/contract.ts';
import type { Check } from '../../../coordinator/results/check.ts';
import { makeDays } from '../../../coordinator/results/days.ts';
import { makeResultDays } from '../../../coordinator/results/retention.ts';
import { createMaintenanceWindow } from '../../../shared/api/maintenance.ts';
import { createMonitor, getMonitorLedger, getMonitorStatus } from '../../../shared/api/monitors.ts';
import { getMonitorResults } from '../../../shared/api/results.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { createLog } from '../../../shared/base/log.ts';
import type { Outcome } from '../../../shared/checks/result.ts';
import { storeChecks, testResults } from '../../support/checks.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';
import { createDatabase, type TestDatabase } from '../../support/services.ts';

describe('ledger', () => {
  const bench = gateBench();
  const hour = 3_600_000;
  const day = 24 * hour;
  const now = Math.floor(Date.now() / 1000) * 1000;
  let house: TestOrganisation;
  let europe: string;
  let asia: string;

  beforeAll(async () => {
    bench.now = now;
    house = await createTestOrganisation(bench.sql);
    europe = await bench.addProbe('Europe');
    asia = await bench.addProbe('Asia');
    await makeResultDays(bench.sql, now - 8 * day, now + 2 * day);
  });

  const iso = (at: number): string => new Date(at).toISOString();

  const monitor = async (): Promise<string> => {
    const { id } = await bench.call(createMonitor, house.owner, {
      type: 'https',
      target: 'https://example.com',
    });
    await bench.sql`update monitors set created_at = ${iso(now - 10 * day)} where id = ${id}`;
    return id;
  };

  const result = (
    of: string,
    probe: string,
    at: number,
    took_ms: number,
    outcome: Outcome = 'ok',
  ) => storeChecks(bench.sql, of, [{ probe, at, took_ms, outcome }]);

  describe('the ledger of a monitor', () => {
    test('rule 43: explains every second, newest first, each stretch with its cause, and fits the status', async () => {
      const id = await monitor();
      await result(id, europe, now - 10_000, 20);
      const incident = newId();
      await bench.sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, resolved_at)
      values (${incident}, ${house.organisation}, ${id}, ${iso(now - 5 * hour)}, ${iso(now - 5 * hour)}, ${iso(now - 2 * hour)})`;
      await bench.sql`insert into ledger (monitor_id, kind, began_at, ended_at, interval_s)
      values (${id}, 'unknown', ${iso(now - 7 * hour)}, ${iso(now - 6 * hour)}, 60), (${id}, 'paused', ${iso(now - 9 * hour)}, ${iso(now - 8 * hour)}, 60)`;
      const window = await bench.call(createMaintenanceWindow, house.owner, {
        name: 'Database',
        monitors: [id],
        starts_at: iso(now + hour),
        ends_at: iso(now + 2 * hour),
      });
      await bench.sql`update maintenance_windows set created_at = ${iso(now - day)} where id = ${window.id}`;
      await bench.sql`update maintenance_occurrences set began_at = ${iso(now - 4 * hour)}, ended_at = ${iso(now - 3 * hour)} where window_id = ${window.id}`;
      const told = await bench.call(getMonitorLedger, house.viewer, { monitor_id: id, days: 1 });
      const none = { incident: null, window: null, window_name: null };
      expect(told.stretches).toEqual([
        { ...none, from: iso(now - 2 * hour), to: iso(now), state: 'up' },
        { ...none, from: iso(now - 3 * hour), to: iso(now - 2 * hour), state: 'down', incident },
        {
          ...none,
          from: iso(now - 4 * hour),
          to: iso(now - 3 * hour),
          state: 'maintenance',
          window: window.id,
          window_name: 'Database',
        },
        { ...none, from: iso(now - 5 * hour), to: iso(now - 4 * hour), state: 'down', incident },
        { ...none, from: iso(now - 6 * hour), to: iso(now - 5 * hour), state: 'up' },
        { ...none, from: iso(now - 7 * hour), to: iso(now - 6 * hour), state: 'unknown' },
        { ...none, from: iso(now - 8 * hour), to: iso(now - 7 * hour), state: 'up' },
        { ...none, from: iso(now - 9 * hour), to: iso(now - 8 * hour), state: 'paused' },
        { ...none, from: iso(now - day), to: iso(now - 9 * hour), state: 'up' },
      ]);
      const { up_seconds, down_seconds, maintenance_seconds, unknown_seconds, paused_seconds } =
        told;
      expect([
        up_seconds,
        down_seconds,
        maintenance_seconds,
        unknown_seconds,
        paused_seconds,
      ]).toEqual([19, 2, 1, 1, 1].map((hours) => hours * 3_600));
      const { uptime } = await bench.call(getMonitorStatus, house.viewer, {
        monitor_id: id,
        days: 1,
      });
      expect({ percent: told.percent, down_seconds }).toEqual({
        percent: uptime.percent,
        down_seconds: uptime.down_seconds,
      });
    });

    test('begins with the monitor', async () => {
      const id = await monitor();
      expect(
        await bench.call(getMonitorLedger, house.viewer, { monitor_id: id, days: 90 }),
      ).toMatchObject({
        from: iso(now - 10 * day),
        to: iso(now),
        left_out: 0,
        stretches: [{ from: iso(now - 10 * day), to: iso(now), state: 'unknown' }],
      });
    });
  });

  describe('the results of a monitor', () => {
    test('of any stretch are in steps as fine as it is short, and in hours where checks are gone', async () => {
      const id = await monitor();
      await storeChecks(bench.sql, id, [{ probe: europe, at: now - 2 * hour, took_ms: 10 }]);
      const asked = async (from: number | undefined, until?: number) => {
        const answer = await bench.call(getMonitorResults, house.viewer, {
          monitor_id: id,
          ...(from !== undefined && { from: iso(from) }),
          ...(until !== undefined && { until: iso(until) }),
        });
        const { step_s, source, series } = answer;
        const long = Date.parse(answer.to) - Date.parse(answer.from);
        return {
          step_s,
          source,
          points: series[0]?.points.length ?? 0,
          hours: Math.round(long / hour),
        };
      };
      expect(await asked(now - 3 * hour)).toEqual({
        step_s: 60,
        source: 'raw',
        points: 1,
        hours: 3,
      });
      expect(await asked(now - 3 * day)).toMatchObject({
        step_s: 3_600,
        source: 'hourly',
        points: 1,
      });
      expect(await asked(undefined, now - 7 * day)).toMatchObject({
        step_s: 3_600,
        source: 'hourly',
      });
      expect(await asked(now - 900 * day)).toMatchObject({ step_s: 86_400 });
      // One that ends before it begins is as short as one can be.
      expect(await asked(now, now - hour)).toMatchObject({ step_s: 60, points: 0, hours: 0 });
    });

    test('of a day are in five-minute steps by continent, with percentiles of the passes', async () => {
      const id = await monitor();
      const at = Math.floor((now - hour) / 300_000) * 300_000;
      const passes = [10, 20, 30, 40].map((took_ms, place) => ({
        probe: europe,
        at: at + place * 1_000,
        took_ms,
        phases: { dns: 1, tcp: 2, tls: 3, first_byte: took_ms / 2, total: took_ms },
      }));
      await storeChecks(bench.sql, id, passes);
      await result(id, europe, at + 5_000, 999, 'fail');
      await result(id, asia, at + 301_000, 200, 'unknown');
      const { series, step_s, source, percentiles } = await bench.call(
        getMonitorResults,
        house.viewer,
        { monitor_id: id },
      );
      expect(percentiles).toEqual({ p50_ms: 25, p95_ms: 38.5, p99_ms: 39.7 });
      expect({ step_s, source }).toEqual({ step_s: 300, source: 'raw' });
      const none = {
        mean_ms: null,
        min_ms: null,
        max_ms: null,
        median_ms: null,
        p95_ms: null,
        p99_ms: null,
        phases: null,
      };
      expect(series).toEqual([
        {
          continent: 'Asia',
          place: null,
          percentiles: null,
          phases: null,
          points: [{ ...none, at: iso(at + 300_000), ok: 0, failed: 0, unknown: 1 }],
        },
        {
          continent: 'Europe',
          place: null,
          percentiles: { p50_ms: 25, p95_ms: 38.5, p99_ms: 39.7 },
          phases: { dns_ms: 1, tcp_ms: 2, tls_ms: 3, first_byte_ms: 12.5, total_ms: 25 },
          points: [
            {
              at: iso(at),
              ok: 4,
              failed: 1,
              unknown: 0,
              mean_ms: 25,
              min_ms: 10,
              max_ms: 40,
              median_ms: 25,
              p95_ms: 38.5,
              p99_ms: 39.7,
              phases: { dns_ms: 1, tcp_ms: 2, tls_ms: 3, first_byte_ms: 12.5, total_ms: 25 },
            },
          ],
        },
      ]);
    });

    test('of longer come from hours, with the same values before and after a day has its row', async () => {
      const id = await monitor();
      const at = Math.floor((now - 3 * day) / day) * day;
      await result(id, europe, at + 1_000, 10);
      await result(id, europe, at + 2_000, 30);
      await result(id, asia, at + hour + 1_000, 50, 'fail');
      const seen = (window = '7d') =>
        bench.call(getMonitorResults, house.viewer, { monitor_id: id, window });
      const before = await seen();
      expect(before.percentiles).toMatchObject({ p99_ms: 30 });
      expect(before.series).toMatchObject([
        { continent: 'Asia', points: [{ at: iso(at + hour), ok: 0, failed: 1, mean_ms: null }] },
        {
          continent: 'Europe',
          points: [{ at: iso(at), ok: 2, mean_ms: 20, min_ms: 10, max_ms: 30, p99_ms: 30 }],
        },
      ]);
      const year = await seen('1y');
      expect(year.step_s).toBe(86_400);
      expect(
        year.series
          .flatMap(({ points }) => points)
          .reduce((sum, { ok, failed }) => sum + ok + failed, 0),
      ).toBe(3);
      const log = createLog({ name: 'test', level: 'silent' });
      await bench.sql.begin((transaction) =>
        makeDays(transaction, { now: now + day, batchSize: 10, log }),
      );
      expect(await bench.sql`select 1 from days where day = ${iso(at).slice(0, 10)}`).toHaveLength(
        1,
      );
      expect(await seen()).toEqual(before);
      expect(await seen('1y')).toEqual(year);
    });

    test('of a year have percentiles of the days that have a row', async () => {
      const id = await monitor();
      const [{ key } = { key: 0 }] = await bench.sql<{ key: number }[]>`
        select key from monitors where id = ${id}`;
      const [{ probe } = { probe: 0 }] = await bench.sql<{ probe: number }[]>`
        select key as probe from probes where id = ${asia}`;
      const start = Math.floor(now / day) * day - 3 * day;
      const checks = [10, 20, 30].map((took_ms, nth): Check => {
        const at = start + nth * 60_000;
        return { probe, at, took_ms, outcome: 'ok', cause: null, phases: null };
      });
      await storeChecks(bench.sql, id, checks);
      const log = createLog({ name: 'test', level: 'silent' });
      await bench.sql.begin((transaction) =>
        makeDays(transaction, { now: now + day, batchSize: 10, log }),
      );
      const input = { monitor_id: id, window: '1y' };
      const { series, percentiles, source } = await bench.call(
        getMonitorResults,
        house.viewer,
        input,
      );
      expect(source).toBe('hourly');
      expect(series).toMatchObject([
        {
          continent: 'Asia',
          points: [{ at: iso(start), ok: 3, mean_ms: 20, min_ms: 10, max_ms: 30, p99_ms: 30 }],
        },
      ]);
      expect(percentiles).toMatchObject({ p95_ms: 30, p99_ms: 30 });
      const exportAll = async (): Promise<readonly unknown[]> => {
        const exported: unknown[] = [];
        for (let cursor: string | null = null, more = true; more; more = cursor !== null) {
          const page: { items: readonly unknown[]; next_cursor: string | null } = await bench.call(
            readExport,
            house.owner,
            { part: 'response_percentiles', ...(cursor === null ? {} : { cursor }) },
          );
          exported.push(...page.items);
          cursor = page.next_cursor;
        }
        return exported;
      };
      const figures = {
        monitor: id,
        hours: [
          {
            hour: iso(start),
            continent: 'Asia',
            ok: 3,
            failed: 0,
            unknown: 0,
            took_sum: 60,
            took_min: 10,
            took_max: 30,
            p50_ms: expect.closeTo(20, -1),
            p95_ms: 30,
            p99_ms: 30,
          },
        ],
      };
      expect(await exportAll()).toContainEqual(figures);
      await bench.sql`update days set hours = set_byte(hours, 9, get_byte(hours, 9) # 1)
        where monitor_key = ${key}`;
      const report = vi.spyOn(bench.results, 'reportDay');
      expect(await exportAll()).toContainEqual(figures);
      expect(report).toHaveBeenCalledWith(key, start, 'its checksum is wrong');
      await bench.sql`delete from chunks where monitor_key = ${key}`;
      expect(await exportAll()).toContainEqual({ monitor: id, hours: [] });
    });
  });
});

describe('Pages of monitors from cached rows', () => {
  let database: TestDatabase;
  let sql: Sql;
  let somebodyElse: Sql;
  let organisation: string;
  let shown: RememberedMonitors;
  const results = testResults();

  beforeAll(async () => {
    database = await createDatabase();
    sql = connect(database.url, { name: 'test', connections: 2 });
    somebodyElse = connect(database.url, { name: 'another coordinator', connections: 1 });
  });

  afterAll(async () => {
    await Promise.all([sql.end(), somebodyElse.end()]);
    await database.drop();
  });

  const insert = async (name: string, group: string | null = null): Promise<string> => {
    const id = newId();
    await somebodyElse`insert into monitors (id, organisation_id, partition, name, type, target, interval_s, group_id)
    values (${id}, ${organisation}, 0, ${name}, 'https', 'https://example.org/', 60, ${group})`;
    return id;
  };

  beforeEach(async () => {
    ({ organisation } = await createTestOrganisation(sql));
    shown = createRememberedMonitors(results);
    for (const name of ['a', 'b', 'c']) await insert(name);
  });

  const list = (limit = 10, of = organisation): MonitorList => ({
    organisation: of,
    sort: 'created',
    after: null,
    most: limit,
    filter: {
      status: null,
      type: null,
      group: null,
      enabled: null,
      tag: null,
      warning: null,
      external_id: null,
      text: '',
    },
  });

  const names = async (limit = 10): Promise<readonly string[]> =>
    (await shown.page(sql, list(limit))).map(({ name }) => name);

  it('equal those of the database, the first time and when everything is cached', async () => {
    const whole = await monitorStatusPage(sql, results, list());
    for (const _ of [1, 2, 3]) expect(await shown.page(sql, list())).toEqual([...whole]);
    expect(await names(2)).toEqual(['a', 'b']);
  });

  it('show every change that others committed: of a row, of its group, a new row, a deleted row', async () => {
    await names();
    await somebodyElse`update monitors set name = 'B' where organisation_id = ${organisation} and name = 'b'`;
    expect(await names()).toEqual(['a', 'B', 'c']);
    const group = newId();
    await somebodyElse`insert into groups (id, organisation_id, name, name_folded) values (${group}, ${organisation}, 'g', 'g')`;
    await insert('d', group);
    expect((await shown.page(sql, list())).at(-1)?.group_id).toBe(group);
    await somebodyElse`delete from groups where id = ${group}`;
    expect((await shown.page(sql, list())).at(-1)?.group_id).toBe(null);
    await somebodyElse`delete from monitors where organisation_id = ${organisation} and name = 'a'`;
    expect(await names()).toEqual(['B', 'c', 'd']);
  });

  it('show how a monitor is as of now: its status, and what was seen of it', async () => {
    await names();
    const [first] = await shown.page(sql, list(1));
    expect(first).toMatchObject({ status: 'pending', seen: false, last_result_at: null });
    const at = Date.parse('2026-11-20T10:00:00Z');
    await storeChecks(somebodyElse, first?.key ?? 0, [{ at, outcome: 'fail' }]);
    await somebodyElse`insert into incidents (id, organisation_id, monitor_id, started_at)
      values (${newId()}, ${organisation}, ${first?.id ?? ''}, ${new Date(at)})`;
    const [now] = await shown.page(sql, list(1));
    expect(now).toMatchObject({
      name: 'a',
      status: 'verifying',
      since: at,
      last_result_at: at,
    });
    expect(await shown.page(sql, list(1))).toEqual(await monitorStatusPage(sql, results, list(1)));
  });

  it('show nothing of what is not committed, or was rolled back', async () => {
    await names();
    await somebodyElse
      .begin(async (transaction) => {
        await transaction`update monitors set name = 'never' where organisation_id = ${organisation}`;
        expect(await names()).toEqual(['a', 'b', 'c']);
        throw new Error('rolled back');
      })
      .catch((error: unknown) => expect(String(error)).toContain('rolled back'));
    expect(await names()).toEqual(['a', 'b', 'c']);
  });

  it('are of one organisation only', async () => {
    await names();
    const other = await createTestOrganisation(sql);
    expect(await shown.page(sql, list(10, other.organisation))).toEqual([]);
  });
});
