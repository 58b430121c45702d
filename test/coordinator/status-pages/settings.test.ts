import { beforeAll, describe, expect, test } from 'vitest';
import { verifyPassword } from '../../../coordinator/people/secrets.ts';
import {
  getStatusPageEditor,
  listIncidentPages,
  removeStatusPageLogo,
  setStatusPageLogo,
} from '../../../coordinator/status-pages/contract.ts';
import { proofRecordText } from '../../../coordinator/status-pages/model.ts';
import {
  createDomainProofs,
  pageKeyFingerprint,
} from '../../../coordinator/status-pages/public/access.ts';
import { logoOfPage, publishedPage } from '../../../coordinator/status-pages/public/queries.ts';
import { createGroup } from '../../../shared/api/groups.ts';
import { createMonitor, updateMonitor } from '../../../shared/api/monitors.ts';
import {
  addStatusPageGroup,
  addStatusPageMonitor,
  checkStatusPageDomain,
  createStatusPage,
  createStatusPagePost,
  deleteStatusPage,
  deleteStatusPagePost,
  getStatusPage,
  getStatusPageSubscribers,
  listStatusPagePosts,
  orderStatusPage,
  removeStatusPageMonitor,
  renewStatusPageLink,
  updateStatusPage,
  updateStatusPageGroup,
  updateStatusPageMonitor,
} from '../../../shared/api/status-pages.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { isoText } from '../../../shared/base/time.ts';
import { gateBench } from '../../support/gate.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';

/** What stands in DNS, as far as the gate is told. */
const records = new Map<string, readonly string[]>();
const bench = gateBench(undefined, async (name) => records.get(name) ?? []);
let house: TestOrganisation;

beforeAll(async () => {
  house = await createTestOrganisation(bench.sql);
});

const page = async (more: object = {}): Promise<string> =>
  (await bench.call(createStatusPage, house.owner, { name: 'Status', slug: newId(), ...more })).id;
const monitor = async (name: string, group: string | null = null): Promise<string> =>
  (await bench.call(createMonitor, house.owner, { type: 'heartbeat', name, group })).id;
const published = async (id: string) => {
  const { slug } = await bench.call(getStatusPage, house.owner, { page_id: id });
  return publishedPage(bench.sql, { slug });
};
const change = (page_id: string, what: object) =>
  bench.call(updateStatusPage, house.member, { page_id, ...what });
const refused = (page_id: string, what: object) =>
  bench.refusal(updateStatusPage, house.member, { page_id, ...what });

