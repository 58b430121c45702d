import { createServer } from 'node:tls';
import { describe, expect, test } from 'vitest';
import type { Config } from '../../../../shared/checks/assignment.ts';
import { mint, mintAuthority } from '../../../support/certificates.ts';
import { portOf } from '../../../support/connections.ts';
import { checkerOf } from '../../support/checkers.ts';
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
import { answerHealth, framed, type Health } from '../../support/grpc.ts';
import { serveHttp2 } from '../../support/http2.ts';
import { serve, serveRaw } from '../../support/observations.ts';
import { serveScript } from '../../support/servers.ts';

const root = mintAuthority('Test Root');
const certificate = mint({ names: ['localhost'], issuer: root });
const check = checkerOf('grpc', { authorities: [root.certificate] });
const serving: Health = { status: 1 };

/** One check of a server in the clear that answers so. */
const checkOf = async (health: Health, config: Config = {}) => {
  const { port } = await serveHttp2(answerHealth(health));
  return check(`grpc://127.0.0.1:${port}`, config);
};

describe('a grpc check', () => {
  test('by TLS passes, and says what came', async () => {
    const { port, requests } = await serveHttp2(answerHealth(serving), { certificate });
    const verdict = await check(`grpcs://localhost:${port}`);
    expect(verdict).toMatchObject({
      outcome: 'ok',
      cause: null,
      certificate: { issuer: 'Test Root' },
      evidence: {
        status: 200,
        grpc_status: '0 OK',
        serving_status: 'SERVING',
        tls: { protocol: 'TLSv1.3', fault: null },
      },
    });
    for (const phase of ['tcp', 'tls', 'first_byte', 'total'] as const)
      expect(verdict.phases?.[phase]).toBeTypeOf('number');
    expect(requests).toMatchObject([
      {
        ':method': 'POST',
        ':scheme': 'https',
        ':path': '/grpc.health.v1.Health/Check',
        ':authority': `localhost:${port}`,
        'content-type': 'application/grpc',
        te: 'trailers',
        'grpc-timeout': expect.stringMatching(/^[1-9]\d{0,3}m$/),
        'user-agent': expect.stringMatching(/^Antipode\//),
      },
    ]);
  });

  test.each(['grpc://127.0.0.1', 'GRPC://127.0.0.1'])('in the clear passes: %s', async (host) => {
    const { port } = await serveHttp2(answerHealth(serving));
    expect(await check(`${host}:${port}`, {}, { evidence_wanted: false })).toMatchObject({
      outcome: 'ok',
      evidence: {},
    });
  });

  test('without a scheme is made by TLS', async () => {
    const { port } = await serveHttp2(answerHealth(serving), { certificate });
    expect(await check(`localhost:${port}`)).toMatchObject({ outcome: 'ok' });
  });

  test('sends service, metadata and authority', async () => {
    const asked: string[] = [];
    const { port, requests } = await serveHttp2(
      (stream, _headers, body) => {
        asked.push(body.toString('hex'));
        answerHealth(serving)(stream);
      },
      { certificate },
    );
    const config = {
      service: 'shop',
      metadata: { 'X-Tenant': 'a b', 'trace-bin': 'AAE=', authorization: 'Bearer s3cret' },
      authority: 'localhost:50051',
    };
    expect(await check(`127.0.0.1:${port}`, config)).toMatchObject({ outcome: 'ok' });
    expect(asked).toEqual(['00000000060a0473686f70']);
    expect(requests[0]).toMatchObject({
      ':authority': 'localhost:50051',
      'x-tenant': 'a b',
      'trace-bin': 'AAE=',
      authorization: 'Bearer s3cret',
    });
  });

  test('shows a server of its own name a certificate for that name alone', async () => {
    const { port, requests } = await serveHttp2(answerHealth(serving), { certificate });
    const config = { metadata: { authorization: 'Bearer s3cret' } };
    expect(await check(`127.0.0.1:${port}`, config)).toMatchObject({
      cause: { class: 'certificate_wrong_host' },
    });
    expect(requests).toEqual([]);
  });

  test('is signed by a probe that signs, unless its owner does', async () => {
    const asked: object[] = [];
    const signing = checkerOf('grpc', {
      sign: (request) => {
        asked.push(request);
        return Buffer.from('Signature-Agent: "https://a.example"\r\nSignature: sig1=:eA==:\r\n');
      },
    });
    const { port, requests } = await serveHttp2(answerHealth(serving));
    const target = `grpc://127.0.0.1:${port}`;
    await signing(target, { authority: 'api.example:80' });
    await signing(target, { metadata: { signature: 'sig1=:eQ==:' } });
    expect(asked).toEqual([{ authority: 'api.example', method: 'POST', isSecure: false }]);
    expect(requests).toMatchObject([
      { 'signature-agent': '"https://a.example"', signature: 'sig1=:eA==:' },
      { signature: 'sig1=:eQ==:' },
    ]);
  });

  test('shows its certificate to a server that wants one', async () => {
    const clients = mintAuthority('Clients');
    const client = mint({ commonName: 'monitor', issuer: clients });
    const { port } = await serveHttp2(answerHealth(serving), {
      certificate,
      clients: clients.certificate,
    });
    const pem = `${client.chain}${client.key}`;
    expect(await check(`localhost:${port}`, { client_certificate: pem })).toMatchObject({
      outcome: 'ok',
    });
    const without = await check(`localhost:${port}`);
    expect(without).toMatchObject({ outcome: 'fail', cause: { class: 'tls_alert' } });
  });
});

describe('the answer of a server', () => {
  test.each<[string, Health, Config, cause: string, sentence: string]>([
    [
      'does not serve',
      { status: 2 },
      {},
      'grpc_not_serving',
      'The server is not serving (NOT_SERVING)',
    ],
    [
      'a service does not serve',
      { status: 2 },
      { service: 'shop' },
      'grpc_not_serving',
      'The service "shop" is not serving (NOT_SERVING)',
    ],
    [
      'does not know',
      { status: 0 },
      {},
      'grpc_not_serving',
      'The health of the server is unknown (UNKNOWN)',
    ],
    [
      'an empty message',
      { bytes: framed(Buffer.alloc(0)) },
      {},
      'grpc_not_serving',
      'The health of the server is unknown (UNKNOWN)',
    ],
    [
      'does not know the service',
      { status: 3 },
      { service: 'shop' },
      'grpc_not_serving',
      'The server does not know the service "shop" (SERVICE_UNKNOWN)',
    ],
    ['says something new', { status: 9 }, {}, 'grpc_not_serving', 'The server is not serving (9)'],
    [
      'UNIMPLEMENTED',
      { trailers: { 'grpc-status': '12' }, only: true },
      {},
      'grpc_status',
      'The server has no health service (grpc.health.v1) (gRPC status UNIMPLEMENTED)',
    ],
    [
      'NOT_FOUND',
      { trailers: { 'grpc-status': '5' } },
      { service: 'shop' },
      'grpc_status',
      'The server does not know the health of the service "shop" (gRPC status NOT_FOUND)',
    ],
    [
      'UNAUTHENTICATED',
      { trailers: { 'grpc-status': '16' }, only: true },
      {},
      'grpc_status',
      'The server wants valid credentials (gRPC status UNAUTHENTICATED)',
    ],
    [
      'UNAVAILABLE',
      { trailers: { 'grpc-status': '14' }, only: true },
      {},
      'grpc_status',
      'The server is unavailable (gRPC status UNAVAILABLE)',
    ],
    [
      'DATA_LOSS',
      { trailers: { 'grpc-status': '15' } },
      {},
      'grpc_status',
      'The health check failed (gRPC status DATA_LOSS)',
    ],
    [
      'an unknown code, although it serves',
      { status: 1, trailers: { 'grpc-status': '99' } },
      {},
      'grpc_status',
      'The health check failed (gRPC status 99)',
    ],
    [
      'no status',
      { status: 1, trailers: { 'x-other': '0' } },
      {},
      'grpc_status_missing',
      'The answer ended without a gRPC status',
    ],
    [
      'a status that is no number',
      { status: 1, trailers: { 'grpc-status': 'ok' } },
      {},
      'grpc_status_missing',
      'The answer ended without a gRPC status',
    ],
    ['no message', {}, {}, 'grpc_answer_malformed', 'The answer is no health status'],
    [
      'nonsense',
      { bytes: framed(Buffer.from('nonsense')) },
      {},
      'grpc_answer_malformed',
      'The answer is no health status',
    ],
    [
      'a compressed message',
      { bytes: framed(Buffer.from([8, 1]), 1) },
      {},
      'grpc_answer_malformed',
      'The answer is no health status',
    ],
    [
      'a long message',
      { bytes: Buffer.alloc(100_000) },
      {},
      'grpc_answer_malformed',
      'The answer is no health status',
    ],
    [
      'a page',
      { bytes: Buffer.from('<h1>Hi'), headers: { 'content-type': 'text/html' } },
      {},
      'grpc_not_spoken',
      'The answer is not gRPC',
    ],
    [
      'a page of an error',
      { headers: { ':status': 503, 'content-type': 'text/html' } },
      {},
      'grpc_not_spoken',
      'Status 503 instead of a gRPC answer',
    ],
    [
      'an error of gRPC-Web',
      { headers: { ':status': 200, 'content-type': 'application/grpc-web' } },
      {},
      'grpc_not_spoken',
      'The answer is not gRPC',
    ],
    [
      'a block page',
      {
        bytes: Buffer.from('<title>Just a moment...</title>'),
        headers: {
          ':status': 403,
          'content-type': 'text/html',
          server: 'cloudflare',
          'cf-mitigated': 'challenge',
        },
      },
      {},
      'blocked_by_firewall',
      'Blocked by Cloudflare (status 403): the target limits our probes',
    ],
  ])('%s', async (_what, health, config, cause, sentence) => {
    expect(await checkOf(health, config)).toMatchObject({
      outcome: 'fail',
      cause: { class: cause },
      sentence,
    });
  });

  test.each(['application/grpc', 'application/grpc+proto', 'application/GRPC;x=y'])(
    'is gRPC as %s',
    async (type) => {
      const { outcome } = await checkOf({ ...serving, headers: { 'content-type': type } });
      expect(outcome).toBe('ok');
    },
  );

  test('is shown with its message, which holds no secret and no control characters', async () => {
    const trailers = {
      'grpc-status': '16',
      'grpc-message': 'no%20t%C3%B6ken s3cret-t0ken%07 100%',
    };
    const config = { metadata: { authorization: 's3cret-t0ken' } };
    const { evidence } = await checkOf({ trailers, only: true }, config);
    expect(evidence).toMatchObject({
      status: 200,
      grpc_status: '16 UNAUTHENTICATED',
      grpc_message: 'no töken ***\ufffd 100%',
    });
    expect(JSON.stringify(evidence)).not.toContain('s3cret');
  });

  test('that is slow or ends soon is warned of', async () => {
    const ending = mint({
      names: ['localhost'],
      issuer: root,
      to: new Date(Date.now() + 5 * 86_400_000),
    });
    const { port } = await serveHttp2(answerHealth(serving), { certificate: ending });
    const config = { tls_expires_within_days: 20 };
    expect(await check(`localhost:${port}`, config)).toMatchObject({
      outcome: 'ok',
      warnings: [{ code: 'certificate_expires' }],
    });
    expect(await check(`localhost:${port}`, { ...config, fail_on: ['certificate'] })).toMatchObject(
      {
        outcome: 'fail',
        cause: { class: 'certificate_expires_soon' },
      },
    );
  });
});

/** What a server writes once it has our first words. */
const wants = 'PRI * HTTP/2.0';
const grpcHead = headers(fields([':status', '200'], ['content-type', 'application/grpc']));
const health = data(framed(Buffer.from([8, 1])));
const trailers = headers(fields(['grpc-status', '0']), endHeaders | endStream);
const whole = Buffer.concat([settings, grpcHead, health, trailers]);
const times = (count: number, one: Buffer): Buffer => Buffer.concat(Array(count).fill(one));

describe('a server that', () => {
  test.each<
    [
      string,
      says: Buffer | string,
      ends: 'close' | 'reset' | undefined,
      cause: string | null,
      params?: object,
    ]
  >([
    ['answers in one piece', whole, undefined, null],
    ['closes after its answer', whole, 'close', null],
    ['says goodbye after its answer', Buffer.concat([whole, goAway(0)]), 'close', null],
    ['calls us names after its answer', Buffer.concat([whole, goAway(2), reset(2)]), 'close', null],
    [
      'cancels',
      Buffer.concat([settings, reset(8)]),
      undefined,
      'http2_cancelled',
      { code: 'CANCEL' },
    ],
    [
      'cancels after its head',
      Buffer.concat([settings, grpcHead, reset(2)]),
      undefined,
      'http2_cancelled',
      { code: 'INTERNAL_ERROR' },
    ],
    [
      'refuses the stream',
      Buffer.concat([settings, reset(7)]),
      undefined,
      'http2_cancelled',
      { code: 'REFUSED_STREAM' },
    ],
    [
      'goes away',
      Buffer.concat([settings, goAway(0)]),
      'close',
      'http2_closed',
      { code: 'NO_ERROR' },
    ],
    ['goes away at once', goAway(11), 'close', 'http2_closed', { code: 'ENHANCE_YOUR_CALM' }],
    [
      'goes away with a new code',
      Buffer.concat([settings, goAway(99)]),
      undefined,
      'http2_closed',
      { code: '0x63' },
    ],
    [
      'answers by HTTP/1.1',
      'HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n',
      'close',
      'http2_not_spoken',
    ],
    ['speaks something else', 'SSH-2.0-OpenSSH_9\r\n', 'close', 'http2_not_spoken'],
    ['closes', '', 'close', 'response_missing'],
    ['resets', '', 'reset', 'connection_reset'],
    ['closes after its settings', settings, 'close', 'response_missing'],
    ['closes after its head', Buffer.concat([settings, grpcHead]), 'close', 'response_incomplete'],
    [
      'closes before its trailers',
      Buffer.concat([settings, grpcHead, health]),
      'close',
      'response_incomplete',
    ],
    [
      'ends without trailers',
      Buffer.concat([settings, grpcHead, data(framed(Buffer.from([8, 1])), endStream)]),
      undefined,
      'grpc_status_missing',
    ],
    [
      'sends a frame that is too long',
      Buffer.concat([settings, Buffer.from([1, 0, 0, 0, 0, 0, 0, 0, 1])]),
      undefined,
      'response_malformed',
    ],
    [
      'sends headers that are none',
      Buffer.concat([settings, headers(Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0xff]))]),
      undefined,
      'response_malformed',
    ],
    [
      'pushes what nobody asked for',
      Buffer.concat([
        settings,
        Buffer.from([0, 0, 4, 5, 4, 0, 0, 0, 1, 0, 0, 0, 2]),
        grpcHead,
        health,
        trailers,
      ]),
      undefined,
      null,
    ],
    [
      'sends a length that is not true',
      Buffer.concat([
        settings,
        headers(
          fields([':status', '200'], ['content-type', 'application/grpc'], ['content-length', '3']),
        ),
        health,
        trailers,
      ]),
      undefined,
      'response_malformed',
    ],
    [
      'floods with PING',
      Buffer.concat([settings, times(10_000, ping)]),
      undefined,
      'response_framing_too_large',
    ],
    ['floods with SETTINGS', times(10_000, settings), undefined, 'response_framing_too_large'],
    [
      'floods with WINDOW_UPDATE',
      Buffer.concat([settings, times(10_000, windowUpdate)]),
      undefined,
      'response_framing_too_large',
    ],
    [
      'floods with empty DATA',
      Buffer.concat([settings, grpcHead, times(10_000, data(''))]),
      undefined,
      'response_framing_too_large',
    ],
    [
      'floods with CONTINUATION',
      Buffer.concat([
        settings,
        headers(statusOf(200), 0),
        times(100, continuation(fields(['a', 'b']))),
      ]),
      undefined,
      'response_malformed',
    ],
    [
      'floods with large CONTINUATION',
      Buffer.concat([
        settings,
        headers(statusOf(200), 0),
        times(20, continuation(Buffer.alloc(10_000))),
      ]),
      undefined,
      'response_headers_too_large',
    ],
    [
      'floods with interim responses',
      Buffer.concat([settings, times(10_000, headers(statusOf(103)))]),
      undefined,
      'response_framing_too_large',
    ],
  ])('%s', async (_what, says, ends, cause, params = {}) => {
    const { port } = await serveScript([{ wants, says, ...(ends ? { ends } : {}) }]);
    const verdict = await check(`grpc://127.0.0.1:${port}`);
    expect([verdict.cause?.class ?? null, verdict.cause?.params ?? {}]).toEqual([cause, params]);
  });

  test.each([
    ['says nothing', ''],
    ['sends its settings alone', settings],
    ['stops after its head', Buffer.concat([settings, grpcHead])],
    ['stops before its trailers', Buffer.concat([settings, grpcHead, health])],
    ['asks again and again whether we are there', Buffer.concat([settings, times(50, ping)])],
  ])('%s is waited for as long as it may take', async (_what, says) => {
    const { port } = await serveScript([{ wants, says }]);
    const verdict = await check(`grpc://127.0.0.1:${port}`, {}, { timeout_ms: 300 });
    expect(verdict).toMatchObject({ outcome: 'fail', cause: { class: 'timed_out' } });
  });

  test('drips its answer, byte by byte, passes', async () => {
    const { port } = await serveRaw((socket) => {
      let at = 0;
      const timer = setInterval(() => {
        if (at < whole.length) socket.write(whole.subarray(at, at + 1));
        else clearInterval(timer);
        at += 1;
      }, 1);
      socket.once('close', () => clearInterval(timer));
    });
    expect(await check(`grpc://127.0.0.1:${port}`)).toMatchObject({ outcome: 'ok' });
  });

  test('packs large headers into few bytes is stopped', async () => {
    // One field of 4,000 bytes that the table keeps, and then its number 20,000 times.
    const large = Buffer.concat([
      Buffer.from([0x40, 1, 0x61, 0x7f, 0xa1, 0x1e]),
      Buffer.alloc(4_000, 0x62),
    ]);
    const bomb = Buffer.concat([statusOf(200), large, Buffer.alloc(8_000, 0xbe)]);
    const { port } = await serveScript([{ wants, says: Buffer.concat([settings, headers(bomb)]) }]);
    const before = process.memoryUsage().rss;
    const verdicts = await Promise.all(
      Array.from({ length: 10 }, () => check(`grpc://127.0.0.1:${port}`)),
    );
    for (const { cause } of verdicts) expect(cause?.class).toMatch(/^response_/);
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1_048_576);
  });
});

