import Fastify from 'fastify';
import { expect, test } from 'vitest';
import { refuseOutside, sayBeside } from '../../../coordinator/api/routes.ts';
import { healthRoutes } from '../../../coordinator/health/endpoint.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { createLog } from '../../../shared/base/log.ts';
import { restServer, token } from './server.ts';

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
    const { statusCode, headers } = await app.inject({ method, url, headers: authorization === undefined ? {} : { authorization } });
    seen.push([statusCode, headers['ratelimit-remaining'], headers['ratelimit-reset']]);
  }
  expect(seen).toEqual([401, 401, 200, 200, 200, 404, 405, 200, 405, 422].map((status) => [status, '7', '17']));
  expect(counted).toEqual([...Array.from({ length: 7 }, () => 'address'), ...Array.from({ length: 3 }, () => 'token')]);
  await app.close();
});

test('also an answer that the database is away, and one that refuses a stranger who knocks too often', async () => {
  const away = await restServer({
    authenticate: async () => {
      throw new Refusal('unavailable', 'The database does not answer.');
    },
  });
  const { statusCode, headers } = await away.app.inject({ url: '/api/v1/me', headers: { authorization: token } });
  expect([statusCode, headers['ratelimit-remaining'], headers['retry-after']]).toEqual([503, '119', '5']);
  await away.app.close();
  const full = await restServer({ limiter: { count: () => ({ allowed: false, remaining: 0, reset: 17 }) } });
  for (const url of ['/api/v1/me', '/api/v1/docs', '/api/v1/nowhere']) {
    const refused = await full.app.inject({ url });
    expect([refused.statusCode, refused.headers['retry-after'], refused.headers['ratelimit-remaining']], url).toEqual([429, '17', '0']);
  }
  await full.app.close();
});

test('what is asked beside the API tells the count of its address, counts as nothing and is never refused', async () => {
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
  const seen = { database: true, bus: true, streams: true, partitions: true, probes: [], resting: false, busFault: undefined };
  const timeZones = () => ({ version: null, released_on: null, least_age_days: null });
  healthRoutes(
    outside,
    { look: async () => seen, versions: () => ({}), timeZones, isAtWork: () => true, isLeaving: () => false },
    sayBeside(limiter),
  );
  refuseOutside(outside, createLog({ name: 'test', level: 'silent' }), undefined, sayBeside(limiter));
  const beforehand = { origin: 'https://app.example.org', 'access-control-request-method': 'POST' };
  const told: unknown[] = [];
  for (const [server, method, url, headers] of [
    [app, 'GET', '/docs', {}],
    [app, 'HEAD', '/docs/', {}],
    [app, 'GET', '/api/v1/docs/', {}],
    [app, 'OPTIONS', '/api/v1/monitors', beforehand],
    [outside, 'GET', '/health', {}],
    [outside, 'GET', '/livez', {}],
    [outside, 'HEAD', '/readyz', {}],
    [outside, 'GET', '/nowhere', {}],
    [outside, 'PUT', '/health', {}],
  ] as const) {
    const answer = await server.inject({ method, url, headers });
    told.push([answer.statusCode, answer.headers['ratelimit-remaining'], answer.headers['ratelimit-reset']]);
    expect(answer.headers['x-request-id'], url).toMatch(/^[0-9a-f-]{36}$/);
  }
  expect(told).toEqual([308, 308, 308, 204, 503, 200, 200, 404, 405].map((status) => [status, '0', '17']));
  expect([...new Set(looked)]).toEqual(['address:127.0.0.1']);
  await app.close();
  await outside.close();
});

test('another method at a known address beside the API is told which ones it answers to', async () => {
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
