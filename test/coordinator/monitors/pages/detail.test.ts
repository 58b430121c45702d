import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cronTime } from '../../../../coordinator/monitors/pages/heartbeat.ts';
import { hourOf } from '../../../../coordinator/results/chunk.ts';
import { makeResultDays } from '../../../../coordinator/results/retention.ts';
import { newId } from '../../../../shared/base/crypto.ts';
import type { Outcome } from '../../../../shared/checks/result.ts';
import { storeChecks } from '../../../support/checks.ts';
import {
  createTestOrganisation,
  type Person,
  type TestOrganisation,
} from '../../../support/people.ts';
import { createTestRunsByHand } from '../../../support/trials.ts';
import {
  hostile,
  type MonitorForms,
  monitorForms,
  startWeb,
  type TestWeb,
  type Values,
  wanted,
} from '../../../support/web.ts';

/** The page of a monitor: how it is, what it was, and why its uptime is what it is. */
describe('detail', () => {
  let web: TestWeb;

  beforeAll(async () => {
    web = await startWeb();
    await makeResultDays(web.sql, Date.now() - 3 * 86_400_000, Date.now() + 86_400_000);
    for (const [at, continent] of ['Europe', 'Asia'].entries())
      await web.sql`insert into probes (id, name, continent) values (${newId()}, ${`probe ${at}`}, ${continent})`;
  });
  afterAll(() => web.close());

  const post = (path: string, form: Record<string, string>, as: Person) => web.send(path, form, as);

  const hostile = '"><img src=x onerror=alert(1)>';

  const monitor = async (
    more: { name?: string; type?: string; config?: object } = {},
  ): Promise<string> => {
    const { name = 'Checkout', type = 'https', config = {} } = more;
    const id = newId();
    const target = type === 'https' ? 'https://shop.example/' : '';
    await web.sql`insert into monitors (id, organisation_id, partition, name, type, target, interval_s, config, created_at)
    values (${id}, ${web.house.organisation}, 0, ${name}, ${type}, ${target}, 60, ${JSON.stringify(config)}::text::jsonb, now() - interval '2 days')`;
    if (type === 'heartbeat')
      await web.sql`insert into beat_tokens (fingerprint, organisation_id, monitor_id, token) values (${randomBytes(32)}, ${web.house.organisation}, ${id}, ${randomBytes(32)})`;
    return id;
  };

  const result = async (
    of: string,
    continent: string,
    minutes: number,
    took_ms: number,
    outcome: Outcome = 'ok',
  ) => {
    const probes = await web.sql<{ key: number }[]>`
      select key from probes where continent = ${continent}`;
    const check = { at: Date.now() - minutes * 60_000, took_ms, outcome };
    await storeChecks(
      web.sql,
      of,
      probes.map(({ key }) => ({ ...check, probe: key })),
    );
  };

  test('rule 44.8: a continent that fails alone is left out with one click', async () => {
    const id = await monitor({ config: { method: 'HEAD' } });
    const details = { places: 'Asia', cause: 'Status 403, expected 2xx' };
    await web.sql`insert into warnings (id, organisation_id, monitor_id, code, details, began_at, confirmed_at)
      values (${newId()}, ${web.house.organisation}, ${id}, 'place_fails', ${JSON.stringify(details)}::text::jsonb, now(), now())`;
    const page = await web.get(`/monitors/${id}`, { as: 'member' });
    expect(page.text).toContain('Fails from Asia, passes elsewhere: Status 403, expected 2xx');
    expect(page.text).toContain('Leave Asia out');
    await post(`/monitors/${id}/leave-out`, { continent: 'Asia' }, web.house.member);
    const [row] = await web.sql<
      { config: { continents: string[] } }[]
    >`select config from monitors where id = ${id}`;
    expect(row?.config).toMatchObject({ method: 'HEAD' });
    expect(row?.config.continents).toContain('Europe');
    expect(row?.config.continents).not.toContain('Asia');
  });

  test('the dashboard says what fails inside alone', async () => {
    const id = await monitor({ name: 'Wiki' });
    const office = newId();
    const { organisation } = web.house;
    await web.sql`insert into places (id, organisation_id, name, continent)
      values (${office}, ${organisation}, 'Office', 'Africa')`;
    await web.sql`insert into probes (id, organisation_id, place_id, name, continent)
      values (${newId()}, ${organisation}, ${office}, 'Office', 'Africa')`;
    await web.sql`update monitors set places = ${['Europe', 'Asia', office]}::text[] where id = ${id}`;
    for (const continent of ['Europe', 'Asia']) await result(id, continent, 1, 60);
    await result(id, 'Africa', 1, 60, 'fail');
    const rows = await web.text('/?q=wiki', 'viewer');
    expect(rows).toContain('Down inside only (Office): check that network');
    await result(id, 'Africa', 0, 60);
    expect(await web.text('/?q=wiki', 'viewer')).not.toContain('Down inside only');
  });

  describe('the page of a monitor', () => {
    test('says how it is and for how long, with its response by continent as a picture and as a table', async () => {
      const id = await monitor();
      await result(id, 'Europe', 0, 61);
      await result(id, 'Asia', 6, 212);
      await result(id, 'Asia', 11, 900, 'fail');
      const few = await web.text(`/monitors/${id}`, 'viewer');
      expect(few).toContain('Not enough checks yet');
      expect(few).toMatch(/1 failed/);
      for (const minutes of [20, 40, 60]) await result(id, 'Asia', minutes, 212);
      const { status, text } = await web.get(`/monitors/${id}`, { as: 'viewer' });
      expect(status).toBe(200);
      expect(text).toMatch(/<h1>.*Checkout has been up for .*<\/h1>/);
      expect(text).toContain('aria-label="Response time, p50: Europe 61 ms, Asia 212 ms"');
      expect(text).toContain('line-europe');
      expect(text).toMatch(/1 failed/);
      expect(text).toContain('Up: Checkout');
    });

    test('rule 43: explains every second of its uptime, with the incident that cost it', async () => {
      const id = await monitor();
      const incident = newId();
      await result(id, 'Europe', 0, 20);
      await web.sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, resolved_at)
      values (${incident}, ${web.house.organisation}, ${id}, now() - interval '3 hours', now() - interval '3 hours', now() - interval '2 hours')`;
      const text = await web.text(`/monitors/${id}?days=1`, 'viewer');
      const sum = /<p class="sum">(.*?)<\/p>/s.exec(text)?.[1]?.replaceAll(/<[^>]*>/g, '') ?? '';
      expect(sum).toBe('up 23 h + down 1 h + maintenance 0 + unknown 0 + paused 0 = 1 day');
      expect(text).toContain(`<a href="/incidents/${incident}">Incident</a>`);
    });

    test('says how long an outage lasts as its incident does, and in the log what is being verified', async () => {
      const id = await monitor();
      await result(id, 'Europe', 0, 20);
      await web.sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at)
        values (${newId()}, ${web.house.organisation}, ${id}, now() - interval '10 minutes', now() - interval '9 minutes')`;
      expect(await web.text(`/monitors/${id}`, 'viewer')).toMatch(
        /<h1>.*Checkout has been down for 10 min/,
      );
      await web.sql`update incidents set confirmed_at = null where monitor_id = ${id}`;
      expect(await web.text(`/monitors/${id}`, 'viewer')).toMatch(
        /<a href="\/incidents\/[^"]*">Being verified<\/a>/,
      );
    });

    test('marks the outages of the whole chart, however short the log is', async () => {
      const id = await monitor();
      await web.sql`update monitors set created_at = now() - interval '200 days' where id = ${id}`;
      await web.sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, resolved_at)
      values (${newId()}, ${web.house.organisation}, ${id}, now() - interval '100 days', now() - interval '100 days', now() - interval '99 days')`;
      const hour = hourOf(Date.now());
      for (const days of [1, 2, 3, 4, 120])
        await result(id, 'Europe', (Date.now() - hour) / 60_000 + days * 1_440, 100);
      const page = async (query: string) => await web.text(`/monitors/${id}?${query}`, 'viewer');
      for (const [query, marks] of [
        ['window=1y&days=7', 1],
        ['window=1y&days=365', 1],
        ['window=30d&days=365', 0],
      ] as const)
        expect([query, (await page(query)).split('class="band-down"').length - 1]).toEqual([
          query,
          marks,
        ]);
    });

    test('names the time that its uptime covers, and has no percentage below an hour', async () => {
      const uptime = async (age: string, query = '') => {
        const id = await monitor();
        await web.sql`update monitors set created_at = now() - ${age}::interval where id = ${id}`;
        await result(id, 'Europe', 0, 20);
        await web.sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, resolved_at)
        values (${newId()}, ${web.house.organisation}, ${id}, now() - interval '30 minutes', now() - interval '30 minutes', now() - interval '15 minutes')`;
        const text = await web.text(`/monitors/${id}${query}`, 'viewer');
        return /<dt>(Uptime.*?)<\/dt>\s*<dd>(.*?)<\/dd>/s.exec(text)?.slice(1);
      };
      expect(await uptime('48 minutes')).toEqual(['Uptime', '<small>after the first hour</small>']);
      expect(await uptime('2 hours')).toEqual([
        expect.stringMatching(/^Uptime, 2 h/),
        expect.stringMatching(/^<span title="87\.5\d{3}%">87\.50%<\/span>$/),
      ]);
      expect((await uptime('31 days'))?.[0]).toBe('Uptime, 30 days');
      expect((await uptime('31 days', '?days=1'))?.[0]).toBe('Uptime, 24 hours');
    });

    test('warns of settings without effect, with the probable intention', async () => {
      const { text } = await web.get(
        `/monitors/${await monitor({ config: { expectd_status: [200] } })}`,
        { as: 'viewer' },
      );
      expect(text).toContain(
        'expectd_status is not used by https checks; did you mean expected_status?',
      );
    });

    test('shows names as text, however they are written', async () => {
      for (const name of [hostile, 'x'.repeat(200), 'متجر', '👩‍👩‍👧‍👦'.repeat(20)]) {
        const { status, text } = await web.get(`/monitors/${await monitor({ name })}`, {
          as: 'viewer',
        });
        expect(status).toBe(200);
        expect(text).not.toContain('<img');
      }
    });

    test('offers nothing that a viewer may not do', async () => {
      const id = await monitor();
      const text = await web.text(`/monitors/${id}`, 'viewer');
      for (const word of ['/edit', '/pause', '/delete'])
        expect(text).not.toContain(`/monitors/${id}${word}`);
      expect(await web.text(`/monitors/${id}`, 'member')).toContain(`/monitors/${id}/edit`);
      expect((await web.get('/monitors/nothing', { as: 'owner' })).status).toBe(404);
    });

    test('uses the default for an invalid time', async () => {
      const id = await monitor();
      for (const query of ['?days=0', '?days=many', '?window=5y', '?days=365&window=1y'])
        expect((await web.get(`/monitors/${id}${query}`, { as: 'viewer' })).status).toBe(200);
    });
  });

  describe('the page of a heartbeat', () => {
    test('shows the last pings with what they said, as text', async () => {
      const id = await monitor({ type: 'heartbeat', name: 'Backup' });
      expect(await web.text(`/monitors/${id}`, 'viewer')).toContain(
        'Backup waits for its first ping',
      );
      await web.sql`insert into beats (id, monitor_id, kind, exit_code, at, run_ms, method, body, ear)
      values (${newId()}, ${id}, 'fail', 3, now(), 4200, 'POST', ${`disk full ${hostile}`}, 'coordinator')`;
      const text = await web.text(`/monitors/${id}`, 'viewer');
      expect(text).toContain('Failed, code 3');
      expect(text).toContain('4 s');
      expect(text).toContain('disk full &quot;&gt;&lt;img');
    });

    test('has a cron line that runs the job as often as is expected', () => {
      const time = (interval_s: number, config = {}) => cronTime({ interval_s, config });
      expect(time(10)).toBe('*/1 * * * *');
      expect(time(300)).toBe('*/5 * * * *');
      expect(time(45 * 60)).toBe('*/30 * * * *');
      expect(time(5 * 3_600)).toBe('0 */4 * * *');
      expect(time(86_400)).toBe('30 2 * * *');
      expect(time(3_600, { schedule: '15 4 * * 1' })).toBe('15 4 * * 1');
    });

    test('shows its address only on request, in an answer that is not cached, and to members alone', async () => {
      const id = await monitor({ type: 'heartbeat', name: 'Backup' });
      expect(await web.text(`/monitors/${id}`, 'member')).not.toMatch(/\/beat\/[A-Za-z0-9_-]{20}/);
      const rotate = () =>
        post(`/monitors/${id}/address/rotate`, { overlap_s: '0' }, web.house.member);
      const rotated = await rotate();
      expect(rotated.headers.get('location')).toBe(`/monitors/${id}?address=shown#address`);
      const shown = () => web.get(`/monitors/${id}?address=shown`, { as: 'viewer' });
      const { headers, text } = await shown();
      expect(headers.get('cache-control')).toBe('no-store');
      const [address = ''] = new RegExp(`${web.url}/beat/[A-Za-z0-9_-]+`).exec(text) ?? [];
      expect(text).toContain(`${address}/$?`);
      await rotate();
      expect((await shown()).text).not.toContain(address);
    });
  });
});

