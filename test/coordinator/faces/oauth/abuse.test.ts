import { createHash } from 'node:crypto';
import Fastify from 'fastify';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createAccountSecrets } from '../../../../coordinator/access/account-secrets.ts';
import { createAssistantKey } from '../../../../coordinator/access/connections.ts';
import { createAssistantSecrets } from '../../../../coordinator/access/oauth-records.ts';
import { createAssistants } from '../../../../coordinator/assistants.ts';
import { oauthRoutes } from '../../../../coordinator/faces/oauth/index.ts';
import { forgetEndedRecords } from '../../../../coordinator/store/oauth-records.ts';
import { createLog } from '../../../../shared/base/log.ts';
import { memberOf } from '../../../../shared/base/record.ts';
import { askToken, type Browser, consent, createBrowser, ledTo } from '../../../support/assistant-client.ts';
import { testSecretKey } from '../../../support/people.ts';
import { startWeb, type TestWeb } from '../../../support/web.ts';

/** What goes wrong, and what somebody tries. */

const clock = { ahead: 0, now: () => Date.now() + clock.ahead };
const log = createLog({ name: 'test', level: 'silent' });
let web: TestWeb;
let browser: Browser;

beforeAll(async () => {
  web = await startWeb({ clock });
});
afterAll(() => web.close());
beforeEach(async () => {
  clock.ahead = 0;
  browser = createBrowser(web, web.house.owner);
  await web.sql`delete from attempts`;
});

const redirect = 'http://127.0.0.1:33418/callback';
const verifier = 'a-verifier-of-more-than-forty-three-characters-0123456789';
const challenge = createHash('sha256').update(verifier).digest('base64url');