describe('the settings of a page', () => {
  test('are changed one by one, and a refused one changes nothing', async () => {
    const id = await page({ language: 'de', description: 'Old' });
    const slug = newId();
    await change(id, { name: ' Shop ', slug, accent: '#0A5BB5' });
    const before = await bench.call(getStatusPage, house.viewer, { page_id: id });
    expect(before).toMatchObject({
      name: 'Shop',
      slug,
      description: 'Old',
      language: 'de',
      accent: '#0a5bb5',
      enabled: true,
    });
    const other = await page();
    const taken = (await bench.call(getStatusPage, house.owner, { page_id: other })).slug;
    const faults: [object, string][] = [
      [{ name: ' ' }, 'name_invalid'],
      [{ slug: 'a b' }, 'slug_invalid'],
      [{ slug: taken }, 'slug_taken'],
      [{ description: 'x'.repeat(2_001) }, 'description_invalid'],
      [{ accent: 'yellow' }, 'accent_invalid'],
      [{ accent: '#ffcc00' }, 'accent_invalid'],
      [{ language: 'it' }, 'faults'],
      [{ access: 'friends' }, 'faults'],
      [{ access: 'password' }, 'password_invalid'],
      [{ access: 'password', password: 'short' }, 'password_invalid'],
    ];
    for (const [what, code] of faults)
      expect([what, await refused(id, { name: 'Other', ...what })]).toEqual([what, code]);
    expect(await bench.call(getStatusPage, house.viewer, { page_id: id })).toEqual(before);
    expect(await change(id, { description: '', accent: '', enabled: false })).toMatchObject({
      description: null,
      accent: null,
      enabled: false,
      name: 'Shop',
    });
    expect(await published(id)).toBeUndefined();
  });

  test('a password lets in who knows it, a link who has it, and each change shuts out whom the one before let in', async () => {
    const id = await page();
    expect(await change(id, { access: 'password', password: 'for everybody' })).toMatchObject({
      access: 'password',
      has_password: true,
    });
    const first = await published(id);
    expect(await verifyPassword('for everybody', first?.password_hash ?? null)).toBe(true);
    const versions = [first?.access_version];
    await change(id, { name: 'The same way in' });
    versions.push((await published(id))?.access_version);
    await change(id, { password: 'for fewer of them' });
    versions.push((await published(id))?.access_version);
    const { link } = await bench.call(renewStatusPageLink, house.member, { page_id: id });
    const second = await published(id);
    versions.push(second?.access_version);
    expect(versions).toEqual([1, 1, 2, 3]);
    const key = new URL(link).searchParams.get('key') ?? '';
    expect(second).toMatchObject({ access: 'link' });
    expect(Buffer.from(second?.link_fingerprint ?? [])).toEqual(pageKeyFingerprint(key));
    await bench.call(renewStatusPageLink, house.member, { page_id: id });
    expect(Buffer.from((await published(id))?.link_fingerprint ?? [])).not.toEqual(
      pageKeyFingerprint(key),
    );
    const said = JSON.stringify(await bench.call(getStatusPage, house.owner, { page_id: id }));
    expect(said).not.toContain(key);
    const [log] = await bench.sql<{ text: string }[]>`
      select string_agg(changed::text, ' ') as text from audit_log where organisation_id = ${house.organisation}`;
    for (const secret of ['for everybody', 'for fewer of them', key])
      expect(log?.text).not.toContain(secret);
  });

  test('a domain belongs to the page once its record is found, and then to no other', async () => {
    const [one, two] = [await page(), await page()];
    const claim = async (id: string, domain: string) => (await change(id, { domain })).domain;
    for (const domain of [
      'https://status.example',
      'example',
      '192.0.2.1',
      'a..b',
      'antipode.test',
      'ANTIPODE.test.',
      '-a.example',
    ])
      expect([domain, await refused(one, { domain })]).toEqual([domain, 'domain_invalid']);
    expect(await bench.refusal(checkStatusPageDomain, house.member, { page_id: one })).toBe(
      'domain_missing',
    );
    const [mine, theirs] = [
      await claim(one, 'Status.Bücher.example'),
      await claim(two, 'status.xn--bcher-kva.example'),
    ];
    expect(mine).toMatchObject({
      name: 'status.xn--bcher-kva.example',
      proved_at: null,
      record_name: '_antipode.status.xn--bcher-kva.example',
    });
    expect(theirs?.record_text).not.toBe(mine?.record_text);
    const check = (id: string) => bench.call(checkStatusPageDomain, house.member, { page_id: id });
    expect(await check(one)).toMatchObject({ proved: false, found: [] });
    records.set(mine?.record_name ?? '', ['v=spf1', theirs?.record_text ?? '']);
    expect(await check(one)).toMatchObject({
      proved: false,
      found: ['v=spf1', theirs?.record_text],
    });
    records.set(mine?.record_name ?? '', [mine?.record_text ?? '']);
    expect(await check(one)).toMatchObject({ proved: true });
    expect(await publishedPage(bench.sql, { domain: mine?.name ?? '' })).toMatchObject({ id: one });
    records.set(mine?.record_name ?? '', [theirs?.record_text ?? '']);
    expect(await bench.refusal(checkStatusPageDomain, house.member, { page_id: two })).toBe(
      'domain_taken',
    );
    expect(await check(one)).toMatchObject({ proved: true });
    await claim(one, '');
    expect(await check(two)).toMatchObject({ proved: true });
    expect((await claim(two, 'other.example'))?.proved_at).toBeNull();
    expect(await publishedPage(bench.sql, { domain: mine?.name ?? '' })).toBeUndefined();
  });

  test('a logo is what its bytes are, and small', async () => {
    const id = await page();
    const logo = (bytes: Buffer) => ({ page_id: id, logo: bytes.toString('base64') });
    const png = Buffer.concat([
      Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
      Buffer.alloc(100),
    ]);
    for (const bad of [
      Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'),
      Buffer.alloc(0),
      Buffer.concat([png, Buffer.alloc(102_400)]),
    ])
      expect(await bench.refusal(setStatusPageLogo, house.member, logo(bad))).toBe('logo_invalid');
    const version = (await bench.call(setStatusPageLogo, house.member, logo(png))).logo;
    expect(await published(id)).toMatchObject({ logo_version: version });
    expect(Buffer.from((await logoOfPage(bench.sql, id))?.bytes ?? [])).toEqual(png);
    await bench.call(removeStatusPageLogo, house.member, { page_id: id });
    expect(await logoOfPage(bench.sql, id)).toBeUndefined();
  });

  test('a page that is deleted is gone, and makes room for another', async () => {
    const small = await createTestOrganisation(bench.sql, { plan: 'free' });
    const slug = newId();
    const made = await bench.call(createStatusPage, small.owner, { name: 'One', slug });
    expect(await bench.refusal(createStatusPage, small.owner, { name: 'Two', slug: newId() })).toBe(
      'plan_limit_status_pages',
    );
    await bench.call(deleteStatusPage, small.owner, { page_id: made.id });
    expect(await bench.refusal(deleteStatusPage, small.owner, { page_id: made.id })).toBe(
      'status_page_not_found',
    );
    expect(await bench.refusal(createStatusPage, small.owner, { name: 'Two', slug })).toBe('taken');
  });
});

