import { createServer, type TLSSocket } from 'node:tls';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { asHttp2 } from '../../../../probe/checks/https/exchange-http2.ts';
import { BodyMemory } from '../../../../probe/checks/limits.ts';
import { mint, mintAuthority } from '../../../support/certificates.ts';
import { portOf } from '../../../support/connections.ts';
import { httpsChecker } from '../../support/checkers.ts';
import {
  continuation,
  data,
  endHeaders,
  endStream,
  fields,
  goAway,
  headers,
  ping,
  reset,
  settings,
  statusOf,
  windowUpdate,
} from '../../support/frames.ts';
import { type Serving, serveHttp2 } from '../../support/http2.ts';
import { answerBy, serve, serveRaw } from '../../support/observations.ts';

const root = mintAuthority('Test Root');
const certificate = mint({ names: ['localhost'], issuer: root });
const checker = (memory?: BodyMemory) =>
  httpsChecker({ authorities: [root.certificate], ...(memory ? { memory } : {}) });
const check = checker();

/** Of the event loop. */
const nextTurn = (): Promise<false> => new Promise((resolve) => setImmediate(resolve, false));

type Answer = Parameters<typeof serveHttp2>[0];
const saying =
  (body: string | Buffer, head: Readonly<Record<string, string | number>> = {}): Answer =>
  (stream) => {
    stream.respond({ ':status': 200, ...head });
    stream.end(body);
  };
/** A server that takes HTTP/2 alone, by ALPN. */
const only = (answer: Answer, options: Serving = {}) =>
  serveHttp2(answer, { certificate, ...options });

