import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { anonymousAt, type Browser, createBrowser, redirect } from '../../support/assistants.ts';
import { startWeb, type TestWeb } from '../../support/web.ts';

/** What somebody tries who asks to be connected. */

const clock = { ahead: 0, now: () => Date.now() + clock.ahead };

let web: TestWeb;
let browser: Browser;
const { register, addressFor, codeOf, exchange, isIn } = anonymousAt(
  () => web,
  () => browser,
);

beforeAll(async () => {
  web = await startWeb({ clock });
});
afterAll(() => web.close());
beforeEach(async () => {
  clock.ahead = 0;
  browser = createBrowser(web, web.house.owner);
  await web.sql`delete from attempts`;
});

describe('who asks', () => {
  test('is never led to an address that it did not name', async () => {
    const { id } = await register();
    for (const foreign of ['https://evil.example/', 'http://127.0.0.1:33418/other', 'javascript:alert(1)']) {
      const { status, location } = await browser.get(addressFor(id, { redirect_uri: foreign }));
      expect([status, location]).toEqual([302, '/connect/failed?why=invalid_redirect_uri']);
    }
    const { status, text } = await browser.get('/connect/failed?why=invalid_redirect_uri');
    expect([status, text.includes('nothing was sent there')]).toEqual([400, true]);
    // Of this machine any port will do: programs take the one that is free.
    const free = await browser.get(addressFor(id, { redirect_uri: 'http://127.0.0.1:50123/callback' }));
    expect(free.location).toMatch(/^\/connect\//);
  });

  test('may return to https, to its own machine or to a private scheme, and nowhere else', async () => {
    for (const one of ['https://claude.ai/api/mcp/auth_callback', 'cursor://anysphere.cursor-mcp/oauth/callback', 'http://[::1]:9/x'])
      expect((await register({ redirect_uris: [one] })).status).toBe(201);
    const refused = [
      'http://example.org/',
      'javascript:alert(1)',
      'data:text/html,x',
      'https://a@b.example/',
      'https://x.example/#y',
      'https://x/\u0000',
      'ftp://x/',
      '',
    ];
    for (const one of refused)
      expect([one, (await register({ redirect_uris: [redirect, one] })).error]).toEqual([one, 'invalid_redirect_uri']);
    await web.sql`delete from attempts`;
    for (const redirect_uris of [
      [],
      undefined,
      'https://x.example/',
      [7],
      Array.from({ length: 21 }, (_, at) => `https://x.example/${at}`),
    ])
      expect((await register({ redirect_uris })).error).toBe('invalid_redirect_uri');
  });

  test('has no secret and gets no other rights, whatever it says of itself', async () => {
    const claims = {
      token_endpoint_auth_method: 'client_secret_post',
      grant_types: ['client_credentials', 'implicit'],
      response_types: ['token'],
    };
    const { status, body } = await register({ ...claims, application_type: 'web', scope: 'openid admin', jwks_uri: 'http://10.0.0.1/' });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      ...{ token_endpoint_auth_method: 'none', grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] },
      ...{ application_type: 'native', redirect_uris: [redirect] },
    });
    expect(JSON.stringify(body)).not.toMatch(/secret|jwks|admin/);
  });

  test('registers twenty times an hour at most', async () => {
    for (let nth = 0; nth < 20; nth += 1) expect((await register()).status).toBe(201);
    const over = await register();
    expect([over.status, over.error]).toEqual([429, 'temporarily_unavailable']);
    clock.ahead = 3_600_000;
    expect((await register()).status).toBe(201);
  });

  test('must bring a challenge by S256, and cannot do without its person', async () => {
    const { id } = await register();
    const errorOf = async (more: Readonly<Record<string, string>>) => {
      const { searchParams, hash } = new URL((await browser.get(addressFor(id, more))).location);
      return searchParams.get('error') ?? new URLSearchParams(hash.slice(1)).get('error');
    };
    expect(await errorOf({ code_challenge: '' })).toBe('invalid_request');
    expect(await errorOf({ code_challenge_method: 'plain' })).toBe('invalid_request');
    expect(await errorOf({ response_type: 'token' })).toBe('unsupported_response_type');
    expect(await errorOf({ resource: 'https://elsewhere.example/mcp' })).toBe('invalid_target');
    expect(await errorOf({ prompt: 'none' })).toMatch(/_required$/);
    expect((await browser.get(addressFor('nobody'))).location).toBe('/connect/failed?why=invalid_client');
    expect((await browser.get(addressFor(id, { state: 'a\u0000b' }))).location).toBe('/connect/failed?why=invalid_request');
    expect((await browser.get(addressFor(id, { state: 'x'.repeat(2_049) }))).location).toBe('/connect/failed?why=invalid_request');
  });

  test('may ask for nothing, for too much, and for what only others offer: its person narrows', async () => {
    const { id } = await register();
    for (const scope of ['', 'openid offline_access', 'write', 'read write admin']) {
      const tokens = await exchange(id, await codeOf(id, { scope, resource: '', prompt: 'select_account', nonce: 'n', max_age: '1' }));
      expect([scope, tokens.status, tokens.scope]).toEqual([scope, 200, 'read write']);
      expect(await isIn(tokens.access)).toBe(true);
    }
    const looking = await exchange(id, await codeOf(id, { scope: 'read' }));
    expect(await web.connections.callerOf(looking.access)).toMatchObject({ role: 'owner', scope: 'read' });
  });
});

test('all coordinators tell who they are by BASE_URL, whatever a request calls them', async () => {
  for (const path of ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration']) {
    const { status, text } = await web.hosted('evil.example', path);
    expect([status, text.includes('evil.example')]).toEqual([200, false]);
    expect(JSON.parse(text)).toMatchObject({
      ...{ issuer: web.url, authorization_endpoint: `${web.url}/oauth/auth`, registration_endpoint: `${web.url}/oauth/register` },
      ...{
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: ['none'],
      },
      ...{ grant_types_supported: ['authorization_code', 'refresh_token'], scopes_supported: ['read', 'write'] },
      ...{ authorization_response_iss_parameter_supported: true, client_id_metadata_document_supported: true },
    });
    // Nothing is offered that no route answers.
    const offered = Object.entries(JSON.parse(text)).filter(([, value]) => typeof value === 'string' && value.includes('/oauth/'));
    expect(offered.map(([name]) => name).toSorted()).toEqual([
      'authorization_endpoint',
      'jwks_uri',
      'registration_endpoint',
      'revocation_endpoint',
      'token_endpoint',
    ]);
    expect(text).not.toMatch(/dpop|pushed|fragment|form_post/);
  }
  for (const path of ['', '/mcp'])
    expect(JSON.parse((await web.hosted('evil.example', `/.well-known/oauth-protected-resource${path}`)).text)).toMatchObject({
      ...{ resource: `${web.url}/mcp`, authorization_servers: [web.url], scopes_supported: ['read', 'write'] },
    });
});

test('who begins to connect again and again is counted, so that strangers leave no records without end', async () => {
  const { id } = await register();
  const places: (string | undefined)[] = [];
  for (let index = 0; index < 242; index += 1) places.push((await browser.get(addressFor(id))).location);
  expect(places[200]).toMatch(/^\/connect\/(?!failed)/);
  expect(places.at(-1)).toBe('/connect/failed?why=too_many');
  const [rows] = await web.sql<{ count: number }[]>`select count(*) from oauth_records where model = 'Interaction'`;
  expect(rows?.count ?? 0).toBeLessThanOrEqual(260);
});
