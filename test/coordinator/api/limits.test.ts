import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Api, call, openApi } from '../../support/api.ts';
import { createTestOrganisation, type TestOrganisation } from '../../support/people.ts';
import { createDatabase, type TestDatabase } from '../../support/services.ts';

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

describe('The limit of calls', () => {
  it('lets 120 calls of a token pass, whatever they ask and however they end, and refuses the next', async () => {
    const token = house.member.read;
    const asked = ['/api/v1/me', '/api/v1/monitors?limit=x', '/api/v1/nowhere', '/api/v1/openapi.json'];
    const seen: number[] = [];
    for (let nth = 0; nth < perMinute; nth++) {
      const heard = await call(api, token, { url: asked[nth % asked.length] ?? '/' });
      expect(heard.status).not.toBe(429);
      expect(Number(heard.headers.get('ratelimit-reset'))).toBeGreaterThanOrEqual(1);
      seen.push(remaining(heard.headers));
    }
    expect(seen).toEqual(Array.from({ length: perMinute }, (_, nth) => perMinute - 1 - nth));
    const refused = await call(api, token, { url: '/api/v1/me' });
    expect([refused.status, refused.body]).toEqual([429, { error: { code: 'rate_limited', message: expect.any(String) } }]);
    expect(remaining(refused.headers)).toBe(0);
    expect(refused.headers.get('retry-after')).toBe(refused.headers.get('ratelimit-reset'));
    expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
  });

  it('counts each token for itself, also of the same person', async () => {
    expect((await call(api, house.member.readWrite, { url: '/api/v1/me' })).status).toBe(200);
  });

  it('counts calls without a valid token on their address, which keeps nobody with a token from calling', async () => {
    for (let nth = 0; nth < perMinute; nth++) expect((await call(api, 'svc_guess', { url: '/api/v1/me' })).status).toBe(401);
    const refused = await call(api, undefined, { url: '/api/v1/me' });
    expect([refused.status, refused.headers.has('retry-after')]).toEqual([429, true]);
    expect((await call(api, house.owner.read, { url: '/api/v1/me' })).status).toBe(200);
  });
});