describe('a server that takes HTTP/2 alone', () => {
  test.each([
    ['one header of 64 KB', { 'x-large': 'a'.repeat(65_000) }],
    [
      '64 KB in 100 headers',
      Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`x-${i}`, 'a'.repeat(655)])),
    ],
    ['400 headers', Object.fromEntries(Array.from({ length: 400 }, (_, i) => [`x-${i}`, 'a']))],
  ])('may send %s', async (_what, head) => {
    const { port } = await only(saying('hello', head));
    expect(await check(`https://localhost:${port}/`)).toMatchObject({ outcome: 'ok' });
  });

  test('is checked by it, and the evidence says so', async () => {
    const { port, requests } = await only(saying('hello', { server: 'x', 'x-hidden': 'y' }));
    const config = {
      headers: { 'X-Own': 'é', Host: 'shop.example' },
      bearer_token: 's3cret-token',
      body_contains: 'hello',
    };
    const verdict = await check(`https://localhost:${port}/a?b=c`, config);
    expect(verdict).toMatchObject({
      outcome: 'ok',
      evidence: {
        status: 200,
        protocol: 'HTTP/2',
        headers: [
          ['server', 'x'],
          ['date', expect.any(String)],
        ],
        body: 'hello',
        body_bytes: 5,
        body_truncated: false,
        tls: { protocol: 'TLSv1.3' },
      },
    });
    for (const phase of ['tcp', 'tls', 'first_byte', 'total'] as const)
      expect(verdict.phases?.[phase]).toBeTypeOf('number');
    expect(requests).toMatchObject([
      {
        ':method': 'GET',
        ':scheme': 'https',
        ':authority': 'shop.example',
        ':path': '/a?b=c',
        'user-agent': expect.stringMatching(/^Antipode\//),
        accept: '*/*',
        'accept-encoding': 'identity',
        authorization: 'Bearer s3cret-token',
        'x-own': 'é',
      },
    ]);
    expect(requests[0]).not.toHaveProperty('connection');
    expect(requests[0]).not.toHaveProperty('host');
  });

  test('is known for a while: the next check asks it by HTTP/2 at once', async () => {
    const fresh = checker();
    const { port, refusals, connections } = await only(saying('x'));
    for (const _ of [1, 2, 3])
      expect(await fresh(`https://localhost:${port}/`)).toMatchObject({ outcome: 'ok' });
    expect([refusals(), connections()]).toEqual([1, 3]);
  });

  test('passes each of many checks, also those that connect while another finds that out', async () => {
    const fresh = checker();
    const { port } = await only(saying('x'));
    const checks: ReturnType<typeof fresh>[] = [];
    let isKnown = false;
    while (!isKnown) {
      checks.push(fresh(`https://localhost:${port}/`));
      isKnown = (await Promise.race([checks[0]?.then(() => true), nextTurn()])) ?? false;
    }
    const verdicts = await Promise.all(checks);
    expect(verdicts.filter(({ outcome }) => outcome !== 'ok')).toEqual([]);
  });

  test('gets a body, and takes HEAD without one', async () => {
    const bodies: string[] = [];
    const { port, requests } = await only((stream, head, body) => {
      bodies.push(`${head[':method']} ${body}`);
      stream.respond({ ':status': 200 }, { endStream: head[':method'] === 'HEAD' });
      if (head[':method'] !== 'HEAD') stream.end();
    });
    const url = `https://localhost:${port}/`;
    expect(await check(url, { method: 'POST', body: 'ping=1' })).toMatchObject({ outcome: 'ok' });
    expect(await check(url, { method: 'HEAD' })).toMatchObject({ outcome: 'ok' });
    expect(bodies).toEqual(['POST ping=1', 'HEAD ']);
    expect(requests[0]).toMatchObject({ 'content-length': '6' });
  });

  test.each([
    [{ expected_status: [204] }, 'unexpected_status'],
    [{ body_contains: 'needle' }, 'body_lacks'],
    [{ body_not_contains: 'hello' }, 'body_has'],
    [{ json: [{ path: 'a', equals: 1 }] }, 'body_not_json'],
    [{ header_contains: { server: 'y' } }, 'header_mismatch'],
    [{ header_contains: { 'X-None': '' } }, 'header_missing'],
  ])('is judged as any other: %j', async (config, cause) => {
    const { port } = await only(saying('hello', { server: 'x' }));
    expect(await check(`https://localhost:${port}/`, config)).toMatchObject({
      outcome: 'fail',
      cause: { class: cause },
    });
  });

  test('gets no request where its certificate is bad', async () => {
    const { port, requests } = await only(saying('x'));
    const verdict = await check(`https://127.0.0.1:${port}/`, { bearer_token: 's3cret' });
    expect(verdict).toMatchObject({ cause: { class: 'certificate_wrong_host' } });
    expect(requests).toEqual([]);
  });

  test('redirects to any other, and back, without our credentials', async () => {
    const other = await serve();
    const { port, requests } = await only((stream, head) => {
      const [, path = ''] = head[':path']?.split('/') ?? [];
      if (path === 'end') return saying('end')(stream, head, Buffer.alloc(0));
      stream.respond({ ':status': 302, location: other.url() });
      // Nobody reads the body of a redirect.
      stream.write(Buffer.alloc(100_000));
    });
    other.answer(
      answerBy(() => ({
        status: 302,
        headers: { location: `https://localhost:${port}/end` },
      })),
    );
    const verdict = await check(`https://localhost:${port}/`, { bearer_token: 's3cret-token' });
    expect(verdict).toMatchObject({
      outcome: 'ok',
      evidence: { redirects: [{ status: 302 }, { status: 302 }, { status: 200 }] },
    });
    expect(requests.map(({ authorization }) => authorization)).toEqual([
      'Bearer s3cret-token',
      undefined,
    ]);
  });

  test('may pack its body', async () => {
    const packed = gzipSync('x'.repeat(5_000_000));
    const { port } = await only(saying(packed, { 'content-encoding': 'gzip' }));
    const config = { body_contains: 'xxx' };
    expect(await check(`https://localhost:${port}/`, config)).toMatchObject({
      outcome: 'ok',
      evidence: { body_truncated: true, body_bytes: packed.length },
    });
  });

  test('is read up to our limit, within the memory that all bodies have', async () => {
    const memory = new BodyMemory(4 * 1_048_576);
    const bounded = checker(memory);
    const { port } = await only(saying(Buffer.alloc(3_000_000, 97)));
    const verdicts = await Promise.all(
      Array.from({ length: 6 }, () =>
        bounded(`https://localhost:${port}/`, { body_contains: 'aaa' }),
      ),
    );
    for (const verdict of verdicts)
      expect(verdict).toMatchObject({
        outcome: 'ok',
        evidence: { body_bytes: 1_048_576, body_truncated: true },
      });
    expect(memory.held).toBe(0);
  });

  test('may close after its answer, while that waits for memory', async () => {
    const memory = new BodyMemory(1);
    const other = memory.share(1, 'another');
    expect(other.allows(100_000, () => undefined)).toBe(true);
    const parts = Array.from({ length: 10 }, () => data(Buffer.alloc(10_000, 97)));
    const answer = Buffer.concat([begun, ...parts, data('needle', endStream)]);
    const { port } = await serveRaw((socket) => {
      socket.once('data', (words: Buffer) => {
        const isAsked = words.toString('latin1').startsWith('PRI * HTTP/2.0');
        if (!isAsked) socket.end(Buffer.concat([settings, goAway(1)]));
        else socket.end(answer).once('close', () => other.release());
      });
    });
    expect(
      await checker(memory)(`http://127.0.0.1:${port}/`, { body_contains: 'needle' }),
    ).toMatchObject({
      outcome: 'ok',
      evidence: { body_bytes: 100_006 },
    });
  });

  test('may block us', async () => {
    const { port } = await only(
      saying('<title>Just a moment...</title>', { ':status': 403, 'cf-mitigated': 'challenge' }),
    );
    expect(await check(`https://localhost:${port}/`)).toMatchObject({
      cause: { class: 'blocked_by_firewall' },
    });
  });
});