/** What can be done to a monitor on a page, and by whom. */
describe('acts', () => {
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
      const asked = await web.get(`/monitors/${id}/pause`, { as: 'member' });
      expect(asked.text).toContain('<h1>Pause Door?</h1>');
      expect(await forms.rowOf(id)).toMatchObject({ enabled: true });
      const done = await forms.post(`/monitors/${id}/pause`, {}, web.house.member);
      expect([done.status, done.headers.get('location')]).toEqual([303, `/monitors/${id}`]);
      expect(await forms.rowOf(id)).toMatchObject({ enabled: false });
      expect((await web.get(`/monitors/${id}/pause`, { as: 'member' })).status).toBe(303);
      expect(await web.text(`/monitors/${id}/resume`, 'member')).toContain('<h1>Resume Door?</h1>');
      await forms.post(`/monitors/${id}/resume`, {}, web.house.member);
      expect(await forms.rowOf(id)).toMatchObject({ enabled: true });
    });

    test('delete asks, and the trash has it from then on, until it is restored', async () => {
      for (const name of [
        'Checkout',
        `<b>${hostile}</b>`,
        'متجر القهوة',
        '👩‍👩‍👧‍👦 shop',
        'two  blanks',
        'Cafe\u0301',
      ]) {
        const id = await forms.made({ name });
        const path = `/monitors/${id}/delete`;
        const { status, text } = await web.get(path, { as: 'member' });
        expect([status, text.includes('<img')]).toEqual([200, false]);
        const done = await forms.post(path, {}, web.house.member);
        expect([done.status, done.headers.get('location')]).toEqual([303, '/']);
        expect(await forms.rowOf(id)).toBeUndefined();
        const trash = await web.get('/monitors/trash', { as: 'member' });
        expect([trash.status, trash.text.includes(`/monitors/trash/${id}/restore`)]).toEqual([
          200,
          true,
        ]);
        expect(trash.text).not.toContain('<img');
        const back = await forms.post(`/monitors/trash/${id}/restore`, {}, web.house.member);
        expect([back.status, back.headers.get('location')]).toEqual([303, `/monitors/${id}`]);
        expect(await forms.rowOf(id)).toBeDefined();
      }
    });

    test('asks once more before it is deleted for good, by its name', async () => {
      const id = await forms.made({ name: 'Old shop' });
      const path = `/monitors/trash/${id}/delete`;
      expect((await web.get(path, { as: 'member' })).status).toBe(404);
      await forms.post(`/monitors/${id}/delete`, {}, web.house.member);
      expect(await web.text(path, 'member')).toContain('<h1>Delete Old shop permanently?</h1>');
      const done = await forms.post(path, {}, web.house.member);
      expect([done.status, done.headers.get('location')]).toEqual([303, '/monitors/trash']);
      expect(await web.text('/monitors/trash', 'member')).not.toContain('Old shop');
    });
  });

  describe('access', () => {
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
        expect([path, (await forms.post(path, form, web.house.viewer)).status]).toEqual([
          path,
          403,
        ]);
        const foreign = await web.post(path, form, {
          as: 'owner',
          headers: { 'sec-fetch-site': 'cross-site' },
        });
        expect([path, foreign.status, foreign.text.includes('came from another site')]).toEqual([
          path,
          403,
          true,
        ]);
        if (path !== '/monitors/new')
          expect([path, (await forms.post(path, form, unknownSender.owner)).status]).toEqual([
            path,
            404,
          ]);
        expect((await web.send(path, form)).status).toBe(303);
      }
      expect(await forms.rowOf(id)).toEqual(before);
      expect(await forms.rowsNamed('Made by nobody')).toEqual([]);
      expect(trials.wanted.length).toBe(count);
    });
  });
});
