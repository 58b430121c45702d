import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { hashPassword } from '../../../../coordinator/people/secrets.ts';
import {
  newPageKey,
  pageKeyFingerprint,
} from '../../../../coordinator/status-pages/public/access.ts';
import { createGroup } from '../../../../shared/api/groups.ts';
import { shareIncident } from '../../../../shared/api/incidents.ts';
import { createMonitor, getMonitorStatus } from '../../../../shared/api/monitors.ts';
import { rawInput } from '../../../../shared/api/operation.ts';
import {
  addStatusPageGroup,
  addStatusPageMonitor,
  createStatusPage,
} from '../../../../shared/api/status-pages.ts';
import { newId } from '../../../../shared/base/crypto.ts';
import { isoText } from '../../../../shared/base/time.ts';
import { storeChecks } from '../../../support/checks.ts';
import { eventually } from '../../../support/eventually.ts';
import { startWeb, type TestWeb } from '../../../support/web.ts';

describe('visitors', () => {
  const minute = 60_000;
  const day = 86_400_000;
  const secretText = 'xyzzy-internal';

  let web: TestWeb;
  const clock = { at: Date.now(), now: () => clock.at };

  const call = async (
    operation: Parameters<TestWeb['gate']['execute']>[0],
    input: object,
  ): Promise<{ readonly id: string }> => {
    const { body } = await web.gate.execute(
      operation,
      web.house.owner.caller,
      rawInput(operation, input),
    );
    if (typeof body !== 'object' || body === null) throw new Error('nothing was made');
    return 'id' in body && typeof body.id === 'string' ? { id: body.id } : { id: '' };
  };

  const site = async (name: string, group: string | null = null): Promise<string> =>
    (
      await call(createMonitor, {
        type: 'https',
        name,
        target: `https://${secretText}.example/`,
        group,
      })
    ).id;

  const page = async (slug: string): Promise<string> =>
    (await call(createStatusPage, { name: 'Shop status', slug })).id;

  const publish = (page_id: string, monitor: string, display_name: string) =>
    call(addStatusPageMonitor, { page_id, monitor, display_name });

  const outage = async (
    monitor: string,
    from: number,
    { to = null, confirmed = true }: { to?: number | null; confirmed?: boolean } = {},
  ) => {
    const cause = JSON.stringify({
      class: 'unexpected_status',
      params: { status: 503, expected: secretText },
    });
    const id = newId();
    await web.sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, resolved_at, cause)
    values (${id}, ${web.house.organisation}, ${monitor}, ${new Date(from)}, ${isoText(confirmed ? from + 300 : null)},
      ${isoText(to === null ? null : to)}, ${cause}::text::jsonb)`;
    return id;
  };

  /** So that what was read before is read again. */
  const later = (): void => {
    clock.at += 9_000;
  };

  const everything = (slug: string): readonly string[] => [
    ...[
      '',
      '/measured',
      '/history',
      '/embed',
      '/status.json',
      '/feed.atom',
      '/feed.json',
      '/maintenance.ics',
      '/badge.svg',
    ].map((rest) => `/status/${slug}${rest}`),
    `/status/${slug}.json`,
    `/embed/${slug}`,
    `/status/${slug}/badge.svg?show=uptime`,
    `/status/${slug}/badge.svg?show=response`,
  ];

  beforeAll(async () => {
    web = await startWeb({ clock });
  });
  afterAll(() => web.close());

  describe('a public page', () => {
    test('shows what was published under its chosen names, and neither targets, causes, inner names nor what is not confirmed', async () => {
      const id = await page('shop');
      const group = (await call(createGroup, { name: `${secretText} group` })).id;
      const [checkout, search] = [
        await site(`${secretText} one`, group),
        await site(`${secretText} two`),
      ];
      const unpublished = await site(`${secretText} three`);
      await publish(id, checkout, 'Checkout');
      await call(addStatusPageGroup, { page_id: id, group, display_name: 'The shop' });
      await publish(id, search, 'Search');
      await outage(checkout, clock.at - 6 * minute);
      await outage(search, clock.at - minute, { confirmed: false });
      await outage(unpublished, clock.at - minute);
      const window = newId();
      await web.sql`insert into maintenance_windows (id, organisation_id, name, starts_at, ends_at, local_start, time_zone)
      values (${window}, ${web.house.organisation}, ${`${secretText} work`}, ${new Date(clock.at + day)}, ${new Date(clock.at + day + minute)}, now(), 'UTC')`;
      await web.sql`insert into maintenance_occurrences (window_id, began_at, ended_at) values (${window}, ${new Date(clock.at + day)}, ${new Date(clock.at + day + minute)})`;
      await web.sql`insert into maintenance_choices (window_id, monitor_id) values (${window}, ${search})`;
      for (const path of [...everything('shop'), `/status/shop/services/${checkout}`]) {
        const { status, text, headers } = await web.get(path);
        expect([path, status]).toEqual([path, 200]);
        expect(text).not.toContain(secretText);
        expect([path, headers.get('set-cookie')]).toEqual([path, null]);
      }
      const json = JSON.parse(await web.text('/status/shop.json'));
      expect(json).toMatchObject({
        title: 'Shop status',
        status: 'down',
        sentence: 'Checkout is down',
        stale: false,
      });
      expect(
        json.services.map(({ name, group: of, status }: Record<string, unknown>) => [
          name,
          of,
          status,
        ]),
      ).toEqual([
        ['Checkout', 'The shop', 'down'],
        ['Search', null, 'pending'],
      ]);
      expect(json.incidents.map(({ services }: Record<string, unknown>) => services)).toEqual([
        ['Checkout'],
      ]);
      expect(json.maintenance.map(({ services }: Record<string, unknown>) => services)).toEqual([
        ['Search'],
      ]);
      expect((await web.get(`/status/shop/services/${unpublished}`)).status).toBe(404);
      expect((await web.get(`/status/shop/badge.svg?service=${unpublished}`)).status).toBe(404);
    });

    test('names its services by ids of its own: of no monitor, the same at every reading, others on another page', async () => {
      const [first, second, monitor, group] = [
        await page('own-ids'),
        await page('own-ids-too'),
        await site('ids'),
        (await call(createGroup, { name: 'ids' })).id,
      ];
      const grouped = await site('ids grouped', group);
      await publish(first, grouped, 'Grouped');
      await call(addStatusPageGroup, { page_id: first, group, display_name: 'Ids' });
      for (const each of [first, second]) await publish(each, monitor, 'Ids');
      await outage(monitor, clock.at - 6 * minute);
      const incident = await outage(grouped, clock.at - 6 * minute);
      const month = new Date(clock.at).toISOString().slice(0, 7);
      const share = await web.gate.execute(
        shareIncident,
        web.house.owner.caller,
        rawInput(shareIncident, { incident_id: incident }),
      );
      const { link } = z.object({ link: z.string() }).parse(share.body);
      const idsOn = async (slug: string): Promise<readonly string[]> =>
        z
          .object({ services: z.array(z.object({ id: z.uuid() })) })
          .parse(JSON.parse(await web.text(`/status/${slug}.json`)))
          .services.map(({ id }) => id);
      const ids = await idsOn('own-ids');
      expect(new Set([...ids, ...(await idsOn('own-ids-too'))]).size).toBe(3);

      const monitors = await web.sql<{ id: string }[]>`select id from monitors`;
      const own = ids.flatMap((id) => [
        `/status/own-ids/services/${id}`,
        `/status/own-ids/badge.svg?service=${id}`,
      ]);
      // Addresses that were given away before stay good, and tell nothing that they do not say
      // themselves.
      const old = [monitor, grouped].flatMap((id) => [
        `/status/own-ids/services/${id}`,
        `/status/own-ids/badge.svg?service=${id}`,
      ]);
      for (const path of [
        ...everything('own-ids'),
        ...own,
        ...old,
        `/status/own-ids/history/${month}`,
        new URL(link).pathname,
      ]) {
        const { status, text, headers } = await web.get(path);
        expect([path, status]).toEqual([path, 200]);
        const told = `${text}${JSON.stringify([...headers])}`;
        expect([path, monitors.filter(({ id }) => told.includes(id))]).toEqual([path, []]);
      }
      expect(await web.text(`/status/own-ids/services/${ids[0]}`)).toBe(
        await web.text(`/status/own-ids/services/${grouped}`),
      );
      later();
      expect(await idsOn('own-ids')).toEqual(ids);
      // Of another page, or of none.
      for (const id of [...(await idsOn('own-ids-too')), newId()])
        expect((await web.get(`/status/own-ids/services/${id}`)).status).toBe(404);
    });

    test('has no percentage of a service younger than an hour', async () => {
      const [id, monitor] = [await page('young'), await site('young')];
      await web.sql`update monitors set created_at = ${new Date(clock.at - 15 * minute)} where id = ${monitor}`;
      await outage(monitor, clock.at - 5 * minute, { to: clock.at - 3 * minute });
      await publish(id, monitor, 'Young');
      const [service] = JSON.parse(await web.text('/status/young.json')).services;
      expect(service.uptime).toEqual({ days_7: null, days_30: null, days_90: null });
      expect(await web.text('/status/young')).toContain('<span class="percent"></span>');
    });

    test('has the same uptime of ninety days as the status operation', async () => {
      const [id, monitor] = [await page('figures'), await site('figures')];
      await web.sql`update monitors set created_at = ${new Date(clock.at - 200 * day)} where id = ${monitor}`;
      await outage(monitor, clock.at - 40 * day, { to: clock.at - 40 * day + 95 * minute });
      await publish(id, monitor, 'Figures');
      const [service] = JSON.parse(await web.text('/status/figures.json')).services;
      const raw = rawInput(getMonitorStatus, { monitor_id: monitor, days: 90 });
      const { body } = await web.gate.execute(getMonitorStatus, web.house.viewer.caller, raw);
      expect(body).toMatchObject({ uptime: { days: 90, percent: service.uptime.days_90 } });
      expect(service.uptime.days_90).toBeLessThan(100);
      const days: { state: string; down_seconds: number }[] = service.days;
      expect(days).toHaveLength(90);
      expect(days.reduce((sum, each) => sum + each.down_seconds, 0)).toBe(95 * 60);
    });

    test('says that a service is slow, and nothing of its certificate', async () => {
      const [id, monitor] = [await page('slow'), await site('slow')];
      await publish(id, monitor, 'Checkout');
      await storeChecks(web.sql, monitor, [{ at: clock.at, took_ms: 3_000 }]);
      const since = clock.at - 90 * minute;
      for (const code of ['slow', 'certificate_expires'])
        await web.sql`insert into warnings (id, organisation_id, monitor_id, code, details, began_at, confirmed_at)
          values (${newId()}, ${web.house.organisation}, ${monitor}, ${code}, '{}', ${new Date(since)}, ${new Date(since)})`;
      const [service] = JSON.parse(await web.text('/status/slow.json')).services;
      expect(service).toMatchObject({
        status: 'up',
        warnings: [{ code: 'slow', since: new Date(since).toISOString(), text: 'Slow responses' }],
      });
      for (const path of ['/status/slow', `/status/slow/services/${service.id}`, '/embed/slow']) {
        const { text } = await web.get(path);
        expect(text).toMatch(
          /s-degraded">.*Slow responses<\/span>.*for 1\u00a0hour, 30\u00a0minutes\./s,
        );
        expect(text).not.toMatch(/certificate/i);
      }
      expect(await web.text('/status/slow?lang=de')).toContain('Langsame Antworten');
      expect(await web.text('/status/slow')).toContain('Everything is up');
    });

    test('shows the past by month', async () => {
      const [id, monitor] = [await page('past'), await site('past')];
      await publish(id, monitor, 'Archive');
      const then = Date.parse(
        `${new Date(clock.at - 40 * day).toISOString().slice(0, 7)}-10T12:00:00Z`,
      );
      await outage(monitor, then, { to: then + 5 * minute });
      expect(
        await web.text(`/status/past/history/${new Date(then).toISOString().slice(0, 7)}`),
      ).toContain('Outage: Archive');
      expect(await web.text('/status/past/history')).toContain('No incidents this month');
      for (const month of ['2999-01', '2026-13', 'x'])
        expect((await web.get(`/status/past/history/${month}`)).status).toBe(404);
    });

    test('has a strict policy, may be framed as an embed alone, and is not sent again unchanged', async () => {
      await page('headers');
      const { headers } = await web.get('/status/headers');
      expect(headers.get('content-security-policy')).toBe(
        "default-src 'none'; style-src 'self'; font-src 'self'; script-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
      );
      expect(headers.get('x-robots-tag')).toBeNull();
      const embed = (await web.get('/embed/headers')).headers;
      expect(embed.get('content-security-policy')).toContain('frame-ancestors *');
      expect([embed.get('x-frame-options'), embed.get('x-robots-tag')]).toEqual([null, 'noindex']);
      const etag = headers.get('etag') ?? '';
      expect(
        (await web.get('/status/headers', { headers: { 'if-none-match': etag } })).status,
      ).toBe(304);
      const [, script = ''] = /src="([^"]*\.js)"/.exec(await web.text('/status/headers')) ?? [];
      expect((await web.get(script)).headers.get('content-type')).toBe(
        'text/javascript; charset=utf-8',
      );
      const style = /href="([^"]*\.css)"/.exec(await web.text('/status/headers'))?.[1] ?? '';
      const { headers: sent, text: rules } = await web.get(style);
      expect(sent.get('content-type')).toBe('text/css; charset=utf-8');
      const font = /src:url\(([^)]+)\)/.exec(rules)?.[1] ?? '';
      for (const root of ['', '/status/headers'])
        expect((await web.get(`${root}${font}`)).headers.get('content-type')).toBe('font/woff2');
    });

    test('is not found when it is disabled, exactly like an unknown one', async () => {
      const id = await page('closing');
      expect((await web.get('/status/closing')).status).toBe(200);
      await web.sql`update status_pages set enabled = false where id = ${id}`;
      later();
      for (const [path, other] of [...everything('closing').entries()].map(
        ([at, each]) => [each, everything('never')[at] ?? ''] as const,
      )) {
        const [one, never] = [await web.get(path), await web.get(other)];
        expect([path, one.status, one.text, one.headers.get('content-security-policy')]).toEqual([
          path,
          404,
          never.text,
          never.headers.get('content-security-policy'),
        ]);
      }
    });

    test('costs no query where no page can be', async () => {
      for (const slug of ['%00', 'Shop', 'a'.repeat(61), '%F0%9F%98%80', '..%2f..%2fetc', '-.json'])
        expect([slug, (await web.get(`/status/${slug}`)).status]).toEqual([slug, 404]);
    });

    test('loses a monitor that is removed from it, and the monitor stays', async () => {
      const [id, monitor] = [await page('removing'), await site('removing')];
      await publish(id, monitor, 'Leaving');
      expect(await web.text('/status/removing')).toContain('Leaving');
      await web.sql`delete from status_page_monitors where page_id = ${id}`;
      later();
      expect(await web.text('/status/removing')).not.toContain('Leaving');
      expect(await web.sql`select id from monitors where id = ${monitor}`).toHaveLength(1);
    });
  });

  describe('a private page', () => {
    test('opens with its password, by one cookie for its path; before that all of it is closed, and nothing is cached', async () => {
      const id = await page('inner');
      await web.sql`update status_pages set access = 'password', password_hash = ${await hashPassword('open sesame')} where id = ${id}`;
      for (const path of everything('inner')) {
        const { status, text, headers } = await web.get(path);
        expect([path, status, headers.get('cache-control')]).toEqual([
          path,
          403,
          'private, no-store',
        ]);
        expect(text).not.toContain('Shop status');
      }
      const same = { headers: { 'sec-fetch-site': 'same-origin' } };
      expect(
        (await web.post('/status/inner/enter', { password: 'open says me' }, same)).text,
      ).toContain('Wrong password');
      expect(
        (
          await web.post(
            '/status/inner/enter',
            { password: 'open sesame' },
            { headers: { 'sec-fetch-site': 'cross-site' } },
          )
        ).status,
      ).toBe(403);
      const entered = await web.post('/status/inner/enter', { password: 'open sesame' }, same);
      expect([entered.status, entered.headers.get('location')]).toEqual([303, '/status/inner']);
      const given = entered.headers.get('set-cookie') ?? '';
      expect(given).toMatch(
        /^page_entry=[\w-]{43}; Path=\/status\/inner; Max-Age=2592000; HttpOnly; SameSite=Lax$/,
      );
      const cookie = given.split(';')[0] ?? '';
      for (const path of everything('inner')) {
        const { status, headers } = await web.get(path, { cookie });
        expect([path, status, headers.get('cache-control')]).toEqual([
          path,
          200,
          'private, no-store',
        ]);
      }
      await web.sql`update status_pages set access_version = access_version + 1 where id = ${id}`;
      later();
      expect((await web.get('/status/inner', { cookie })).status).toBe(403);
    });

    test('accepts no more passwords from a client after ten attempts', async () => {
      const id = await page('guessed');
      await web.sql`update status_pages set access = 'password', password_hash = ${await hashPassword('open sesame')} where id = ${id}`;
      const same = { headers: { 'sec-fetch-site': 'same-origin' } };
      for (let tries = 0; tries < 10; tries += 1)
        await web.post('/status/guessed/enter', { password: `${tries}` }, same);
      expect(
        (await web.post('/status/guessed/enter', { password: 'open sesame' }, same)).status,
      ).toBe(429);
    });

    test('opens with its link, whose secret does not stay in the address', async () => {
      const [id, key] = [await page('linked'), newPageKey()];
      await web.sql`update status_pages set access = 'link', link_fingerprint = ${pageKeyFingerprint(key) ?? null} where id = ${id}`;
      expect((await web.get(`/status/linked?key=${newPageKey()}`)).status).toBe(403);
      const entered = await web.get(`/status/linked?key=${key}`);
      expect([
        entered.status,
        entered.headers.get('location'),
        entered.headers.get('cache-control'),
      ]).toEqual([303, '/status/linked', 'no-store']);
      const cookie = entered.headers.get('set-cookie')?.split(';')[0] ?? '';
      expect((await web.get('/status/linked', { cookie })).text).toContain('Shop status');
      expect((await web.get('/status/inner', { cookie })).status).toBe(403);
    });
  });

  describe('a domain of its own', () => {
    test('answers that page and nothing else, and links come from the domain that was proved', async () => {
      const [id, monitor] = [await page('own'), await site('own')];
      await publish(id, monitor, 'Checkout');
      await web.sql`update status_pages set domain = 'status.shop.example', domain_token = 't', domain_proved_at = now() where id = ${id}`;
      const get = (path: string) => web.hosted('status.shop.example', path);
      await eventually(async () => (await get('/')).text.includes('rel="canonical"'));
      const { text } = await get('/');
      expect(text).toContain('<link rel="canonical" href="http://status.shop.example">');
      expect(
        [...text.matchAll(/(?:href|action)="(\/[^"]*)"/g)].filter(([, path]) =>
          path?.startsWith('/status/'),
        ),
      ).toEqual([]);
      expect((await get(/href="([^"]*\.css)"/.exec(text)?.[1] ?? '')).status).toBe(200);
      expect((await get('/robots.txt')).text).toBe('User-agent: *\nAllow: /\n');
      expect((await get('/embed')).status).toBe(200);
      const known = [
        'oauth-protected-resource',
        'oauth-protected-resource/mcp',
        'oauth-authorization-server',
        'openid-configuration',
      ];
      const signingIn = [
        '/oauth/auth',
        '/oauth/jwks',
        '/connect/failed',
        ...known.map((name) => `/.well-known/${name}`),
      ];
      const inner = [
        '/sign-in',
        '/api/v1/me',
        '/api/v1/docs',
        '/docs',
        '/docs/start',
        '/live',
        '/status/shop',
        '/mcp',
        '/health',
        '//sign-in',
        '/../sign-in',
      ];
      for (const path of [...inner, ...signingIn])
        expect([path, (await get(path)).status]).toEqual([path, 404]);
      expect((await web.hosted('other.example', '/status/shop')).text).not.toContain(
        'other.example',
      );
      expect((await web.hosted('other.example', '/sign-in')).status).toBe(200);
      const posted = await web.hosted('status.shop.example', '/sign-in', 'POST');
      expect([posted.status, posted.text]).toEqual([404, (await get('/sign-in')).text]);
      await web.sql`update status_pages set enabled = false where id = ${id}`;
      later();
      expect([(await get('/')).status, (await get('/sign-in')).status]).toEqual([404, 404]);
    });
  });
});
