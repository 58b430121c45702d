import type { IncomingMessage } from 'node:http';
import { describe, expect, test } from 'vitest';
import { createRequestSigner } from '../../../../probe/checks/https/signer.ts';
import { createRequestKey } from '../../../../shared/base/http-signatures.ts';
import { mint, mintAuthority } from '../../../support/certificates.ts';
import { verifiedRequest } from '../../../support/signatures.ts';
import { httpsChecker } from '../../support/checkers.ts';
import { answerBy, serve } from '../../support/observations.ts';

const agent = 'https://antipode.example';
const key = createRequestKey();
const root = mintAuthority('Signer Root');
const check = httpsChecker({
  sign: createRequestSigner(key, agent),
  authorities: [root.certificate],
});

/** A target that keeps every request that comes to it. */
const recording = async (
  options: Parameters<typeof serve>[0] = {},
  location?: (path: string) => string | undefined,
) => {
  const target = await serve(options);
  const requests: IncomingMessage[] = [];
  target.answer(
    answerBy((request) => {
      requests.push(request);
      const to = location?.(request.url ?? '');
      return to === undefined ? {} : { status: 302, headers: { location: to } };
    }),
  );
  const only = (): IncomingMessage => {
    const [request] = requests.splice(0);
    if (!request) throw new Error('nothing came');
    return request;
  };
  return { target, requests, only };
};

const certificate = mint({ names: ['localhost', '127.0.0.1'], issuer: root });

describe('signed requests, verified by an implementation that is not ours', () => {
  test('say who asks, where its key is, and until when', async () => {
    const { target, only } = await recording({ certificate });
    const origin = `https://localhost:${target.port}`;
    expect(await check(`${origin}/a?b=c`)).toMatchObject({ outcome: 'ok' });
    const request = only();
    expect(request.headers['signature-agent']).toBe(`"${agent}"`);
    const { created = 0, ...parameters } = await verifiedRequest(request, origin, key.x);
    expect(parameters).toEqual({
      alg: 'ed25519',
      expires: created + 300,
      keyid: key.id,
      tag: 'web-bot-auth',
    });
  });

  test('are refused for another authority, method, agent or key, and once they have expired', async () => {
    const { target, only } = await recording({ certificate });
    const origin = `https://localhost:${target.port}`;
    await check(`${origin}/`);
    const { method, url, rawHeaders } = only();
    const request = { method, url, rawHeaders };
    await verifiedRequest(request, origin, key.x);
    const elsewhere = rawHeaders.map((text) => text.replace('antipode.example', 'evil.example'));
    await expect(verifiedRequest(request, 'https://other.example', key.x)).rejects.toThrow();
    await expect(verifiedRequest({ ...request, method: 'POST' }, origin, key.x)).rejects.toThrow();
    await expect(
      verifiedRequest({ ...request, rawHeaders: elsewhere }, origin, key.x),
    ).rejects.toThrow();
    await expect(verifiedRequest(request, origin, createRequestKey().x)).rejects.toThrow();
    await expect(verifiedRequest(request, origin, key.x, Date.now() + 360_000)).rejects.toThrow();
  });

  test('over plain HTTP hold for no https', async () => {
    const { target, only } = await recording();
    await check(target.url());
    const request = only();
    await verifiedRequest(request, `http://127.0.0.1:${target.port}`, key.x);
    await expect(
      verifiedRequest(request, `https://127.0.0.1:${target.port}`, key.x),
    ).rejects.toThrow();
  });

  test('of each hop are for the authority of that hop', async () => {
    const end = await recording({ certificate });
    const start = await recording({}, () => `https://localhost:${end.target.port}/b`);
    expect(await check(start.target.url('/a'))).toMatchObject({ outcome: 'ok' });
    const [first, second] = [start.only(), end.only()];
    await verifiedRequest(first, `http://127.0.0.1:${start.target.port}`, key.x);
    await verifiedRequest(second, `https://localhost:${end.target.port}`, key.x);
    await expect(
      verifiedRequest(second, `http://127.0.0.1:${start.target.port}`, key.x),
    ).rejects.toThrow();
  });

  test.each([
    ['Shop.example', 'https://shop.example'],
    ['shop.example:443', 'https://shop.example'],
    ['shop.example:8443', 'https://shop.example:8443'],
  ])('with a header Host of its own (%s) are for that authority', async (host, origin) => {
    const { target, only } = await recording({ certificate });
    await check(`https://localhost:${target.port}/`, { headers: { Host: host } });
    await verifiedRequest(only(), origin, key.x);
  });

  test('are left alone where the owner signs them, at their own origin only', async () => {
    const end = await recording();
    const start = await recording({}, () => end.target.url());
    await check(start.target.url(), { headers: { Signature: 'mine=:AA==:' } });
    const [first, second] = [start.only(), end.only()];
    expect(first.headers.signature).toBe('mine=:AA==:');
    expect(first.headers['signature-input']).toBeUndefined();
    await verifiedRequest(second, `http://127.0.0.1:${end.target.port}`, key.x);
  });
});

test('a signature is used for four minutes, and by a clock that was set back not at all', () => {
  const sign = createRequestSigner(key, agent);
  const request = { authority: 'a.example', method: 'GET', isSecure: true };
  const at = 1_800_000_000_000;
  const first = sign(request, at);
  expect(sign(request, at + 239_999)).toBe(first);
  expect(sign({ ...request, method: 'HEAD' }, at)).not.toEqual(first);
  expect(sign({ ...request, isSecure: false }, at)).not.toEqual(first);
  const next = sign(request, at + 240_000);
  expect(String(next)).toContain(`created=${(at + 240_000) / 1_000}`);
  expect(String(sign(request, at))).toContain(`created=${at / 1_000}`);
});
