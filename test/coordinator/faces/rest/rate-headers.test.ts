import { expect, test } from 'vitest';
import { Refusal } from '../../../../shared/base/refusal.ts';
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