describe('a server of TLS that', () => {
  const listening = async (ALPNProtocols: string[] | undefined) => {
    const { chain: cert, key } = certificate;
    const server = createServer({ cert, key, ...(ALPNProtocols ? { ALPNProtocols } : {}) });
    server.on('secureConnection', (socket) => socket.on('error', () => undefined).write(whole));
    server.on('tlsClientError', () => undefined);
    const port = await portOf(server);
    return { server, port: port };
  };

  test.each([
    ['agrees to no protocol', undefined],
    ['wants another protocol', ['http/1.1']],
  ])('%s does not speak HTTP/2', async (_what, protocols) => {
    const { server, port } = await listening(protocols);
    expect(await check(`localhost:${port}`)).toMatchObject({
      outcome: 'fail',
      cause: { class: 'http2_not_spoken' },
      sentence: 'The server does not speak HTTP/2 on this port',
    });
    server.close();
  });

  test('is asked in the clear says nothing that is HTTP/2', async () => {
    const { port } = await serve({ certificate });
    const { outcome, cause } = await check(`grpc://localhost:${port}`, {}, { timeout_ms: 1_000 });
    expect(outcome).toBe('fail');
    expect(cause?.class).toMatch(/^(?:http2_not_spoken|response_missing|connection_reset)$/);
  });

  test('speaks in the clear has no TLS', async () => {
    const { port } = await serveHttp2(answerHealth(serving));
    expect(await check(`grpcs://localhost:${port}`)).toMatchObject({
      cause: { class: 'tls_not_spoken' },
    });
  });
});
