import Fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { restServerOptions } from '../../../coordinator/api/routes.ts';
import type { AnonymousCaller } from '../../../coordinator/gate/caller.ts';
import { enrolmentRoute } from '../../../coordinator/probes/enrolment-route.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { enrolmentPath } from '../../../shared/bus/identity.ts';

let app: FastifyInstance;
let heard: { visitor: AnonymousCaller; body: unknown }[];
let answer: () => Promise<{ body: unknown }>;

beforeEach(() => {
  app = Fastify({ ...restServerOptions });
  heard = [];
  answer = async () => ({ body: { probe: 'p' } });
  enrolmentRoute(app, {
    execute: (_operation, visitor, { body }) => {
      heard.push({ visitor, body });
      return answer();
    },
    log: { error: () => undefined },
  });
});
afterEach(() => app.close());

const post = (payload: string) => app.inject({ method: 'POST', url: enrolmentPath, payload, remoteAddress: '192.0.2.7' });

test('carries what a host sends to the gate, with the address that it comes from, and the answer back', async () => {
  const { statusCode, headers, body } = await post('{"token":"t","key":"k","proof":"p","more":1}');
  expect([statusCode, body, headers['cache-control']]).toEqual([200, '{"probe":"p"}', 'no-store']);
  expect(heard).toMatchObject([{ visitor: { address: '192.0.2.7' }, body: { token: 't', key: 'k', proof: 'p' } }]);
});

test('refuses in words, and with 409 what was spent', async () => {
  answer = () => Promise.reject(new Refusal('join_token_used', 'token: another host has used it already.'));
  const { statusCode, body } = await post('{}');
  expect([statusCode, JSON.parse(body)]).toEqual([
    409,
    { error: { code: 'join_token_used', message: 'token: another host has used it already.' } },
  ]);
});

test('takes neither what is no JSON nor what is too long, and asks nobody then', async () => {
  expect((await post('{')).statusCode).toBe(422);
  expect((await post(JSON.stringify({ token: 'x'.repeat(9_000) }))).statusCode).toBe(413);
  expect(heard).toEqual([]);
});

test('keeps a fault of its own to itself', async () => {
  answer = () => Promise.reject(new Error('the inside of the house'));
  const { statusCode, body } = await post('{}');
  expect(statusCode).toBe(500);
  expect(body).not.toContain('inside');
});
