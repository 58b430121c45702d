import { beforeAll, expect, test } from 'vitest';
import { logoOfPage, postsOfIncidents, publishedPage } from '../../../../coordinator/status-pages/public/queries.ts';
import { createGroup } from '../../../../shared/api/groups.ts';
import { createMonitor } from '../../../../shared/api/monitors.ts';
import { addStatusPageGroup, addStatusPageMonitor, createStatusPage, orderStatusPage } from '../../../../shared/api/status-pages.ts';
import { newId } from '../../../../shared/base/crypto.ts';
import { gateBench } from '../../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../../support/people.ts';

const bench = gateBench();
let house: TestOrganisation;

beforeAll(async () => {
  house = await createTestOrganisation(bench.sql);
});

const page = async (slug: string): Promise<string> => (await bench.call(createStatusPage, house.owner, { name: 'Status', slug })).id;
const monitor = async (name: string, group: string | null = null): Promise<string> =>
  (await bench.call(createMonitor, house.owner, { type: 'heartbeat', name, group })).id;

test('a page is read with its rows from top to bottom, each under its heading, by its address or a proved domain alone', async () => {
  const id = await page('whole');
  const group = (await bench.call(createGroup, house.owner, { name: 'internal-group' })).id;
  const [inside, outside] = [await monitor('internal-1', group), await monitor('internal-2')];
  await bench.call(addStatusPageMonitor, house.owner, { page_id: id, monitor: outside, display_name: 'Search' });
  await bench.call(addStatusPageMonitor, house.owner, { page_id: id, monitor: inside, display_name: 'Checkout' });
  await bench.call(addStatusPageGroup, house.owner, { page_id: id, group, display_name: 'Shop' });
  await bench.call(orderStatusPage, house.owner, { page_id: id, rows: [group, outside, inside] });
  expect(await publishedPage(bench.sql, { slug: 'whole' })).toEqual({
    ...{ id, organisation_id: house.organisation, slug: 'whole', name: 'Status', description: null, language: 'en', accent: null },
    ...{ access: 'public', password_hash: null, link_fingerprint: null, access_version: 0, domain: null, logo_version: null },
    rows: [
      { kind: 'group', id: group, name: 'Shop', under: null },
      { kind: 'monitor', id: inside, name: 'Checkout', under: group },
      { kind: 'monitor', id: outside, name: 'Search', under: null },
    ],
  });
  await bench.sql`update status_pages set domain = 'status.example', domain_token = 't' where id = ${id}`;
  expect(await publishedPage(bench.sql, { domain: 'status.example' })).toBeUndefined();
  await bench.sql`update status_pages set domain_proved_at = now() where id = ${id}`;
  expect(await publishedPage(bench.sql, { domain: 'status.example' })).toMatchObject({ id, domain: 'status.example' });
  await bench.sql`update status_pages set enabled = false where id = ${id}`;
  expect(await publishedPage(bench.sql, { slug: 'whole' })).toBeUndefined();
  expect(await publishedPage(bench.sql, { domain: 'status.example' })).toBeUndefined();
});

test('its logo and its posts are those of this page', async () => {
  const [one, other, on] = [await page('one'), await page('other'), await monitor('watched')];
  const incident = newId();
  await bench.sql`insert into incidents (id, organisation_id, monitor_id, started_at) values (${incident}, ${house.organisation}, ${on}, now())`;
  await bench.sql`insert into status_page_logos (page_id, type, bytes, version) values (${one}, 'image/png', ${Buffer.from('p')}, 'v')`;
  const post = (at: string, kind: string, text: string, to = one) =>
    bench.sql`insert into status_page_posts (id, page_id, organisation_id, incident_id, kind, text, written_at)
      values (${newId()}, ${to}, ${house.organisation}, ${incident}, ${kind}, ${text}, ${new Date(at)})`;
  await post('2030-01-01T00:01Z', 'identified', 'second');
  await post('2030-01-01T00:00Z', 'investigating', 'first');
  await post('2030-01-01T00:00Z', 'investigating', 'elsewhere', other);
  expect((await postsOfIncidents(bench.sql, one, [incident])).map(({ kind, text }) => [kind, text])).toEqual([
    ['investigating', 'first'],
    ['identified', 'second'],
  ]);
  expect(await postsOfIncidents(bench.sql, one, [newId()])).toEqual([]);
  expect(await logoOfPage(bench.sql, one)).toMatchObject({ type: 'image/png', version: 'v' });
  expect(await logoOfPage(bench.sql, other)).toBeUndefined();
});