const register = async (metadata: object = {}) => {
  const answer = await fetch(`${web.url}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: 'A client', redirect_uris: [redirect], ...metadata }),
  });
  const body: unknown = await answer.json();
  return { status: answer.status, body, id: String(memberOf(body, 'client_id')), error: memberOf(body, 'error') };
};

const addressFor = (client_id: string, more: Readonly<Record<string, string>> = {}): URL => {
  const asked = { client_id, response_type: 'code', redirect_uri: redirect, code_challenge: challenge, code_challenge_method: 'S256' };
  const all = { ...asked, state: 's', resource: `${web.url}/mcp`, scope: 'read write', ...more };
  return new URL(`${web.url}/oauth/auth?${new URLSearchParams(Object.entries(all).filter(([, value]) => value !== ''))}`);
};
const all = () => ({ organisation_id: web.house.organisation, scope: 'read_write' });

const codeOf = async (client: string, more: Readonly<Record<string, string>> = {}): Promise<string> =>
  (await consent(browser, addressFor(client, more), all())).searchParams.get('code') ?? '';

const exchange = (client_id: string, code: string, more: Readonly<Record<string, string>> = {}) =>
  askToken(web.url, { grant_type: 'authorization_code', client_id, code, redirect_uri: redirect, code_verifier: verifier, ...more });
const refresh = (client_id: string, refresh_token: string, more: Readonly<Record<string, string>> = {}) =>
  askToken(web.url, { grant_type: 'refresh_token', client_id, refresh_token, ...more });
const isIn = async (token: string): Promise<boolean> => (await web.connections.callerOf(token)) !== undefined;

describe('a refresh token', () => {
  test('survives that two processes of one client use it at once, and is good for no more than that moment', async () => {
    const { id } = await register();
    const first = await exchange(id, await codeOf(id));
    const both = await Promise.all([refresh(id, first.refresh), refresh(id, first.refresh)]);
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    for (const { access } of both) expect(await isIn(access)).toBe(true);
    const [one] = both;
    clock.ahead = 46_000;
    const late = await refresh(id, first.refresh);
    expect([late.status, late.error]).toEqual([400, 'invalid_grant']);
    // Nobody knows any more who of them is the owner: all that hung on it ends.
    expect(await isIn(one?.access ?? '')).toBe(false);
    expect((await refresh(id, one?.refresh ?? '')).error).toBe('invalid_grant');
    expect(await web.sql`select 1 from connections where client_id = ${id}`).toHaveLength(0);
  });

  test('is of the one client that it was given to, and of the one resource', async () => {
    const [own, other] = [await register(), await register()];
    const { refresh: token } = await exchange(own.id, await codeOf(own.id));
    expect((await refresh(other.id, token)).error).toBe('invalid_grant');
    expect((await refresh(own.id, token, { resource: 'https://elsewhere.example/mcp' })).error).toBe('invalid_target');
    expect((await refresh(own.id, token, { scope: 'read write admin' })).error).toBe('invalid_scope');
    expect((await refresh(own.id, token, { resource: `${web.url}/mcp` })).status).toBe(200);
  });

  test('that its client gives back ends the connection', async () => {
    const { id } = await register();
    const { access, refresh: token } = await exchange(id, await codeOf(id));
    await fetch(`${web.url}/oauth/revoke`, { method: 'POST', body: new URLSearchParams({ client_id: id, token }) });
    expect(await isIn(access)).toBe(false);
  });
});

describe('a code', () => {
  test('that comes twice is good for nothing, and what it was good for ends', async () => {
    const { id } = await register();
    const code = await codeOf(id);
    const { access, refresh: token } = await exchange(id, code);
    expect(await isIn(access)).toBe(true);
    expect((await exchange(id, code)).error).toBe('invalid_grant');
    expect(await isIn(access)).toBe(false);
    expect((await refresh(id, token)).error).toBe('invalid_grant');
  });

  test('that two bring at once serves neither of them for long', async () => {
    const { id } = await register();
    const code = await codeOf(id);
    const both = await Promise.all([exchange(id, code), exchange(id, code)]);
    expect(both.filter(({ status }) => status === 200).length).toBeLessThan(2);
    for (const { access } of both) expect(await isIn(access)).toBe(false);
  });

  test('wants its verifier, its client and its address to return to', async () => {
    const [own, other] = [await register(), await register()];
    const wrong = [{ code_verifier: `${verifier}x` }, { client_id: other.id }, { redirect_uri: 'http://127.0.0.1:1/callback' }];
    for (const more of wrong) expect((await exchange(own.id, await codeOf(own.id), more)).error).toBe('invalid_grant');
    expect((await exchange(own.id, await codeOf(own.id), { resource: 'https://elsewhere.example/mcp' })).error).toBe('invalid_target');
  });
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

describe('several coordinators', () => {
  test('are one: consent at the first, which is killed; the way back and the code at the second', async () => {
    const accountSecrets = createAccountSecrets(web.sql, { secretKey: testSecretKey });
    const made = createAssistants({ sql: web.sql, clock, accountSecrets, secretKey: testSecretKey });
    const second = Fastify({ forceCloseConnections: true });
    oauthRoutes(second, { ...made, log, baseUrl: () => web.url });
    const at = await second.listen({ port: 0, host: '127.0.0.1' });
    const { id } = await register();
    const began = await browser.get(addressFor(id));
    const to = ledTo(await browser.post(began.location, { act: 'allow', ...all() }));
    const returned = new URL((await browser.get(to, at)).location);
    expect(returned.searchParams.get('iss')).toBe(web.url);
    const code = returned.searchParams.get('code') ?? '';
    const asked = { grant_type: 'authorization_code', client_id: id, code, redirect_uri: redirect, code_verifier: verifier };
    const tokens = await askToken(at, asked);
    expect(tokens.status).toBe(200);
    expect(await isIn(tokens.access)).toBe(true);
    expect((await refresh(id, tokens.refresh)).status).toBe(200);
    await second.close();
    await made.close();
  });

  test('tell who they are by BASE_URL, whatever a request calls them', async () => {
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
    }
    for (const path of ['', '/mcp'])
      expect(JSON.parse((await web.hosted('evil.example', `/.well-known/oauth-protected-resource${path}`)).text)).toMatchObject({
        ...{ resource: `${web.url}/mcp`, authorization_servers: [web.url], scopes_supported: ['read', 'write'] },
      });
  });
});

test('what lets somebody in, or signs, is readable nowhere in the database', async () => {
  const { id } = await register();
  const code = await codeOf(id);
  const { access, refresh: token } = await exchange(id, code);
  const { d } = await createAssistantSecrets(createAssistantKey(web.sql, { secretKey: testSecretKey })).signingKey();
  const tables = await web.sql<{ name: string }[]>`select relname as name from pg_class
    where relkind = 'r' and relnamespace = (select oid from pg_namespace where nspname = current_schema())`;
  let seen = '';
  for (const { name } of tables)
    seen += (await web.sql`select x::text as row from ${web.sql(name)} x`).map(({ row }) => String(row)).join('\n');
  expect(seen).toContain(id);
  for (const secret of [code, access, token, d, verifier]) expect(seen).not.toContain(secret);
});

test('what has ended is forgotten, and with it connections that nothing is left of, and clients that nobody connected', async () => {
  await web.sql`delete from connections`;
  await web.sql`delete from oauth_records`;
  const [used, unused] = [await register(), await register()];
  const { refresh: token } = await exchange(used.id, await codeOf(used.id));
  const clients = () => web.sql`select 1 from oauth_records where model = 'Client'`;
  const forget = (after: number) => forgetEndedRecords(web.sql, Date.now() + after, { consentMs: 7_200_000, clientMs: 7 * 86_400_000 });
  await forget(6 * 86_400_000);
  expect(await clients()).toHaveLength(2);
  expect(await web.sql`select distinct model from oauth_records order by 1`).toEqual(
    ['Client', 'Grant', 'RefreshToken'].map((model) => ({ model })),
  );
  await forget(8 * 86_400_000);
  expect(await clients()).toHaveLength(1);
  expect((await browser.get(addressFor(unused.id))).location).toBe('/connect/failed?why=invalid_client');
  expect((await refresh(used.id, token)).status).toBe(200);
  await forget(91 * 86_400_000);
  expect(await web.sql`select 1 from connections`).toHaveLength(0);
  expect(await web.sql`select 1 from oauth_records`).toHaveLength(0);
});
