import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { canMove, moved, type Row } from '../../../../coordinator/status-pages/pages/draft.ts';
import { getCause } from '../../../../shared/api/causes.ts';
import { createGroup } from '../../../../shared/api/groups.ts';
import { createMonitor } from '../../../../shared/api/monitors.ts';
import { type Operation, type OutputOf, rawInput } from '../../../../shared/api/operation.ts';
import { listStatusPageReports } from '../../../../shared/api/status-page-reports.ts';
import {
  addStatusPageMonitor,
  getStatusPage,
  listStatusPages,
} from '../../../../shared/api/status-pages.ts';
import { newId } from '../../../../shared/base/crypto.ts';
import { makeCause } from '../../../support/causes.ts';
import { startWeb, type TestWeb } from '../../../support/web.ts';

/** The editor of a status page, as a browser without scripts uses it. */

let web: TestWeb;
beforeAll(async () => {
  web = await startWeb();
});
afterAll(() => web.close());

const call = async <Op extends Operation>(operation: Op, input: object): Promise<OutputOf<Op>> =>
  (await web.gate.execute(operation, web.house.owner.caller, rawInput(operation, input)))
    .body as OutputOf<Op>;
const get = async (path: string) => await web.text(path, 'member');
const post = (path: string, form: Readonly<Record<string, string>>) =>
  web.send(path, form, 'member');

/** As text alone, so that a sentence is found whatever stands in it. */
const textOf = (page: string): string => page.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');

const pageMade = async (): Promise<string> => {
  const slug = newId();
  const { status, headers } = await post('/status-pages/new', {
    name: 'Shop status',
    slug,
    language: 'en',
  });
  expect(status).toBe(303);
  const id = headers.get('location')?.split('/').at(-1) ?? '';
  expect(await call(getStatusPage, { page_id: id })).toMatchObject({ name: 'Shop status', slug });
  return id;
};
const pageOf = (page_id: string) => call(getStatusPage, { page_id });
const monitorMade = async (name: string, group: string | null = null): Promise<string> =>
  (await call(createMonitor, { type: 'heartbeat', name, group })).id;

