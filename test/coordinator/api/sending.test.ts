import { readFileSync } from 'node:fs';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { afterAll, afterEach, beforeAll, describe, expect, it, test } from 'vitest';
import { apiDocument, responseIn } from '../../../coordinator/api/openapi.ts';
import { keyFault } from '../../../coordinator/api/server.ts';
import type { Named, Outcome } from '../../../coordinator/gate/idempotency.ts';
import { restOperations } from '../../../shared/api/index.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { restServer, token } from './server.ts';

describe('sending', () => {
  const authorization = token;
  const items = Array.from({ length: 60 }, (_, nth) => ({ nth, text: 'the same words again' }));
  const id = newId();
  const serve = (corsOrigins: readonly string[] = []) =>
    restServer({
      corsOrigins,
      execute: async (operation) => ({ body: operation.body !== undefined ? { id } : { items } }),
    });

  test('an answer goes as small as the caller takes it, and is the same in each encoding', async () => {
    const { app } = await serve();
    const ask = (accepted: string) =>
      app.inject({
        url: '/api/v1/monitors',
        headers: { authorization, ...(accepted === '' ? {} : { 'accept-encoding': accepted }) },
      });
    const plain = await ask('');
    expect(plain.headers['content-encoding']).toBeUndefined();
    const [br, gz] = [await ask('gzip, br'), await ask('gzip, br;q=0')];
    expect([br.headers['content-encoding'], gz.headers['content-encoding']]).toEqual([
      'br',
      'gzip',
    ]);
    expect([
      brotliDecompressSync(br.rawPayload).toString(),
      gunzipSync(gz.rawPayload).toString(),
    ]).toEqual([plain.payload, plain.payload]);
    expect(br.headers.vary).toContain('accept-encoding');
    expect(new Set([plain, br, gz].map(({ headers }) => headers.etag)).size).toBe(1);
    expect((await ask('identity')).headers['content-encoding']).toBeUndefined();
    await app.close();
  });

  test('a known version is answered 304, and HEAD equals GET without the body', async () => {
    const { app } = await serve();
    const url = '/api/v1/monitors';
    const first = await app.inject({ url, headers: { authorization } });
    expect([first.statusCode, first.headers['cache-control']]).toEqual([200, 'private, no-cache']);
    const tag = String(first.headers.etag);
    for (const known of [tag, `"x", ${tag}`, tag.replace('W/', ''), '*']) {
      const again = await app.inject({ url, headers: { authorization, 'if-none-match': known } });
      expect(
        [again.statusCode, again.payload, again.headers.etag, again.headers['ratelimit-remaining']],
        known,
      ).toEqual([304, '', tag, '119']);
    }
    expect(
      (await app.inject({ url, headers: { authorization, 'if-none-match': '"other"' } }))
        .statusCode,
    ).toBe(200);
    const head = await app.inject({ method: 'HEAD', url, headers: { authorization } });
    expect([head.statusCode, head.payload, head.headers.etag]).toEqual([200, '', tag]);
    for (const open of ['/api/v1/docs', '/api/v1/openapi.json'])
      expect((await app.inject({ method: 'HEAD', url: open })).statusCode, open).toBe(200);
    const refused = await app.inject({ url: '/api/v1/me', headers: { 'if-none-match': '*' } });
    expect([refused.statusCode, refused.headers.etag]).toEqual([401, undefined]);
    await app.close();
  });

  test('a created resource has a Location if it can be read by itself; each call has a name', async () => {
    const { app } = await serve();
    const post = (url: string, payload: object) =>
      app.inject({ method: 'POST', url, payload, headers: { authorization } });
    const made = await post('/api/v1/monitors', { type: 'https' });
    expect([made.statusCode, made.headers.location, made.headers.etag]).toEqual([
      201,
      `/api/v1/monitors/${id}`,
      undefined,
    ]);
    expect((await post('/api/v1/groups', { name: 'x' })).headers.location).toBe(
      `/api/v1/groups/${id}`,
    );
    expect(
      (await post(`/api/v1/status-pages/${id}/monitors`, { monitor: id })).headers.location,
    ).toBeUndefined();
    const names = [
      made,
      await app.inject({ url: '/api/v1/me' }),
      await app.inject({ url: '/api/v1/nowhere' }),
    ].map(({ headers }) => headers['x-request-id']);
    expect(new Set(names).size).toBe(3);
    for (const name of names) expect(name).toMatch(/^[0-9a-f-]{36}$/);
    await app.close();
  });

  test('pages of other origins may call where the operator names them, and nowhere else', async () => {
    const origin = 'https://app.example.org';
    const ask = async (corsOrigins: readonly string[], of: string) => {
      const { app } = await serve(corsOrigins);
      const preflight = await app.inject({
        method: 'OPTIONS',
        url: '/api/v1/monitors',
        headers: { origin: of, 'access-control-request-method': 'POST' },
      });
      const answer = await app.inject({
        url: '/api/v1/monitors',
        headers: { origin: of, authorization },
      });
      const refusal = await app.inject({ url: '/api/v1/monitors', headers: { origin: of } });
      await app.close();
      return { preflight, answer, refusal };
    };
    const named = await ask([origin], origin);
    expect([
      named.preflight.statusCode,
      named.preflight.headers['access-control-allow-methods'],
    ]).toEqual([204, 'GET, HEAD, POST']);
    expect(named.preflight.headers['access-control-allow-headers']).toContain('Authorization');
    for (const { headers } of [named.preflight, named.answer, named.refusal]) {
      expect(headers['access-control-allow-origin']).toBe(origin);
      expect(headers['access-control-allow-credentials']).toBeUndefined();
      expect(headers.vary).toContain('origin');
    }
    for (const name of ['RateLimit-Remaining', 'Idempotency-Replayed'])
      expect(named.answer.headers['access-control-expose-headers']).toContain(name);
    for (const other of [await ask([origin], 'https://evil.example'), await ask([], origin)])
      expect([
        other.preflight.statusCode,
        other.answer.headers['access-control-allow-origin'],
      ]).toEqual([405, undefined]);
    expect((await ask(['*'], origin)).answer.headers['access-control-allow-origin']).toBe('*');
  });
});

