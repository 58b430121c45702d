import Fastify from 'fastify';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createAssistantKey } from '../../../coordinator/assistants/connections.ts';
import { createAssistantSecrets } from '../../../coordinator/assistants/oauth.ts';
import { oauthRoutes } from '../../../coordinator/assistants/oauth-routes.ts';
import { forgetEndedRecords } from '../../../coordinator/assistants/queries.ts';
import { createAssistants } from '../../../coordinator/assistants/setup.ts';
import { createAccountSecrets } from '../../../coordinator/people/secrets.ts';
import { createLog } from '../../../shared/base/log.ts';
import { anonymousAt, askToken, type Browser, createBrowser, ledTo, redirect, verifier } from '../../support/assistants.ts';
import { testSecretKey } from '../../support/people.ts';
import { startWeb, type TestWeb } from '../../support/web.ts';

/** What is given out: how often it is good, for whom, and what is left of it. */

const clock = { ahead: 0, now: () => Date.now() + clock.ahead };
const log = createLog({ name: 'test', level: 'silent' });

let web: TestWeb;
let browser: Browser;
const { register, addressFor, codeOf, exchange, refresh, isIn } = anonymousAt(
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

describe('a refresh token', () => {
  test('survives that two processes of one client use it at once, and is good for no more than that moment', async () => {
    const { id } = await register();
    const first = await exchange(id, await codeOf(id));
    const both = await Promise.all([refresh(id, first.refresh), refresh(id, first.refresh)]);
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    for (const { access } of both) expect(await isIn(access)).toBe(true);
    const [one, other] = both;
    expect(other?.refresh).toBe(one?.refresh);
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

test('several coordinators are one: consent at the first, which dies then; the way back and the code at the second', async () => {
  const first = await startWeb({ clock });
  const own = createBrowser(first, first.house.owner);
  const stranger = anonymousAt(
    () => first,
    () => own,
  );
  const accountSecrets = createAccountSecrets(first.sql, { secretKey: testSecretKey });
  const made = createAssistants({ sql: first.sql, clock, accountSecrets, secretKey: testSecretKey });
  const second = Fastify({ forceCloseConnections: true });
  oauthRoutes(second, { ...made, log, baseUrl: () => first.url });
  const at = await second.listen({ port: 0, host: '127.0.0.1' });
  const { id } = await stranger.register();
  const began = await own.get(stranger.addressFor(id));
  const to = ledTo(await own.post(began.location, { act: 'allow', ...stranger.all() }));
  await first.die();
  await expect(own.get(to)).rejects.toThrow('fetch failed');
  const returned = new URL((await own.get(to, at)).location);
  expect(returned.searchParams.get('iss')).toBe(first.url);
  const code = returned.searchParams.get('code') ?? '';
  const asked = { grant_type: 'authorization_code', client_id: id, code, redirect_uri: redirect, code_verifier: verifier };
  const tokens = await askToken(at, asked);
  expect(tokens.status).toBe(200);
  expect(await stranger.isIn(tokens.access)).toBe(true);
  expect((await askToken(at, { grant_type: 'refresh_token', client_id: id, refresh_token: tokens.refresh })).status).toBe(200);
  await second.close();
  await made.close();
  await first.close();
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