describe('the editor of a status page', () => {
  test('says in words what is wrong with a new one, and creates none', async () => {
    const { status, text } = await post('/status-pages/new', {
      name: 'Shop',
      slug: 'Not an address',
      language: 'en',
    });
    expect(status).toBe(400);
    expect(text).toContain('value="Not an address"');
    expect(textOf(text)).toContain('Use 1 to 60 small letters, digits and dashes');
    expect((await call(listStatusPages, {})).items.map(({ name }) => name)).not.toContain('Shop');
  });

  /** What the editor would send now, as a browser reads its form. */
  const formIn = (text: string): URLSearchParams => {
    const form = new URLSearchParams();
    const [, inside = ''] = /<form[^>]+id="editor"[^>]*>([\s\S]*?)<\/form>/.exec(text) ?? [];
    for (const [tag] of inside.matchAll(/<input[^>]*>/g)) {
      const at = (name: string) => new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1];
      const isBox = /type="(?:checkbox|radio)"/.test(tag);
      if (!isBox || / checked/.test(tag)) form.append(at('name') ?? '', at('value') ?? '');
    }
    form.set('description', '');
    form.set('language', 'en');
    return form;
  };
  /** Presses a button of the editor as it is, with other values in some fields. */
  const press = async (
    shown: string,
    act: string,
    typed: Readonly<Record<string, string>> = {},
  ) => {
    const form = formIn(shown);
    for (const [name, value] of Object.entries({ ...typed, act })) form.set(name, value);
    const all = Object.fromEntries([...form.keys()].map((name) => [name, form.getAll(name)]));
    return web.send(/action="(\/status-pages\/[^"/]+)"/.exec(shown)?.[1] ?? '', all, 'member');
  };

  test('adds by search, group or tag with names filled in, moves and removes rows, and saves all at once', async () => {
    const id = await pageMade();
    const at = `/status-pages/${id}`;
    const group = (await call(createGroup, { name: 'internal shop' })).id;
    const [inside, outside] = [
      await monitorMade('db-internal-1', group),
      await monitorMade('db-internal-2'),
    ];
    const names = (text: string): readonly string[] =>
      [...text.matchAll(/<input id="field-names-[^"]+" name="names[^"]+" value="([^"]*)"/g)].map(
        ([, name]) => name ?? '',
      );
    const searched = await press(await get(at), 'save', { find: 'internal-2' });
    expect(searched.text).toContain(outside);
    expect(searched.text).not.toContain(inside);
    // A group brings its monitors.
    const first = await press(searched.text, 'add', { find: '', 'add[]': group });
    const added = await press(first.text, 'add', { 'add[]': outside });
    expect(names(added.text)).toEqual(['internal shop', 'db-internal-1', 'db-internal-2']);
    expect(textOf(added.text)).toContain('Unsaved changes');
    expect((await pageOf(id)).monitors).toEqual([]);
    const up = await press(added.text, `up:${outside}`, {
      [`names.${group}`]: 'The shop',
      [`names.${inside}`]: 'Checkout',
      [`names.${outside}`]: 'Search',
    });
    expect(names(up.text)).toEqual(['Search', 'The shop', 'Checkout']);
    // It is the first now: the focus is on the button that still does something.
    expect(up.text).toMatch(new RegExp(`value="down:${outside}"[^>]*autofocus`));
    const nameless = await press(up.text, 'save', { [`names.${inside}`]: ' ' });
    expect([nameless.status, nameless.text.includes(`id="row-${inside}-fault"`)]).toEqual([
      400,
      true,
    ]);
    expect((await pageOf(id)).monitors).toEqual([]);
    expect((await press(up.text, 'save')).status).toBe(303);
    expect(await pageOf(id)).toMatchObject({
      groups: [{ display_name: 'The shop' }],
      monitors: [{ display_name: 'Search' }, { display_name: 'Checkout', group }],
    });
    const removed = await press(await get(at), `remove:${outside}`);
    await press(removed.text, 'save');
    expect(names(await get(at))).toEqual(['The shop', 'Checkout']);
    const shown = await web.text(`/status/${(await pageOf(id)).slug}`);
    expect(shown).toContain('Checkout');
    expect(shown).not.toContain('internal');
    // What joins a published group is offered, and not published by itself.
    await monitorMade('db-internal-3', group);
    expect(textOf(await get(at))).toContain('1 more monitor in these groups');
  });

  test('shows beside it what visitors would read, before anything is saved', async () => {
    const id = await pageMade();
    const shown = await press(await get(`/status-pages/${id}`), 'look', { name: 'Our <services>' });
    const frame = /<iframe[^>]+sandbox[^>]+srcdoc="([^"]*)"/.exec(shown.text)?.[1] ?? '';
    expect(frame).toContain('Our &amp;lt;services&amp;gt;');
    expect(frame).not.toContain('class=&quot;about');
    expect((await pageOf(id)).name).toBe('Shop status');
  });

  test('says which colour is valid, keeps the input, and saves nothing of it', async () => {
    const id = await pageMade();
    const { slug } = await pageOf(id);
    const form = {
      name: 'Renamed',
      slug,
      description: '',
      language: 'de',
      accent: '#ffcc00',
      enabled: 'true',
    };
    const { status, text } = await post(`/status-pages/${id}`, {
      ...form,
      access: 'public',
      act: 'save',
    });
    expect([status, text.includes('value="#ffcc00"'), text.includes('value="Renamed"')]).toEqual([
      400,
      true,
      true,
    ]);
    const better = /(#[0-9a-f]{6}) is the nearest that would do/.exec(text)?.[1] ?? '';
    expect(await pageOf(id)).toMatchObject({ name: 'Shop status', accent: null });
    await post(`/status-pages/${id}`, { ...form, act: 'save', accent: better });
    expect(await pageOf(id)).toMatchObject({
      name: 'Renamed',
      accent: better,
      language: 'de',
      enabled: true,
    });
    const { enabled: _, ...unticked } = form;
    await post(`/status-pages/${id}`, { ...unticked, act: 'save', accent: '' });
    expect(await pageOf(id)).toMatchObject({ accent: null, enabled: false });
  });

  test('takes a logo as a form carries it, by its bytes, and shows it', async () => {
    const id = await pageMade();
    const send = async (bytes: Buffer, name: string): Promise<Response> => {
      const body = new FormData();
      body.append('logo', new File([new Uint8Array(bytes)], name, { type: 'image/png' }));
      const headers = {
        cookie: await web.cookieOf('member'),
        'sec-fetch-site': 'same-origin',
        accept: 'text/html',
      };
      return fetch(`${web.url}/status-pages/${id}/logo`, {
        method: 'POST',
        body,
        headers,
        redirect: 'manual',
      });
    };
    const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(60_000, 7)]);
    const fake = await send(Buffer.from('<svg onload="alert(1)"/>'), 'logo.png');
    expect([
      fake.status,
      textOf(await fake.text()).includes('Is neither PNG, JPEG nor WebP'),
    ]).toEqual([400, true]);
    const large = await send(Buffer.concat([png, png]), 'logo.png');
    expect([
      large.status,
      textOf(await large.text()).includes('it may have at most 100 KB'),
    ]).toEqual([400, true]);
    expect((await send(png, 'logo.gif')).status).toBe(303);
    const { logo } = await pageOf(id);
    expect(await get(`/status-pages/${id}`)).toContain(`src="/status-pages/${id}/logo?v=${logo}"`);
    const shown = await web.get(`/status-pages/${id}/logo`, { as: 'viewer' });
    expect([shown.status, shown.headers.get('content-type')]).toEqual([200, 'image/png']);
    await post(`/status-pages/${id}/logo/remove`, {});
    expect((await pageOf(id)).logo).toBeNull();
  });

  test('closes a page by a password or a link, which is shown once', async () => {
    const id = await pageMade();
    const at = `/status-pages/${id}`;
    const short = await press(await get(at), 'save', { access: 'password', password: 'x' });
    expect(short.status).toBe(400);
    await press(await get(at), 'save', { access: 'password', password: 'for everybody' });
    expect(await pageOf(id)).toMatchObject({ access: 'password', has_password: true });
    await press(await get(at), 'save', { access: 'link' });
    expect(textOf(await get(at))).toContain('No link yet');
    const made = await press(await get(at), 'link');
    const link = /<code>(http[^<]+key=[^<]+)<\/code>/.exec(made.text)?.[1] ?? '';
    expect(new URL(link).searchParams.get('key')).toHaveLength(32);
    expect(made.headers.get('cache-control')).toContain('no-store');
    expect(await get(at)).not.toContain('?key=');
  });

  test('says what proves a domain, and that it is not there yet', async () => {
    const id = await pageMade();
    const at = `/status-pages/${id}`;
    const own = await press(await get(at), 'save', { domain: new URL(web.url).hostname });
    expect(own.status).toBe(400);
    await press(await get(at), 'save', { domain: 'status.shop.example' });
    const { domain } = await pageOf(id);
    const page = await get(at);
    for (const text of [domain?.record_name, domain?.record_text])
      expect(page).toContain(`<code>${text}</code>`);
    const checked = await press(page, 'check');
    expect(textOf(checked.text)).toContain('No such record yet');
    await press(page, 'save', { domain: '' });
    expect((await pageOf(id)).domain).toBeNull();
  });

  test('proposes one report for all services of a cause, one more at its end, and never says what it is', async () => {
    const id = await pageMade();
    const names = ['Checkout', 'Search', 'Mail'];
    const incidents = await Promise.all(
      names.map(async (name) => {
        const [monitor, incident] = [await monitorMade(`db-internal ${name}`), newId()];
        await call(addStatusPageMonitor, { page_id: id, monitor, display_name: name });
        await web.sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at)
          values (${incident}, ${web.house.organisation}, ${monitor}, now(), now())`;
        return incident;
      }),
    );
    const cause = await makeCause(web.sql, web.house.organisation, ...incidents);
    const { name } = await call(getCause, { cause_id: cause });
    const at = `/status-pages/${id}/reports/new?cause=${cause}`;
    const page = await get(`/status-pages/${id}`);
    expect(textOf(page)).toContain('One cause affects 3 services Checkout, Search, Mail');
    for (const incident of incidents) {
      expect(page).not.toContain(`/incidents/${incident}`);
      expect(await get(`/incidents/${incident}`)).toContain(`href="${at}"`);
    }
    const form = await get(at);
    expect(form).toContain('value="One cause affects 3 services"');
    expect(textOf(form)).toContain('Checkout, Search and Mail are not working as expected.');
    expect(`${page}${form}`).not.toContain(name.split(' ').at(-1));
    const affected = Object.fromEntries(
      [...form.matchAll(/name="(affected\.[^"]+)"/g)].map(([, field = '']) => [
        field,
        'major_outage',
      ]),
    );
    const title = 'One cause affects 3 services';
    const said = { title, kind: 'investigating', text: '', act: 'save', ...affected };
    expect((await post(at, said)).status).toBe(303);

    const [report] = (await call(listStatusPageReports, { page_id: id })).items;
    expect(report).toMatchObject({
      cause,
      updates: [{ text: expect.stringContaining('Checkout, Search and Mail are not working') }],
    });
    expect(report?.affected).toHaveLength(3);
    const written = `/status-pages/${id}/reports/${report?.id}`;
    const posted = await get(`/status-pages/${id}`);
    expect(posted).toContain(`href="${written}"`);
    expect(posted).not.toContain('reports/new?cause');
    expect(await get(`/incidents/${incidents[0]}`)).toContain(`href="${written}"`);
    expect(posted).not.toContain('All its services are up again');
    expect(await get(written)).toMatch(/value="identified"[^>]*checked/);

    await web.sql`update incidents set resolved_at = now() where id = any(${incidents}::uuid[])`;
    expect(textOf(await get(`/status-pages/${id}`))).toContain('All its services are up again');
    const last = await get(written);
    expect(last).toMatch(/value="resolved"[^>]*checked/);
    expect(textOf(last)).toContain('Checkout, Search and Mail are working normally again.');
    await post(written, { ...said, kind: 'resolved' });
    const over = await get(`/status-pages/${id}?resolved`);
    expect(over).not.toContain('All its services are up again');
    expect(await web.text(`/status/${(await pageOf(id)).slug}`)).toContain(title);
  });

  test('posts to an incident, by way of the page and of the incident, and takes it away', async () => {
    const [id, monitor] = [await pageMade(), await monitorMade('db-internal-3')];
    const added = await press(await get(`/status-pages/${id}`), 'add', { 'add[]': monitor });
    await press(added.text, 'save', { [`names.${monitor}`]: 'Payments' });
    const incident = newId();
    const now = new Date();
    await web.sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at)
      values (${incident}, ${web.house.organisation}, ${monitor}, ${now}, ${now})`;
    const at = `/status-pages/${id}/incidents/${incident}`;
    for (const from of [`/status-pages/${id}`, `/incidents/${incident}`])
      expect(await get(from)).toContain(`href="${at}"`);
    expect(textOf(await get(at))).toContain(
      'Payments is not working as expected. We are investigating.',
    );
    expect((await post(at, { kind: 'over', text: '' })).status).toBe(400);
    expect((await post(at, { kind: 'identified', text: '<b>A disk is full.</b>' })).status).toBe(
      303,
    );
    const written = await get(at);
    expect(written).toContain('&lt;b&gt;A disk is full.&lt;/b&gt;');
    expect(await get(`/incidents/${incident}`)).toContain('A disk is full.');
    const [, taken] = /action="([^"]+\/posts\/[^"]+\/delete)"/.exec(written) ?? [];
    expect((await post(taken ?? '', {})).status).toBe(303);
    expect(await get(at)).not.toContain('A disk is full.');
  });

  test('says who reads a post and who is notified, before it is sent', async () => {
    const id = await pageMade();
    const report = async () => textOf(await get(`/status-pages/${id}/reports/new`));
    const set = (enabled: boolean) =>
      web.sql`update status_pages set enabled = ${enabled} where id = ${id}`;
    await set(true);
    expect(await report()).toContain('Visible to every visitor. No one has subscribed yet.');
    await web.sql`insert into status_page_subscribers (id, page_id, email, language, asked_at, confirmed_at)
      values (${newId()}, ${id}, 'reader@example.org', 'en', now(), now())`;
    // No mail is set up here.
    expect(await report()).toContain(
      'Visible to every visitor. No subscriber can be notified: e-mail is not set up.',
    );
    await set(false);
    expect(await report()).toContain(
      'The status page is off: no one sees this, and no one is notified.',
    );
    expect(await report()).not.toContain('Visible to every visitor');
  });

  test('deletes a page whose name was typed, and no other', async () => {
    const id = await pageMade();
    expect((await post(`/status-pages/${id}/delete`, { name: 'Shop' })).status).toBe(400);
    expect((await post(`/status-pages/${id}/delete`, { name: ' Shop  status' })).status).toBe(303);
    expect((await web.get(`/status-pages/${id}`, { as: 'member' })).status).toBe(404);
  });
});