/**
 * How the REST face carries the header Idempotency-Key; what the gate does with it is told in
 * gate/idempotency.test.ts.
 */
describe('idempotency key', () => {
  const headers = { authorization: token, 'content-type': 'application/json' };
  const close: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const each of close.splice(0)) await each();
  });

  /** A face whose gate notes what it is told, and answers as it is told. */
  const face = async (outcome: Outcome = { replayed: false, answered: { body: { id: 'x' } } }) => {
    const seen: { plain: number; named: Named[] } = { plain: 0, named: [] };
    const { app } = await restServer({
      execute: async () => {
        seen.plain += 1;
        return { body: {} };
      },
      executeOnce: async (_operation, _caller, _raw, named) => {
        seen.named.push(named);
        return outcome;
      },
    });
    close.push(() => app.close());
    const post = (
      key: string | undefined,
      payload = '{"name":"G"}',
      url = '/api/v1/groups',
      method: 'POST' | 'PATCH' = 'POST',
    ) =>
      app.inject({
        method,
        url,
        headers: { ...headers, ...(key === undefined ? {} : { 'idempotency-key': key }) },
        payload,
      });
    return { seen, post };
  };

  describe('Idempotency-Key', () => {
    it('reaches the gate with a digest of method, address and body; without the key a call is unchanged', async () => {
      const { seen, post } = await face();
      const answers = [
        await post('k'),
        await post(' k '),
        await post('k', '{"name":"H"}'),
        await post('k', '{"name":"G"}', '/api/v1/groups?x=1'),
      ];
      expect(answers.map(({ statusCode }) => statusCode)).toEqual([201, 201, 201, 201]);
      expect(answers.map((answer) => answer.headers['idempotency-replayed'])).toEqual([
        undefined,
        undefined,
        undefined,
        undefined,
      ]);
      const [first, again, ...others] = seen.named;
      expect(again).toEqual(first);
      expect(new Set([first, ...others].map((named) => named?.request)).size).toBe(3);
      expect(seen.plain).toBe(0);
      await post(undefined);
      await post(
        'k',
        '{"name":"G"}',
        '/api/v1/groups/0190a7c4-5b1e-7c3d-9f42-6a8b1c2d3e4f',
        'PATCH',
      );
      expect([seen.plain, seen.named.length]).toEqual([2, 4]);
    });

    it('has one to 255 printable characters; anything else is refused like other invalid input, before the gate', async () => {
      const { seen, post } = await face();
      for (const [key, type] of [
        ['', 'string_too_short'],
        ['   ', 'string_too_short'],
        ['x'.repeat(256), 'string_too_long'],
        ['sch\u00f6n', 'string_pattern_mismatch'],
        ['a\tb', 'string_pattern_mismatch'],
      ] as const) {
        const answer = await post(key);
        expect([key, answer.statusCode, answer.json()]).toMatchObject([
          key,
          422,
          { detail: [{ type, loc: ['header', 'idempotency-key'] }] },
        ]);
        expect([key, Object.keys(answer.json().detail[0])]).toEqual([
          key,
          ['type', 'loc', 'msg', 'input', 'ctx'],
        ]);
      }
      expect(seen).toEqual({ plain: 0, named: [] });
      expect(
        ['x', 'x'.repeat(255), '"8e03978e-40d5-43dd-bc93-6894a57f9324"', '~ !'].map(keyFault),
      ).toEqual(Array(4).fill(undefined));
    });

    it('returns the stored status and Location for a repeat, marked as one; refusals as well', async () => {
      const id = '0190a7c4-5b1e-7c3d-9f42-6a8b1c2d3e4f';
      const again = await (await face({ replayed: true, answered: { body: { id } } })).post('k');
      expect([
        again.statusCode,
        again.headers.location,
        again.headers['idempotency-replayed'],
        again.json(),
      ]).toEqual([201, `/api/v1/groups/${id}`, 'true', { id }]);
      const known = await (
        await face({ replayed: true, answered: { status: 200, body: { id } } })
      ).post('k');
      expect([
        known.statusCode,
        known.headers.location,
        known.headers['idempotency-replayed'],
      ]).toEqual([200, undefined, 'true']);
      const refused = await (
        await face({ replayed: true, refused: new Refusal('plan_limit_groups', 'Enough.') })
      ).post('k');
      expect([refused.statusCode, refused.headers['idempotency-replayed'], refused.json()]).toEqual(
        [403, 'true', { error: { code: 'plan_limit_groups', message: 'Enough.' } }],
      );
    });

    it('is answered 409 with Retry-After while it is running, 429 with the remaining wait, and 422 for a different request', async () => {
      const used = await (
        await face({ replayed: false, refused: new Refusal('idempotency_key_in_use', 'Wait.') })
      ).post('k');
      expect([
        used.statusCode,
        used.headers['retry-after'],
        used.headers['idempotency-replayed'],
      ]).toEqual([409, '1', undefined]);
      const enough = await (
        await face({
          replayed: false,
          refused: new Refusal('channel_test_limit', 'Wait.', { waitS: 3600 }),
        })
      ).post('k');
      expect([enough.statusCode, enough.headers['retry-after']]).toEqual([429, '3600']);
      const other = await (
        await face({ replayed: false, refused: new Refusal('idempotency_key_reused', 'Another.') })
      ).post('k');
      expect([other.statusCode, other.json()]).toEqual([
        422,
        { error: { code: 'idempotency_key_reused', message: 'Another.' } },
      ]);
    });
  });

  describe('the document', () => {
    const document = apiDocument('https://antipode.example.org');

    it('has the header at every POST and nowhere else, with its possible answers', () => {
      const posts = restOperations.filter(({ method }) => method === 'POST');
      expect(posts.length).toBeGreaterThan(10);
      for (const { path, method, success } of restOperations) {
        const entry = document.paths[path]?.[method.toLowerCase()];
        const parameter = entry?.parameters.find(({ name }) => name === 'Idempotency-Key');
        const headersOf = (status: number) =>
          Object.keys(
            responseIn(
              document,
              entry?.responses[String(status)] ?? { $ref: '#/components/responses/none' },
            ).headers ?? {},
          );
        const words = JSON.stringify(
          Object.values(entry?.responses ?? {}).map((response) => responseIn(document, response)),
        );
        const isPost = method === 'POST';
        expect([
          path,
          method,
          parameter?.in,
          headersOf(success).includes('Idempotency-Replayed'),
        ]).toEqual([path, method, ...(isPost ? ['header', true] : [undefined, false])]);
        expect([
          path,
          method,
          words.includes('idempotency_key_in_use'),
          words.includes('idempotency_key_reused'),
        ]).toEqual([path, method, isPost, isPost]);
        if (isPost) expect([path, headersOf(409).includes('Retry-After')]).toEqual([path, true]);
      }
    });
  });
});