describe('the rows of a page', () => {
  test('are ordered in one call, each once, and are renamed on this page only', async () => {
    const [id, other] = [await page(), await page()];
    const group = (await bench.call(createGroup, house.owner, { name: newId() })).id;
    const [inside, loose, last] = [
      await monitor('in', group),
      await monitor('loose'),
      await monitor('last'),
    ];
    await bench.call(addStatusPageGroup, house.owner, { page_id: id, group, display_name: 'Shop' });
    for (const each of [loose, last])
      await bench.call(addStatusPageMonitor, house.owner, { page_id: id, monitor: each });
    await bench.call(addStatusPageMonitor, house.owner, { page_id: other, monitor: loose });
    const order = (rows: readonly string[]) =>
      bench.call(orderStatusPage, house.member, { page_id: id, rows });
    await order([last, group, inside, loose]);
    expect((await published(id))?.rows.map((row) => row.id)).toEqual([last, group, inside, loose]);
    for (const rows of [[last], [last, group, inside, inside], [last, group, inside, newId()], []])
      expect(await bench.refusal(orderStatusPage, house.member, { page_id: id, rows })).toBe(
        'order_invalid',
      );
    expect((await published(id))?.rows.map((row) => row.id)).toEqual([last, group, inside, loose]);
    await bench.call(updateStatusPageMonitor, house.member, {
      page_id: id,
      monitor_id: loose,
      display_name: 'Search',
    });
    await bench.call(updateStatusPageGroup, house.member, {
      page_id: id,
      group_id: group,
      display_name: 'Our shop',
    });
    expect((await published(id))?.rows.map(({ name }) => name)).toEqual([
      'last',
      'Our shop',
      'in',
      'Search',
    ]);
    expect((await published(other))?.rows.map(({ name }) => name)).toEqual(['loose']);
    await bench.call(removeStatusPageMonitor, house.member, { page_id: id, monitor_id: loose });
    expect((await published(other))?.rows.map(({ name }) => name)).toEqual(['loose']);
  });

  test('a monitor that joins a published group is offered, and never published by itself', async () => {
    const id = await page();
    const group = (await bench.call(createGroup, house.owner, { name: newId() })).id;
    const [first, later] = [await monitor('first', group), await monitor('db-internal-7')];
    const heading = await page();
    await bench.call(addStatusPageGroup, house.owner, { page_id: id, group });
    await bench.call(addStatusPageGroup, house.owner, { page_id: heading, group, monitors: false });
    expect((await bench.call(getStatusPage, house.viewer, { page_id: heading })).offered).toEqual([
      { monitor: first, group },
    ]);
    expect((await bench.call(getStatusPage, house.viewer, { page_id: id })).offered).toEqual([]);
    await bench.call(updateMonitor, house.owner, { monitor_id: later, group });
    expect((await bench.call(getStatusPage, house.viewer, { page_id: id })).offered).toEqual([
      { monitor: later, group },
    ]);
    expect(JSON.stringify(await published(id))).not.toContain('db-internal-7');
    await bench.call(addStatusPageMonitor, house.member, {
      page_id: id,
      monitor: later,
      display_name: 'Database',
    });
    expect((await published(id))?.rows.map(({ name }) => name)).toContain('Database');
    expect((await bench.call(getStatusPage, house.viewer, { page_id: id })).offered).toEqual([]);
  });
});

