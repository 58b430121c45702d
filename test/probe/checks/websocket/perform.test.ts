import { describe, expect, test } from 'vitest';
import type { Lookup } from '../../../../probe/checks/connection/lookup.ts';
import { createRequestSigner } from '../../../../probe/checks/https/signer.ts';
import { createRequestKey } from '../../../../shared/base/http-signatures.ts';
import { mint, mintAuthority } from '../../../support/certificates.ts';
import { verifiedRequest } from '../../../support/signatures.ts';
import { closeFrame, frame, opcodes, upgraded } from '../../../support/websocket-frames.ts';
import { checkerOf } from '../../support/checkers.ts';
import { answerBy, serve, serveRaw } from '../../support/observations.ts';
import { serveScript } from '../../support/servers.ts';
import { serveHeads, serveUpgraded, serveWebsockets } from '../../support/websockets.ts';

const day = 86_400_000;
const root = mintAuthority('Test Root');
const good = mint({ names: ['good.example'], issuer: root });
const toLoopback: Lookup = async () => ({ addresses: ['127.0.0.1'] });
const options = { authorities: [root.certificate], lookup: toLoopback };
const check = checkerOf('websocket', options);

describe('a websocket check of a healthy server', () => {
  test('passes once the WebSocket is open, and closes it properly', async () => {
    const server = await serveWebsockets();
    const verdict = await check(`ws://127.0.0.1:${server.port}/live?a=b#c`);
    expect(verdict).toMatchObject({
      outcome: 'ok',
      cause: null,
      evidence: {
        url: `ws://127.0.0.1:${server.port}/live?a=b`,
        address: '127.0.0.1',
        status: 101,
        headers: [['upgrade', 'websocket']],
        close_code: 1_000,
      },
    });
    expect(verdict.phases?.first_byte).toBeTypeOf('number');
    expect(verdict.phases?.tls).toBeNull();
    await expect.poll(() => server.closes).toEqual([1_000]);
    expect(server.requests[0]).toMatchObject({
      url: '/live?a=b',
      headers: {
        host: `127.0.0.1:${server.port}`,
        'user-agent': 'Antipode/1.0.0 (+https://antipode.example; probe=eu-1; continent=Europe)',
        'sec-websocket-version': '13',
      },
    });
    expect(server.requests[0]?.headers).not.toHaveProperty('sec-websocket-extensions');
  });

  test('waits for no message, and says nothing, where none is wanted', async () => {
    const server = await serveUpgraded((socket) => {
      socket.write(frame(opcodes.text, 'x'.repeat(200_000)));
    });
    expect(await check(`ws://127.0.0.1:${server.port}/`)).toMatchObject({ outcome: 'ok' });
  });

  test('brings the headers of its owner, and shows the secret ones to nobody', async () => {
    const server = await serveWebsockets((client) => client.send('Bearer s3cret-s3cret'));
    const headers = {
      Authorization: 'Bearer s3cret-s3cret',
      Origin: 'https://shop.example',
      Host: 'shop.example',
    };
    const verdict = await check(`ws://127.0.0.1:${server.port}/`, { headers, expect: 'Bearer' });
    expect(server.requests[0]?.headers).toMatchObject({
      authorization: 'Bearer s3cret-s3cret',
      origin: 'https://shop.example',
      host: 'shop.example',
    });
    expect(verdict).toMatchObject({ outcome: 'ok', evidence: { first_message: '***' } });
    expect(JSON.stringify(verdict)).not.toContain('s3cret');
  });

  test.each([
    ['text', '{"type":"ping"}', 'pong', 'text {"type":"ping"}'],
    ['text', 'a\\tb', 'a\\tb', 'text a\tb'],
    ['hex', '00 ff', '00ff', 'binary \0\xff'],
    ['base64', 'AP8=', 'AP8', 'binary \0\xff'],
  ])('sends a message as %s %s, and finds the answer', async (encoding, send, wanted, heard) => {
    const said: string[] = [];
    const server = await serveWebsockets((client) => {
      client.send('welcome');
      client.on('message', (data, isBinary) => {
        const bytes = Buffer.isBuffer(data) ? data : Buffer.alloc(0);
        said.push(`${isBinary ? 'binary' : 'text'} ${bytes.toString('latin1')}`);
        client.send(bytes, { binary: isBinary });
        client.send('{"type":"pong"}');
      });
    });
    const config = { encoding, send, expect: wanted };
    expect(await check(`ws://127.0.0.1:${server.port}/`, config)).toMatchObject({
      outcome: 'ok',
      evidence: { first_message: 'welcome', messages: heard.includes('ping') ? 3 : 2 },
    });
    expect(said).toEqual([heard]);
  });

  test('sends a message without waiting for an answer', async () => {
    const said: string[] = [];
    const server = await serveWebsockets((client) =>
      client.on('message', (data) => said.push(String(data))),
    );
    expect(await check(`ws://127.0.0.1:${server.port}/`, { send: 'hello' })).toMatchObject({
      outcome: 'ok',
    });
    await expect.poll(() => said).toEqual(['hello']);
  });

  test('finds an answer in fragments, between pings, in pieces of one byte', async () => {
    const server = await serveHeads((socket, head) => {
      const all = Buffer.concat([
        Buffer.from(upgraded(head)),
        frame(opcodes.ping, 'p'),
        frame(opcodes.text, 'nee', { fin: false }),
        frame(opcodes.ping),
        frame(opcodes.more, 'd', { fin: false }),
        frame(opcodes.more, '', { fin: false }),
        frame(opcodes.more, 'le'),
      ]);
      for (const byte of all) socket.write(Buffer.from([byte]));
    });
    expect(await check(`ws://127.0.0.1:${server.port}/`, { expect: 'needle' })).toMatchObject({
      outcome: 'ok',
      evidence: { first_message: 'needle', messages: 1 },
    });
  });

  test('shows a message that is no text byte by byte', async () => {
    const server = await serveUpgraded((socket) => {
      socket.write(frame(opcodes.binary, Buffer.from([0x61, 0, 0xff])));
    });
    expect(
      await check(`ws://127.0.0.1:${server.port}/`, { encoding: 'hex', expect: '00 ff' }),
    ).toMatchObject({ outcome: 'ok', evidence: { first_message: 'a\\x00\\xff' } });
  });

  test('is not kept open by a server that does not answer the close', async () => {
    const server = await serveUpgraded(() => undefined);
    const verdict = await check(`ws://127.0.0.1:${server.port}/`);
    expect(verdict).toMatchObject({ outcome: 'ok' });
    expect(verdict.evidence).not.toHaveProperty('close_code');
  });

  test('has a subprotocol where one is asked for', async () => {
    const server = await serveWebsockets(undefined, {
      handleProtocols: (wanted) => (wanted.has('chat.v2') ? 'chat.v2' : false),
    });
    expect(await check(`ws://127.0.0.1:${server.port}/`, { subprotocol: 'chat.v2' })).toMatchObject(
      {
        outcome: 'ok',
        evidence: { headers: expect.arrayContaining([['sec-websocket-protocol', 'chat.v2']]) },
      },
    );
  });

  test('proves who asks, verified by an implementation that is not ours', async () => {
    const key = createRequestKey();
    const sign = createRequestSigner(key, 'https://antipode.example');
    const signing = checkerOf('websocket', { ...options, sign });
    const server = await serveWebsockets(undefined, { certificate: good });
    expect(await signing(`wss://good.example:${server.port}/`)).toMatchObject({ outcome: 'ok' });
    const [request] = server.requests;
    if (!request) throw new Error('nothing came');
    const origin = `https://good.example:${server.port}`;
    expect(await verifiedRequest(request, origin, key.x)).toMatchObject({ keyid: key.id });
  });
});

