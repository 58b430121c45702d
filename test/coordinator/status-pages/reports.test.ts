import { beforeAll, describe, expect, test } from 'vitest';
import { previewStatusPage } from '../../../coordinator/status-pages/contract.ts';
import {
  type PublishedPage,
  publishedPage,
  readPublished,
} from '../../../coordinator/status-pages/public/queries.ts';
import { verdictOf } from '../../../coordinator/status-pages/public/snapshot.ts';
import { createMonitor } from '../../../shared/api/monitors.ts';
import {
  addStatusPageReportUpdate,
  createStatusPageReport,
  deleteStatusPageReport,
  getStatusPageReport,
  listStatusPageReports,
  updateStatusPageReport,
} from '../../../shared/api/status-page-reports.ts';
import { addStatusPageMonitor, createStatusPage } from '../../../shared/api/status-pages.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { isoText } from '../../../shared/base/time.ts';
import { makeCause } from '../../support/causes.ts';
import { testResults } from '../../support/checks.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';

const bench = gateBench();
const ids = { fingerprint: async (_: string, text: string) => Buffer.from(text.padEnd(16)) };
const minute = 60_000;
let house: TestOrganisation;
let page_id: string;
let monitor: string;

beforeAll(async () => {
  house = await createTestOrganisation(bench.sql);
});

const begin = async (): Promise<void> => {
  const slug = newId();
  page_id = (await bench.call(createStatusPage, house.owner, { name: 'Shop', slug })).id;
  monitor = (await bench.call(createMonitor, house.owner, { type: 'heartbeat', name: 'db-7' })).id;
  const display_name = 'Checkout';
  await bench.call(addStatusPageMonitor, house.owner, { page_id, monitor, display_name });
};

const found = async (): Promise<PublishedPage> => {
  const page = await publishedPage(bench.sql, { id: page_id, organisation: house.organisation });
  if (page === undefined) throw new Error('there is no page');
  return page;
};

const seen = async () =>
  (await readPublished(bench.sql, testResults(), ids, await found(), bench.now)).page;

const report = (more: object = {}) =>
  bench.call(createStatusPageReport, house.member, {
    page_id,
    title: 'Slow checkout',
    kind: 'investigating',
    text: 'Payments take long.',
    affected: [{ monitor, impact: 'degraded' }],
    ...more,
  });

