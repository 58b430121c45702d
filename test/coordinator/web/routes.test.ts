import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { endSessionCookie, setSessionCookie } from '../../../coordinator/people/sessions.ts';
import { Multipart } from '../../../coordinator/web/form-data.ts';
import { createLog } from '../../../shared/base/log.ts';
import { startWeb, type TestWeb } from '../../support/web.ts';

/** The pages over HTTP, as a browser asks for them: who gets what, and under which headers. */

let web: TestWeb;
beforeAll(async () => {
  web = await startWeb();
});
afterAll(() => web.close());

const accountPaths = [
  '/monitors/new',
  '/monitors/1',
  '/incidents',
  '/incidents/1',
  '/maintenance',
  '/groups',
  '/status-pages',
  '/probes',
  '/alerts',
  '/members',
  '/tokens',
  '/organisation',
  '/audit',
  '/profile',
  '/search?q=x',
];

describe('an anonymous user', () => {
  test('is told whom to tell of a weakness', async () => {
    const { status, headers, text } = await web.get('/.well-known/security.txt');
    expect([status, headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
    expect(text).toMatch(
      /^Contact: mailto:security@antipode\.example\nExpires: \d{4}-\S+Z\nCanonical: \S+\n$/,
    );
  });

  test('sees at the front what this is, and where to sign in', async () => {
    const { status, text } = await web.get('/');
    expect(status).toBe(200);
    expect(text).toContain('<h1>');
    expect(text).toContain('href="/sign-in"');
  });

  test('is redirected to the sign-in from every page of the account, existing or not, and back from there', async () => {
    for (const path of accountPaths) {
      const { status, headers } = await web.get(path);
      expect([path, status, headers.get('location')]).toEqual([
        path,
        303,
        `/sign-in?next=${encodeURIComponent(path)}`,
      ]);
    }
  });

  test('is redirected, too, where the address has characters that no header can hold', async () => {
    for (const path of ['/verify/%E2%82%AC', '/verify/%00', '/verify/%C3%A9%20']) {
      const { status, headers } = await web.get(path);
      expect([path, status, headers.get('x-content-type-options')]).toEqual([path, 303, 'nosniff']);
      expect(headers.get('location')).toMatch(/^\/[\x21-\x7e]*$/);
    }
    const { headers } = await web.get('/sign-in?next=/%E2%82%AC', { as: 'owner' });
    expect(headers.get('location')).toBe('/%E2%82%AC');
  });

  test('learns nothing of changes', async () => {
    expect((await web.get('/live')).status).toBe(204);
  });
});

describe('a member', () => {
  test('sees the frame of the account, with their organisation and name', async () => {
    const { status, text } = await web.get('/', { as: 'member' });
    expect(status).toBe(200);
    expect(text).toContain(web.house.name);
    expect(text).toContain('aria-current="page"');
    expect(text).toContain('action="/sign-out"');
  });

  test('finds a page behind every entry of the rail, and behind every link of it', async () => {
    const text = await web.text('/', 'owner');
    const rail = /<header class="rail"[\s\S]*?<\/header>/.exec(text)?.[0] ?? '';
    const links = [...rail.matchAll(/href="([^"]+)"/g)].map(([, href]) => href ?? '');
    expect(links.length).toBeGreaterThan(4);
    for (const href of links)
      expect([href, (await web.get(href, { as: 'owner' })).status]).toEqual([href, 200]);
  });

  test('reads on a page that something is not found', async () => {
    const { status, text } = await web.get('/monitors/nothing/of/it', { as: 'member' });
    expect(status).toBe(404);
    expect(text).toContain('Page not found');
  });
});

describe('every page', () => {
  test('allows nothing inline and nothing from elsewhere, and no framing', async () => {
    const { headers } = await web.get('/');
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain('unsafe');
    expect(policy).toContain("require-trusted-types-for 'script'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('cache-control')).toBe('private, no-cache');
  });

  test('is compressed for clients that accept it, with the same content', async () => {
    const plain = await web.get('/', { encoding: 'identity' });
    const small = await web.get('/', { encoding: 'br' });
    expect(plain.headers.get('content-encoding')).toBeNull();
    expect(small.headers.get('content-encoding')).toBe('br');
    expect(small.text).toBe(plain.text);
  });

  test('refers to existing assets, cached without limit, of the type that browsers want', async () => {
    const { text, headers } = await web.get('/');
    const rules = headers.get('speculation-rules')?.slice(1, -1) ?? '';
    const addresses = new Set([
      rules,
      ...[...text.matchAll(/(?:href|src)="(\/assets\/[^"#]+)/g)].map(
        ([, address]) => address ?? '',
      ),
    ]);
    expect(addresses.size).toBe(6);
    for (const address of addresses) {
      const asset = await web.get(address);
      expect([address, asset.status]).toEqual([address, 200]);
      expect(asset.headers.get('cache-control')).toContain('immutable');
    }
    expect((await web.get(rules)).headers.get('content-type')).toBe(
      'application/speculationrules+json',
    );
    expect((await web.get('/assets/style-NOTHING.css')).status).toBe(404);
  });

  test('is not found for programs where there is no page: they get the API’s error body', async () => {
    const { status, text } = await web.get('/nothing', { accept: 'application/json' });
    expect(status).toBe(404);
    expect(JSON.parse(text)).toMatchObject({ error: { code: 'route_not_found' } });
  });
});

describe('a change', () => {
  const same = { 'sec-fetch-site': 'same-origin' };

  test('is accepted from a page of this service only, by the headers of the browser', async () => {
    const send = (headers: Record<string, string>) =>
      web.post('/preferences', { theme: 'dark' }, { headers });
    for (const headers of [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none' },
      { 'sec-fetch-site': 'cross-site', origin: web.url },
      { origin: 'https://evil.example' },
      { origin: 'null' },
      {},
    ]) {
      const { status, text, headers: answered } = await send(headers);
      expect([headers, status, answered.get('set-cookie')]).toEqual([headers, 403, null]);
      expect(text).toContain('this form came from another site');
    }
    for (const headers of [same, { origin: web.url }])
      expect([headers, (await send(headers)).status]).toEqual([headers, 303]);
  });

  test('of time zone and theme is kept in the browser, and shown on the page that it came from', async () => {
    const kept = await web.send('/preferences', {
      zone: 'Asia/Tokyo',
      theme: 'dark',
      back: '/?status=down',
    });
    expect(kept.headers.get('location')).toBe('/?status=down');
    const cookie = kept.headers
      .getSetCookie()
      .map((each) => each.split(';')[0])
      .join('; ');
    expect(cookie).toBe('zone=Asia%2FTokyo; theme=dark');
    const { text } = await web.get('/', { as: 'member', cookie });
    expect(text).toContain('<html lang="en" data-theme="dark">');
    expect(text).toMatch(/value="Asia\/Tokyo" aria-pressed="true"/);
  });

  test('is the zone of the device where nobody chose one, which its script says', async () => {
    const zonesOf = async (cookie: string) => {
      const { text } = await web.get('/', { as: 'member', cookie });
      return [...text.matchAll(/name="zone" value="([^"]*)" aria-pressed="true">([^<]*)</g)].map(
        ([, value, zone]) => [value, zone],
      );
    };
    expect(await zonesOf('device_zone=Asia/Tokyo')).toEqual([['', 'Asia/Tokyo']]);
    expect(await zonesOf('device_zone=Asia/Tokyo; zone=UTC')).toEqual([['UTC', 'UTC']]);
    expect(await zonesOf('device_zone=Nowhere')).toEqual([['', 'UTC']]);
  });

  test('leads back to this service only', async () => {
    for (const back of [
      'https://evil.example',
      '//evil.example',
      '/\\evil.example',
      'javascript:alert(1)',
    ])
      expect((await web.send('/preferences', { back })).headers.get('location')).toBe('/');
  });

  test('without a valid form, or far too long, is refused in words', async () => {
    const { status, text } = await web.post(
      '/preferences',
      { back: 'x'.repeat(100_000) },
      { headers: same },
    );
    expect(status).toBe(413);
    expect(text).toContain('Invalid request');
    expect(
      (
        await web.post(
          '/preferences',
          {},
          { headers: { ...same, 'content-type': 'application/json' } },
        )
      ).status,
    ).toBe(415);
  });
});

test('an error of ours is a page with its id, which the log has, too', async () => {
  const logged: unknown[] = [];
  const broken = await startWeb({
    log: {
      ...createLog({ name: 'web', level: 'silent' }),
      error: (entry: unknown) => logged.push(entry),
    },
    authenticate: () => Promise.reject(new Error('the database is away')),
  });
  try {
    const { status, text } = await broken.get('/');
    expect(status).toBe(500);
    const [, number] = /<code>([0-9a-f-]{36})<\/code>/.exec(text) ?? [];
    expect(logged).toMatchObject([
      { request_id: number, err: { message: 'the database is away' } },
    ]);
    expect(text).not.toContain('database');
  } finally {
    await broken.close();
  }
});

test('a form of files with more parts than any of ours carries no file, and costs no time to read', async () => {
  const boundary = 'x'.repeat(30);
  const part = (nth: number) =>
    `--${boundary}\r\ncontent-disposition: form-data; name="n${nth}"\r\n\r\nv\r\n`;
  const file = `--${boundary}\r\ncontent-disposition: form-data; name="logo"; filename="a.png"\r\ncontent-type: image/png\r\n\r\nbytes\r\n`;
  const form = (count: number, before = '') => {
    const parts = Array.from({ length: count }, (_, nth) => part(nth)).join('');
    return new Multipart(
      `multipart/form-data;${before} boundary=${boundary}`,
      Buffer.from(`${parts}${file}--${boundary}--\r\n`),
    );
  };
  expect(Buffer.from((await form(10).file('logo')) ?? []).toString()).toBe('bytes');
  expect(await form(40_000).file('logo')).toBeUndefined();
  // The boundary is the one that the reader takes, whatever else the header says.
  for (const before of [' xboundary=none;', ' x="boundary=none";']) {
    expect(Buffer.from((await form(10, before).file('logo')) ?? []).toString()).toBe('bytes');
    expect(await form(100, before).file('logo')).toBeUndefined();
  }
});

test('over https the cookie of a session is one that no other host of the domain can plant', () => {
  expect(setSessionCookie('x', true)).toMatch(
    /^__Host-svc_session=x; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
  );
  expect(setSessionCookie('x', false)).toMatch(/^svc_session=x; /);
  expect(endSessionCookie(true)).toMatch(/^__Host-svc_session=; Max-Age=0; Path=\/; /);
});

test('over https no other cookie is read than that one', async () => {
  const secure = await startWeb({ called: 'https://antipode.example' });
  try {
    const [name = '', text = ''] = (await secure.cookieOf(secure.house.owner)).split('=');
    const statusWith = async (cookie: string): Promise<number> =>
      (await secure.get('/profile', { cookie })).status;
    expect([
      await statusWith(`${name}=${text}`),
      await statusWith(`__Host-${name}=${text}`),
    ]).toEqual([303, 200]);
  } finally {
    await secure.close();
  }
});
