import { beforeAll, describe, expect, test } from 'vitest';
import { showSharedReport } from '../../../coordinator/reports/contract.ts';
import { makeDays } from '../../../coordinator/results/days.ts';
import { makeResultDays } from '../../../coordinator/results/retention.ts';
import { csvOf } from '../../../shared/api/csv.ts';
import { createGroup } from '../../../shared/api/groups.ts';
import { createMaintenanceWindow } from '../../../shared/api/maintenance.ts';
import { createMonitor, getMonitorLedger } from '../../../shared/api/monitors.ts';
import {
  getUptimeReport,
  listReportShares,
  shareReport,
  withdrawReportShare,
} from '../../../shared/api/reports.ts';
import { addStatusPageMonitor, createStatusPage } from '../../../shared/api/status-pages.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { createLog } from '../../../shared/base/log.ts';
import { csvRows } from '../../../shared/base/text.ts';
import { storeChecks } from '../../support/checks.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';

const bench = gateBench();
const hour = 3_600_000;
const now = Date.parse('2026-11-20T12:00:00.000Z');
let house: TestOrganisation;
let stranger: TestOrganisation;
let group: string;
let shop: string;
let blog: string;

const report = (input: object) => bench.call(getUptimeReport, house.viewer, input);

beforeAll(async () => {
  bench.now = now;
  house = await createTestOrganisation(bench.sql);
  stranger = await createTestOrganisation(bench.sql);
  ({ id: group } = await bench.call(createGroup, house.owner, { name: 'Web' }));
  const made = { type: 'https', target: 'https://example.com' };
  ({ id: shop } = await bench.call(createMonitor, house.owner, { ...made, name: 'Shop', group }));
  ({ id: blog } = await bench.call(createMonitor, house.owner, {
    ...made,
    name: 'Blog',
    tags: ['eu'],
  }));
  await bench.sql`update monitors set created_at = '2026-09-01T00:00:00Z'`;
  await bench.sql`update group_memberships set began_at = '2026-09-01T00:00:00Z'`;
  // Known from the first of October by the clock of Berlin, 22:00 the day before by UTC.
  for (const id of [shop, blog])
    await bench.sql`insert into ledger (monitor_id, kind, began_at, ended_at, interval_s)
      values (${id}, 'unknown', '2026-09-01T00:00:00Z', '2026-09-30T22:00:00Z', 60)`;
  await bench.sql`insert into ledger (monitor_id, kind, began_at, ended_at, interval_s)
    values (${blog}, 'unknown', '2026-10-10T00:00:00Z', '2026-10-10T02:00:00Z', 60),
      (${blog}, 'paused', '2026-10-11T00:00:00Z', '2026-10-11T03:00:00Z', 60)`;
  const window = await bench.call(createMaintenanceWindow, house.owner, {
    name: 'Move',
    groups: [group],
    starts_at: '2026-12-05T00:00:00Z',
    ends_at: '2026-12-05T01:00:00Z',
  });
  await bench.sql`update maintenance_windows set created_at = '2026-10-01T00:00:00Z'`;
  await bench.sql`update maintenance_occurrences set began_at = '2026-10-05T00:00:00Z',
    ended_at = '2026-10-05T01:00:00Z' where window_id = ${window.id}`;
  for (const [monitor, began, ended] of [
    [shop, '2026-10-05T00:30:00Z', '2026-10-05T01:30:00.001Z'],
    [shop, '2026-10-31T22:59:59.999Z', '2026-11-01T06:00:00Z'],
    [blog, '2026-09-30T21:00:00Z', '2026-09-30T22:00:01Z'],
  ] as const)
    await bench.sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at,
      resolved_at, cause) values (${newId()}, ${house.organisation}, ${monitor}, ${began}, ${began},
      ${ended}, ${JSON.stringify({ class: 'timeout', params: {} })})`;
  const europe = await bench.addProbe('Europe');
  const day = Date.parse('2026-09-30T00:00:00Z');
  await makeResultDays(bench.sql, day, now);
  const took = [400, 300, 200, 100];
  await storeChecks(bench.sql, shop, [
    // 21:00 by UTC is still September in Berlin.
    { probe: europe, at: day + 21 * hour, took_ms: 9_000 },
    ...took.map((took_ms, nth) => ({ probe: europe, at: day + (22 + nth) * hour, took_ms })),
    { probe: europe, at: now - 60_000, took_ms: 10 },
  ]);
  await storeChecks(bench.sql, blog, [{ probe: europe, at: now - 60_000, took_ms: 10 }]);
  const log = createLog({ name: 'test', level: 'silent' });
  await bench.sql.begin((sql) => makeDays(sql, { now: Date.now() + hour, batchSize: 99, log }));
});

describe('a report of uptime', () => {
  test('is of a month by the clock of the zone, with what counts', async () => {
    const seen = await report({ period: '2026-10', time_zone: 'Europe/Berlin' });
    expect(seen).toMatchObject({
      title: 'All monitors',
      period: '2026-10',
      from: '2026-09-30T22:00:00.000Z',
      to: '2026-10-31T23:00:00.000Z',
      time_zone: 'Europe/Berlin',
      maintenance: 'apart',
      unknown: 'apart',
      worst: [shop, blog],
      left_out: 0,
    });
    const month = 745 * 3_600;
    expect(seen.monitors).toEqual([
      {
        monitor: blog,
        name: 'Blog',
        percent: 99.9999,
        up_seconds: month - 5 * 3_600 - 1,
        down_seconds: 1,
        maintenance_seconds: 0,
        unknown_seconds: 7_200,
        paused_seconds: 10_800,
        counted_up_seconds: month - 5 * 3_600 - 1,
        counted_down_seconds: 1,
        kept: null,
        budget_left_seconds: null,
        incidents: 1,
        response: null,
      },
      {
        monitor: shop,
        name: 'Shop',
        percent: 99.9327,
        up_seconds: month - 3_600 - 1_800.002,
        down_seconds: 1_800.002,
        maintenance_seconds: 3_600,
        unknown_seconds: 0,
        paused_seconds: 0,
        counted_up_seconds: month - 3_600 - 1_800.002,
        counted_down_seconds: 1_800.002,
        kept: null,
        budget_left_seconds: null,
        incidents: 2,
        response: { p50_ms: expect.closeTo(200, -1), p95_ms: 400, p99_ms: 400 },
      },
    ]);
    expect(seen.total).toMatchObject({
      down_seconds: 1_801.002,
      unknown_seconds: 7_200,
      incidents: 3,
      percent: 99.9662,
    });
    expect(
      seen.incidents.map(({ name, cause, down_seconds }) => [name, cause, down_seconds]),
    ).toEqual([
      ['Shop', expect.any(String), 0.001],
      ['Shop', expect.any(String), 1_800.001],
      ['Blog', expect.any(String), 1],
    ]);
  });

  test('counts maintenance and unknown time as it is told', async () => {
    const berlin = { period: '2026-10', time_zone: 'Europe/Berlin' };
    const counted = await report({ ...berlin, maintenance: 'counts', unknown: 'down' });
    expect(counted).toMatchObject({ maintenance: 'counts', unknown: 'down' });
    expect(counted.monitors.map((one) => [one.down_seconds, one.counted_down_seconds])).toEqual([
      [1, 7_201],
      [1_800.002, 3_600.002],
    ]);
    const kind = await report({ ...berlin, unknown: 'up' });
    expect(kind.monitors[0]?.counted_up_seconds).toBe(745 * 3_600 - 3 * 3_600 - 1);
  });

  test('says what of a promise was kept, and how much more may be down', async () => {
    const seen = await report({ period: '2026-10', time_zone: 'Europe/Berlin', promised: 99.95 });
    expect(seen.promised).toBe(99.95);
    // Half a thousandth of 745 hours less five of Blog's, and less one of Shop's.
    expect(
      [seen.total, ...seen.monitors].map((one) => [one.kept, one.budget_left_seconds]),
    ).toEqual(
      [
        [true, 2_671.2 - 1_801.002],
        [true, 1_331],
        [false, 1_339.2 - 1_800.002],
      ].map(([kept, left]) => [kept, expect.closeTo(Number(left), 3)]),
    );
    for (const promised of [0, -1, 100.1])
      expect(await bench.refusal(getUptimeReport, house.owner, { promised })).toBe(
        'promise_invalid',
      );
  });

  test('has the sums of the ledger where both are of the same time', async () => {
    const days = 60;
    const from = new Date(now - days * 24 * hour).toISOString();
    const { monitors } = await report({ from });
    for (const { monitor, ...line } of monitors) {
      const told = await bench.call(getMonitorLedger, house.viewer, { monitor_id: monitor, days });
      const { percent, up_seconds, down_seconds, maintenance_seconds, unknown_seconds } = told;
      expect(line).toMatchObject({
        percent,
        up_seconds,
        down_seconds,
        maintenance_seconds,
        unknown_seconds,
      });
    }
  });

  test('is of a monitor, a group, a tag or a status page, by the names there', async () => {
    const page = await bench.call(createStatusPage, house.owner, {
      name: 'Public',
      slug: 'public',
    });
    await bench.call(addStatusPageMonitor, house.owner, {
      page_id: page.id,
      monitor: shop,
      display_name: 'Our shop',
    });
    const of = async (input: object) => {
      const { title, monitors } = await report(input);
      return [title, ...monitors.map(({ name }) => name)];
    };
    expect(await of({ monitor: blog })).toEqual(['Blog', 'Blog']);
    expect(await of({ monitor: `${shop},${blog}` })).toEqual(['2 monitors', 'Blog', 'Shop']);
    expect(await of({ group })).toEqual(['Web', 'Shop']);
    expect(await of({ tag: 'eu' })).toEqual(['tag eu', 'Blog']);
    expect(await of({ status_page: page.id })).toEqual(['Public', 'Our shop']);
    expect(await of({ status_page: page.id, tag: 'eu' })).toEqual(['Public, tag eu']);
  });

  test('hides what is of other organisations, and refuses what is no period', async () => {
    for (const [input, code] of [
      [{ monitor: shop }, 'monitor_not_found'],
      [{ monitor: 'x,y' }, 'monitor_not_found'],
      [{ group }, 'group_not_found'],
      [{ status_page: newId() }, 'status_page_not_found'],
    ] as const)
      expect(await bench.refusal(getUptimeReport, stranger.owner, input)).toBe(code);
    const half = { monitor: `${shop},${newId()}` };
    expect(await bench.refusal(getUptimeReport, house.owner, half)).toBe('monitor_not_found');
    expect((await bench.call(getUptimeReport, stranger.owner, {})).monitors).toEqual([]);
    for (const [input, code] of [
      [{ period: '2026-12' }, 'period_invalid'],
      [{ period: '2026-10', from: '2026-10-01' }, 'period_invalid'],
      [{ to: '2026-10-01' }, 'period_invalid'],
      [{ from: '2025-10-01' }, 'period_invalid'],
      [{ time_zone: '+02:00' }, 'time_zone_invalid'],
      [{ unknown: 'maybe' }, 'faults'],
    ] as const)
      expect(await bench.refusal(getUptimeReport, house.owner, input)).toBe(code);
  });

  test('is CSV: a line for each monitor, after what it is of and what counts', async () => {
    const seen = await report({ period: '2026-10', time_zone: 'Europe/Berlin' });
    const [head, ...lines] = csvRows(csvOf(getUptimeReport, seen) ?? '') ?? [];
    expect(head?.join()).toBe(
      'title,period,from,to,time_zone,maintenance,unknown,promised,left_out,monitor,name,percent,up_seconds,down_seconds,maintenance_seconds,unknown_seconds,paused_seconds,counted_up_seconds,counted_down_seconds,kept,budget_left_seconds,incidents,p50_ms,p95_ms,p99_ms',
    );
    expect(lines.map((line) => [line[0], line[10], line[13], line[23]])).toEqual([
      ['All monitors', 'Blog', '1', ''],
      ['All monitors', 'Shop', '1800.002', '400'],
    ]);
  });
});

describe('a link to a report', () => {
  const visitor = { address: '192.0.2.7', device: 'Firefox' };
  const share = (input: object) => bench.call(shareReport, house.member, input);
  const secretOf = (link: string): string =>
    /^https:\/\/antipode\.test\/shared\/reports\/([A-Za-z0-9_-]{32})$/.exec(link)?.[1] ?? '';
  const open = async (secret: string): Promise<unknown> =>
    (await bench.gate.executeForVisitor(showSharedReport, visitor, { body: { secret } })).body;
  const refused = (secret: string) => expect(open(secret)).rejects.toThrow('revoked, or has ended');

  test('shows what its report shows, by the same clock and the same choices', async () => {
    const asked = {
      from: '2026-10-05',
      to: '2026-10-20T12:00:00+02:00',
      time_zone: 'America/New_York',
      monitor: `${shop},${blog}`,
      maintenance: 'counts',
      unknown: 'down',
      promised: 99.9,
    };
    const { link } = await share(asked);
    const seen = await open(secretOf(link));
    expect(seen).toEqual({ organisation: house.name, report: await report(asked) });
    expect(JSON.stringify(seen)).not.toContain('example.com');
  });

  test('is listed until it is revoked or has ended, and its secret nowhere', async () => {
    const [lasting, ending] = [await share({ period: '2026-10' }), await share({ days: 1 })];
    const list = async () =>
      (await bench.call(listReportShares, house.viewer, {})).items.map(({ id }) => id);
    expect((await list()).slice(0, 2).toSorted()).toEqual([lasting.id, ending.id].toSorted());
    const [row] = await bench.sql<{ row: string }[]>`
      select row_to_json(s)::text as row from shares s where id = ${lasting.id}`;
    expect(row?.row).not.toContain(secretOf(lasting.link));
    const of = { share_id: lasting.id };
    await open(secretOf(lasting.link));
    await bench.call(withdrawReportShare, house.member, of);
    expect(await bench.refusal(withdrawReportShare, house.member, of)).toBe('share_not_found');
    await refused(secretOf(lasting.link));
    await open(secretOf(ending.link));
    bench.now += 24 * hour;
    await refused(secretOf(ending.link));
    expect(await list()).not.toContain(ending.id);
    bench.now = now;
  });

  test('shows nothing once what it is of was deleted, or where it is written wrongly', async () => {
    const { id } = await bench.call(createGroup, house.owner, { name: 'Gone' });
    const { link } = await share({ group: id });
    await open(secretOf(link));
    await bench.sql`delete from groups where id = ${id}`;
    for (const secret of [secretOf(link), '', 'A'.repeat(32), 'A'.repeat(5_000)])
      await refused(secret);
  });

  test('is one of at most a hundred', async () => {
    const many = Array.from({ length: 100 }, () => share({}));
    await Promise.allSettled(many);
    expect(await bench.refusal(shareReport, house.owner, {})).toBe('share_limit');
  });
});