describe('a websocket check by TLS', () => {
  test('passes, and tells of the certificate', async () => {
    const { port } = await serveWebsockets(undefined, { certificate: good });
    const verdict = await check(`wss://good.example:${port}/`);
    expect(verdict).toMatchObject({
      outcome: 'ok',
      certificate: { issuer: 'Test Root' },
      evidence: { tls: { protocol: 'TLSv1.3', host_matches: true } },
    });
    expect(verdict.phases?.tls).toBeTypeOf('number');
  });

  test.each([
    [
      'for another name',
      mint({ names: ['other.example'], issuer: root }),
      'certificate_wrong_host',
    ],
    ['that signed itself', mint({ names: ['good.example'] }), 'certificate_self_signed'],
  ])('fails by a certificate %s, before anything is asked', async (_what, certificate, cause) => {
    const server = await serveWebsockets(undefined, { certificate });
    expect(await check(`wss://good.example:${server.port}/`)).toMatchObject({
      outcome: 'fail',
      cause: { class: cause },
    });
    expect(server.requests).toEqual([]);
    const lax = { verify_tls: false };
    expect(await check(`wss://good.example:${server.port}/`, lax)).toMatchObject({ outcome: 'ok' });
  });

  test('warns of a certificate that ends soon, or fails where that is wanted', async () => {
    const certificate = mint({
      names: ['good.example'],
      issuer: root,
      from: new Date(Date.now() - 80 * day),
      to: new Date(Date.now() + 5 * day + 60_000),
    });
    const { port } = await serveWebsockets(undefined, { certificate });
    expect(await check(`wss://good.example:${port}/`)).toMatchObject({
      outcome: 'ok',
      warnings: [{ code: 'certificate_expires', details: { stage: 7 } }],
    });
    const config = { tls_expires_within_days: 30, fail_on: ['certificate'] };
    expect(await check(`wss://good.example:${port}/`, config)).toMatchObject({
      outcome: 'fail',
      cause: { class: 'certificate_expires_soon' },
    });
  });

  test('takes a server that speaks HTTP/2 alone for one without WebSocket', async () => {
    const { port } = await serve({ certificate: good, tls: { ALPNProtocols: ['h2'] } });
    expect(await check(`wss://good.example:${port}/`)).toMatchObject({
      cause: { class: 'websocket_not_spoken' },
    });
  });

  test.each([
    [
      'speaks in the clear',
      [{ wants: '\x16', says: 'HTTP/1.1 400 Bad\r\n\r\n' }],
      'tls_not_spoken',
    ],
    ['sends an alert', [{ wants: '\x16', says: '\x15\x03\x03\0\x02\x02\x70' }], 'tls_alert'],
    ['closes', [{ wants: '\x16', ends: 'close' }], 'tls_closed'],
    ['is silent', [], 'timed_out'],
  ] as const)('fails when the server %s', async (_what, script, cause) => {
    const server = await serveScript(script);
    const verdict = await check(`wss://${server.target}/`, {}, { timeout_ms: 300 });
    expect(verdict).toMatchObject({ outcome: 'fail', cause: { class: cause } });
  });
});

