import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../../../shared/base/crypto.ts';
import { createTestOrganisation, type TestOrganisation } from '../../../support/people.ts';
import { createTestRunsByHand } from '../../../support/trials.ts';
import { hostile, type MonitorForms, monitorForms, sameSite, startWeb, type TestWeb, type Values, wanted } from '../../../support/web.ts';

/** What can be done to a monitor on a page, and by whom. */

const trials = createTestRunsByHand([
  { continent: 'Europe', probe: 'Frankfurt' },
  { continent: 'Asia', probe: 'Singapore' },
]);
let web: TestWeb;
let forms: MonitorForms;
let unknownSender: TestOrganisation;

beforeAll(async () => {
  web = await startWeb({ trials: trials.part });
  forms = monitorForms(web);
  unknownSender = await createTestOrganisation(web.sql);
  for (const [at, continent] of ['Europe', 'Asia'].entries())
    await web.sql`insert into probes (id, name, continent) values (${newId()}, ${`probe ${at}`}, ${continent})`;
});
afterAll(() => web.close());

describe('what is done to a monitor', () => {
  test('pause and resume ask at their address, and are done by a form', async () => {
    const id = await forms.made({ name: 'Door' });
    const asked = await web.get(`/monitors/${id}/pause`, { as: web.house.member });
    expect(asked.text).toContain('<h1>Pause Door?</h1>');
    expect(await forms.rowOf(id)).toMatchObject({ enabled: true });
    const done = await forms.post(`/monitors/${id}/pause`, {}, web.house.member);
    expect([done.status, done.headers.get('location')]).toEqual([303, `/monitors/${id}`]);
    expect(await forms.rowOf(id)).toMatchObject({ enabled: false });
    expect((await web.get(`/monitors/${id}/pause`, { as: web.house.member })).status).toBe(303);
    expect((await web.get(`/monitors/${id}/resume`, { as: web.house.member })).text).toContain('<h1>Resume Door?</h1>');
    await forms.post(`/monitors/${id}/resume`, {}, web.house.member);
    expect(await forms.rowOf(id)).toMatchObject({ enabled: true });
  });

  test('delete wants the name typed, as people type it', async () => {
    for (const name of ['Checkout', `<b>${hostile}</b>`, 'متجر القهوة', '👩‍👩‍👧‍👦 shop', 'two  blanks', 'Cafe\u0301']) {
      const id = await forms.made({ name });
      const path = `/monitors/${id}/delete`;
      const { status, text } = await web.get(path, { as: web.house.member });
      expect([status, text.includes('<img')]).toEqual([200, false]);
      const wrong = await forms.post(path, { name: 'something else' }, web.house.member);
      expect([wrong.status, wrong.text.includes('This is not its name')]).toEqual([400, true]);
      expect(await forms.rowOf(id)).toBeDefined();
      const right = await forms.post(path, { name: ` ${name.replaceAll(/\s+/g, ' ').normalize('NFC')} ` }, web.house.member);
      expect([right.status, right.headers.get('location')]).toEqual([303, '/']);
      expect(await forms.rowOf(id)).toBeUndefined();
    }
  });
});

describe('who may', () => {
  const acts = ['edit', 'pause', 'resume', 'delete'];

  test('members, admins and owners see every page; a viewer is told why not; nobody else finds it', async () => {
    const removed = await createTestOrganisation(web.sql);
    await web.cookieOf(removed.member);
    await web.sql`delete from memberships where user_id = ${removed.member.user}`;
    const id = await forms.made({ name: 'Guarded' });
    // Both at once are never true of one monitor.
    const paused = await forms.made();
    await forms.post(`/monitors/${paused}/pause`, {}, web.house.member);
    for (const path of ['/monitors/new', ...acts.map((act) => `/monitors/${act === 'resume' ? paused : id}/${act}`)]) {
      for (const as of [web.house.member, web.house.admin, web.house.owner])
        expect([path, (await web.get(path, { as })).status]).toEqual([path, 200]);
      const viewer = await web.get(path, { as: web.house.viewer });
      expect([path, viewer.status, viewer.text.includes('You may not do this.')]).toEqual([path, 403, true]);
      expect([path, (await web.get(path, { as: removed.member })).status]).toEqual([path, 403]);
      expect((await web.get(path)).headers.get('location')).toBe(`/sign-in?next=${encodeURIComponent(path)}`);
      if (path !== '/monitors/new') expect([path, (await web.get(path, { as: unknownSender.owner })).status]).toEqual([path, 404]);
    }
  });

  test('nothing is done for a viewer, another organisation or another site', async () => {
    const id = await forms.made({ name: 'Stays' });
    const before = await forms.rowOf(id);
    const posted: [string, Values][] = [
      ['/monitors/new', { ...wanted, name: 'Made by nobody' }],
      ['/monitors/new', { ...wanted, act: 'try' }],
      [`/monitors/${id}/edit`, { name: 'Other' }],
      [`/monitors/${id}/edit`, { ...wanted, act: 'try' }],
      [`/monitors/${id}/pause`, {}],
      [`/monitors/${id}/delete`, { name: 'Stays' }],
    ];
    const count = trials.wanted.length;
    for (const [path, form] of posted) {
      expect([path, (await forms.post(path, form, web.house.viewer)).status]).toEqual([path, 403]);
      const foreign = await web.post(path, form, { as: web.house.owner, headers: { 'sec-fetch-site': 'cross-site' } });
      expect([path, foreign.status, foreign.text.includes('another site sent it')]).toEqual([path, 403, true]);
      if (path !== '/monitors/new') expect([path, (await forms.post(path, form, unknownSender.owner)).status]).toEqual([path, 404]);
      expect((await web.post(path, form, { headers: sameSite })).status).toBe(303);
    }
    expect(await forms.rowOf(id)).toEqual(before);
    expect(await forms.rowsNamed('Made by nobody')).toEqual([]);
    expect(trials.wanted.length).toBe(count);
  });
});
