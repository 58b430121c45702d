import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, describe, expect, test } from 'vitest';
import type { Lookup } from '../../../../probe/checks/connection/lookup.ts';
import { eventually } from '../../../support/eventually.ts';
import {
  type Answer,
  broken,
  fine,
  type RawTarget,
  startRawTarget,
  startTarget,
} from '../../../support/targets.ts';
import { deadlineIn, httpsChecker } from '../../support/checkers.ts';
import { answerBy, serve, serveRaw } from '../../support/observations.ts';

describe('perform', () => {
  const check = httpsChecker();

  describe('what a check sends', () => {
    test('says who asks, and asks for no compression, over a connection of its own', async () => {
      const target = await serve();
      let headers: IncomingMessage['headers'] = {};
      target.answer(
        answerBy((request) => {
          headers = request.headers;
          return {};
        }),
      );
      await check(target.url('/a?b=c#d'));
      await check(target.url('/a?b=c#d'));
      expect(headers).toEqual({
        host: `127.0.0.1:${target.port}`,
        'user-agent': 'Antipode/1.0.0 (+https://antipode.example; probe=eu-1; continent=Europe)',
        accept: '*/*',
        'accept-encoding': 'identity',
        connection: 'close',
      });
      expect(
        target.hits.map(({ method, url, continent }) => `${method} ${url} ${continent}`),
      ).toEqual(['GET /a?b=c Europe', 'GET /a?b=c Europe']);
      expect(target.connections()).toBe(2);
    });

    test('carries the headers, body and credentials of the config', async () => {
      const target = await serve();
      const bodies: string[] = [];
      let headers: IncomingMessage['headers'] = {};
      target.answer({
        is: 'by',
        answer: (request, response) => {
          headers = request.headers;
          request.setEncoding('utf8').on('data', (part: string) => bodies.push(part));
          request.on('end', () => response.end());
        },
      });
      const config = {
        method: 'POST',
        body: '{"ü":1}',
        headers: { 'Content-Type': 'application/json', Host: 'other.example', 'X-A': 'b' },
        basic_auth: { username: 'me', password: 'p' },
      };
      expect(await check(target.url(), config)).toMatchObject({ outcome: 'ok' });
      expect(bodies.join('')).toBe('{"ü":1}');
      expect(headers).toMatchObject({
        host: 'other.example',
        'x-a': 'b',
        'content-type': 'application/json',
        'content-length': '8',
        authorization: `Basic ${btoa('me:p')}`,
      });
    });
  });

  describe('what a check sees', () => {
    test('a continent that is served otherwise than the rest', async () => {
      const target = await serve();
      target.answer(broken, ['Europe']);
      expect(await check(target.url())).toMatchObject({
        outcome: 'fail',
        sentence: 'Status 503, expected 2xx',
        evidence: { status: 503, body: 'broken' },
      });
      target.answer(fine);
      expect(await check(target.url())).toMatchObject({ outcome: 'ok' });
    });

    test.each([['127.0.0.1'], ['::1']])('a target at %s', async (host) => {
      const target = await serve({ host });
      expect(await check(target.url())).toMatchObject({
        outcome: 'ok',
        evidence: { address: host },
      });
    });

    test('a name of this machine', async () => {
      const target = await serve();
      expect(await check(`http://localhost:${target.port}/`)).toMatchObject({
        outcome: 'ok',
        phases: { dns: expect.any(Number) },
      });
      expect(await check(`http://a.localhost:${target.port}/`)).toMatchObject({ outcome: 'ok' });
    });

    test('a port where nothing listens', async () => {
      const target = await startTarget();
      await target.close();
      expect(await check(target.url())).toMatchObject({
        outcome: 'fail',
        sentence: 'Connection refused',
      });
    });

    test('a connection that closes without a word', async () => {
      const target = await serveRaw((socket) => socket.once('data', () => socket.end()));
      expect(await check(target.url())).toMatchObject({
        outcome: 'fail',
        sentence: 'Connection closed without a response',
      });
    });

    test('a connection that is reset', async () => {
      const target = await serveRaw((socket) =>
        socket.once('data', () => socket.resetAndDestroy()),
      );
      expect(await check(target.url())).toMatchObject({
        outcome: 'fail',
        sentence: 'Connection reset',
      });
    });

    test('a response cut off in the middle', async () => {
      const target = await serveRaw((socket) =>
        socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf')),
      );
      expect(await check(target.url())).toMatchObject({
        outcome: 'fail',
        sentence: 'Connection closed before the whole response had come',
        evidence: { status: 200, body: 'half' },
      });
    });

    test('something that is no web server', async () => {
      const target = await serveRaw((socket) => socket.write('220 mail.example ESMTP\r\n'));
      expect(await check(target.url())).toMatchObject({
        outcome: 'fail',
        sentence: 'The response is not valid HTTP',
      });
    });

    test.each([
      ['one header of 64 KB', [`X-Large: ${'a'.repeat(65_536)}`]],
      ['64 KB in 100 headers', Array.from({ length: 100 }, (_, i) => `X-${i}: ${'a'.repeat(655)}`)],
      ['400 headers', Array.from({ length: 400 }, (_, i) => `X-${i}: a`)],
    ])('%s', async (_what, lines) => {
      const target = await serveRaw((socket) =>
        socket.once('data', () =>
          socket.end(['HTTP/1.1 200 OK', ...lines, 'Content-Length: 2', '', 'ok'].join('\r\n')),
        ),
      );
      expect(await check(target.url(), { body_contains: 'ok' })).toMatchObject({ outcome: 'ok' });
    });

    test('a flood of headers', async () => {
      const target = await serveRaw((socket) =>
        socket.once('data', () =>
          socket.write(`HTTP/1.1 200 OK\r\n${'X-Flood: 1234567890\r\n'.repeat(10_000)}\r\n`),
        ),
      );
      expect(await check(target.url())).toMatchObject({
        outcome: 'fail',
        sentence: 'The response headers are too large',
      });
    });
  });

  describe('bodies', () => {
    test('are read to 1 MiB and no further, and the cause says so', async () => {
      const target = await serveRaw((socket) => {
        socket.once('data', () => {
          socket.write('HTTP/1.1 200 OK\r\n\r\n');
          const part = Buffer.alloc(65_536, 0x61);
          const pour = () => {
            while (socket.writable && socket.write(part));
          };
          socket.on('drain', pour);
          pour();
        });
      });
      expect(await check(target.url())).toMatchObject({
        outcome: 'ok',
        evidence: { body_truncated: true, body_bytes: 1_048_576 },
      });
      expect(await check(target.url(), { body_contains: 'b' })).toMatchObject({
        outcome: 'fail',
        sentence: 'Body does not contain "b" in the first 1 MiB, more was not read',
      });
      expect(await check(target.url(), { body_not_contains: 'b' })).toMatchObject({
        outcome: 'fail',
        sentence:
          'Body is too long to tell that it does not contain "b": it is not in the first 1 MiB, more was not read',
      });
    });

    test('that were compressed unasked are decompressed, a bomb only as far as it is judged', async () => {
      const target = await serve();
      const zipped = (plain: string): Answer => {
        const packed = gzipSync(plain);
        return {
          is: 'by',
          answer: (_request, response) =>
            response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed),
        };
      };
      target.answer(zipped('fine it is'));
      expect(await check(target.url(), { body_contains: 'fine' })).toMatchObject({
        outcome: 'ok',
        evidence: { body: 'fine it is' },
      });
      target.answer(zipped('a'.repeat(100 * 1_048_576)));
      const before = process.memoryUsage().arrayBuffers;
      expect(await check(target.url(), { body_contains: 'b' })).toMatchObject({
        outcome: 'fail',
        sentence: 'Body does not contain "b" in the first 1 MiB, more was not read',
      });
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(32 * 1_048_576);
    });

    test.each([
      ['deflate', deflateSync],
      ['br', brotliCompressSync],
      ['zstd', zstdCompressSync],
    ] as const)('in %s are decompressed too', async (encoding, pack) => {
      const target = await serve();
      const packed = pack('fine it is');
      target.answer({
        is: 'by',
        answer: (_request, response) =>
          response.writeHead(200, { 'content-encoding': encoding }).end(packed),
      });
      expect(await check(target.url(), { body_contains: 'fine it is' })).toMatchObject({
        outcome: 'ok',
      });
    });

    test('that claim to be compressed and are not stay as they came', async () => {
      const target = await serve();
      target.answer({
        is: 'status',
        status: 200,
        headers: { 'content-encoding': 'gzip' },
        body: 'plainly fine',
      });
      expect(await check(target.url(), { body_contains: 'fine' })).toMatchObject({ outcome: 'ok' });
    });
  });

  describe('the time limit holds', () => {
    /**
     * A silence or a drip at each phase; the check must end by itself, long before the target
     * would.
     */
    const drip = (first: string, piece: string) => (socket: Socket) => {
      socket.once('data', () => {
        socket.write(first);
        const timer = setInterval(() => socket.write(piece), 20);
        socket.once('close', () => clearInterval(timer));
      });
    };
    const never: Lookup = () => new Promise(() => undefined);

    test.each<[string, (socket: Socket) => void, string, string]>([
      ['in the TLS handshake', () => undefined, 'https', 'during the TLS handshake'],
      ['before the response', () => undefined, 'http', 'waiting for the response'],
      [
        'in a drip of headers',
        drip('HTTP/1.1 200 OK\r\n', 'X: y\r\n'),
        'http',
        'while reading the headers of the response',
      ],
      [
        'in a drip of body',
        drip('HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n', '.'),
        'http',
        'while reading the body',
      ],
      [
        'in a drip of interim responses',
        drip('', 'HTTP/1.1 100 Continue\r\n\r\n'),
        'http',
        'while reading the headers of the response',
      ],
    ])('%s', async (_where, onSocket, scheme, words) => {
      let closed = 0;
      const target = await serveRaw((socket) => {
        socket.once('close', () => {
          closed += 1;
        });
        socket.resume();
        onSocket(socket);
      });
      expect(
        await check(target.url(scheme), {}, { timeout_ms: 1_000, deadline: deadlineIn(300) }),
      ).toMatchObject({
        outcome: 'fail',
        sentence: `No complete answer within 1 s (${words})`,
      });
      // Nothing is left behind: the target sees the connection go.
      await eventually(() => closed === 1);
    });

    test('but data that came in time is read, although this process stalled beyond the deadline', async () => {
      const deadline = deadlineIn(Number.POSITIVE_INFINITY);
      // The answer is on its way to us before we stand still; its deadline is over when we look
      // again.
      const target = await serveRaw((socket) => {
        socket.once('data', () =>
          socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine', () => {
            setTimeout(() => deadline.end(), 50);
            const end = performance.now() + 200;
            while (performance.now() < end);
          }),
        );
      });
      expect(await check(target.url(), {}, { deadline })).toMatchObject({ outcome: 'ok' });
    });

    test('in a look-up that never ends', async () => {
      const waiting = httpsChecker({ lookup: never });
      expect(
        await waiting('http://slow.example/', {}, { timeout_ms: 1_000, deadline: deadlineIn(100) }),
      ).toMatchObject({
        outcome: 'fail',
        sentence: 'No complete answer within 1 s (while looking up the name)',
      });
    });

    test('before anything began', async () => {
      const target = await serve();
      expect(await check(target.url(), {}, { deadline: deadlineIn(0) })).toMatchObject({
        outcome: 'fail',
        cause: { class: 'timed_out' },
      });
      expect(target.connections()).toBe(0);
    });
  });

  test('a thousand checks leave nothing open', async () => {
    const target = await serve();
    const before = process.getActiveResourcesInfo().filter((one) => one === 'TCPSocketWrap').length;
    for (let round = 0; round < 10; round += 1)
      await Promise.all(
        Array.from({ length: 100 }, () =>
          check(target.url(), {}, { deadline: deadlineIn(Number.POSITIVE_INFINITY) }),
        ),
      );
    expect(target.hits).toHaveLength(1_000);
    await eventually(
      () =>
        process.getActiveResourcesInfo().filter((one) => one === 'TCPSocketWrap').length <=
        before + 2,
    );
  });
});