describe('moving a row', () => {
  const row = (id: string, under: string | null = null, kind = 'monitor'): Row => ({
    id,
    under,
    kind,
    name: id,
  });
  const rows = [
    row('a'),
    row('G', null, 'group'),
    row('g1', 'G'),
    row('g2', 'G'),
    row('H', null, 'group'),
    row('h1', 'H'),
    row('z'),
  ];
  const order = (id: string, by: -1 | 1): string =>
    moved(rows, id, by)
      .map((each) => each.id)
      .join(' ');

  test('takes a heading along with its monitors, past its neighbour and all that belongs to it', () => {
    expect(order('G', 1)).toBe('a H h1 G g1 g2 z');
    expect(order('G', -1)).toBe('G g1 g2 a H h1 z');
    expect(order('z', -1)).toBe('a G g1 g2 z H h1');
  });

  test('keeps a monitor under its heading', () => {
    expect(order('g1', 1)).toBe('a G g2 g1 H h1 z');
    expect(order('g2', 1)).toBe('a G g1 g2 H h1 z');
    expect(order('h1', -1)).toBe('a G g1 g2 H h1 z');
    expect(canMove(rows, row('h1', 'H'), 1)).toBe(false);
    expect(canMove(rows, row('a'), -1)).toBe(false);
  });
});
