import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, test } from 'vitest';
import type { Lookup } from '../../../probe/checks/https-lookup.ts';
import { mint, mintAuthority } from '../../support/certificates.ts';
import { eventually } from '../../support/eventually.ts';
import { type Answer, broken, fine, startRawTarget, startTarget, type Target, type TargetOptions } from '../../support/targets.ts';
import { httpsChecker } from '../support/https-checker.ts';

const check = httpsChecker();

const closing: (() => Promise<void>)[] = [];
afterAll(() => Promise.all(closing.map((close) => close())));

const serve = async (options: TargetOptions = {}): Promise<Target> => {
  const target = await startTarget(options);
  closing.push(target.close);
  return target;
};
const serveRaw = async (onSocket: (socket: Socket) => void) => {
  const target = await startRawTarget(onSocket);
  closing.push(target.close);
  return target;
};

const answerBy = (answer: (request: IncomingMessage) => { status?: number; headers?: Record<string, string>; body?: string }): Answer => ({
  is: 'by',
  answer: (request, response) => {
    const { status = 200, headers = {}, body = '' } = answer(request);
    response.writeHead(status, headers).end(body);
  },
});

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
      'user-agent': 'Antipode/0.1.0 (+https://antipode.example; probe=eu-1; continent=Europe)',
      accept: '*/*',
      'accept-encoding': 'identity',
      connection: 'close',
    });
    expect(target.hits.map(({ method, url, continent }) => `${method} ${url} ${continent}`)).toEqual([
      'GET /a?b=c Europe',
      'GET /a?b=c Europe',
    ]);
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
    expect(await check(target.url())).toMatchObject({ outcome: 'ok', evidence: { address: host } });
  });

  test('a name of this machine', async () => {
    const target = await serve();
    expect(await check(`http://localhost:${target.port}/`)).toMatchObject({ outcome: 'ok', phases: { dns: expect.any(Number) } });
    expect(await check(`http://a.localhost:${target.port}/`)).toMatchObject({ outcome: 'ok' });
  });

  test('a port where nothing listens', async () => {
    const target = await startTarget();
    await target.close();
    expect(await check(target.url())).toMatchObject({ outcome: 'fail', sentence: 'Connection refused' });
  });

  test('a connection that closes without a word', async () => {
    const target = await serveRaw((socket) => socket.once('data', () => socket.end()));
    expect(await check(target.url())).toMatchObject({ outcome: 'fail', sentence: 'Connection closed without a response' });
  });

  test('a connection that is reset', async () => {
    const target = await serveRaw((socket) => socket.once('data', () => socket.resetAndDestroy()));
    expect(await check(target.url())).toMatchObject({ outcome: 'fail', sentence: 'Connection reset' });
  });

  test('a response cut off in the middle', async () => {
    const target = await serveRaw((socket) => socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf')));
    expect(await check(target.url())).toMatchObject({
      outcome: 'fail',
      sentence: 'Connection closed before the whole response had come',
      evidence: { status: 200, body: 'half' },
    });
  });

  test('something that is no web server', async () => {
    const target = await serveRaw((socket) => socket.write('220 mail.example ESMTP\r\n'));
    expect(await check(target.url())).toMatchObject({ outcome: 'fail', sentence: 'The response is not valid HTTP' });
  });

  test('a flood of headers', async () => {
    const target = await serveRaw((socket) =>
      socket.once('data', () => socket.write(`HTTP/1.1 200 OK\r\n${'X-Flood: 1234567890\r\n'.repeat(5_000)}\r\n`)),
    );
    expect(await check(target.url())).toMatchObject({ outcome: 'fail', sentence: 'The response headers are too large' });
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
    expect(await check(target.url())).toMatchObject({ outcome: 'ok', evidence: { body_truncated: true, body_bytes: 1_048_576 } });
    expect(await check(target.url(), { body_contains: 'b' })).toMatchObject({
      outcome: 'fail',
      sentence: 'Body does not contain "b" in the first 1 MiB, more was not read',
    });
  });

  test('that were compressed unasked are unpacked, a bomb only as far as it is judged', async () => {
    const target = await serve();
    const zipped = (plain: string): Answer => {
      const packed = gzipSync(plain);
      return { is: 'by', answer: (_request, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed) };
    };
    target.answer(zipped('fine it is'));
    expect(await check(target.url(), { body_contains: 'fine' })).toMatchObject({ outcome: 'ok', evidence: { body: 'fine it is' } });
    target.answer(zipped('a'.repeat(100 * 1_048_576)));
    const before = process.memoryUsage().arrayBuffers;
    expect(await check(target.url(), { body_contains: 'b' })).toMatchObject({
      outcome: 'fail',
      sentence: 'Body does not contain "b" in the first 1 MiB, more was not read',
    });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(32 * 1_048_576);
  });

  test('that claim to be compressed and are not stay as they came', async () => {
    const target = await serve();
    target.answer({ is: 'status', status: 200, headers: { 'content-encoding': 'gzip' }, body: 'plainly fine' });
    expect(await check(target.url(), { body_contains: 'fine' })).toMatchObject({ outcome: 'ok' });
  });
});

