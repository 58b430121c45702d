import { describe, expect, test } from 'vitest';
import type { Lookup } from '../../../../probe/checks/connection/lookup.ts';
import { mint, mintAuthority } from '../../../support/certificates.ts';
import { servicesHere } from '../../../support/services.ts';
import { checkerOf } from '../../support/checkers.ts';
import { serve, serveRaw } from '../../support/observations.ts';
import { type Step, serveScript } from '../../support/servers.ts';

describe('a tcp check', () => {
  const root = mintAuthority('Test Root');
  const toLoopback: Lookup = async () => ({ addresses: ['127.0.0.1'] });
  const check = checkerOf('tcp', { authorities: [root.certificate], lookup: toLoopback });
  const good = mint({ names: ['good.example'], issuer: root });

  describe('of an open port', () => {
    test('passes as soon as it is connected, and says nothing', async () => {
      const server = await serveScript([{ says: 'welcome\r\n' }]);
      const verdict = await check(server.target);
      expect(verdict).toMatchObject({ outcome: 'ok', cause: null });
      expect(verdict.phases).toMatchObject({ dns: null, tls: null, first_byte: null });
      expect(verdict.evidence).toMatchObject({ address: '127.0.0.1', addresses_tried: '1 of 1' });
      expect(Buffer.concat(server.heard)).toHaveLength(0);
    });

    test('by IPv6 and by its scheme passes too', async () => {
      const server = await serveRaw(() => undefined);
      expect(await check(`tcp://localhost:${server.port}`)).toMatchObject({ outcome: 'ok' });
    });
  });

  describe('of a port that does not connect', () => {
    test('that is closed is refused', async () => {
      const server = await serve();
      await server.close();
      expect(await check(`127.0.0.1:${server.port}`)).toMatchObject({
        outcome: 'fail',
        cause: { class: 'connection_refused' },
      });
    });

    test('that is not public is never connected to', async () => {
      const server = await serveScript([]);
      const strict = checkerOf('tcp', { allow: [], lookup: toLoopback });
      for (const target of [server.target, `a.example:${server.port}`])
        expect(await strict(target)).toMatchObject({
          outcome: 'fail',
          cause: { class: 'address_not_public' },
          evidence: { addresses: [] },
        });
      expect(server.connections()).toBe(0);
    });
  });

  describe('with something to send and to expect', () => {
    test('sends it and finds the answer wherever it is, in pieces of one byte', async () => {
      const server = await serveRaw((socket) =>
        socket.once('data', () => {
          for (const byte of Buffer.from(`${'x'.repeat(200)}+PONG\r\n`))
            socket.write(Buffer.from([byte]));
        }),
      );
      const config = { send: 'PING\\r\\n', expect: '+PONG' };
      const verdict = await check(`127.0.0.1:${server.port}`, config);
      expect(verdict).toMatchObject({ outcome: 'ok' });
      expect(verdict.phases?.first_byte).toBeTypeOf('number');
    });

    test('sends bytes as they are written', async () => {
      const server = await serveScript([
        { wants: Buffer.from([0, 1, 2, 255]), says: Buffer.from([7, 8, 9]) },
      ]);
      for (const [encoding, send, expected] of [
        ['text', '\\0\\x01\\x02\\xff', '\\x07\\x08'],
        ['hex', '00 01 02 ff', '0708'],
        ['base64', 'AAEC/w==', 'Bwg='],
      ] as const)
        expect(await check(server.target, { encoding, send, expect: expected })).toMatchObject({
          outcome: 'ok',
        });
    });

    test.each([
      ['another answer, at its end', [{ wants: 'PING', says: '-ERR\r\n', ends: 'close' }]],
      ['another answer, at the time limit', [{ wants: 'PING', says: '-ERR\r\n' }]],
    ] as const)('%s is an answer that lacks it', async (_what, script: readonly Step[]) => {
      const server = await serveScript(script);
      const verdict = await check(
        server.target,
        { send: 'PING\\r\\n', expect: '+PONG' },
        { timeout_ms: 300 },
      );
      expect(verdict).toMatchObject({
        outcome: 'fail',
        cause: { class: 'answer_lacks', params: { text: '+PONG', truncated: 0 } },
        evidence: { received: '-ERR\\r\\n' },
        sentence: 'Answer does not contain "+PONG"',
      });
    });

    test('an answer of more than 64 KiB is read so far and no further', async () => {
      let sent = 0;
      const server = await serveRaw((socket) => {
        const more = (): void => {
          while (!socket.destroyed && socket.write(Buffer.alloc(16_384, 'x'))) sent += 16_384;
          sent += 16_384;
        };
        socket.on('drain', more);
        more();
      });
      const verdict = await check(`127.0.0.1:${server.port}`, { expect: 'needle' });
      expect(verdict).toMatchObject({
        cause: { class: 'answer_lacks', params: { truncated: 1 } },
      });
      expect(JSON.stringify(verdict.evidence).length).toBeLessThan(2_000);
      expect(sent).toBeLessThan(32 * 1_048_576);
    });

    test.each([
      ['closes', [{ wants: 'PING', ends: 'close' }], 'connection_closed'],
      ['resets', [{ wants: 'PING', ends: 'reset' }], 'connection_reset'],
      ['is silent', [], 'timed_out'],
    ] as const)('a server that %s has not answered', async (_what, script, cause) => {
      const server = await serveScript(script);
      const verdict = await check(
        server.target,
        { send: 'PING\\r\\n', expect: '+PONG' },
        { timeout_ms: 300 },
      );
      expect(verdict).toMatchObject({ outcome: 'fail', cause: { class: cause } });
    });

    test('evidence never shows what was sent, as a whole or a word of it, whoever echoes it', async () => {
      const server = await serveScript([
        { wants: 'AUTH', says: '-ERR no user with password hunter2-long\r\n', ends: 'close' },
      ]);
      const verdict = await check(server.target, {
        send: 'AUTH hunter2-long\\r\\n',
        expect: '+OK',
      });
      expect(verdict.evidence.received).toBe('-ERR no user with password ***\\r\\n');
    });
  });

  describe('with TLS from the start', () => {
    test('speaks inside it, and tells the certificate', async () => {
      const target = await serve({ certificate: good });
      const verdict = await check(`good.example:${target.port}`, {
        tls: 'implicit',
        send: 'GET / HTTP/1.0\\r\\n\\r\\n',
        expect: 'HTTP/1.1 200',
      });
      expect(verdict).toMatchObject({
        outcome: 'ok',
        certificate: { issuer: expect.any(String) },
        evidence: { tls: { host_matches: true, fault: null } },
      });
    });

    test('sends nothing to a server with a bad certificate', async () => {
      const target = await serve({ certificate: mint({ names: ['good.example'] }) });
      const verdict = await check(`good.example:${target.port}`, {
        tls: 'implicit',
        send: 'GET / HTTP/1.0\\r\\n\\r\\n',
      });
      expect(verdict).toMatchObject({ cause: { class: 'certificate_self_signed' } });
      expect(target.hits).toHaveLength(0);
      const lax = await check(`good.example:${target.port}`, {
        tls: 'implicit',
        verify_tls: false,
      });
      expect(lax).toMatchObject({ outcome: 'ok' });
    });

    test('where the server speaks in the clear is told as that', async () => {
      const server = await serveScript([{ says: '220 mail.example ESMTP\r\n' }]);
      const verdict = await check(server.target, { tls: 'implicit' });
      expect(verdict).toMatchObject({ cause: { class: 'tls_not_spoken' } });
    });
  });

  describe('with STARTTLS', () => {
    const scripts: Readonly<Record<string, readonly Step[]>> = {
      smtp: [
        { says: '220-mail.example\r\n220 ESMTP\r\n' },
        {
          wants: 'EHLO antipode.example\r\n',
          says: '250-mail.example\r\n250-SIZE 1\r\n250 STARTTLS\r\n',
        },
        { wants: 'STARTTLS\r\n', says: '220 Ready\r\n', secures: good },
      ],
      imap: [
        { says: '* OK [CAPABILITY IMAP4rev1 STARTTLS] ready\r\n' },
        { wants: 'a STARTTLS\r\n', says: '* NOTHING much\r\na OK begin\r\n', secures: good },
      ],
      pop3: [
        { says: '+OK POP3 ready <1@mail.example>\r\n' },
        { wants: 'STLS\r\n', says: '+OK Begin\r\n', secures: good },
      ],
      ftp: [
        { says: '220-Welcome\r\n files here\r\n220 ready\r\n' },
        { wants: 'AUTH TLS\r\n', says: '234 Proceed\r\n', secures: good },
      ],
      postgres: [
        { wants: Buffer.from([0, 0, 0, 8, 4, 0xd2, 0x16, 0x2f]), says: 'S', secures: good },
      ],
      ldap: [
        {
          wants: '1.3.6.1.4.1.1466.20037',
          says: Buffer.from([0x30, 0x0c, 2, 1, 1, 0x78, 7, 0x0a, 1, 0, 4, 0, 4, 0]),
          secures: good,
        },
      ],
    };

    test.each(Object.entries(scripts))(
      'of %s passes, and judges the certificate',
      async (tls, script) => {
        const server = await serveScript(script);
        const verdict = await check(`good.example:${server.port}`, { tls });
        expect(verdict).toMatchObject({ outcome: 'ok', evidence: { tls: { fault: null } } });
        const other = await check(`bad.example:${server.port}`, { tls });
        expect(other).toMatchObject({ cause: { class: 'certificate_wrong_host' } });
        const named = await check(`bad.example:${server.port}`, {
          tls,
          server_name: 'good.example',
        });
        expect(named).toMatchObject({ outcome: 'ok' });
      },
    );

    test('sends and expects inside it', async () => {
      const server = await serveScript([
        ...(scripts.smtp ?? []),
        { wants: 'NOOP\r\n', says: '250 fine\r\n' },
      ]);
      const config = { tls: 'smtp', send: 'NOOP\\r\\n', expect: '250 fine' };
      expect(await check(`good.example:${server.port}`, config)).toMatchObject({ outcome: 'ok' });
    });

    test.each([
      ['smtp', [{ says: '220 m\r\n' }, { wants: 'EHLO', says: '250 m\r\n' }]],
      [
        'smtp',
        [
          { says: '220 m\r\n' },
          { wants: 'EHLO', says: '250 STARTTLS\r\n' },
          { wants: 'STARTTLS', says: '454 later\r\n' },
        ],
      ],
      ['imap', [{ says: '* OK m\r\n' }, { wants: 'STARTTLS', says: 'a BAD what\r\n' }]],
      ['pop3', [{ says: '+OK m\r\n' }, { wants: 'STLS', says: '-ERR no\r\n' }]],
      ['ftp', [{ says: '220 m\r\n' }, { wants: 'AUTH', says: '502 no\r\n' }]],
      ['postgres', [{ wants: '\x04', says: 'N' }]],
      [
        'ldap',
        [
          {
            wants: '20037',
            says: Buffer.from([0x30, 0x0c, 2, 1, 1, 0x78, 7, 0x0a, 1, 53, 4, 0, 4, 0]),
          },
        ],
      ],
    ] as const)(
      'that a server of %s does not offer is refused',
      async (tls, script: readonly Step[]) => {
        const server = await serveScript(script);
        expect(await check(server.target, { tls })).toMatchObject({
          outcome: 'fail',
          cause: { class: 'starttls_refused', params: { protocol: tls } },
        });
      },
    );

    test('words before the handshake are not taken for words of the server', async () => {
      const server = await serveScript([
        { says: '220 m\r\n' },
        { wants: 'EHLO', says: '250 STARTTLS\r\n' },
        { wants: 'STARTTLS', says: '220 go\r\n250 injected\r\n' },
      ]);
      expect(await check(server.target, { tls: 'smtp', expect: 'injected' })).toMatchObject({
        cause: { class: 'greeting_unexpected', params: { protocol: 'smtp' } },
      });
    });

    test('a server that speaks on in the clear is told as that', async () => {
      const server = await serveScript([
        { says: '+OK m\r\n' },
        { wants: 'STLS', says: '+OK go\r\n' },
        { wants: '\x16', says: '+OK still here\r\n' },
      ]);
      expect(await check(server.target, { tls: 'pop3' })).toMatchObject({
        cause: { class: 'tls_not_spoken' },
      });
    });

    test.each(['smtp', 'imap', 'pop3', 'ftp', 'postgres', 'ldap'])(
      'of %s ends at the time limit where a server is silent, before and in the handshake',
      async (tls) => {
        const silent = await serveScript([]);
        expect(await check(silent.target, { tls }, { timeout_ms: 200 })).toMatchObject({
          cause: { class: 'timed_out' },
        });
        const script = (scripts[tls] ?? []).map(({ secures: _, ...step }) => step);
        const stuck = await serveScript(script);
        expect(await check(stuck.target, { tls }, { timeout_ms: 300 })).toMatchObject({
          cause: { class: 'timed_out', params: { phase: 'tls' } },
        });
      },
    );
  });

  describe('with a greeting', () => {
    test('takes its leave as the protocol wants it', async () => {
      const server = await serveScript([
        { says: '220 mail.example ESMTP\r\n' },
        { wants: 'QUIT\r\n' },
      ]);
      expect(await check(server.target, { banner: 'smtp' })).toMatchObject({ outcome: 'ok' });
      await expect.poll(() => String(server.heard[0])).toBe('QUIT\r\n');
    });

    test('a MySQL is told goodbye by a login of nobody, so that it counts no broken handshake', async () => {
      const greeting = Buffer.from(`\x0a8.4.0\0${'x'.repeat(50)}`, 'latin1');
      const server = await serveScript([
        { says: Buffer.concat([Buffer.from([greeting.length, 0, 0, 0]), greeting]) },
        { wants: 'antipode\0', says: Buffer.from([1, 0, 0, 2, 0xfe]) },
        { wants: Buffer.from([0, 0, 0, 3]), says: Buffer.from([3, 0, 0, 4, 0xff, 0x15, 4]) },
      ]);
      expect(await check(server.target, { banner: 'mysql' })).toMatchObject({ outcome: 'ok' });
      expect(String(server.heard[0])).toContain('mysql_native_password');
    });

    test('that comes in pieces, or before all that is asked, is understood', async () => {
      const server = await serveRaw((socket) => {
        for (const byte of Buffer.from('* OK ready\r\n')) socket.write(Buffer.from([byte]));
        socket.write('more at once\r\n');
      });
      expect(
        await check(`127.0.0.1:${server.port}`, { banner: 'imap', expect: 'at once' }),
      ).toMatchObject({ outcome: 'ok' });
    });

    test.each([
      ['smtp', '554 no service\r\n', { code: 554 }, 'The SMTP server refuses service (554)'],
      ['imap', '* BYE overloaded\r\n', { code: 'BYE' }, 'The IMAP server refuses service (BYE)'],
      [
        'redis',
        '-LOADING wait\r\n',
        { code: 'LOADING' },
        'The Redis server refuses service (LOADING)',
      ],
    ])('of %s that refuses says so', async (banner, says, params, sentence) => {
      const server = await serveScript([{ says }]);
      expect(await check(server.target, { banner })).toMatchObject({
        outcome: 'fail',
        cause: { class: 'greeting_refused', params: { protocol: banner, ...params } },
        sentence,
      });
    });

    test.each(['smtp', 'imap', 'ssh', 'redis', 'postgres', 'mysql'])(
      'of %s that never ends, or drips, or is random, ends the check and not the probe',
      async (banner) => {
        const endless = await serveRaw((socket) => {
          const more = (): void => {
            while (!socket.destroyed && socket.write(Buffer.alloc(16_384, 'A')));
          };
          socket.on('drain', more);
          more();
        });
        const verdict = await check(`127.0.0.1:${endless.port}`, { banner });
        expect(verdict.cause?.class).toBe('greeting_unexpected');
        const drip = await serveRaw((socket) => {
          const timer = setInterval(() => socket.write('2'), 5);
          socket.once('close', () => clearInterval(timer));
        });
        const dripped = await check(`127.0.0.1:${drip.port}`, { banner }, { timeout_ms: 200 });
        expect(['greeting_unexpected', 'timed_out']).toContain(dripped.cause?.class);
      },
    );
  });

  test('of a real Postgres passes by its greeting, whoever may log in', async () => {
    const { hostname, port } = new URL(servicesHere().postgres.url);
    expect(await check(`${hostname}:${port}`, { banner: 'postgres' })).toMatchObject({
      outcome: 'ok',
    });
    expect(await check(`${hostname}:${port}`, { banner: 'redis' })).toMatchObject({
      outcome: 'fail',
    });
  });

  test('warns of the family that does not answer, once another host answered by it', async () => {
    const both: Lookup = async () => ({ addresses: ['127.0.0.1', '::1'] });
    const twofold = checkerOf('tcp', { lookup: both, families: { 4: true, 6: true } });
    const [four, six] = await Promise.all(['127.0.0.1', '::1'].map((host) => serve({ host })));
    await twofold(`a.example:${six?.port}`);
    expect(await twofold(`b.example:${four?.port}`, {}, { interval_ms: 900_000 })).toMatchObject({
      outcome: 'ok',
      warnings: [{ code: 'one_family_fails', details: { family: '6' } }],
    });
  });

  test('a thousand checks leave nothing open', async () => {
    const server = await serveScript([{ says: '220 m\r\n' }]);
    const before = process.getActiveResourcesInfo().length;
    for (let round = 0; round < 20; round += 1)
      await Promise.all(Array.from({ length: 50 }, () => check(server.target, { banner: 'smtp' })));
    await expect
      .poll(() => process.getActiveResourcesInfo().length - before, { timeout: 30_000 })
      .toBeLessThan(20);
  });
});
