import { once } from 'node:events';
import { connect } from 'node:net';
import Fastify, { type FastifyInstance, fastify } from 'fastify';
import { afterAll, afterEach, beforeAll, describe, expect, it, test } from 'vitest';
import { limitHeaders, refuseOutside } from '../../../coordinator/api/routes.ts';
import { createForwarded } from '../../../coordinator/api/server.ts';
import { healthRoutes } from '../../../coordinator/health/endpoint.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { createLog } from '../../../shared/base/log.ts';
import { type Api, call, openApi } from '../../support/api.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';
import { createDatabase, type TestDatabase } from '../../support/services.ts';
import { restServer, token } from './server.ts';

describe('body limits', () => {
  test('a window may name as many monitors as 2 MiB hold, and says so beyond; other bodies end at 64 KiB', async () => {
    const { app } = await restServer();
    const send = async (url: string, body: unknown) => {
      const { statusCode, payload } = await app.inject({
        method: 'POST',
        url,
        payload: JSON.stringify(body),
        headers: { authorization: token, 'content-type': 'application/json' },
      });
      return { statusCode, answer: JSON.parse(payload) };
    };
    const window = (monitors: number) => ({
      starts_at: '2099-01-01T02:00',
      ends_at: '2099-01-01T03:00',
      monitors: Array.from({ length: monitors }, newId),
    });
    const many = await send('/api/v1/maintenance', window(12_000));
    expect([many.statusCode, many.answer.monitors.length]).toEqual([201, 12_000]);
    const tooLarge = await send('/api/v1/maintenance', window(60_000));
    expect([tooLarge.statusCode, tooLarge.answer]).toEqual([
      413,
      { error: { code: 'body_too_large', message: 'The body is larger than 2 MiB.' } },
    ]);
    const group = await send('/api/v1/groups', { name: 'x'.repeat(70_000) });
    expect([group.statusCode, group.answer]).toEqual([
      413,
      { error: { code: 'body_too_large', message: 'The body is larger than 64 KiB.' } },
    ]);
    await app.close();
  });
});

describe('bare socket', () => {
  /** What a server says to such bytes, until it says no more. */
  const answerTo = (port: number, bytes: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
      let heard = '';
      socket.setEncoding('utf8').on('data', (piece: string) => {
        heard += piece;
        if (heard.includes('}}')) socket.end();
      });
      socket.on('close', () => resolve(heard)).on('error', reject);
    });

  test('errors that Node itself answers carry the error body too', async () => {
    const { app } = await restServer();
    await app.listen({ port: 0, host: '127.0.0.1' });
    const address = app.server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    for (const [bytes, status, code, words] of [
      ['GET /api/v1/me HTTP/1.1\r\n\r\n', 400, 'request_malformed', 'Host is missing'],
      [
        'POST /api/v1/groups HTTP/1.1\r\nHost: x\r\nExpect: tea\r\nContent-Length: 2\r\n\r\n{}',
        417,
        'request_malformed',
        '100-continue',
      ],
      [
        'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n',
        400,
        'request_malformed',
        'no proxy',
      ],
      ['GET /api/v1/me HTTP/9.9\r\nHost: x\r\n\r\n', 400, 'request_malformed', 'could not be read'],
      [
        `GET /api/v1/me HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(20_000)}\r\n\r\n`,
        431,
        'headers_too_large',
        '16 KiB',
      ],
    ] as const) {
      const heard = await answerTo(port, bytes);
      const body = heard.slice(heard.indexOf('{"error"'), heard.lastIndexOf('}}') + 2);
      expect(heard.split(' ')[1], bytes.slice(0, 40)).toBe(String(status));
      expect(heard, bytes.slice(0, 40)).toMatch(/\r\nx-request-id: [0-9a-f-]{36}\r\n/i);
      // A request without a host is the only one of these that the application was asked at all,
      // and that counts.
      const left = words === 'Host is missing' ? 119 : 120;
      expect(heard.toLowerCase(), bytes.slice(0, 40)).toContain(
        `\r\nratelimit-remaining: ${left}\r\n`,
      );
      expect(heard, bytes.slice(0, 40)).toMatch(/\r\nratelimit-reset: \d+\r\n/i);
      expect(JSON.parse(body), bytes.slice(0, 40)).toEqual({
        error: { code, message: expect.stringContaining(words) },
      });
    }
    await app.close();
  });
});

