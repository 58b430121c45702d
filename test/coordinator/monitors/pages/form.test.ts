import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hiddenKeys, settingsOf } from '../../../../coordinator/monitors/pages/form-config.ts';
import { configKeys, kinds } from '../../../../shared/api/config-keys.ts';
import { newId } from '../../../../shared/base/crypto.ts';
import { httpsKeys } from '../../../../shared/checks/https/keys.ts';
import { createTestOrganisation, type TestOrganisation } from '../../../support/people.ts';
import { rowsFor } from '../../../support/rows.ts';
import {
  fieldsIn,
  hostile,
  type MonitorForms,
  monitorForms,
  startWeb,
  type TestWeb,
  wanted,
} from '../../../support/web.ts';

/** The form of a monitor: what it asks for, takes, refuses and keeps. */

let web: TestWeb;
let forms: MonitorForms;
let small: TestOrganisation;

beforeAll(async () => {
  web = await startWeb();
  forms = monitorForms(web);
  small = await createTestOrganisation(web.sql, { plan: 'free' });
  for (const [at, continent] of ['Europe', 'Asia'].entries())
    await web.sql`insert into probes (id, name, continent, kinds) values (${newId()}, ${`probe ${at}`}, ${continent}, '{client_certificate,places}')`;
});
afterAll(() => web.close());