describe('posts to incidents', () => {
  const incidentOf = async (monitor_id: string, confirmed = true): Promise<string> => {
    const id = newId();
    const at = bench.now;
    await bench.sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at)
      values (${id}, ${house.organisation}, ${monitor_id}, ${new Date(at)}, ${isoText(confirmed ? at : null)})`;
    return id;
  };

  test('use the given text, or the default in the language of the page, under the public name', async () => {
    const [id, watched] = [await page({ language: 'de' }), await monitor('db-7')];
    await bench.call(addStatusPageMonitor, house.owner, {
      page_id: id,
      monitor: watched,
      display_name: 'Kasse',
    });
    const incident_id = await incidentOf(watched);
    const of = { page_id: id, incident_id };
    const post = (input: object) =>
      bench.call(createStatusPagePost, house.member, { ...of, ...input });
    const first = await post({ kind: 'investigating' });
    expect(first).toMatchObject({
      incident: incident_id,
      kind: 'investigating',
      written_by: house.member.email,
    });
    expect(first.text).toBe('Kasse funktioniert nicht wie gewohnt. Wir suchen die Ursache.');
    const second = await post({ kind: 'identified', text: ' A disk is full. ' });
    const list = async (more: object = {}) =>
      (await bench.call(listStatusPagePosts, house.viewer, { page_id: id, ...more })).items.map(
        ({ text }) => text,
      );
    expect(await list()).toEqual(['A disk is full.', first.text]);
    expect(await list({ incident: newId() })).toEqual([]);
    expect(await bench.call(listIncidentPages, house.viewer, { incident_id })).toMatchObject({
      items: [{ id, display_name: 'Kasse', posts: [{ id: second.id }, { id: first.id }] }],
    });
    const editor = await bench.call(getStatusPageEditor, house.viewer, { page_id: id });
    expect(editor.incidents).toMatchObject([
      { id: incident_id, display_name: 'Kasse', resolved_at: null, posts: [second, first] },
    ]);
    await bench.call(deleteStatusPagePost, house.member, { page_id: id, post_id: first.id });
    expect(await list()).toEqual(['A disk is full.']);
    const refusal = (input: object) =>
      bench.refusal(createStatusPagePost, house.member, { ...of, kind: 'resolved', ...input });
    expect(await refusal({ text: 'x'.repeat(2_001) })).toBe('post_invalid');
    expect(await refusal({ kind: 'over' })).toBe('faults');
    expect(await refusal({ incident_id: newId() })).toBe('incident_not_found');
  });

  test('go to what the page shows alone: confirmed, and of a monitor that is there', async () => {
    const [id, other, watched] = [await page(), await page(), await monitor('watched')];
    await bench.call(addStatusPageMonitor, house.owner, { page_id: id, monitor: watched });
    const unsure = await incidentOf(watched, false);
    const code = (page_id: string) =>
      bench.refusal(createStatusPagePost, house.member, {
        page_id,
        incident_id: unsure,
        kind: 'investigating',
      });
    expect(await code(id)).toBe('incident_not_published');
    await bench.sql`update incidents set confirmed_at = started_at where id = ${unsure}`;
    expect(await code(id)).toBe('taken');
    expect(await code(other)).toBe('incident_not_published');
  });

  test('subscribers are counted: who said yes, and who was asked', async () => {
    const id = await page();
    for (const [email, at] of [
      ['a@example.org', Date.now()],
      ['b@example.org', null],
    ] as const)
      await bench.sql`insert into status_page_subscribers (id, page_id, email, language, asked_at, confirmed_at)
        values (${newId()}, ${id}, ${email}, 'en', now(), ${isoText(at)})`;
    expect(await bench.call(getStatusPageSubscribers, house.viewer, { page_id: id })).toEqual({
      confirmed: 1,
      waiting: 1,
    });
    expect((await bench.call(getStatusPage, house.viewer, { page_id: id })).subscribers).toBe(1);
  });
});

/** A page whose domain was proven at this moment, and what looks for its record again. */
const provenPage = async (slug: string) => {
  const { id } = await bench.call(createStatusPage, house.member, { name: 'Proven', slug });
  const begin = bench.now;
  await bench.sql`update status_pages set domain = ${`${slug}.example`}, domain_token = 'secret', domain_proved_at = ${new Date(begin)} where id = ${id}`;
  const dns = { asked: 0, texts: [proofRecordText('secret')] };
  const { tick } = createDomainProofs({
    sql: bench.sql,
    clock: { now: () => bench.now },
    log: { warn: () => undefined },
    isLeader: () => true,
    textRecords: async (name) => {
      if (!name.endsWith(`${slug}.example`)) return [];
      dns.asked += 1;
      return dns.texts;
    },
  });
  const after = async (days: number): Promise<readonly [number, boolean]> => {
    bench.now = begin + days * 86_400_000;
    await tick();
    const proven =
      await bench.sql`select 1 from status_pages where id = ${id} and domain_proved_at is not null`;
    bench.now = begin;
    return [dns.asked, proven.length === 1];
  };
  return { dns, after };
};

test('a domain is proven again each week, and let go after a month without its record', async () => {
  const { dns, after } = await provenPage('again');
  expect(await after(6)).toEqual([0, true]);
  expect(await after(8)).toEqual([1, true]);
  expect(await after(9)).toEqual([1, true]);
  dns.texts = [];
  expect(await after(16)).toEqual([2, true]);
  expect(await after(30)).toEqual([3, true]);
  expect(await after(39)).toEqual([4, false]);
  expect(await after(50)).toEqual([4, false]);
});

test('a domain that was not checked, before an upgrade or while the service was off, has its whole month from the first check', async () => {
  const { dns, after } = await provenPage('old');
  dns.texts = [];
  expect(await after(60)).toEqual([1, true]);
  expect(await after(68)).toEqual([2, true]);
  dns.texts = [proofRecordText('secret')];
  expect(await after(76)).toEqual([3, true]);
  dns.texts = [];
  expect(await after(160)).toEqual([4, true]);
  expect(await after(168)).toEqual([5, true]);
  expect(await after(176)).toEqual([6, true]);
  expect(await after(184)).toEqual([7, true]);
  expect(await after(192)).toEqual([8, false]);
});