describe('The REST face', () => {
  /**
   * What FastAPI 0.142 with pydantic 2.13 answered to bodies and queries as they stand on the wire,
   * recorded once from the real thing. Of JSON that is broken the form is FastAPI's; the words, and
   * the offset inside a broken string, are ours.
   */
  type Outcome = { readonly value?: unknown; readonly status?: number; readonly detail?: unknown };
  type Body = Outcome & { readonly media: string | null; readonly body: string };
  type Encoded = Outcome & { readonly media: string; readonly hex: string };
  type Query = Outcome & { readonly query: string };

  const lines = <Row>(file: string): readonly Row[] =>
    readFileSync(new URL(`recorded/${file}`, import.meta.url), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));

  const outcome = (status: number, text: string): Outcome => {
    const answer = JSON.parse(text);
    if (status === 422) return { detail: answer.detail };
    return status < 300 ? { value: answer } : { status };
  };

  const theirs = ({ value, status, detail }: Outcome): Outcome =>
    status === undefined ? (detail === undefined ? { value } : { detail }) : { status };

  /**
   * What version 1 grew by since: members that nobody sent, and that what was not sent may stay as
   * it is.
   */
  const grown = (recorded: Outcome, sent = ''): Outcome => {
    const { value, ...rest } = theirs(recorded);
    if (typeof value !== 'object' || value === null) return theirs(recorded);
    const left = sent.includes('affects_group_status') ? {} : { affects_group_status: null };
    const later = { runbook: null, depends_on_monitors: null, depends_on_groups: null };
    return { ...rest, value: { external_id: null, tags: null, ...later, ...value, ...left } };
  };

  let app: FastifyInstance;
  beforeAll(async () => {
    ({ app } = await restServer());
  });
  afterAll(() => app.close());

  it('reads bodies as FastAPI does: media types, broken JSON with its offset, nothing, null', async () => {
    const rows = lines<Body>('bodies.jsonl');
    expect(rows.length).toBeGreaterThan(200);
    for (const row of rows) {
      const response = await app.inject({
        method: 'POST',
        url: '/api/v1/monitors',
        headers: {
          authorization: token,
          ...(row.media === null ? {} : { 'content-type': row.media }),
        },
        payload: Buffer.from(row.body),
      });
      expect([row.media, row.body, outcome(response.statusCode, response.body)]).toEqual([
        row.media,
        row.body,
        grown(row, row.body),
      ]);
    }
  });

  it('reads bodies in each of the encodings that FastAPI reads, with and without a byte order mark', async () => {
    const rows = lines<Encoded>('encodings.jsonl');
    expect(rows.length).toBeGreaterThan(40);
    for (const row of rows) {
      const response = await app.inject({
        method: 'POST',
        url: '/api/v1/monitors',
        headers: { authorization: token, 'content-type': row.media },
        payload: Buffer.from(row.hex, 'hex'),
      });
      expect([row.hex, outcome(response.statusCode, response.body)]).toEqual([row.hex, grown(row)]);
    }
  });

  it('reads queries as FastAPI does: repeated, empty, unknown and badly encoded ones', async () => {
    const rows = lines<Query>('queries.jsonl');
    expect(rows.length).toBeGreaterThan(60);
    for (const row of rows) {
      // On the wire a query is bytes, which Node hands on one by one.
      const url = `/api/v1/incidents?${Buffer.from(row.query).toString('latin1')}`;
      const response = await app.inject({ method: 'GET', url, headers: { authorization: token } });
      const { value, ...rest } = theirs(row);
      // Version 1 grew by these filters since.
      const filters = { cause: null, layer: null, acknowledged: null, acknowledged_by: null };
      const recorded = typeof value === 'object' ? { value: { ...filters, ...value } } : {};
      expect([row.query, outcome(response.statusCode, response.body)]).toEqual([
        row.query,
        { ...rest, ...recorded },
      ]);
    }
  });
});