/**
 * Compressed answers that nobody asked for and that are not whole. An error that nobody catches
 * ends a probe, and here the run.
 */
describe('a compressed answer', () => {
  const targets: RawTarget[] = [];
  afterAll(() => Promise.all(targets.map(({ close }) => close())));

  const check = httpsChecker();
  const page = `the beginning ${randomBytes(300_000).toString('base64')} the end`;
  const ways = {
    gzip: gzipSync,
    deflate: deflateSync,
    // Packed as small as it can be, noise would take ten seconds.
    br: (data: string | Buffer) =>
      brotliCompressSync(data, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
    zstd: zstdCompressSync,
  } as const;
  const encodings = ['gzip', 'deflate', 'br', 'zstd'] as const;

  /** What is announced, what of it comes, and whether the connection then stays open. */
  type Sent = {
    readonly encoding: string;
    readonly length: number | null;
    readonly bytes: Buffer;
    readonly hangs?: boolean;
  };

  const served = async ({ encoding, length, bytes, hangs = false }: Sent): Promise<string> => {
    const target = await startRawTarget((socket: Socket) => {
      socket.once('data', () => {
        const framing = length === null ? '' : `Content-Length: ${length}\r\n`;
        socket.write(
          `HTTP/1.1 200 OK\r\nContent-Encoding: ${encoding}\r\n${framing}Connection: close\r\n\r\n`,
        );
        socket.write(bytes);
        if (!hangs) socket.end();
      });
    });
    targets.push(target);
    return target.url();
  };

  test.each(encodings)('in %s that is cut is judged by the part that arrived', async (encoding) => {
    const whole = ways[encoding](page);
    const cut = whole.subarray(0, Math.floor(whole.length * 0.7));
    const url = await served({ encoding, length: null, bytes: cut });
    const { outcome, sentence, evidence } = await check(url, { body_contains: 'the beginning' });
    expect({ outcome, sentence }).toEqual({ outcome: 'ok', sentence: null });
    expect(evidence.body).toMatch(/^the beginning/);
    expect((await check(url, { body_contains: 'the end' })).sentence).toMatch(
      /^Body does not contain "the end"/,
    );
  });

  // What zstd packs comes out by blocks of 128 KiB, and so much is not kept.
  test.each(['gzip', 'deflate', 'br'] as const)(
    'in %s of which only the first bytes are kept shows its beginning',
    async (encoding) => {
      const words = `the beginning ${randomBytes(40_000).toString('base64')}`;
      const { outcome, evidence } = await check(
        await served({ encoding, length: null, bytes: ways[encoding](words) }),
      );
      expect(outcome).toBe('ok');
      expect(evidence.body).toMatch(/^the beginning/);
    },
  );

  test.each(encodings)('in %s that hangs is a timeout', async (encoding) => {
    const whole = ways[encoding](page);
    const url = await served({
      encoding,
      length: whole.length,
      bytes: whole.subarray(0, whole.length - 20),
      hangs: true,
    });
    const { sentence } = await check(url, { body_contains: 'the end' }, { timeout_ms: 500 });
    expect(sentence).toBe('No complete answer within 500 ms (while reading the body)');
  });

  test.each(encodings)(
    'in %s that hardly compresses is read to the limit and no further',
    async (encoding) => {
      const noise = Buffer.concat([Buffer.from('the beginning '), randomBytes(3 * 1_048_576)]);
      const url = await served({ encoding, length: null, bytes: ways[encoding](noise) });
      const { outcome, sentence, evidence } = await check(url, { body_contains: 'the end' });
      expect({ outcome, sentence }).toEqual({
        outcome: 'fail',
        sentence: 'Body does not contain "the end" in the first 1 MiB, more was not read',
      });
      expect(evidence.body).toMatch(/^the beginning/);
    },
  );

  test.each(encodings)('in %s that is nonsense stays as it came', async (encoding) => {
    const { outcome, evidence } = await check(
      await served({ encoding, length: null, bytes: Buffer.from('plain words') }),
    );
    expect(outcome).toBe('ok');
    expect(evidence.body).toBe('plain words');
  });

  test.each([
    ['identity, gzip', [gzipSync]],
    ['IDENTITY\r\nContent-Encoding: gzip', [gzipSync]],
    ['br\r\nContent-Encoding: gzip', [brotliCompressSync, gzipSync]],
    ['gzip, gzip', [gzipSync, gzipSync]],
  ] as const)('in %j is decompressed in turn', async (encoding, packed) => {
    const bytes = packed.reduce((inside, pack) => pack(inside), Buffer.from('plain words'));
    const { outcome, evidence } = await check(
      await served({ encoding, length: bytes.length, bytes }),
      { body_contains: 'plain words' },
    );
    expect({ outcome, body: evidence.body }).toEqual({ outcome: 'ok', body: 'plain words' });
  });

  test('in too many encodings, or an unknown one, stays as it came', async () => {
    const bytes = gzipSync('plain words');
    for (const encoding of ['gzip, gzip, gzip, gzip', 'gzip, compress'])
      expect(
        (await check(await served({ encoding, length: bytes.length, bytes }))).evidence.body,
      ).not.toContain('plain words');
  });
});