describe('a server that says that it wants HTTP/2', () => {
  /** By HTTP/1.1 it answers so, by HTTP/2 with 200. */
  const saysOf = (status: number, head: Readonly<Record<string, string>> = {}) =>
    only(
      (stream, fields) => {
        if (stream.session?.alpnProtocol === 'h2')
          saying('by HTTP/2')(stream, fields, Buffer.alloc(0));
      },
      { allowHTTP1: { status, headers: head } },
    );

  test.each([
    [505, {}],
    [426, { upgrade: 'h2c, h2' }],
  ])('with status %i', async (status, head) => {
    const { port } = await saysOf(status, head);
    expect(await check(`https://localhost:${port}/`)).toMatchObject({
      outcome: 'ok',
      evidence: { status: 200, protocol: 'HTTP/2', body: 'by HTTP/2' },
    });
  });

  test.each([
    [426, { upgrade: 'websocket' }, {}],
    [426, {}, {}],
    [503, { upgrade: 'h2' }, {}],
    [505, {}, { expected_status: [505] }],
    [200, { upgrade: 'h2,h2c' }, {}],
  ])('is no server with status %i and %j where %j is wanted', async (status, head, config) => {
    const { port } = await saysOf(status, head);
    const { evidence } = await check(`https://localhost:${port}/`, config);
    expect(evidence).toMatchObject({ status });
    expect(evidence).not.toHaveProperty('protocol');
  });

  test('but says so by HTTP/2 as well is asked by HTTP/1.1 the next time', async () => {
    const fresh = checker();
    const { port, connections } = await only(saying('no', { ':status': 505 }), {
      allowHTTP1: { status: 505, headers: {} },
    });
    for (const _ of [1, 2])
      expect(await fresh(`https://localhost:${port}/`)).toMatchObject({ outcome: 'fail' });
    expect(connections()).toBe(4);
  });

  test('and does not speak it either is judged by what it said', async () => {
    const target = await serve({ certificate });
    target.answer({ is: 'status', status: 505, body: 'no' });
    const url = `https://localhost:${target.port}/`;
    expect(await check(url)).toMatchObject({
      cause: { class: 'unexpected_status', params: { status: 505 } },
      evidence: { status: 505, body: 'no' },
    });
  });
});

/** Begins HTTP/2 whoever asks, over TLS that knows no ALPN, or in the clear. */
const speaking = async (says: Buffer, isSecure = true): Promise<string> => {
  const talk = (socket: TLSSocket | Parameters<Parameters<typeof serveRaw>[0]>[0]): void => {
    socket.on('error', () => undefined);
    socket.once('data', (words: Buffer) => {
      const isAsked = words.toString('latin1').startsWith('PRI * HTTP/2.0');
      if (isAsked) socket.write(says);
      else socket.end(Buffer.concat([settings, goAway(1)]));
    });
  };
  if (!isSecure) return `http://127.0.0.1:${(await serveRaw(talk)).port}/`;
  const server = createServer({ cert: certificate.chain, key: certificate.key }, talk);
  server.on('tlsClientError', () => undefined);
  const port = await portOf(server);
  return `https://localhost:${port}/`;
};
const times = (count: number, one: Buffer): Buffer => Buffer.concat(Array(count).fill(one));
const begun = Buffer.concat([settings, headers(statusOf(200))]);
const whole = Buffer.concat([begun, data('hello', endStream)]);

