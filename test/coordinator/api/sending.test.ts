import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { newId } from '../../../shared/base/crypto.ts';
import { restServer, token } from './server.ts';

const authorization = token;
const items = Array.from({ length: 60 }, (_, nth) => ({ nth, text: 'the same words again' }));
const id = newId();
const serve = (corsOrigins: readonly string[] = []) =>
  restServer({ corsOrigins, execute: async (operation) => ({ body: operation.body !== undefined ? { id } : { items } }) });

test('an answer goes as small as the caller takes it, and is the same in each encoding', async () => {
  const { app } = await serve();
  const ask = (accepted: string) =>
    app.inject({ url: '/api/v1/monitors', headers: { authorization, ...(accepted === '' ? {} : { 'accept-encoding': accepted }) } });
  const plain = await ask('');
  expect(plain.headers['content-encoding']).toBeUndefined();
  const [br, gz] = [await ask('gzip, br'), await ask('gzip, br;q=0')];
  expect([br.headers['content-encoding'], gz.headers['content-encoding']]).toEqual(['br', 'gzip']);
  expect([brotliDecompressSync(br.rawPayload).toString(), gunzipSync(gz.rawPayload).toString()]).toEqual([plain.payload, plain.payload]);
  expect(br.headers.vary).toContain('accept-encoding');
  expect(new Set([plain, br, gz].map(({ headers }) => headers.etag)).size).toBe(1);
  expect((await ask('identity')).headers['content-encoding']).toBeUndefined();
  await app.close();
});

test('what the caller has already is not sent again, and HEAD is as GET without the body', async () => {
  const { app } = await serve();
  const url = '/api/v1/monitors';
  const first = await app.inject({ url, headers: { authorization } });
  expect([first.statusCode, first.headers['cache-control']]).toEqual([200, 'private, no-cache']);
  const tag = String(first.headers.etag);
  for (const known of [tag, `"x", ${tag}`, tag.replace('W/', ''), '*']) {
    const again = await app.inject({ url, headers: { authorization, 'if-none-match': known } });
    expect([again.statusCode, again.payload, again.headers.etag, again.headers['ratelimit-remaining']], known).toEqual([
      304,
      '',
      tag,
      '119',
    ]);
  }
  expect((await app.inject({ url, headers: { authorization, 'if-none-match': '"other"' } })).statusCode).toBe(200);
  const head = await app.inject({ method: 'HEAD', url, headers: { authorization } });
  expect([head.statusCode, head.payload, head.headers.etag]).toEqual([200, '', tag]);
  for (const open of ['/api/v1/docs', '/api/v1/openapi.json'])
    expect((await app.inject({ method: 'HEAD', url: open })).statusCode, open).toBe(200);
  const refused = await app.inject({ url: '/api/v1/me', headers: { 'if-none-match': '*' } });
  expect([refused.statusCode, refused.headers.etag]).toEqual([401, undefined]);
  await app.close();
});

test('what is made says where it is, where it can be read by itself; each call has a name', async () => {
  const { app } = await serve();
  const post = (url: string, payload: object) => app.inject({ method: 'POST', url, payload, headers: { authorization } });
  const made = await post('/api/v1/monitors', { type: 'https' });
  expect([made.statusCode, made.headers.location, made.headers.etag]).toEqual([201, `/api/v1/monitors/${id}`, undefined]);
  expect((await post('/api/v1/groups', { name: 'x' })).headers.location).toBe(`/api/v1/groups/${id}`);
  expect((await post(`/api/v1/status-pages/${id}/monitors`, { monitor: id })).headers.location).toBeUndefined();
  const names = [made, await app.inject({ url: '/api/v1/me' }), await app.inject({ url: '/api/v1/nowhere' })].map(
    ({ headers }) => headers['x-request-id'],
  );
  expect(new Set(names).size).toBe(3);
  for (const name of names) expect(name).toMatch(/^[0-9a-f-]{36}$/);
  await app.close();
});

test('pages of other origins may call where the operator names them, and nowhere else', async () => {
  const origin = 'https://app.example.org';
  const ask = async (corsOrigins: readonly string[], of: string) => {
    const { app } = await serve(corsOrigins);
    const preflight = await app.inject({
      ...{ method: 'OPTIONS', url: '/api/v1/monitors' },
      headers: { origin: of, 'access-control-request-method': 'POST' },
    });
    const answer = await app.inject({ url: '/api/v1/monitors', headers: { origin: of, authorization } });
    const refusal = await app.inject({ url: '/api/v1/monitors', headers: { origin: of } });
    await app.close();
    return { preflight, answer, refusal };
  };
  const named = await ask([origin], origin);
  expect([named.preflight.statusCode, named.preflight.headers['access-control-allow-methods']]).toEqual([204, 'GET, HEAD, POST']);
  expect(named.preflight.headers['access-control-allow-headers']).toContain('Authorization');
  for (const { headers } of [named.preflight, named.answer, named.refusal]) {
    expect(headers['access-control-allow-origin']).toBe(origin);
    expect(headers['access-control-allow-credentials']).toBeUndefined();
    expect(headers.vary).toContain('origin');
  }
  for (const name of ['RateLimit-Remaining', 'Idempotency-Replayed'])
    expect(named.answer.headers['access-control-expose-headers']).toContain(name);
  for (const other of [await ask([origin], 'https://evil.example'), await ask([], origin)])
    expect([other.preflight.statusCode, other.answer.headers['access-control-allow-origin']]).toEqual([405, undefined]);
  expect((await ask(['*'], origin)).answer.headers['access-control-allow-origin']).toBe('*');
});