describe('an upgrade that is not accepted', () => {
  test.each([
    [401, 'The server refused the WebSocket (status 401)'],
    [403, 'The server refused the WebSocket (status 403)'],
    [404, 'The server refused the WebSocket (status 404)'],
    [426, 'The server refused the WebSocket (status 426)'],
    [503, 'The server refused the WebSocket (status 503)'],
    [200, 'The server does not speak WebSocket at this address (status 200)'],
    [204, 'The server does not speak WebSocket at this address (status 204)'],
  ])('with status %i fails, and shows the page', async (status, sentence) => {
    const target = await serve();
    target.answer({ is: 'status', status, body: `page ${status} ${'x'.repeat(10_000)}` });
    const verdict = await check(`ws://127.0.0.1:${target.port}/`, {
      headers: { 'X-Api-Key': 'page-key' },
    });
    expect(verdict).toMatchObject({ outcome: 'fail', sentence, evidence: { status } });
    const { body } = verdict.evidence;
    if (status === 204) expect(body).toBeUndefined();
    else expect(body).toHaveLength(1_024);
  });

  test('by a redirect is refused, and nobody follows it', async () => {
    const other = await serve();
    const target = await serve();
    target.answer(answerBy(() => ({ status: 302, headers: { location: other.url('/') } })));
    expect(await check(`ws://127.0.0.1:${target.port}/`)).toMatchObject({
      sentence: 'The server redirects the WebSocket, and no redirect is followed (status 302)',
      evidence: { headers: expect.arrayContaining([['location', other.url('/')]]) },
    });
    expect(other.connections()).toBe(0);
  });

  test('by a firewall names it', async () => {
    const target = await serve();
    target.answer(
      answerBy(() => ({
        status: 403,
        headers: { server: 'cloudflare' },
        body: '<title>Attention Required! | Cloudflare</title>',
      })),
    );
    expect(await check(`ws://127.0.0.1:${target.port}/`)).toMatchObject({
      cause: { class: 'blocked_by_firewall', params: { vendor: 'Cloudflare', status: 403 } },
    });
    target.answer(answerBy(() => ({ status: 522, headers: { server: 'cloudflare' } })));
    expect(await check(`ws://127.0.0.1:${target.port}/`)).toMatchObject({
      cause: { class: 'origin_unreachable', params: { status: 522 } },
    });
  });

  test('with a page that never ends is refused at the time limit', async () => {
    const server = await serveHeads((socket) => {
      socket.write('HTTP/1.1 403 Forbidden\r\nContent-Length: 9999\r\n\r\nno');
    });
    expect(await check(`ws://127.0.0.1:${server.port}/`, {}, { timeout_ms: 300 })).toMatchObject({
      cause: { class: 'upgrade_refused', params: { status: 403 } },
      evidence: { body: 'no' },
    });
  });

  test.each([
    ['without its upgrade', { Upgrade: null }],
    ['without a connection', { Connection: null }],
    ['to another protocol', { Upgrade: 'h2c' }],
    ['with another accept value', { 'Sec-WebSocket-Accept': 'AAAAAAAAAAAAAAAAAAAAAAAAAAA=' }],
    ['without an accept value', { 'Sec-WebSocket-Accept': null }],
    ['with an extension', { 'Sec-WebSocket-Extensions': 'permessage-deflate' }],
  ])('with 101 %s is no WebSocket', async (_what, changes) => {
    const server = await serveHeads((socket, head) => {
      socket.write(upgraded(head, changes));
    });
    expect(await check(`ws://127.0.0.1:${server.port}/`, {}, { timeout_ms: 2_000 })).toMatchObject({
      outcome: 'fail',
      sentence: 'The server does not speak WebSocket at this address',
      evidence: { status: 101 },
    });
  });

  test.each([
    ['chat', undefined, 'The server did not choose the subprotocol chat'],
    ['chat', 'other', 'The server did not choose the subprotocol chat'],
    [null, 'other', 'The server chose a subprotocol, and none was asked for'],
  ])('that asks for subprotocol %s and gets %s fails', async (asked, chosen, sentence) => {
    const server = await serveHeads((socket, head) => {
      socket.write(
        upgraded(head, chosen === undefined ? {} : { 'Sec-WebSocket-Protocol': chosen }),
      );
    });
    const verdict = await check(`ws://127.0.0.1:${server.port}/`, { subprotocol: asked });
    expect(verdict).toMatchObject({ outcome: 'fail', sentence });
  });

  test.each([
    ['garbage', 'SSH-2.0-OpenSSH_9.9\r\n', 'response_malformed'],
    ['a half head', 'HTTP/1.1 101 Swi', 'response_incomplete'],
    ['nothing', '', 'response_missing'],
    [
      'too many headers',
      `HTTP/1.1 200 OK\r\n${'X-Flood: 1234567890\r\n'.repeat(10_000)}`,
      'response_headers_too_large',
    ],
  ])('but by %s fails', async (_what, said, cause) => {
    const server = await serveHeads((socket) => socket.end(said, 'latin1'));
    const verdict = await check(`ws://127.0.0.1:${server.port}/`);
    expect(verdict).toMatchObject({ outcome: 'fail', cause: { class: cause } });
    if (said.startsWith('SSH'))
      expect(verdict.evidence).toMatchObject({ first_bytes: 'SSH-2.0-OpenSSH_9.9\\r\\n' });
  });

  test('but reset, or met with silence, fails', async () => {
    const resetting = await serveHeads((socket) => socket.resetAndDestroy());
    expect(await check(`ws://127.0.0.1:${resetting.port}/`)).toMatchObject({
      cause: { class: 'connection_reset' },
    });
    const silent = await serveRaw(() => undefined);
    expect(await check(`ws://127.0.0.1:${silent.port}/`, {}, { timeout_ms: 300 })).toMatchObject({
      cause: { class: 'timed_out', params: { phase: 'first_byte' } },
    });
  });
});

