import { connect, type Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import type { Lookup } from '../../../../probe/checks/connection/lookup.ts';
import { proxyAt } from '../../../../probe/checks/connection/proxy.ts';
import { readConfig } from '../../../../probe/config.ts';
import { createReachability } from '../../../../probe/schedule/self-check.ts';
import { pause } from '../../../../shared/base/async.ts';
import { mint, mintAuthority } from '../../../support/certificates.ts';
import { checkerOf } from '../../support/checkers.ts';
import { answerHealth } from '../../support/grpc.ts';
import { serveHttp2 } from '../../support/http2.ts';
import { answerBy, serve } from '../../support/observations.ts';
import { serveScript } from '../../support/servers.ts';
import { serveHeads, serveWebsockets } from '../../support/websockets.ts';

/** Every target is at an address that nothing but the proxy can reach: it has them all here. */
const address = '93.184.216.34';
const toAddress: Lookup = async () => ({ addresses: [address] });
const root = mintAuthority('Test Root');
const certificate = mint({ names: ['shop.example'], issuer: root });

describe('checks through a proxy', () => {
  type Behave = (socket: Socket, head: string) => void;

  /** Connects to the port that it is asked for, at this machine. */
  const pass: Behave = (socket, head) => {
    const onward = connect(Number(/:(\d+) HTTP/.exec(head)?.[1]), '127.0.0.1');
    onward.on('error', () => socket.destroy()).on('close', () => socket.destroy());
    socket.on('error', () => onward.destroy()).on('close', () => onward.destroy());
    onward.once('connect', () => {
      socket.write('HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n');
      socket.pipe(onward).pipe(socket);
    });
  };
  const proxyThat = async (behave: Behave = pass) => {
    const heads: string[] = [];
    const { port } = await serveHeads((socket, head) => {
      heads.push(head);
      behave(socket, head);
    });
    return { port, proxy: proxyAt(`http://ada:p%40ss@127.0.0.1:${port}`), heads };
  };
  const say = (text: string): Behave => {
    return (socket) => socket.end(text);
  };
  const through = (
    kind: Parameters<typeof checkerOf>[0],
    { proxy }: { readonly proxy: ReturnType<typeof proxyAt> },
  ) =>
    checkerOf(kind, {
      proxy,
      lookup: toAddress,
      authorities: [root.certificate],
      families: { 4: true, 6: true },
      allow: [],
    });

  test('reach the address that the probe looked up, as the user that the setting names', async () => {
    const { port } = await serve({ certificate });
    const on = await proxyThat();
    const verdict = await through('https', on)(`https://shop.example:${port}/`);
    expect(verdict).toMatchObject({
      outcome: 'ok',
      evidence: { address, attempts: [{ address, code: null }] },
    });
    expect(verdict.phases).toMatchObject({
      tcp: expect.any(Number),
      tls: expect.any(Number),
      first_byte: expect.any(Number),
    });
    expect(JSON.stringify(verdict)).not.toContain('127.0.0.1');
    expect(on.heads).toEqual([
      `CONNECT ${address}:${port} HTTP/1.1\r\nHost: ${address}:${port}\r\nProxy-Authorization: Basic ${Buffer.from('ada:p@ss').toString('base64')}\r\n\r\n`,
    ]);
  });

  test('connect in every kind that speaks TCP', async () => {
    const on = await proxyThat();
    const passes = async (
      kind: Parameters<typeof checkerOf>[0],
      target: string,
      config: Record<string, string> = {},
    ) => {
      const before = on.heads.length;
      const { outcome, sentence } = await through(kind, on)(target, config);
      expect({ kind, outcome, sentence }).toEqual({ kind, outcome: 'ok', sentence: null });
      expect(on.heads.length).toBeGreaterThan(before);
    };
    const secure = await serve({ certificate });
    const plain = await serve();
    const sockets = await serveWebsockets(undefined, { certificate });
    const calls = await serveHttp2(answerHealth({ status: 1 }));
    const secureCalls = await serveHttp2(answerHealth({ status: 1 }), { certificate });
    const greeting = { says: '220 mail ESMTP\r\n' };
    const mail = await serveScript([
      greeting,
      { wants: 'EHLO', says: '250-mail\r\n250 STARTTLS\r\n' },
      { wants: 'STARTTLS', says: '220 go\r\n', secures: certificate },
    ]);
    const silent = await serveScript([greeting]);
    await passes('https', `http://shop.example:${plain.port}/`);
    await passes('tls', `shop.example:${secure.port}`);
    await passes('tcp', `shop.example:${plain.port}`);
    await passes('tcp', `shop.example:${silent.port}`, { expect: 'ESMTP' });
    await passes('tcp', `shop.example:${mail.port}`, { tls: 'smtp' });
    await passes('grpc', `grpc://shop.example:${calls.port}`);
    await passes('grpc', `grpcs://shop.example:${secureCalls.port}`);
    await passes('websocket', `wss://shop.example:${sockets.port}/`);
  });

  test('read what a server says first in the same breath as the proxy, whatever the pieces', async () => {
    const words = 'HTTP/1.1 200 OK\r\n\r\n220 mail ESMTP\r\n';
    for (const size of [1, 18, 19, 20, words.length]) {
      const on = await proxyThat(async (socket) => {
        for (let at = 0; at < words.length; at += size) {
          socket.write(words.slice(at, at + size));
          await pause(1);
        }
      });
      expect(await through('tcp', on)('shop.example:25', { expect: 'ESMTP' })).toMatchObject({
        outcome: 'ok',
      });
    }
  });

  test('are refused a private address before the proxy hears of it, also by a redirect', async () => {
    const on = await proxyThat();
    const inside = { class: 'address_not_public' };
    expect(await through('tcp', on)('10.0.0.1:443')).toMatchObject({ cause: inside });
    expect(on.heads).toEqual([]);
    const target = await serve();
    target.answer(
      answerBy(() => ({ status: 302, headers: { location: 'http://169.254.169.254/' } })),
    );
    expect(await through('https', on)(`http://shop.example:${target.port}/`)).toMatchObject({
      cause: inside,
    });
    expect(on.heads).toHaveLength(1);
  });

  test.each([
    ['407 Proxy Authentication Required', 'wants a user and a password, or others (407)'],
    ['403 Forbidden', 'does not let this connection pass (403)'],
    ['500 Oops', 'does not let this connection pass (500)'],
  ])('rule 1: that it answers with %s are unknown, never down', async (status, words) => {
    const on = await proxyThat(say(`HTTP/1.1 ${status}\r\ncontent-length: 0\r\n\r\n`));
    expect(await through('https', on)('https://shop.example/')).toMatchObject({
      outcome: 'unknown',
      cause: { class: 'probe_proxy', params: { code: status.slice(0, 3) } },
      sentence: `The proxy for checks ${words}`,
    });
  });

  test.each([
    ['closes', say(''), 'CLOSED'],
    ['resets', (socket: Socket) => socket.resetAndDestroy(), 'ECONNRESET'],
    ['speaks no HTTP', say('SSH-2.0-x\r\n\r\n'), 'MALFORMED'],
    ['never ends its answer', say(`HTTP/1.1 200 OK\r\n${'x'.repeat(40_000)}`), 'MALFORMED'],
  ] as const)('rule 1: that it %s are unknown', async (_, behave, code) => {
    const on = await proxyThat(behave);
    expect(await through('tcp', on)('shop.example:443')).toMatchObject({
      outcome: 'unknown',
      cause: { class: 'probe_proxy', params: { code } },
      sentence: `The proxy for checks cannot be used (${code})`,
    });
  });

  test('rule 1: that nobody takes at its address are unknown', async () => {
    const proxy = proxyAt('http://127.0.0.1:1');
    expect(await through('tcp', { proxy })('shop.example:443')).toMatchObject({
      outcome: 'unknown',
      sentence: 'The proxy for checks cannot be used (ECONNREFUSED)',
    });
  });

  test.each([502, 503, 504])(
    'rule 2: that it could not connect (%i) fail, if others vouch',
    async (status) => {
      const on = await proxyThat(say(`HTTP/1.1 ${status} Unreachable\r\n\r\n`));
      expect(await through('tcp', on)('shop.example:443')).toMatchObject({
        outcome: 'fail',
        cause: { class: 'connection_failed' },
        evidence: { failure: { phase: 'tcp', code: `PROXY_${status}` } },
      });
    },
  );

  test('rule 2: only what the proxy reaches vouches', async () => {
    const anchor = await serve();
    const asked = { host: 'shop.example', since: 0, wasRefused: false, isInside: false };
    const vouches = ({ proxy }: { readonly proxy: ReturnType<typeof proxyAt> }) =>
      createReachability({
        anchors: () => [`127.0.0.1:${anchor.port}`],
        busRoundTrip: () => Promise.resolve(),
        proxy,
      }).reachedOther(asked);
    expect(await vouches(await proxyThat())).toBe(true);
    expect(await vouches(await proxyThat(say('HTTP/1.1 503 No\r\n\r\n')))).toBe(false);
  });

  test('are set by PROBE_CHECKS_PROXY, whose faults are told without its password', () => {
    const faultsOf = (url: string): string => {
      try {
        readConfig({ PROBE_DATA_DIR: '/x', PROBE_CHECKS_PROXY: url });
        return '';
      } catch (error) {
        return String(error);
      }
    };
    expect(faultsOf('http://ada:secret@proxy:3128')).not.toContain('PROBE_CHECKS_PROXY');
    for (const wrong of [
      'https://ada:secret@proxy',
      'ada:secret@proxy',
      'http://ada:%secret@proxy',
    ]) {
      expect(faultsOf(wrong)).toContain('PROBE_CHECKS_PROXY');
      expect(faultsOf(wrong)).not.toContain('secret@');
    }
    expect(proxyAt('http://[2001:db8::1]:8080')).toEqual({
      host: '2001:db8::1',
      port: 8_080,
      authorization: '',
    });
  });
});