describe('the form of a new monitor', () => {
  test('asks for the kind first, shows three fields, and folds the rest', async () => {
    const { status, text } = await web.get('/monitors/new', { as: 'member' });
    expect(status).toBe(200);
    expect(text).toContain('<h1>New monitor</h1>');
    expect(text).toContain('>1,440 checks a day<');
    expect(text).not.toMatch(/<details class="fold" open/);
    expect(await web.text('/monitors/new?type=dns', 'member')).toContain(
      '<h1>New DNS monitor</h1>',
    );
    expect(await web.text('/monitors/new?type=heartbeat', 'member')).toContain(
      '<h1>New heartbeat monitor</h1>',
    );
    expect(await web.text('/monitors/new?target=https://a.example/', 'member')).toContain(
      'value="https://a.example/"',
    );
  });

  test('has a field for every key of every kind, with the labels of the one table', async () => {
    for (const kind of kinds) {
      expect([...settingsOf(kind).map(({ key }) => key), ...hiddenKeys[kind]].toSorted()).toEqual(
        Object.keys(configKeys[kind]).toSorted(),
      );
      const text = await web.text(`/monitors/new?type=${kind}`, 'member');
      for (const { key } of settingsOf(kind)) {
        if (key === 'inside_counts') continue;
        expect([key, text.includes(`name="config.${key}`)]).toEqual([key, true]);
      }
    }
  });

  test('saves what was asked for, and says so once on its page', async () => {
    const name = 'Checkout of three fields';
    const { status, headers } = await forms.post(
      '/monitors/new',
      { ...wanted, name },
      web.house.member,
    );
    const [row] = await forms.rowsNamed(name);
    expect([status, headers.get('location')]).toEqual([303, `/monitors/${row?.id}`]);
    expect(decodeURIComponent(headers.getSetCookie().join())).toContain('Monitor created.');
    expect(row).toMatchObject({ target: wanted.target, interval_s: 60, config: {} });
  });

  test('names the second monitor of a host after its path, and says that an address is checked already', async () => {
    const target = 'https://twice.example/cart?id=1';
    const create = () =>
      forms.post('/monitors/new', { ...wanted, name: '', target }, web.house.member);
    await forms.post(
      '/monitors/new',
      { ...wanted, name: '', target: 'https://twice.example/' },
      web.house.member,
    );
    expect(decodeURIComponent((await create()).headers.getSetCookie().join())).not.toContain(
      'same address',
    );
    expect(await forms.rowsNamed('twice.example')).toHaveLength(1);
    expect(await forms.rowsNamed('twice.example/cart?id=1')).toHaveLength(1);
    const shown = await web.get(`/monitors/new?target=${encodeURIComponent(target)}`, {
      as: 'member',
    });
    expect(shown.text).toContain('twice.example/cart?id=1 has the same address.');
    expect(decodeURIComponent((await create()).headers.getSetCookie().join())).toContain(
      'Monitor created. twice.example/cart?id=1 has the same address.',
    );
    const foreign = await createTestOrganisation(web.sql);
    expect(
      await web.text(`/monitors/new?target=${encodeURIComponent(target)}`, foreign.member),
    ).not.toContain('same address');
  });

  test('is filled from a monitor to clone, without its secrets, which it asks for again', async () => {
    const id = await forms.made({
      name: 'To clone',
      tags: 'eu, pay',
      'config.headers': 'X-Api-Key: very secret\r\nAccept: text/html',
      'config.secret_headers': 'X-Api-Key',
      'config.bearer_token': 'a-token',
      'config.body_contains': 'Welcome',
    });
    const text = await web.text(`/monitors/new?from=${id}`, 'member');
    expect(text).toContain('value="Copy of To clone"');
    expect(text).toContain('Secrets were not copied');
    expect(text).toContain('Accept: text/html');
    for (const secret of ['very secret', 'a-token', 'value="***"', ': ***'])
      expect(text).not.toContain(secret);
    const post = (more: object) =>
      forms.post('/monitors/new', { ...fieldsIn(text), ...more }, web.house.member);
    // It names a secret header that it lacks until somebody enters it.
    expect((await post({})).status).toBe(400);
    const headers = 'X-Api-Key: another one\r\nAccept: text/html';
    expect((await post({ 'config.headers': headers })).status).toBe(303);
    const [row] = await forms.rowsNamed('Copy of To clone');
    expect(row?.config).toMatchObject({
      headers: { 'X-Api-Key': '***', Accept: 'text/html' },
      body_contains: ['Welcome'],
    });
    const foreign = await createTestOrganisation(web.sql);
    expect((await web.get(`/monitors/new?from=${id}`, { as: foreign.owner })).status).toBe(404);
    expect((await web.get(`/monitors/new?from=${id}`, { as: 'viewer' })).status).toBe(403);
  });

  test('takes an address from the empty dashboard, which is tested at once', async () => {
    const empty = await createTestOrganisation(web.sql);
    const text = await web.text('/', empty.member);
    expect(text).toContain('No monitors yet');
    expect(text).toContain('<form class="card begin" method="post" action="/monitors/new#try">');
    const answer = await forms.post(
      '/monitors/new',
      { type: 'https', target: 'shop.example', act: 'try' },
      empty.member,
    );
    // There are no probes here: it was tried.
    expect(answer.text).toContain('No probe can be asked now.');
    expect(answer.text).toContain('value="shop.example"');
    expect(answer.text).toContain('<option value="60" selected>');
  });

  test('keeps a runbook, shows it on the page of the monitor and in the form, and says where it is too long', async () => {
    const name = 'With a runbook';
    const runbook = '- Call <b>Ana</b>\r\n- Read https://wiki.example/shop';
    await forms.post('/monitors/new', { ...wanted, name, runbook }, web.house.member);
    const [row] = await forms.rowsNamed(name);
    expect(await web.text(`/monitors/${row?.id}`, 'viewer')).toContain(
      '<li>Call &lt;b&gt;Ana&lt;/b&gt;</li><li>Read <a href="https://wiki.example/shop"',
    );
    const edit = await web.text(`/monitors/${row?.id}/edit`, 'member');
    expect(fieldsIn(edit).runbook).toEqual(['- Call <b>Ana</b>\n- Read https://wiki.example/shop']);
    const refused = await forms.post(
      '/monitors/new',
      { ...wanted, name, runbook: 'x'.repeat(2_001) },
      web.house.member,
    );
    expect([refused.status, refused.text]).toEqual([
      400,
      expect.stringContaining('Is longer than 2000 characters; shorten it.'),
    ]);
  });

  test('accepts tags with commas between, which filter the list and are in the form again', async () => {
    const name = 'Tagged by hand';
    await forms.post('/monitors/new', { ...wanted, name, tags: 'Shop, eu ,' }, web.house.member);
    const [row] = await forms.rowsNamed(name);
    const list = await web.text('/?tag=shop', 'viewer');
    expect(list).toContain(name);
    expect(list).toContain('Remove filter shop');
    expect(list).toContain('<a class="tag" href="/?tag=shop%2Ceu">eu</a>');
    expect(await web.text('/?tag=other', 'viewer')).not.toContain(name);
    expect(await web.text(`/monitors/${row?.id}/edit`, 'member')).toMatch(
      /name="tags"[^>]*value="eu, shop"|value="eu, shop"[^>]*name="tags"/,
    );
    const refused = await forms.post(
      '/monitors/new',
      { ...wanted, name: 'No', tags: 'two words' },
      web.house.member,
    );
    expect(refused.status).toBe(400);
    expect(refused.text).toMatch(/<details class="fold" open/);
    expect(refused.text).toContain('is no tag');
    expect(await forms.rowsNamed('No')).toHaveLength(0);
  });

  test('takes every setting, and gives the config that the API would have taken', async () => {
    const id = await forms.made({
      interval_s: 'other',
      interval_other_s: '90',
      'config.method': 'POST',
      'config.headers': 'Accept: application/json\r\nX-Api-Key: a key',
      'config.secret_headers': 'X-Api-Key',
      'config.body': 'ping=1',
      'config.expected_status': '200, 301 - 303 4xx',
      'config.follow_redirects': 'false',
      'config.max_redirects': '1',
      'config.body_contains': 'Welcome\r\n</html>',
      'config.body_matches': '^a{1,2}\r\nv\\d+',
      'config.body_not_matches': '(?i)error|warning',
      'config.header_matches': 'Server: ^nginx/\\d',
      'config.header_not_matches': 'Via: .',
      'config.json.0.path': '$.status',
      'config.json.0.is': 'equals',
      'config.json.0.value': 'ok',
      'config.json.1.path': '$.count',
      'config.json.1.is': 'gt',
      'config.json.1.value': '3',
      'config.json.2.path': '$.error',
      'config.json.2.is': 'missing',
      'config.json.2.value': '',
      'config.header_contains': 'Content-Type: text/html',
      'config.verify_tls': ['false', 'true'],
      'config.tls_expires_within_days': '14',
      'config.ip_family': '4',
      'config.basic_auth.username': 'monitor',
      'config.basic_auth.password': 'hush',
      'config.client_certificate': httpsKeys.client_certificate.example.replaceAll('\n', '\r\n'),
      'config.max_response_ms': '2000',
      'config.timeout_ms': '5000',
      'config.places[]': ['', 'continent:Asia'],
      'config.alert_after_s': '120',
    });
    expect(await forms.rowOf(id)).toMatchObject({ interval_s: 90 });
    expect((await forms.rowOf(id))?.config).toEqual({
      method: 'POST',
      headers: { Accept: 'application/json', 'X-Api-Key': '***' },
      secret_headers: ['X-Api-Key'],
      body: 'ping=1',
      expected_status: [200, '301-303', '4xx'],
      follow_redirects: false,
      max_redirects: 1,
      body_contains: ['Welcome', '</html>'],
      body_matches: ['^a{1,2}', 'v\\d+'],
      body_not_matches: ['(?i)error|warning'],
      header_matches: { Server: '^nginx/\\d' },
      header_not_matches: { Via: '.' },
      json: [
        { path: '$.status', equals: 'ok' },
        { path: '$.count', gt: 3 },
        { path: '$.error', exists: false },
      ],
      header_contains: { 'Content-Type': 'text/html' },
      tls_expires_within_days: 14,
      ip_family: '4',
      basic_auth: { username: 'monitor', password: '***' },
      client_certificate: '***',
      max_response_ms: 2000,
      timeout_ms: 5000,
      continents: ['Asia'],
      alert_after_s: 120,
    });
  });

  test('offers to alert after 15 s where a monitor is new, and keeps what was stored', async () => {
    const select = (page: string): string =>
      /<select id="field-config-alert-after-s"[\s\S]*?<\/select>/.exec(page)?.[0] ?? '';
    const chosen = (page: string) =>
      [...select(page).matchAll(/<option value="(\d+)"( selected)?/g)].map(
        ([, value, selected]) => `${value}${selected ?? ''}`,
      );
    const fresh = await web.text('/monitors/new', 'member');
    expect(chosen(fresh)).toEqual(['0', '15 selected', '30', '120']);
    expect(select(fresh)).toContain('at once');
    const id = await forms.made({ 'config.alert_after_s': '15' });
    expect((await forms.rowOf(id))?.config).toEqual({ alert_after_s: 15 });
    const atOnce = await forms.made({ 'config.alert_after_s': '0' });
    expect((await forms.rowOf(atOnce))?.config).toEqual({});
    await web.sql`update monitors set config = '{"alert_after_s": 90}' where id = ${atOnce}`;
    const again = await web.text(`/monitors/${atOnce}/edit`, 'member');
    expect(chosen(again)).toEqual(['0', '15', '30', '120', '90 selected']);
    const without = await web.text(`/monitors/${id}/edit`, 'member');
    expect(chosen(without)).toEqual(['0', '15 selected', '30', '120']);
  });

  test('has one limit for slow responses, a warning or a failure, and keeps a second one of the API', async () => {
    const slow = {
      'config.max_response_ms': '2000',
      'config.fail_on[]': ['slow', '', 'rate_limited'],
    };
    const id = await forms.made(slow);
    const config = { max_response_ms: 2000, fail_on: ['rate_limited', 'slow'] };
    expect((await forms.rowOf(id))?.config).toEqual(config);
    const edit = async () => web.text(`/monitors/${id}/edit`, web.house.member);
    expect(await edit()).toMatch(/<option value="slow" selected>/);
    expect(await edit()).not.toContain('Warn when slower than');
    expect(
      (
        await forms.post(
          `/monitors/${id}/edit`,
          { ...wanted, 'config.fail_on[]': [''] },
          web.house.member,
        )
      ).status,
    ).toBe(303);
    expect((await forms.rowOf(id))?.config).toEqual({ max_response_ms: 2000 });
    await web.sql`update monitors set config = '{"warn": {"response_ms": 900}}' where id = ${id}`;
    expect(await edit()).toContain('Warn when slower than');
    expect(
      (await forms.post(`/monitors/${id}/edit`, { ...wanted, 'config.warn': '' }, web.house.member))
        .status,
    ).toBe(303);
    expect((await forms.rowOf(id))?.config).toEqual({});
  });

  test('chooses public and private places by one list of boxes, and says a refusal beside it', async () => {
    const own = { id: newId(), organisation_id: web.house.organisation, continent: 'Europe' };
    await web.sql`insert into probes ${rowsFor(web.sql, 'probes', { ...own, name: 'Cellar', kinds: ['places'] })}`;
    const page = await web.get('/monitors/new', { as: 'member' });
    expect(page.text).toContain('aria-label="Your places"');
    const both = { 'config.places[]': ['', 'continent:Asia', 'Cellar'] };
    const counting = { 'config.inside_counts': ['false', 'true'] };
    const id = await forms.made({ ...both, ...counting });
    const config = { places: ['Cellar', 'continent:Asia'], inside_counts: true };
    expect((await forms.rowOf(id))?.config).toEqual(config);
    const again = await web.text(`/monitors/${id}/edit`, 'member');
    expect(again).toMatch(/value="Cellar" checked/);
    expect(again).toMatch(/value="continent:Asia" checked/);
    expect(again).not.toMatch(/value="continent:Europe" checked/);
    const refused = await forms.post(
      '/monitors/new',
      { ...wanted, ...counting, 'config.places[]': ['', 'Cellar'] },
      web.house.member,
    );
    expect(refused.status).toBe(400);
    expect(refused.text).toMatch(/id="field-config-inside-counts-fault"/);
    await web.sql`delete from monitors where id = ${id}`;
    await web.sql`delete from probes where id = ${own.id}`;
  });

  test('shows each refusal beside its field, in the words of the fields, with everything that was typed', async () => {
    const { status, text } = await forms.post(
      '/monitors/new',
      {
        ...wanted,
        'config.timeout_ms': 'soon',
        'config.body': 'x',
        'config.basic_auth.password': 'hush',
        'config.places[]': [''],
      },
      web.house.member,
    );
    expect(status).toBe(400);
    expect(text).toContain('Select at least one.');
    const more = await forms.post(
      '/monitors/new',
      {
        ...wanted,
        'config.timeout_ms': 'soon',
        'config.max_redirects': '99',
        'config.basic_auth.password': 'hush',
      },
      web.house.member,
    );
    expect(more.status).toBe(400);
    expect(more.text).toMatch(
      /<input id="field-config-timeout-ms"[^>]* value="soon"[^>]* aria-invalid="true"/,
    );
    expect(more.text).toMatch(/<input id="field-config-max-redirects"[^>]* aria-invalid="true"/);
    expect(more.text).toContain(
      'Must be a whole number of milliseconds from 1,000 to 60,000, below the interval.',
    );
    expect(more.text).toMatch(/type="password" value="hush"/);
    expect(more.headers.get('cache-control')).toBe('no-store');
    const body = await forms.post(
      '/monitors/new',
      { ...wanted, 'config.body': 'x' },
      web.house.member,
    );
    expect(body.text).toMatch(
      /field-config-body-fault"><svg.*?<\/svg>Set “Method” to POST, PUT or PATCH; GET sends no body\./s,
    );
    const certificate = await forms.post(
      '/monitors/new',
      { ...wanted, 'config.client_certificate': 'client.pem' },
      web.house.member,
    );
    expect(certificate.text).toMatch(
      /field-config-client-certificate-fault"><svg.*?<\/svg>Must be PEM text: the certificate,/s,
    );
    const lines = await forms.post(
      '/monitors/new',
      { ...wanted, 'config.headers': 'no colon' },
      web.house.member,
    );
    expect(lines.text).toContain(
      'Write each line as Name: value; &quot;no colon&quot; has no colon.',
    );
    const target = await forms.post(
      '/monitors/new',
      { ...wanted, target: 'ftp://a.example' },
      web.house.member,
    );
    expect(target.text).toMatch(/<input id="field-target"[^>]* aria-invalid="true"/);
  });

  test('takes a host for its web address', async () => {
    expect(await forms.rowOf(await forms.made({ target: 'shop.example/checkout' }))).toMatchObject({
      target: 'https://shop.example/checkout',
    });
  });

  test('offers no shorter interval than the plan has, and says what the plan allows', async () => {
    const text = await web.text('/monitors/new', small.member);
    expect(text).not.toContain('<option value="60"');
    expect(text).toContain('>480 checks a day<');
    expect(text).toContain('The plan free allows 20 monitors');
    const refused = await forms.post(
      '/monitors/new',
      { ...wanted, interval_s: 'other', interval_other_s: '60' },
      small.member,
    );
    expect(refused.status).toBe(403);
    expect(refused.text).toMatch(
      /field-interval-s-fault"><svg.*?<\/svg>The plan free checks every 180 seconds or slower/s,
    );
    for (let count = 0; count < 20; count += 1)
      await web.sql`insert into monitors (id, organisation_id, partition, name, type, target, interval_s) values (${newId()}, ${small.organisation}, 0, 'x', 'https', 'https://a.example/', 180)`;
    expect(await web.text('/monitors/new', small.member)).toContain('You have 20 monitors');
    const full = await forms.post('/monitors/new', { ...wanted, interval_s: '180' }, small.member);
    expect([full.status, full.text.includes('Delete one, or take a larger plan.')]).toEqual([
      403,
      true,
    ]);
  });

  test('of a heartbeat leads to the address that the job needs', async () => {
    const { headers } = await forms.post(
      '/monitors/new',
      {
        type: 'heartbeat',
        name: 'Backup',
        interval_s: '86400',
        act: 'save',
        'config.grace_s': '600',
      },
      web.house.member,
    );
    expect(headers.get('location')).toMatch(/^\/monitors\/[0-9a-f-]+\?address=shown#address$/);
    const unnamed = await forms.post(
      '/monitors/new',
      { type: 'heartbeat', name: '', interval_s: '86400', act: 'save' },
      web.house.member,
    );
    expect(unnamed.text).toMatch(/<input id="field-name"[^>]* aria-invalid="true"/);
  });

  test('shows names and targets as text, however they are written', async () => {
    for (const name of [hostile, 'x'.repeat(2_000), 'متجر', '👩‍👩‍👧‍👦'.repeat(20)]) {
      const { status, text } = await forms.post(
        '/monitors/new',
        { ...wanted, act: 'look', name, target: name, 'config.body_contains': name },
        web.house.member,
      );
      expect(status).toBe(200);
      expect(text).not.toContain('<img');
    }
  });
});

describe('the form of a monitor that is there', () => {
  test('saved without a change changes nothing, whatever its config holds', async () => {
    const config = {
      expectd_status: [200],
      json: [
        { path: '$.n', gt: 1, lt: 5 },
        { path: '$.s', equals: '5' },
      ],
      body_contains: 'one text',
      header_contains: { 'X-A': ' with blanks ' },
      ip_family: 4,
      method: 'GET',
      follow_redirects: true,
      expected_status: ['2xx'],
      timeout_ms: null,
      continents: ['Asia', 'Europe'],
    };
    const id = newId();
    await web.sql`insert into monitors (id, organisation_id, partition, name, type, target, interval_s, config)
      values (${id}, ${web.house.organisation}, 0, 'As it was', 'https', 'https://shop.example/', 77, ${JSON.stringify(config)}::text::jsonb)`;
    const text = await web.text(`/monitors/${id}/edit`, 'member');
    expect(text).toContain(
      'expectd_status is not used by https checks; did you mean expected_status?',
    );
    const before = await web.sql`select to_jsonb(m) as row from monitors m where id = ${id}`;
    const { status } = await forms.post(
      `/monitors/${id}/edit`,
      { ...fieldsIn(text), act: 'save' },
      web.house.member,
    );
    expect(status).toBe(303);
    expect(await web.sql`select to_jsonb(m) as row from monitors m where id = ${id}`).toEqual(
      before,
    );
  });

  test('keeps what it does not mention, and changes what it does', async () => {
    const id = await forms.made({ 'config.timeout_ms': '5000', 'config.method': 'HEAD' });
    await forms.post(
      `/monitors/${id}/edit`,
      { 'config.timeout_ms': '', name: 'Renamed' },
      web.house.member,
    );
    expect(await forms.rowOf(id)).toMatchObject({
      name: 'Renamed',
      target: wanted.target,
      interval_s: 60,
      config: { method: 'HEAD' },
    });
  });

  test('keeps a stored secret behind its mask, and takes a new one', async () => {
    const id = await forms.made({ 'config.bearer_token': 'hush-hush' });
    const secret = async () =>
      (
        await web.sql<
          { secrets: Uint8Array | null }[]
        >`select secrets from monitors where id = ${id}`
      )[0]?.secrets;
    const stored = await secret();
    expect(stored).toBeTruthy();
    const text = await web.text(`/monitors/${id}/edit`, 'member');
    expect(text).not.toContain('hush-hush');
    expect(fieldsIn(text)['config.bearer_token']).toEqual(['***']);
    await forms.post(
      `/monitors/${id}/edit`,
      { ...fieldsIn(text), 'config.bearer_token': '', act: 'save' },
      web.house.member,
    );
    expect(await forms.rowOf(id)).toMatchObject({ config: {} });
  });

  test('asks for its secrets again when the address moves to another host, beside their fields', async () => {
    const id = await forms.made({ 'config.bearer_token': 'hush-hush' });
    const text = await web.text(`/monitors/${id}/edit`, 'member');
    const moved = { ...fieldsIn(text), target: 'https://elsewhere.example/', act: 'save' };
    const refused = await forms.post(`/monitors/${id}/edit`, moved, web.house.member);
    expect(refused.status).toBe(400);
    expect(refused.text).toMatch(
      /id="field-config-bearer-token-fault">.*A secret belongs to the host that it was given for/,
    );
    expect(await forms.rowOf(id)).toMatchObject({ target: wanted.target });
    await forms.post(
      `/monitors/${id}/edit`,
      { ...moved, 'config.bearer_token': 'another' },
      web.house.member,
    );
    expect(await forms.rowOf(id)).toMatchObject({
      target: 'https://elsewhere.example/',
      config: { bearer_token: '***' },
    });
  });

  test('moves it into a group, and out of it', async () => {
    const group = newId();
    await web.sql`insert into groups (id, organisation_id, name, name_folded) values (${group}, ${web.house.organisation}, 'Shop', 'shop')`;
    const id = await forms.made({ group });
    expect(await forms.rowOf(id)).toMatchObject({ group_id: group });
    expect(await web.text(`/monitors/${id}/edit`, 'member')).toContain(
      `<option value="${group}" selected>Shop`,
    );
    await forms.post(`/monitors/${id}/edit`, { group: '' }, web.house.member);
    expect(await forms.rowOf(id)).toMatchObject({ group_id: null });
    const gone = await forms.post(`/monitors/${id}/edit`, { group: newId() }, web.house.member);
    expect([gone.status, gone.text.includes('Choose another')]).toEqual([400, true]);
  });
});

describe('the channels in the form of a monitor', () => {
  const channel = async (name: string, more: object = {}): Promise<string> => {
    const id = newId();
    const row = { covers: 'chosen', delay_s: 0, user_id: null, ...more };
    await web.sql`insert into channels (id, organisation_id, kind, name, covers, delay_s, user_id, verified_at)
      values (${id}, ${web.house.organisation}, 'webhook', ${name}, ${row.covers}, ${row.delay_s}, ${row.user_id}, now())`;
    return id;
  };
  const monitorsOf = async (id: string) =>
    (
      await web.sql`select monitor_id from channel_choices where channel_id = ${id} and monitor_id is not null`
    ).map(({ monitor_id }) => monitor_id);
  const box = (text: string, id: string): string =>
    new RegExp(`<input[^>]*value="${id}"[^>]*>`).exec(text)?.[0] ?? '';

  test('are checkboxes for those who may change them, and saved with it', async () => {
    const team = await channel('#ops');
    const pager = await channel('Pager', { delay_s: 300 });
    const all = await channel('Everything', { covers: 'all' });
    const other = await channel('#other');
    const { owner, member } = web.house;
    const text = await web.text('/monitors/new', owner);
    expect(text).toMatch(/Pager\s*<span class="field-help">After 5 min/);
    expect([box(text, all).includes('checked'), box(text, all).includes('disabled')]).toEqual([
      true,
      true,
    ]);
    expect(box(text, team)).not.toMatch(/checked|disabled/);

    const id = await forms.made({ 'channels[]': ['', team, pager, all, newId()] }, owner);
    expect([await monitorsOf(team), await monitorsOf(pager), await monitorsOf(all)]).toEqual([
      [id],
      [id],
      [],
    ]);
    const edited = fieldsIn(await web.text(`/monitors/${id}/edit`, owner));
    expect(edited['channels[]']?.toSorted()).toEqual(['', team, pager, all].toSorted());
    const save = (ticked: readonly string[] | undefined, as: typeof owner) => {
      const { 'channels[]': _, ...rest } = edited;
      const boxes = ticked === undefined ? {} : { 'channels[]': [...ticked] };
      return forms.post(`/monitors/${id}/edit`, { ...rest, ...boxes, act: 'save' }, as);
    };
    expect((await save(['', other], owner)).status).toBe(303);
    expect([await monitorsOf(team), await monitorsOf(other)]).toEqual([[], [id]]);
    // A form without the boxes, and a member who may not change a team channel, change nothing.
    expect((await save(undefined, owner)).status).toBe(303);
    expect((await save([''], member)).status).toBe(303);
    expect(await monitorsOf(other)).toEqual([id]);
    expect(box(await web.text(`/monitors/${id}/edit`, member), other)).toMatch(/disabled/);
  });
});