describe('closing', () => {
  test('a request on an open connection is still answered while the server shuts down', async () => {
    const begun = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const { app } = await restServer({
      execute: async () => {
        begun.resolve();
        await go.promise;
        return { body: {} };
      },
    });
    await app.listen({ port: 0, host: '127.0.0.1' });
    const address = app.server.address();
    const socket = connect(
      typeof address === 'object' && address !== null ? address.port : 0,
      '127.0.0.1',
    );
    let heard = '';
    socket.setEncoding('utf8').on('data', (piece: string) => {
      heard += piece;
    });
    const ended = once(socket, 'close');
    const ask = (path: string): boolean =>
      socket.write(`GET /api/v1/${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${token}\r\n\r\n`);
    ask('me');
    await begun.promise;
    const closed = app.close();
    // Its router knows by then that it ends.
    await expect.poll(() => app.server.listening).toBe(false);
    const arrived = once(app.server, 'request');
    ask('nowhere');
    await arrived;
    go.resolve();
    await Promise.all([closed, ended]);
    const answers = heard.split(/(?=HTTP\/1\.1 )/);
    expect(answers.map((answer) => answer.split(' ')[1])).toEqual(['200', '404']);
    for (const answer of answers)
      expect(answer).toMatch(/\r\nratelimit-remaining: \d+\r\nratelimit-reset: \d+\r\n/i);
  });
});

describe('forwarded', () => {
  const ends: FastifyInstance[] = [];
  afterEach(() => Promise.all(ends.splice(0).map((app) => app.close())));

  /** What a server that trusts these makes of a request. */
  const doorThatTrusts = (trusted: readonly string[]) => {
    const warned: unknown[] = [];
    const forwarded = createForwarded(trusted, { warn: (...said: unknown[]) => warned.push(said) });
    const app = fastify({
      trustProxy: forwarded.trustProxy,
      rewriteUrl: (request) => {
        forwarded.tidy(request);
        return request.url ?? '/';
      },
    });
    ends.push(app);
    app.get('/', async ({ ip, host, protocol }) => ({ ip, host, protocol }));
    const ask = async (remoteAddress: string, headers: Readonly<Record<string, string>>) =>
      (
        await app.inject({ url: '/', remoteAddress, headers: { host: 'ours.example', ...headers } })
      ).json<Record<string, string>>();
    const from = async (remoteAddress: string, header: string) =>
      (await ask(remoteAddress, { 'x-forwarded-for': header })).ip;
    return { ask, from, warned };
  };

  test('the client address comes from a trusted proxy; entries written before that proxy are ignored', async () => {
    const { from } = doorThatTrusts(['loopback', '192.0.2.0/24']);
    expect(await from('127.0.0.1', '198.51.100.1')).toBe('198.51.100.1');
    expect(await from('::1', '2001:db8::1')).toBe('2001:db8::1');
    expect(await from('::ffff:127.0.0.1', '198.51.100.1')).toBe('198.51.100.1');
    expect(await from('127.0.0.1', '203.0.113.9, 198.51.100.1')).toBe('198.51.100.1');
    expect(await from('127.0.0.1', '203.0.113.9, 127.0.0.1, 198.51.100.1')).toBe('198.51.100.1');
  });

  test('a chain is followed as long as each that passes on is trusted', async () => {
    const { from } = doorThatTrusts(['loopback', '192.0.2.0/24']);
    expect(await from('127.0.0.1', '203.0.113.9, 198.51.100.1, 192.0.2.7')).toBe('198.51.100.1');
    expect(await from('127.0.0.1', '198.51.100.1, 203.0.113.9, 192.0.2.7')).toBe('203.0.113.9');
  });

  test('no other sender can set the client address', async () => {
    for (const trusted of [[], ['loopback']])
      for (const peer of ['198.51.100.1', '10.0.0.1', '2001:db8::1'])
        expect(await doorThatTrusts(trusted).from(peer, '203.0.113.9')).toBe(peer);
  });

  test('an entry with a port is an address, each address has one spelling, and an invalid entry hides all before it', async () => {
    const { from } = doorThatTrusts(['loopback']);
    expect(await from('127.0.0.1', '198.51.100.1:51234')).toBe('198.51.100.1');
    expect(await from('127.0.0.1', '[2001:DB8:0::1]:443')).toBe('2001:db8::1');
    expect(await from('127.0.0.1', '[2001:db8::1]')).toBe('2001:db8::1');
    expect(await from('127.0.0.1', '::ffff:198.51.100.1')).toBe('198.51.100.1');
    for (const none of [
      'unknown',
      '_hidden',
      '<b>',
      '198.51.100',
      '203.0.113.9, unknown',
      '203.0.113.9, ',
      '1.2.3.4:',
      'x'.repeat(5_000),
    ])
      expect(await from('127.0.0.1', none), none).toBe('127.0.0.1');
    expect(await from('127.0.0.1', `${'127.0.0.1, '.repeat(800)}127.0.0.1`)).toBe('127.0.0.1');
  });

  test('no proxy says what we are called, nor that it is https', async () => {
    const headers = {
      'x-forwarded-host': 'theirs.example',
      'x-forwarded-proto': 'https',
      'x-forwarded-for': '198.51.100.1',
    };
    const door = doorThatTrusts(['loopback']);
    expect(await door.ask('127.0.0.1', headers)).toEqual({
      ip: '198.51.100.1',
      host: 'ours.example',
      protocol: 'http',
    });
  });

  test('an unexpected proxy is reported once, and outsiders cannot cause the report', async () => {
    const { from, warned } = doorThatTrusts([]);
    await from('198.51.100.1', '203.0.113.9');
    expect(warned).toEqual([]);
    await from('127.0.0.1', '198.51.100.1');
    await from('10.0.0.1', '198.51.100.1');
    expect(warned).toEqual([
      [{ proxy: '127.0.0.1' }, expect.stringContaining('set TRUSTED_PROXIES')],
    ]);
    const named = doorThatTrusts(['loopback']);
    await named.from('127.0.0.1', '198.51.100.1');
    await named.from('10.0.0.1', '198.51.100.1');
    expect(named.warned).toEqual([]);
  });
});