describe('a report on a status page', () => {
  test('needs no confirmed outage, degrades what it names, and leaves uptime as it was measured', async () => {
    await begin();
    const before = await seen();
    const { id } = await report();
    const page = await seen();
    expect(verdictOf(page)).toMatchObject({ is: 'degraded', names: ['Checkout'] });
    expect(page.incidents).toMatchObject([
      { id, title: 'Slow checkout', names: ['Checkout'], impacts: ['degraded'], resolvedAt: null },
    ]);
    const figures = ({ rows }: typeof page) =>
      rows.map((row) => row.kind === 'monitor' && [row.percent, row.days]);
    expect(figures(page)).toEqual(figures(before));
    const posted = await bench.call(addStatusPageReportUpdate, house.member, {
      page_id,
      report_id: id,
      kind: 'identified',
      text: 'A bank is slow.',
      affected: [{ monitor, impact: 'major_outage' }],
    });
    expect(posted.updates.map(({ kind }) => kind)).toEqual(['identified', 'investigating']);
    expect(verdictOf(await seen()).is).toBe('major_outage');
  });

  test('ends with what says resolved, and is open again after any later update', async () => {
    await begin();
    const { id: report_id } = await report();
    const post = (kind: string) =>
      bench.call(addStatusPageReportUpdate, house.member, { page_id, report_id, kind, text: kind });
    bench.now += minute;
    expect((await post('resolved')).ends_at).toBe(new Date(bench.now).toISOString());
    expect((await seen()).incidents).toMatchObject([{ resolvedAt: bench.now }]);
    expect(verdictOf(await seen()).is).not.toBe('degraded');
    bench.now += minute;
    expect((await post('investigating')).ends_at).toBeNull();
  });

  test('that affects nothing is an announcement, and ends at its end time', async () => {
    await begin();
    const ends_at = new Date(bench.now + minute).toISOString();
    await report({ kind: 'announcement', affected: [], ends_at });
    const page = await seen();
    expect(page.incidents).toMatchObject([{ monitors: [], until: bench.now + minute }]);
    expect(['degraded', 'down']).not.toContain(verdictOf(page).is);
    bench.now += 2 * minute;
    expect((await seen()).incidents).toMatchObject([{ resolvedAt: Date.parse(ends_at) }]);
  });

  test('is refused, and nothing is written, for foreign monitors and for impossible times', async () => {
    await begin();
    const refused = async (more: object): Promise<string> =>
      report(more).then(
        () => 'taken',
        ({ code }) => code,
      );
    const future = new Date(bench.now + minute).toISOString();
    const past = new Date(bench.now - minute).toISOString();
    expect([
      await refused({ affected: [{ monitor: newId(), impact: 'degraded' }] }),
      await refused({ title: ' ' }),
      await refused({ text: ' ' }),
      await refused({ started_at: future }),
      await refused({ ends_at: past }),
    ]).toEqual([
      'status_page_monitor_not_found',
      'name_invalid',
      'post_invalid',
      'report_invalid',
      'report_invalid',
    ]);
    expect((await bench.call(listStatusPageReports, house.viewer, { page_id })).items).toEqual([]);
  });

  test('is changed without a message, and deleted with its updates', async () => {
    await begin();
    const { id: report_id } = await report();
    const started_at = new Date(bench.now - 5 * minute).toISOString();
    const change = { page_id, report_id, title: 'Payments are slow', started_at, affected: [] };
    const changed = await bench.call(updateStatusPageReport, house.member, change);
    expect(changed).toMatchObject({ title: 'Payments are slow', started_at, affected: [] });
    expect(changed.updates).toHaveLength(1);
    await bench.call(deleteStatusPageReport, house.member, { page_id, report_id });
    await expect(
      bench.call(getStatusPageReport, house.viewer, { page_id, report_id }),
    ).rejects.toMatchObject({ code: 'status_page_report_not_found' });
    expect((await seen()).incidents).toEqual([]);
  });

  test('about a cause is one on each page, as old as its outages, and leaves services as they were measured', async () => {
    await begin();
    const started_at = bench.now - 5 * minute;
    const incident = newId();
    await bench.sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at)
      values (${incident}, ${house.organisation}, ${monitor}, ${isoText(started_at)}, ${isoText(started_at)})`;
    const cause = await makeCause(bench.sql, house.organisation, incident);
    const affected = [{ monitor, impact: 'major_outage' }];
    const made = await report({ cause, affected });
    expect(made).toMatchObject({ cause, started_at: isoText(started_at) });
    expect((await seen()).incidents).toContainEqual(
      expect.objectContaining({ id: incident, cause }),
    );
    await expect(report({ cause, affected })).rejects.toMatchObject({ code: 'report_invalid' });
    const foreign = await makeCause(
      bench.sql,
      (await createTestOrganisation(bench.sql)).organisation,
    );
    await expect(report({ cause: foreign })).rejects.toMatchObject({ code: 'cause_not_found' });
    await bench.sql`update incidents set resolved_at = ${isoText(bench.now)} where id = ${incident}`;
    expect(verdictOf(await seen()).is).not.toBe('major_outage');
    await report({ affected });
    expect(verdictOf(await seen()).is).toBe('major_outage');
  });

  test('is previewed before it is published', async () => {
    await begin();
    const { html } = await bench.call(previewStatusPage, house.member, {
      page_id,
      name: 'Another name',
      report: {
        id: null,
        title: 'Slow <checkout>',
        kind: 'investigating',
        text: 'Soon.',
        affected: [{ monitor, impact: 'partial_outage' }],
      },
    });
    expect(html).toContain('Slow &lt;checkout&gt;');
    expect(html).toContain('Another name');
    expect(html).toContain('Checkout (partial outage)');
    expect((await seen()).incidents).toEqual([]);
    expect(
      await bench.sql`select 1 from audit_log where operation = 'previewStatusPage'`,
    ).toHaveLength(0);
  });
});
