import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Fastify from 'fastify';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createAssistantKey } from '../../../coordinator/assistants/connections.ts';
import { createAssistants } from '../../../coordinator/assistants/mcp-routes.ts';
import { createAssistantSecrets } from '../../../coordinator/assistants/oauth.ts';
import { oauthRoutes } from '../../../coordinator/assistants/oauth-routes.ts';
import { forgetEndedRecords } from '../../../coordinator/assistants/queries.ts';
import { createAccountSecrets } from '../../../coordinator/secrets/account-secrets.ts';
import { createLog } from '../../../shared/base/log.ts';
import {
  anonymousAt,
  askToken,
  assistantOf,
  type Browser,
  consent,
  createBrowser,
  ledTo,
  redirect,
  verifier,
} from '../../support/assistants.ts';
import { portOf } from '../../support/connections.ts';
import { eventually } from '../../support/eventually.ts';
import { testSecretKey } from '../../support/people.ts';
import { judgingTool, runProgram } from '../../support/processes.ts';
import { startWeb, type TestWeb } from '../../support/web.ts';

const clock = { ahead: 0, now: () => Date.now() + clock.ahead };
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

/** What is given out: how often it is good, for whom, and what is left of it. */
describe('grants', () => {
  const log = createLog({ name: 'test', level: 'silent' });

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

    test('belongs to the one client and the one resource that it was issued for', async () => {
      const [own, other] = [await register(), await register()];
      const { refresh: token } = await exchange(own.id, await codeOf(own.id));
      expect((await refresh(other.id, token)).error).toBe('invalid_grant');
      expect(
        (await refresh(own.id, token, { resource: 'https://elsewhere.example/mcp' })).error,
      ).toBe('invalid_target');
      expect((await refresh(own.id, token, { scope: 'read write admin' })).error).toBe(
        'invalid_scope',
      );
      expect((await refresh(own.id, token, { resource: `${web.url}/mcp` })).status).toBe(200);
    });

    test('that its client revokes ends the connection', async () => {
      const { id } = await register();
      const { access, refresh: token } = await exchange(id, await codeOf(id));
      await fetch(`${web.url}/oauth/revoke`, {
        method: 'POST',
        body: new URLSearchParams({ client_id: id, token }),
      });
      expect(await isIn(access)).toBe(false);
    });
  });

  describe('a code', () => {
    test('that is used twice is refused, and the connection it opened ends', async () => {
      const { id } = await register();
      const code = await codeOf(id);
      const { access, refresh: token } = await exchange(id, code);
      expect(await isIn(access)).toBe(true);
      expect((await exchange(id, code)).error).toBe('invalid_grant');
      expect(await isIn(access)).toBe(false);
      expect((await refresh(id, token)).error).toBe('invalid_grant');
    });

    test('that is used twice at once serves neither caller for long', async () => {
      const { id } = await register();
      const code = await codeOf(id);
      const both = await Promise.all([exchange(id, code), exchange(id, code)]);
      expect(both.filter(({ status }) => status === 200).length).toBeLessThan(2);
      for (const { access } of both) expect(await isIn(access)).toBe(false);
    });

    test('wants its verifier, its client and its address to return to', async () => {
      const [own, other] = [await register(), await register()];
      const wrong = [
        { code_verifier: `${verifier}x` },
        { client_id: other.id },
        { redirect_uri: 'http://127.0.0.1:1/callback' },
      ];
      for (const more of wrong)
        expect((await exchange(own.id, await codeOf(own.id), more)).error).toBe('invalid_grant');
      expect(
        (
          await exchange(own.id, await codeOf(own.id), {
            resource: 'https://elsewhere.example/mcp',
          })
        ).error,
      ).toBe('invalid_target');
    });
  });

  test('several coordinators act as one: consent at the first, which is killed; redirect and code at the second', async () => {
    const first = await startWeb({ clock });
    const own = createBrowser(first, first.house.owner);
    const stranger = anonymousAt(
      () => first,
      () => own,
    );
    const accountSecrets = createAccountSecrets(first.sql, { secretKey: testSecretKey });
    const made = createAssistants({
      sql: first.sql,
      clock,
      accountSecrets,
      secretKey: testSecretKey,
    });
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
    const asked = {
      grant_type: 'authorization_code',
      client_id: id,
      code,
      redirect_uri: redirect,
      code_verifier: verifier,
    };
    const tokens = await askToken(at, asked);
    expect(tokens.status).toBe(200);
    expect(await stranger.isIn(tokens.access)).toBe(true);
    expect(
      (
        await askToken(at, {
          grant_type: 'refresh_token',
          client_id: id,
          refresh_token: tokens.refresh,
        })
      ).status,
    ).toBe(200);
    await second.close();
    await made.close();
    await first.close();
  });

  test('no credential or signing key is readable in the database', async () => {
    const { id } = await register();
    const code = await codeOf(id);
    const { access, refresh: token } = await exchange(id, code);
    const { d } = await createAssistantSecrets(
      createAssistantKey(web.sql, { secretKey: testSecretKey }),
    ).signingKey();
    const tables = await web.sql<{ name: string }[]>`select relname as name from pg_class
    where relkind = 'r' and relnamespace = (select oid from pg_namespace where nspname = current_schema())`;
    let seen = '';
    for (const { name } of tables)
      seen += (await web.sql`select x::text as row from ${web.sql(name)} x`)
        .map(({ row }) => String(row))
        .join('\n');
    expect(seen).toContain(id);
    for (const secret of [code, access, token, d, verifier]) expect(seen).not.toContain(secret);
  });

  test('expired records are deleted, with empty connections and clients without a connection', async () => {
    await web.sql`delete from connections`;
    await web.sql`delete from oauth_records`;
    const [used, unused] = [await register(), await register()];
    const { refresh: token } = await exchange(used.id, await codeOf(used.id));
    const clients = () => web.sql`select 1 from oauth_records where model = 'Client'`;
    const forget = (after: number) =>
      forgetEndedRecords(web.sql, Date.now() + after, {
        consentMs: 7_200_000,
        clientMs: 7 * 86_400_000,
      });
    await forget(6 * 86_400_000);
    expect(await clients()).toHaveLength(2);
    expect(await web.sql`select distinct model from oauth_records order by 1`).toEqual(
      ['Client', 'Grant', 'RefreshToken'].map((model) => ({ model })),
    );
    await forget(8 * 86_400_000);
    expect(await clients()).toHaveLength(1);
    expect((await browser.get(addressFor(unused.id))).location).toBe(
      '/connect/failed?why=invalid_client',
    );
    expect((await refresh(used.id, token)).status).toBe(200);
    await forget(91 * 86_400_000);
    expect(await web.sql`select 1 from connections`).toHaveLength(0);
    expect(await web.sql`select 1 from oauth_records`).toHaveLength(0);
  });
});