describe('a server that answers HTTP/1.1 in HTTP/2', () => {
  test.each([
    ['by TLS', true],
    ['in the clear', false],
  ])('is asked in HTTP/2, %s', async (_how, isSecure) => {
    const url = await speaking(whole, isSecure);
    for (const _ of [1, 2])
      expect(await check(url, { body_contains: 'hello' })).toMatchObject({
        outcome: 'ok',
        evidence: { protocol: 'HTTP/2' },
      });
  });

  test.each<[string, Buffer, string, object?]>([
    ['cancels', Buffer.concat([settings, reset(2)]), 'http2_cancelled', { code: 'INTERNAL_ERROR' }],
    [
      'cancels midway',
      Buffer.concat([begun, data('x'), reset(8)]),
      'http2_cancelled',
      { code: 'CANCEL' },
    ],
    [
      'cancels midway as if nothing were wrong',
      Buffer.concat([begun, data('x'), reset(0)]),
      'http2_cancelled',
      { code: 'NO_ERROR' },
    ],
    [
      'cancels after it went away',
      Buffer.concat([settings, goAway(0), reset(11)]),
      'http2_cancelled',
      { code: 'ENHANCE_YOUR_CALM' },
    ],
    ['goes away', Buffer.concat([settings, goAway(0)]), 'http2_closed', { code: 'NO_ERROR' }],
    ['floods with PING', Buffer.concat([begun, times(10_000, ping)]), 'response_framing_too_large'],
    [
      'floods with WINDOW_UPDATE',
      Buffer.concat([begun, times(10_000, windowUpdate)]),
      'response_framing_too_large',
    ],
    [
      'floods with interim responses',
      Buffer.concat([settings, times(10_000, headers(statusOf(103)))]),
      'response_framing_too_large',
    ],
    [
      'floods with CONTINUATION',
      Buffer.concat([
        settings,
        headers(statusOf(200), 0),
        times(20, continuation(Buffer.alloc(10_000))),
      ]),
      'response_headers_too_large',
    ],
    [
      'sends a body in crumbs',
      Buffer.concat([begun, times(40_000, data('x'))]),
      'response_framing_too_large',
    ],
    [
      'has too many headers',
      Buffer.concat([
        settings,
        headers(
          Buffer.concat([statusOf(200), ...Array<Buffer>(1_100).fill(fields(['a', 'b']))]),
          endHeaders | endStream,
        ),
      ]),
      'response_malformed',
    ],
  ])('and then %s', async (_what, says, cause, params = {}) => {
    const verdict = await check(await speaking(says));
    expect(verdict.cause).toEqual({ class: cause, params });
  });

  test('and then stops is waited for', async () => {
    const url = await speaking(begun);
    expect(await check(url, {}, { timeout_ms: 400 })).toMatchObject({
      cause: { class: 'timed_out', params: { phase: 'body' } },
    });
  });
});

describe('a server that no longer takes HTTP/2 alone', () => {
  test('is asked by HTTP/1.1 in the same check', async () => {
    let isNew = false;
    const { port } = await serveRaw((socket) => {
      socket.once('data', (words: Buffer) => {
        const isHttp2 = words.toString('latin1').startsWith('PRI');
        if (isNew) socket.end(isHttp2 ? 'HTTP/1.1 400 No\r\n\r\n' : 'HTTP/1.1 200 OK\r\n\r\nnew');
        else socket.end(isHttp2 ? whole : Buffer.concat([settings, goAway(1)]));
      });
    });
    const url = `http://127.0.0.1:${port}/`;
    expect(await check(url)).toMatchObject({ outcome: 'ok', evidence: { body: 'hello' } });
    isNew = true;
    for (const _ of [1, 2])
      expect(await check(url)).toMatchObject({ outcome: 'ok', evidence: { body: 'new' } });
  });
});

test('a server that takes neither is told of', async () => {
  const server = createServer({
    cert: certificate.chain,
    key: certificate.key,
    ALPNProtocols: ['imap'],
  });
  server.on('tlsClientError', () => undefined);
  const port = await portOf(server);
  expect(await check(`https://localhost:${port}/`)).toMatchObject({
    outcome: 'fail',
    cause: { class: 'http_not_spoken' },
    sentence: 'The server offers neither HTTP/1.1 nor HTTP/2',
  });
  server.close();
});

test('a request of HTTP/1.1 is written as one of HTTP/2', () => {
  const text =
    'POST /a?b HTTP/1.1\r\nHost: x.example:81\r\nX-A: b: c \r\nContent-Length: 2\r\nConnection: close\r\n\r\n\r\n';
  expect(asHttp2(Buffer.from(text), true)).toEqual({
    headers: [
      [':method', 'POST'],
      [':scheme', 'https'],
      [':authority', 'x.example:81'],
      [':path', '/a?b'],
      ['x-a', 'b: c'],
      ['content-length', '2'],
    ],
    body: Buffer.from('\r\n'),
  });
});