describe('the time limit holds', () => {
  /** A silence or a drip at each phase; the check must end by itself, long before the target would. */
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
    ['in a drip of headers', drip('HTTP/1.1 200 OK\r\n', 'X: y\r\n'), 'http', 'while reading the body'],
    ['in a drip of body', drip('HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n', '.'), 'http', 'while reading the body'],
    ['in a drip of interim responses', drip('', 'HTTP/1.1 100 Continue\r\n\r\n'), 'http', 'while reading the body'],
  ])('%s', async (_where, onSocket, scheme, words) => {
    let closed = 0;
    const target = await serveRaw((socket) => {
      socket.once('close', () => {
        closed += 1;
      });
      socket.resume();
      onSocket(socket);
    });
    expect(await check(target.url(scheme), {}, { timeout_ms: 1_000, deadline: AbortSignal.timeout(300) })).toMatchObject({
      outcome: 'fail',
      sentence: `No complete answer within 1 s (${words})`,
    });
    // Nothing is left behind: the target sees the connection go.
    await eventually(() => closed === 1);
  });

  test('in a look-up that never ends', async () => {
    const waiting = httpsChecker({ lookup: never });
    expect(await waiting('http://slow.example/', {}, { timeout_ms: 1_000, deadline: AbortSignal.timeout(100) })).toMatchObject({
      outcome: 'fail',
      sentence: 'No complete answer within 1 s (while looking up the name)',
    });
  });

  test('before anything began', async () => {
    const target = await serve();
    expect(await check(target.url(), {}, { deadline: AbortSignal.abort() })).toMatchObject({
      outcome: 'fail',
      cause: { class: 'timed_out' },
    });
    expect(target.connections()).toBe(0);
  });
});

