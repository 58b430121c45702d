import { beforeAll, describe, expect, test } from 'vitest';
import { makeResultDays, rollUpOneHour } from '../../../coordinator/engine/result-queries.ts';
import { createMaintenanceWindow } from '../../../shared/api/maintenance.ts';
import { createMonitor, getMonitorLedger, getMonitorResults, getMonitorStatus } from '../../../shared/api/monitors.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';

const bench = gateBench();
const hour = 3_600_000;
const day = 24 * hour;
const now = Math.floor(Date.now() / 1000) * 1000;
let house: TestOrganisation;
let unknownSender: TestOrganisation;
let europe: string;
let asia: string;

beforeAll(async () => {
  bench.now = now;
  house = await createTestOrganisation(bench.sql);
  unknownSender = await createTestOrganisation(bench.sql);
  europe = await bench.addProbe('Europe');
  asia = await bench.addProbe('Asia');
  await makeResultDays(bench.sql, now - 8 * day, now + 2 * day);
});

const iso = (at: number): string => new Date(at).toISOString();

const monitor = async (): Promise<string> => {
  const { id } = await bench.call(createMonitor, house.owner, { type: 'https', target: 'https://example.com' });
  await bench.sql`update monitors set created_at = ${iso(now - 10 * day)} where id = ${id}`;
  return id;
};

const result = (of: string, probe: string, at: number, took_ms: number, outcome = 0) =>
  bench.sql`insert into results (monitor_key, at, probe_key, took_ms, outcome)
    select m.key, ${iso(at)}, p.key, ${took_ms}, ${outcome} from monitors m, probes p where m.id = ${of} and p.id = ${probe}`;

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
      ...{ name: 'Database', monitors: [id] },
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
      { ...none, from: iso(now - 4 * hour), to: iso(now - 3 * hour), state: 'maintenance', window: window.id, window_name: 'Database' },
      { ...none, from: iso(now - 5 * hour), to: iso(now - 4 * hour), state: 'down', incident },
      { ...none, from: iso(now - 6 * hour), to: iso(now - 5 * hour), state: 'up' },
      { ...none, from: iso(now - 7 * hour), to: iso(now - 6 * hour), state: 'unknown' },
      { ...none, from: iso(now - 8 * hour), to: iso(now - 7 * hour), state: 'up' },
      { ...none, from: iso(now - 9 * hour), to: iso(now - 8 * hour), state: 'paused' },
      { ...none, from: iso(now - day), to: iso(now - 9 * hour), state: 'up' },
    ]);
    const { up_seconds, down_seconds, maintenance_seconds, unknown_seconds, paused_seconds } = told;
    expect([up_seconds, down_seconds, maintenance_seconds, unknown_seconds, paused_seconds]).toEqual(
      [19, 2, 1, 1, 1].map((hours) => hours * 3_600),
    );
    const { uptime } = await bench.call(getMonitorStatus, house.viewer, { monitor_id: id, days: 1 });
    expect({ percent: told.percent, down_seconds }).toEqual({ percent: uptime.percent, down_seconds: uptime.down_seconds });
  });

  test('begins with the monitor, and is not shown to strangers', async () => {
    const id = await monitor();
    expect(await bench.call(getMonitorLedger, house.viewer, { monitor_id: id, days: 90 })).toMatchObject({
      ...{ from: iso(now - 10 * day), to: iso(now), left_out: 0 },
      stretches: [{ from: iso(now - 10 * day), to: iso(now), state: 'unknown' }],
    });
    for (const operation of [getMonitorLedger, getMonitorResults])
      expect(await bench.refusal(operation, unknownSender.owner, { monitor_id: id })).toBe('monitor_not_found');
  });
});

describe('the results of a monitor', () => {
  test('of a day come by continent in five-minute steps, with percentiles of the passes', async () => {
    const id = await monitor();
    const at = Math.floor((now - hour) / 300_000) * 300_000;
    for (const [place, took] of [10, 20, 30, 40].entries()) await result(id, europe, at + place * 1_000, took);
    await result(id, europe, at + 5_000, 999, 1);
    await result(id, asia, at + 301_000, 200, 2);
    const { series, step_s, source } = await bench.call(getMonitorResults, house.viewer, { monitor_id: id });
    expect({ step_s, source }).toEqual({ step_s: 300, source: 'raw' });
    const none = { mean_ms: null, least_ms: null, most_ms: null, median_ms: null, p95_ms: null };
    expect(series).toEqual([
      { continent: 'Asia', points: [{ ...none, at: iso(at + 300_000), ok: 0, failed: 0, unknown: 1 }] },
      {
        continent: 'Europe',
        points: [{ at: iso(at), ok: 4, failed: 1, unknown: 0, mean_ms: 25, least_ms: 10, most_ms: 40, median_ms: 25, p95_ms: 38.5 }],
      },
    ]);
  });

  test('of longer come from hours, and say the same before an hour is rolled up as after it', async () => {
    const id = await monitor();
    const at = Math.floor((now - 3 * hour) / hour) * hour;
    await result(id, europe, at + 1_000, 10);
    await result(id, europe, at + 2_000, 30);
    await result(id, asia, at + hour + 1_000, 50, 1);
    await bench.sql`insert into stale_hours (hour) values (${iso(at)}), (${iso(at + hour)})`;
    const seen = () => bench.call(getMonitorResults, house.viewer, { monitor_id: id, window: '7d' });
    const before = await seen();
    expect(before.series).toMatchObject([
      { continent: 'Asia', points: [{ at: iso(at + hour), ok: 0, failed: 1, mean_ms: null }] },
      { continent: 'Europe', points: [{ at: iso(at), ok: 2, mean_ms: 20, least_ms: 10, most_ms: 30, median_ms: null }] },
    ]);
    while (await bench.sql.begin((transaction) => rollUpOneHour(transaction, now)));
    expect(await seen()).toEqual(before);
    const year = await bench.call(getMonitorResults, house.viewer, { monitor_id: id, window: '1y' });
    expect(year.step_s).toBe(86_400);
    expect(year.series.flatMap(({ points }) => points).reduce((sum, { ok, failed }) => sum + ok + failed, 0)).toBe(3);
  });
});