describe('a conversation that goes wrong', () => {
  const wanting = { send: 'hello', expect: 'needle' };
  const said = async (bytes: Buffer | readonly Buffer[], timeout_ms = 2_000) => {
    const server = await serveUpgraded((socket) => {
      socket.write(Buffer.concat([bytes].flat()));
    });
    return check(`ws://127.0.0.1:${server.port}/`, wanting, { timeout_ms });
  };

  test.each([
    ['a masked frame', frame(opcodes.text, 'needle', { isMasked: true })],
    ['text that is not UTF-8', frame(opcodes.text, Buffer.from([0xc3, 0x28]))],
    ['a frame that is unknown or out of turn', frame(3, 'needle')],
    ['a frame that is unknown or out of turn', frame(opcodes.more, 'needle')],
    [
      'a frame that is unknown or out of turn',
      Buffer.concat([frame(opcodes.text, 'a', { fin: false }), frame(opcodes.text, 'b')]),
    ],
    ['a control frame in parts', frame(opcodes.ping, 'a', { fin: false })],
    ['a control frame of the wrong length', frame(opcodes.ping, 'a'.repeat(126))],
    ['a control frame of the wrong length', frame(opcodes.close, 'a')],
    ['an invalid close code', closeFrame(1_005)],
    ['text that is not UTF-8', frame(opcodes.close, Buffer.from([3, 232, 0xff]))],
    ['an extension that was not agreed on', frame(opcodes.text, 'needle', { reserved: 4 })],
    ['an extension that was not agreed on', frame(opcodes.text, 'needle', { reserved: 1 })],
    [
      'more pings than can be answered',
      Buffer.concat(Array.from({ length: 200 }, () => frame(opcodes.ping))),
    ],
    [
      'a message in too many parts',
      Buffer.concat([
        frame(opcodes.text, '', { fin: false }),
        ...Array.from({ length: 5_000 }, () => frame(opcodes.more, '', { fin: false })),
      ]),
    ],
  ])('%s breaks the protocol', async (fault, bytes) => {
    expect(await said(bytes)).toMatchObject({
      outcome: 'fail',
      cause: { class: 'websocket_invalid', params: { fault } },
    });
  });

  test.each([
    [closeFrame(1_011, 'the pool is empty'), ' (code 1011, internal error)', 'the pool is empty'],
    [closeFrame(1_008), ' (code 1008, policy violation)', undefined],
    [closeFrame(4_401, 'unauthorized'), ' (code 4401)', 'unauthorized'],
    [closeFrame(1_000), ' (code 1000, normal)', undefined],
    [frame(opcodes.close), '', undefined],
  ])('a server that closes says why', async (bytes, words, reason) => {
    const verdict = await said(bytes);
    expect(verdict).toMatchObject({
      outcome: 'fail',
      sentence: `The server closed the WebSocket before it answered${words}`,
    });
    expect(verdict.evidence.close_reason).toBe(reason);
    expect(verdict.evidence.close_code).toBeTypeOf('number');
  });

  test.each([
    ['no message that fits, at the time limit', frame(opcodes.text, 'hay'), 300],
    [
      'no message that fits, at an ordinary end',
      [frame(opcodes.text, 'hay'), closeFrame(1_001)],
      2_000,
    ],
  ])('%s is an answer that lacks it', async (_what, bytes, timeout_ms) => {
    expect(await said(bytes, timeout_ms)).toMatchObject({
      sentence: 'No message contains "needle"',
      evidence: { first_message: 'hay', messages: 1 },
    });
  });

  test('an answer that lacks it does not hide why the server closes', async () => {
    expect(await said([frame(opcodes.text, 'hay'), closeFrame(1_011)])).toMatchObject({
      cause: { class: 'websocket_closed', params: { code: 1_011 } },
    });
  });

  test.each([
    ['in one frame', frame(opcodes.binary, '', { length: 65_537 })],
    ['of any length', frame(opcodes.binary, '', { length: 2 ** 53 })],
    [
      'in many frames',
      Buffer.concat([
        frame(opcodes.text, 'x'.repeat(40_000), { fin: false }),
        frame(opcodes.more, 'x'.repeat(40_000)),
      ]),
    ],
  ])('a message that is too large, %s, is not waited for', async (_what, bytes) => {
    expect(await said(bytes)).toMatchObject({ cause: { class: 'message_too_large' } });
  });

  test('a message of just 64 KiB is taken', async () => {
    expect(await said(frame(opcodes.text, `${'x'.repeat(65_530)}needle`))).toMatchObject({
      outcome: 'ok',
    });
  });

  test.each([
    ['silence', () => undefined, 'timed_out'],
    [
      'a close without a close frame',
      (socket: { end: () => unknown }) => socket.end(),
      'connection_closed',
    ],
    [
      'a reset',
      (socket: { resetAndDestroy: () => unknown }) => socket.resetAndDestroy(),
      'connection_reset',
    ],
  ] as const)('%s is no answer', async (_what, behave, cause) => {
    const server = await serveUpgraded((socket) => setImmediate(() => behave(socket)));
    expect(
      await check(`ws://127.0.0.1:${server.port}/`, wanting, { timeout_ms: 300 }),
    ).toMatchObject({ outcome: 'fail', cause: { class: cause } });
  });
});