describe('redirects', () => {
  const way = (steps: Readonly<Record<string, string>>, status = 302): Answer =>
    answerBy((request) => {
      const to = steps[request.url ?? ''];
      return to === undefined ? { body: 'arrived' } : { status, headers: { location: to } };
    });

  test('are followed hop by hop, each with a connection of its own, and kept as evidence', async () => {
    const target = await serve();
    target.answer(way({ '/a': '/b', '/b': 'c?d=1#e' }));
    expect(await check(target.url('/a'), { body_contains: 'arrived' })).toMatchObject({
      outcome: 'ok',
      evidence: {
        redirects: [
          { url: target.url('/a'), status: 302, location: '/b' },
          { url: target.url('/b') },
          { url: target.url('/c?d=1'), status: 200 },
        ],
      },
    });
    expect(target.connections()).toBe(3);
  });

  test('are not followed where the config says so', async () => {
    const target = await serve();
    target.answer(way({ '/a': '/b' }));
    expect(await check(target.url('/a'), { follow_redirects: false })).toMatchObject({
      outcome: 'fail',
      sentence: 'Status 302, expected 2xx',
    });
    expect(await check(target.url('/a'), { follow_redirects: false, expected_status: [302] })).toMatchObject({ outcome: 'ok' });
    expect(target.hits.map(({ url }) => url)).toEqual(['/a', '/a']);
  });

  test('end at their limit', async () => {
    const target = await serve();
    target.answer(answerBy((request) => ({ status: 302, headers: { location: `/${Number(request.url?.slice(1)) + 1}` } })));
    expect(await check(target.url('/0'), { max_redirects: 3 })).toMatchObject({ outcome: 'fail', sentence: 'More than 3 redirects' });
    expect(target.hits).toHaveLength(4);
  });

  test('in a circle are told', async () => {
    const target = await serve();
    target.answer(way({ '/a': '/b', '/b': '/a' }));
    expect(await check(target.url('/a'))).toMatchObject({ outcome: 'fail', sentence: 'Redirects lead in a circle' });
    expect(target.hits).toHaveLength(2);
  });

  test.each([
    ['ftp://example.com/', 'Redirect to something that is no http or https address'],
    ['javascript:alert(1)', 'Redirect to something that is no http or https address'],
    ['file:///etc/passwd', 'Redirect to something that is no http or https address'],
    ['http://:80', 'Redirect to something that is no http or https address'],
    ['', 'Status 302 without an address to go to'],
  ])('to %j go nowhere', async (location, sentence) => {
    const target = await serve();
    target.answer(way({ '/a': location }));
    expect(await check(target.url('/a'))).toMatchObject({ outcome: 'fail', sentence });
  });

  test.each([
    [301, 'POST', 'GET /b '],
    [302, 'POST', 'GET /b '],
    [303, 'PUT', 'GET /b '],
    [307, 'POST', 'POST /b body'],
    [308, 'PUT', 'PUT /b body'],
    [302, 'PUT', 'PUT /b body'],
  ])('with status %i turn %s into %s', async (status, method, expected) => {
    const target = await serve();
    const seen: string[] = [];
    target.answer({
      is: 'by',
      answer: (request, response) => {
        let body = '';
        request.setEncoding('utf8').on('data', (part: string) => {
          body += part;
        });
        request.on('end', () => {
          seen.push(`${request.method} ${request.url} ${body}`);
          if (request.url === '/a') response.writeHead(status, { location: '/b' }).end();
          else response.end();
        });
      },
    });
    expect(await check(target.url('/a'), { method, body: 'body' })).toMatchObject({ outcome: 'ok' });
    expect(seen.at(-1)).toBe(expected);
  });

  test('take no credentials and no own headers to another origin, nor back again', async () => {
    const [home, away] = await Promise.all([serve(), serve()]);
    const sent: { at: string; headers: IncomingMessage['headers'] }[] = [];
    const noting = (at: string, steps: Readonly<Record<string, string>>): Answer =>
      answerBy((request) => {
        sent.push({ at: `${at}${request.url}`, headers: request.headers });
        const to = steps[request.url ?? ''];
        return to === undefined ? {} : { status: 302, headers: { location: to } };
      });
    home.answer(noting('home', { '/1': '/2', '/2': away.url('/3') }));
    away.answer(noting('away', { '/3': home.url('/4') }));
    const config = {
      bearer_token: 'b3arer',
      headers: { 'X-Api-Key': 'k3y', Cookie: 'c', Host: 'virtual.example', 'Accept-Language': 'de' },
      secret_headers: ['X-Api-Key'],
    };
    expect(await check(home.url('/1'), config)).toMatchObject({ outcome: 'ok' });
    expect(sent.map(({ at }) => at)).toEqual(['home/1', 'home/2', 'away/3', 'home/4']);
    for (const { at, headers } of sent) {
      const trusted = at === 'home/1' || at === 'home/2';
      expect(headers.authorization, at).toBe(trusted ? 'Bearer b3arer' : undefined);
      expect(headers['x-api-key'], at).toBe(trusted ? 'k3y' : undefined);
      expect(headers.cookie, at).toBe(trusted ? 'c' : undefined);
      expect(headers.host === 'virtual.example', at).toBe(trusted);
      expect(headers['accept-language'], at).toBe('de');
    }
  });

  test('are not read beyond their head', async () => {
    const end = await serve();
    const endless = await serveRaw((socket) =>
      socket.once('data', () => socket.write(`HTTP/1.1 302 Found\r\nLocation: ${end.url('/')}\r\nContent-Length: 9999\r\n\r\n...`)),
    );
    expect(await check(endless.url())).toMatchObject({ outcome: 'ok' });
  });
});