describe('The limit of calls', () => {
  const perMinute = 120;

  let database: TestDatabase;
  let api: Api;
  let house: TestOrganisation;

  beforeAll(async () => {
    database = await createDatabase();
    api = await openApi(database.url, { perMinute });
    house = await createTestOrganisation(api.sql);
  });

  afterAll(async () => {
    await api.close();
    await database.drop();
  });

  const remaining = (headers: Headers): number => Number(headers.get('ratelimit-remaining'));

  it('lets 120 calls of a token pass, whatever they ask and however they end, and refuses the next', async () => {
    const token = house.member.read;
    const asked = [
      '/api/v1/me',
      '/api/v1/monitors?limit=x',
      '/api/v1/nowhere',
      '/api/v1/openapi.json',
    ];
    const seen: number[] = [];
    for (let nth = 0; nth < perMinute; nth++) {
      const heard = await call(api, token, { url: asked[nth % asked.length] ?? '/' });
      expect(heard.status).not.toBe(429);
      expect(Number(heard.headers.get('ratelimit-reset'))).toBeGreaterThanOrEqual(1);
      seen.push(remaining(heard.headers));
    }
    expect(seen).toEqual(Array.from({ length: perMinute }, (_, nth) => perMinute - 1 - nth));
    const refused = await call(api, token, { url: '/api/v1/me' });
    expect([refused.status, refused.body]).toEqual([
      429,
      { error: { code: 'rate_limited', message: expect.any(String) } },
    ]);
    expect(remaining(refused.headers)).toBe(0);
    expect(refused.headers.get('retry-after')).toBe(refused.headers.get('ratelimit-reset'));
    expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  });

  it('counts each token for itself, also of the same person', async () => {
    expect((await call(api, house.member.readWrite, { url: '/api/v1/me' })).status).toBe(200);
  });

  it('counts calls without a valid token by address, and still accepts valid tokens from there', async () => {
    for (let nth = 0; nth < perMinute; nth++)
      expect((await call(api, 'svc_guess', { url: '/api/v1/me' })).status).toBe(401);
    const refused = await call(api, undefined, { url: '/api/v1/me' });
    expect([refused.status, refused.headers.has('retry-after')]).toEqual([429, true]);
    expect((await call(api, house.owner.read, { url: '/api/v1/me' })).status).toBe(200);
  });
});