describe('a server that does harm', () => {
  type Writer = {
    write: (bytes: Buffer) => boolean;
    destroyed: boolean;
    on: (event: 'drain', more: () => void) => unknown;
  };
  const flood = (bytes: Buffer) => (socket: Writer) => {
    const more = (): void => {
      while (!socket.destroyed && socket.write(bytes));
    };
    socket.on('drain', more);
    more();
  };
  const wanting = { send: 'hello', expect: 'needle' };

  test.each([
    [
      'messages',
      Buffer.concat(Array.from({ length: 100 }, () => frame(opcodes.text, 'x'.repeat(900)))),
      'message_lacks',
    ],
    [
      'empty messages',
      Buffer.concat(Array.from({ length: 9_000 }, () => frame(opcodes.text))),
      'message_lacks',
    ],
    [
      'pongs',
      Buffer.concat(Array.from({ length: 9_000 }, () => frame(opcodes.pong, 'x'))),
      'timed_out',
    ],
    [
      'pings',
      Buffer.concat(Array.from({ length: 9_000 }, () => frame(opcodes.ping, 'x'))),
      'websocket_invalid',
    ],
    [
      'fragments',
      Buffer.concat([
        frame(opcodes.text, '', { fin: false }),
        ...Array.from({ length: 9_000 }, () => frame(opcodes.more, '', { fin: false })),
      ]),
      'websocket_invalid',
    ],
    ['noise', Buffer.alloc(65_536, 0xa7), 'websocket_invalid'],
  ])('%s without end end, and take no memory', async (_what, bytes, cause) => {
    const server = await serveUpgraded(flood(bytes));
    const before = process.memoryUsage.rss();
    const verdict = await check(`ws://127.0.0.1:${server.port}/`, wanting, { timeout_ms: 3_000 });
    expect(verdict.outcome).toBe('fail');
    if (cause !== 'timed_out') expect(verdict.cause?.class).toBe(cause);
    else expect(verdict.sentence).toContain('in the first 1 MiB');
    expect(JSON.stringify(verdict.evidence).length).toBeLessThan(5_000);
    expect(process.memoryUsage.rss() - before).toBeLessThan(150 * 1_048_576);
  });

  test('interim responses without end end', async () => {
    const server = await serveHeads(
      flood(Buffer.from('HTTP/1.1 102 Processing\r\n\r\n'.repeat(500))),
    );
    expect(await check(`ws://127.0.0.1:${server.port}/`)).toMatchObject({
      cause: { class: 'response_headers_too_large' },
    });
  });

  test('a flood does not keep open what has passed', async () => {
    const server = await serveUpgraded(flood(frame(opcodes.text, 'x'.repeat(900))));
    expect(await check(`ws://127.0.0.1:${server.port}/`)).toMatchObject({ outcome: 'ok' });
  });

  test('a drip ends with the time limit', async () => {
    const server = await serveHeads((socket) => {
      const timer = setInterval(() => socket.write('H'), 20);
      socket.once('close', () => clearInterval(timer));
      socket.write('HTTP/1.1 101 S\r\nX: ');
    });
    expect(await check(`ws://127.0.0.1:${server.port}/`, {}, { timeout_ms: 300 })).toMatchObject({
      cause: { class: 'timed_out', params: { phase: 'head' } },
    });
  });

  test('that is not public is never connected to', async () => {
    const server = await serveWebsockets();
    const strict = checkerOf('websocket', { ...options, allow: [] });
    for (const target of [`ws://127.0.0.1:${server.port}/`, `wss://good.example:${server.port}/`])
      expect(await strict(target)).toMatchObject({
        cause: { class: 'address_not_public' },
        evidence: { addresses: [] },
      });
    expect(server.requests).toEqual([]);
  });

  test('a thousand checks leave nothing open', async () => {
    const healthy = await serveWebsockets();
    const rude = await serveUpgraded((socket) => socket.write(closeFrame(1_011)));
    const before = process.getActiveResourcesInfo().length;
    for (let round = 0; round < 10; round += 1)
      await Promise.all(
        Array.from({ length: 50 }, () => [
          check(`ws://127.0.0.1:${healthy.port}/`),
          check(`ws://127.0.0.1:${rude.port}/`, wanting),
        ]).flat(),
      );
    await expect
      .poll(() => process.getActiveResourcesInfo().length - before, { timeout: 30_000 })
      .toBeLessThan(20);
  });
});
