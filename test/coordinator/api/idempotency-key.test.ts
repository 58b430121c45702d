import { afterEach, describe, expect, it } from 'vitest';
import { keyFault } from '../../../coordinator/api/idempotency-key.ts';
import { apiDocument, responseIn } from '../../../coordinator/api/openapi.ts';
import type { Named, Outcome } from '../../../coordinator/gate/setup.ts';
import { restOperations } from '../../../shared/api/index.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { restServer, token } from './server.ts';

/** How the REST face carries the header Idempotency-Key; what the gate does with it is told in gate/done-once.test.ts. */

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
  const post = (key: string | undefined, payload = '{"name":"G"}', url = '/api/v1/groups', method: 'POST' | 'PATCH' = 'POST') =>
    app.inject({ method, url, headers: { ...headers, ...(key === undefined ? {} : { 'idempotency-key': key }) }, payload });
  return { seen, post };
};

describe('Idempotency-Key', () => {
  it('goes to the gate with a digest of method, address and body, and without it a call goes as ever', async () => {
    const { seen, post } = await face();
    const answers = [
      await post('k'),
      await post(' k '),
      await post('k', '{"name":"H"}'),
      await post('k', '{"name":"G"}', '/api/v1/groups?x=1'),
    ];
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([201, 201, 201, 201]);
    expect(answers.map((answer) => answer.headers['idempotency-replayed'])).toEqual([undefined, undefined, undefined, undefined]);
    const [first, again, ...others] = seen.named;
    expect(again).toEqual(first);
    expect(new Set([first, ...others].map((named) => named?.request)).size).toBe(3);
    expect(seen.plain).toBe(0);
    await post(undefined);
    await post('k', '{"name":"G"}', '/api/v1/groups/0190a7c4-5b1e-7c3d-9f42-6a8b1c2d3e4f', 'PATCH');
    expect([seen.plain, seen.named.length]).toEqual([2, 4]);
  });

  it('is one to 255 printable characters; anything else is told in the words of every other fault, and nothing is asked of the gate', async () => {
    const { seen, post } = await face();
    for (const [key, type] of [
      ['', 'string_too_short'],
      ['   ', 'string_too_short'],
      ['x'.repeat(256), 'string_too_long'],
      ['sch\u00f6n', 'string_pattern_mismatch'],
      ['a\tb', 'string_pattern_mismatch'],
    ] as const) {
      const answer = await post(key);
      expect([key, answer.statusCode, answer.json()]).toMatchObject([key, 422, { detail: [{ type, loc: ['header', 'idempotency-key'] }] }]);
      expect([key, Object.keys(answer.json().detail[0])]).toEqual([key, ['type', 'loc', 'msg', 'input', 'ctx']]);
    }
    expect(seen).toEqual({ plain: 0, named: [] });
    expect(['x', 'x'.repeat(255), '"8e03978e-40d5-43dd-bc93-6894a57f9324"', '~ !'].map(keyFault)).toEqual(Array(4).fill(undefined));
  });

  it('answers a repeat with its status and its place, and says so; refusals as well', async () => {
    const id = '0190a7c4-5b1e-7c3d-9f42-6a8b1c2d3e4f';
    const again = await (await face({ replayed: true, answered: { body: { id } } })).post('k');
    expect([again.statusCode, again.headers.location, again.headers['idempotency-replayed'], again.json()]).toEqual([
      201,
      `/api/v1/groups/${id}`,
      'true',
      { id },
    ]);
    const known = await (await face({ replayed: true, answered: { status: 200, body: { id } } })).post('k');
    expect([known.statusCode, known.headers.location, known.headers['idempotency-replayed']]).toEqual([200, undefined, 'true']);
    const refused = await (await face({ replayed: true, refused: new Refusal('plan_limit_groups', 'Enough.') })).post('k');
    expect([refused.statusCode, refused.headers['idempotency-replayed'], refused.json()]).toEqual([
      403,
      'true',
      { error: { code: 'plan_limit_groups', message: 'Enough.' } },
    ]);
  });

  it('is answered 409 with Retry-After while it is worked on, 429 with the wait that is known, and 422 where it belongs to another request', async () => {
    const used = await (await face({ replayed: false, refused: new Refusal('idempotency_key_in_use', 'Wait.') })).post('k');
    expect([used.statusCode, used.headers['retry-after'], used.headers['idempotency-replayed']]).toEqual([409, '1', undefined]);
    const enough = await (await face({ replayed: false, refused: new Refusal('channel_test_limit', 'Wait.', 3600) })).post('k');
    expect([enough.statusCode, enough.headers['retry-after']]).toEqual([429, '3600']);
    const other = await (await face({ replayed: false, refused: new Refusal('idempotency_key_reused', 'Another.') })).post('k');
    expect([other.statusCode, other.json()]).toEqual([422, { error: { code: 'idempotency_key_reused', message: 'Another.' } }]);
  });
});

describe('the document', () => {
  const document = apiDocument('https://antipode.example.org');

  it('has the key at every POST and nowhere else, and what it may be answered', () => {
    const posts = restOperations.filter(({ method }) => method === 'POST');
    expect(posts.length).toBeGreaterThan(10);
    for (const { path, method, success } of restOperations) {
      const entry = document.paths[path]?.[method.toLowerCase()];
      const parameter = entry?.parameters.find(({ name }) => name === 'Idempotency-Key');
      const headersOf = (status: number) =>
        Object.keys(responseIn(document, entry?.responses[String(status)] ?? { $ref: '#/components/responses/none' }).headers ?? {});
      const words = JSON.stringify(Object.values(entry?.responses ?? {}).map((response) => responseIn(document, response)));
      const isPost = method === 'POST';
      expect([path, method, parameter?.in, headersOf(success).includes('Idempotency-Replayed')]).toEqual([
        ...[path, method],
        ...(isPost ? ['header', true] : [undefined, false]),
      ]);
      expect([path, method, words.includes('idempotency_key_in_use'), words.includes('idempotency_key_reused')]).toEqual([
        ...[path, method],
        ...[isPost, isPost],
      ]);
      if (isPost) expect([path, headersOf(409).includes('Retry-After')]).toEqual([path, true]);
    }
  });
});