describe('rate headers', () => {
  test('every answer says how many calls are left, and for whom they are counted', async () => {
    const counted: string[] = [];
    const limiter = {
      count: (subject: string) => {
        counted.push(subject.replace(/:.*/, ''));
        return { allowed: true, remaining: 7, reset: 17 };
      },
    };
    const { app } = await restServer({ limiter });
    const seen: unknown[] = [];
    for (const [method, url, authorization] of [
      ['GET', '/api/v1/me', undefined],
      ['GET', '/api/v1/me', 'Bearer wrong'],
      ['GET', '/api/v1/openapi.json', undefined],
      ['GET', '/api/v1/docs', undefined],
      ['GET', '/api/v1/docs', 'Bearer wrong'],
      ['GET', '/api/v1/nowhere', undefined],
      ['DELETE', '/api/v1/me', undefined],
      ['GET', '/api/v1/me', token],
      ['DELETE', '/api/v1/me', token],
      ['POST', '/api/v1/groups', token],
    ] as const) {
      const { statusCode, headers } = await app.inject({
        method,
        url,
        headers: authorization === undefined ? {} : { authorization },
      });
      seen.push([statusCode, headers['ratelimit-remaining'], headers['ratelimit-reset']]);
    }
    expect(seen).toEqual(
      [401, 401, 200, 200, 200, 404, 405, 200, 405, 422].map((status) => [status, '7', '17']),
    );
    expect(counted).toEqual([
      ...Array.from({ length: 7 }, () => 'address'),
      ...Array.from({ length: 3 }, () => 'token'),
    ]);
    await app.close();
  });

  test('are also on errors of the database and on refusals of anonymous callers', async () => {
    const away = await restServer({
      authenticate: async () => {
        throw new Refusal('unavailable', 'The database does not answer.');
      },
    });
    const { statusCode, headers } = await away.app.inject({
      url: '/api/v1/me',
      headers: { authorization: token },
    });
    expect([statusCode, headers['ratelimit-remaining'], headers['retry-after']]).toEqual([
      503,
      '119',
      '5',
    ]);
    await away.app.close();
    const full = await restServer({
      limiter: { count: () => ({ allowed: false, remaining: 0, reset: 17 }) },
    });
    for (const url of ['/api/v1/me', '/api/v1/docs', '/api/v1/nowhere']) {
      const refused = await full.app.inject({ url });
      expect(
        [
          refused.statusCode,
          refused.headers['retry-after'],
          refused.headers['ratelimit-remaining'],
        ],
        url,
      ).toEqual([429, '17', '0']);
    }
    await full.app.close();
  });

  test('requests outside the API report the address’s count, count as nothing and are never refused', async () => {
    const looked: string[] = [];
    const limiter = {
      count: () => {
        throw new Error('this was not to be counted');
      },
      look: (subject: string) => {
        looked.push(subject);
        return { allowed: false, remaining: 0, reset: 17 };
      },
    };
    const { app } = await restServer({ corsOrigins: ['https://app.example.org'], limiter });
    const outside = Fastify();
    const seen = {
      database: true,
      bus: true,
      streams: true,
      partitions: true,
      probes: [],
      resting: false,
      circling: false,
      busFault: undefined,
    };
    const timeZones = () => ({ version: null, released_on: null, least_age_days: null });
    healthRoutes(
      outside,
      {
        look: async () => seen,
        versions: () => ({}),
        timeZones,
        isAtWork: () => true,
        isLeaving: () => false,
      },
      limitHeaders(limiter),
    );
    refuseOutside(
      outside,
      createLog({ name: 'test', level: 'silent' }),
      undefined,
      limitHeaders(limiter),
    );
    const beforehand = {
      origin: 'https://app.example.org',
      'access-control-request-method': 'POST',
    };
    const told: unknown[] = [];
    for (const [server, method, url, headers] of [
      [app, 'GET', '/api/v1/docs/', {}],
      [app, 'HEAD', '/api/v1/docs/', {}],
      [app, 'OPTIONS', '/api/v1/monitors', beforehand],
      [outside, 'GET', '/health', {}],
      [outside, 'GET', '/livez', {}],
      [outside, 'HEAD', '/readyz', {}],
      [outside, 'GET', '/nowhere', {}],
      [outside, 'PUT', '/health', {}],
    ] as const) {
      const answer = await server.inject({ method, url, headers });
      told.push([
        answer.statusCode,
        answer.headers['ratelimit-remaining'],
        answer.headers['ratelimit-reset'],
      ]);
      expect(answer.headers['x-request-id'], url).toMatch(/^[0-9a-f-]{36}$/);
    }
    expect(told).toEqual(
      [308, 308, 204, 503, 200, 200, 404, 405].map((status) => [status, '0', '17']),
    );
    expect([...new Set(looked)]).toEqual(['address:127.0.0.1']);
    await app.close();
    await outside.close();
  });

  test('a wrong method outside the API is answered with the allowed methods', async () => {
    const { app } = await restServer();
    const outside = Fastify();
    refuseOutside(outside, createLog({ name: 'test', level: 'silent' }));
    const told: unknown[] = [];
    for (const [server, method, url] of [
      [app, 'POST', '/api/v1/docs/'],
      [outside, 'POST', '/docs'],
      [outside, 'DELETE', '/readyz'],
      [outside, 'POST', '/nowhere'],
    ] as const) {
      const { statusCode, headers, json } = await server.inject({ method, url });
      told.push([statusCode, headers.allow, json().error.code]);
    }
    const known = [405, 'GET, HEAD', 'method_not_allowed'];
    expect(told).toEqual([known, known, known, [404, undefined, 'route_not_found']]);
    await app.close();
    await outside.close();
  });
});