/** What somebody tries who asks to be connected. */
describe('oauth abuse', () => {
  describe('a client', () => {
    test('is redirected only to an address that it registered', async () => {
      const { id } = await register();
      for (const foreign of [
        'https://evil.example/',
        'http://127.0.0.1:33418/other',
        'javascript:alert(1)',
      ]) {
        const { status, location } = await browser.get(addressFor(id, { redirect_uri: foreign }));
        expect([status, location]).toEqual([302, '/connect/failed?why=invalid_redirect_uri']);
      }
      const { status, text } = await browser.get('/connect/failed?why=invalid_redirect_uri');
      expect([status, text.includes('We sent nothing there')]).toEqual([400, true]);
      // Of this machine any port will do: programs take the one that is free.
      const free = await browser.get(
        addressFor(id, { redirect_uri: 'http://127.0.0.1:50123/callback' }),
      );
      expect(free.location).toMatch(/^\/connect\//);
    });

    test('may redirect to https, to its own machine or to a private scheme, and nowhere else', async () => {
      for (const one of [
        'https://claude.ai/api/mcp/auth_callback',
        'cursor://anysphere.cursor-mcp/oauth/callback',
        'http://[::1]:9/x',
      ])
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
        expect([one, (await register({ redirect_uris: [redirect, one] })).error]).toEqual([
          one,
          'invalid_redirect_uri',
        ]);
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

    test('has no secret and gets no other rights, whatever it claims', async () => {
      const claims = {
        token_endpoint_auth_method: 'client_secret_post',
        grant_types: ['client_credentials', 'implicit'],
        response_types: ['token'],
      };
      const { status, body } = await register({
        ...claims,
        application_type: 'web',
        scope: 'openid admin',
        jwks_uri: 'http://10.0.0.1/',
      });
      expect(status).toBe(201);
      expect(body).toMatchObject({
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        application_type: 'native',
        redirect_uris: [redirect],
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
      expect((await browser.get(addressFor('nobody'))).location).toBe(
        '/connect/failed?why=invalid_client',
      );
      expect((await browser.get(addressFor(id, { state: 'a\u0000b' }))).location).toBe(
        '/connect/failed?why=invalid_request',
      );
      expect((await browser.get(addressFor(id, { state: 'x'.repeat(2_049) }))).location).toBe(
        '/connect/failed?why=invalid_request',
      );
    });

    test('may request no scope, too many, or foreign ones: the user narrows them', async () => {
      const { id } = await register();
      for (const scope of ['', 'openid offline_access', 'write', 'read write admin']) {
        const tokens = await exchange(
          id,
          await codeOf(id, {
            scope,
            resource: '',
            prompt: 'select_account',
            nonce: 'n',
            max_age: '1',
          }),
        );
        expect([scope, tokens.status, tokens.scope]).toEqual([scope, 200, 'read write']);
        expect(await isIn(tokens.access)).toBe(true);
      }
      const looking = await exchange(id, await codeOf(id, { scope: 'read' }));
      expect(await web.connections.callerOf(looking.access)).toMatchObject({
        role: 'owner',
        scope: 'read',
      });
    });
  });

  test('all coordinators use BASE_URL as their issuer, whatever the Host header says', async () => {
    for (const path of [
      '/.well-known/oauth-authorization-server',
      '/.well-known/openid-configuration',
    ]) {
      const { status, text } = await web.hosted('evil.example', path);
      expect([status, text.includes('evil.example')]).toEqual([200, false]);
      expect(JSON.parse(text)).toMatchObject({
        issuer: web.url,
        authorization_endpoint: `${web.url}/oauth/auth`,
        registration_endpoint: `${web.url}/oauth/register`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: ['none'],
        grant_types_supported: ['authorization_code', 'refresh_token'],
        scopes_supported: ['read', 'write'],
        authorization_response_iss_parameter_supported: true,
        client_id_metadata_document_supported: true,
      });
      // Nothing is offered that no route answers.
      const offered = Object.entries(JSON.parse(text)).filter(
        ([, value]) => typeof value === 'string' && value.includes('/oauth/'),
      );
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
      expect(
        JSON.parse(
          (await web.hosted('evil.example', `/.well-known/oauth-protected-resource${path}`)).text,
        ),
      ).toMatchObject({
        resource: `${web.url}/mcp`,
        authorization_servers: [web.url],
        scopes_supported: ['read', 'write'],
      });
  });

  test('authorization requests are rate limited, so that anonymous callers cannot store records without limit', async () => {
    const { id } = await register();
    const places: (string | undefined)[] = [];
    for (let index = 0; index < 242; index += 1)
      places.push((await browser.get(addressFor(id))).location);
    expect(places[200]).toMatch(/^\/connect\/(?!failed)/);
    expect(places.at(-1)).toBe('/connect/failed?why=too_many');
    const [rows] = await web.sql<
      { count: number }[]
    >`select count(*) from oauth_records where model = 'Interaction'`;
    expect(rows?.count ?? 0).toBeLessThanOrEqual(260);
  });
});

describe('oauth conformance', () => {
  const suite = judgingTool('conformance-2026-07-28/dist/index.js');
  const folder = mkdtempSync(join(tmpdir(), 'antipode-authorization-'));

  afterAll(() => rmSync(folder, { recursive: true }));

  /** A port that nobody has: the suite waits there for the browser to come back. */
  const freePort = async (): Promise<number> => {
    const server = createServer();
    const port = await portOf(server);
    server.close();
    await once(server, 'close');
    return port;
  };

  const judging = (...more: string[]): readonly [string, ...string[]] => [
    ...([process.execPath, suite ?? '', 'authorization', '--url', web.url] as const),
    ...more,
    '-o',
    folder,
  ];

  describe.runIf(suite)('the conformance suite for authorization servers', () => {
    test('has the two scenarios that follow, and no other', async () => {
      const { out } = await runProgram([process.execPath, suite ?? '', 'list', '--authorization']);
      const known = [...out.matchAll(/^\s*-\s+([a-z0-9-]+)/gm)].map(([, name]) => name);
      expect(known).toEqual(['authorization-server-metadata-endpoint', 'authorization-code-grant']);
    });

    test('finds nothing wrong with the metadata, and gets a token by way of the person’s consent', async () => {
      const port = await freePort();
      const assistant = assistantOf(web.url, { redirect: `http://127.0.0.1:${port}/callback` });
      await assistant.begin();
      const [node, ...given] = judging(
        ...['--client-id', assistant.client?.client_id ?? '', '--port', String(port)],
        ...['--resource', `${web.url}/mcp`],
      );
      const child = spawn(node, given, { stdio: ['ignore', 'pipe', 'pipe'] });
      let said = '';
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk) => {
          said += String(chunk);
        });
      const ended = once(child, 'close');
      try {
        await eventually(() => expect(said).toMatch(/^\s*http\S+\/oauth\/\S+code_challenge\S+/m));
        const [address = ''] = /http\S+\/oauth\/\S+code_challenge\S+/.exec(said) ?? [];
        const browser = createBrowser(web, web.house.owner);
        const returned = await consent(browser, new URL(address), {
          organisation_id: web.house.organisation,
          scope: 'read',
        });
        expect((await fetch(returned)).status).toBe(200);
        const [code] = await ended;
        expect(said).toMatch(/metadata-endpoint: [1-9]\d* passed, 0 failed/);
        expect(said).toMatch(/code-grant: [1-9]\d* passed, 0 failed/);
        expect(code, said).toBe(0);
      } finally {
        child.kill();
      }
    });
  });
});