describe('names and addresses', () => {
  const leadsTo =
    (...addresses: readonly string[]): Lookup =>
    async () => ({ addresses });

  test('an address that does not answer is passed over for one that does', async () => {
    const target = await serve();
    const checker = httpsChecker({ lookup: leadsTo('127.0.0.99', '127.0.0.1') });
    expect(await checker(`http://pool.example:${target.port}/`)).toMatchObject({
      outcome: 'ok',
      evidence: {
        address: '127.0.0.1',
        attempts: [
          { address: '127.0.0.99', code: 'ECONNREFUSED' },
          { address: '127.0.0.1', code: null },
        ],
      },
    });
  });

  test('one address that is not public refuses them all, and none is connected to', async () => {
    const target = await serve();
    const checker = httpsChecker({ lookup: leadsTo('127.0.0.1', '10.0.0.1') });
    expect(await checker(`http://mixed.example:${target.port}/`)).toMatchObject({ outcome: 'fail', sentence: 'Address is not public' });
    expect(target.connections()).toBe(0);
  });

  test('a name that leads elsewhere at its second look-up finds the guard there too', async () => {
    const [home, trap] = await Promise.all([serve(), serve({ host: '127.0.0.2' })]);
    let asked = 0;
    const checker = httpsChecker({
      allow: ['127.0.0.1/32'],
      lookup: async () => {
        asked += 1;
        return { addresses: [asked === 1 ? '127.0.0.1' : '127.0.0.2'] };
      },
    });
    home.answer(answerBy(() => ({ status: 302, headers: { location: `http://rebinding.example:${trap.port}/` } })));
    expect(await checker(`http://rebinding.example:${home.port}/`)).toMatchObject({ outcome: 'fail', sentence: 'Address is not public' });
    expect(asked).toBe(2);
    expect(home.connections()).toBe(1);
    expect(trap.connections()).toBe(0);
  });

  test('without a word from its host, a probe connects to nothing of this machine', async () => {
    const target = await serve();
    const strict = httpsChecker({ allow: [] });
    const { port } = target;
    for (const host of [
      '127.0.0.1',
      'localhost',
      '0x7f.1',
      '2130706433',
      '0177.0.0.1',
      '127.1',
      '[::ffff:127.0.0.1]',
      '[::ffff:7f00:1]',
      '0.0.0.0',
      '[::]',
      '[::1]',
      '１２７.0.0.1',
      '[64:ff9b::7f00:1]',
      '[2002:7f00:1::]',
      '169.254.169.254',
    ]) {
      expect(await strict(`http://${host}:${port}/`), host).toMatchObject({ outcome: 'fail', sentence: 'Address is not public' });
    }
    expect(target.connections()).toBe(0);
  });

  test('a probe without IPv6 does not fail a target that has nothing else', async () => {
    const checker = httpsChecker({ lookup: leadsTo('2001:4860:4860::8888'), families: { 4: true, 6: false } });
    expect(await checker('http://six.example:9/')).toMatchObject({
      outcome: 'unknown',
      sentence: 'The probe has no IPv6 and the target has nothing else',
      phases: { tcp: null },
    });
  });

  test('a probe without IPv6 checks a target that has both by IPv4', async () => {
    const target = await serve();
    const checker = httpsChecker({ lookup: leadsTo('2001:4860:4860::8888', '127.0.0.1'), families: { 4: true, 6: false } });
    expect(await checker(`http://both.example:${target.port}/`)).toMatchObject({
      outcome: 'ok',
      evidence: { attempts: [{ address: '127.0.0.1' }] },
    });
  });

  test('an address of the wrong family is no address', async () => {
    const target = await serve();
    expect(await check(target.url(), { ip_family: '6' })).toMatchObject({ outcome: 'fail', sentence: 'The name has no IPv6 address' });
    expect(await check(target.url(), { ip_family: '4' })).toMatchObject({ outcome: 'ok' });
  });
});

test('credentials do not leave with a certificate that is not right, and redirects are judged by each certificate', async () => {
  const root = mintAuthority('Root');
  const good = await serve({ certificate: mint({ names: ['127.0.0.1'], issuer: root }) });
  const bad = await serve({ certificate: mint({ names: ['127.0.0.1'] }) });
  const checker = httpsChecker({ authorities: [root.certificate] });
  good.answer(answerBy(() => ({ status: 301, headers: { location: bad.url('/') } })));
  expect(await checker(good.url('/'))).toMatchObject({
    outcome: 'fail',
    cause: { class: 'certificate_self_signed' },
    evidence: { redirects: [{ status: 301 }, { status: null }] },
  });
  expect(bad.hits).toEqual([]);
});

test('a thousand checks leave nothing open', async () => {
  const target = await serve();
  const before = process.getActiveResourcesInfo().filter((one) => one === 'TCPSocketWrap').length;
  for (let round = 0; round < 10; round += 1)
    await Promise.all(Array.from({ length: 100 }, () => check(target.url(), {}, { deadline: new AbortController().signal })));
  expect(target.hits).toHaveLength(1_000);
  await eventually(() => process.getActiveResourcesInfo().filter((one) => one === 'TCPSocketWrap').length <= before + 2);
});
