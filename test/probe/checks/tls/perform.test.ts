import { X509Certificate } from 'node:crypto';
import { createServer } from 'node:tls';
import { describe, expect, test } from 'vitest';
import type { Lookup } from '../../../../probe/checks/connection/lookup.ts';
import { type Minted, mint, mintAuthority } from '../../../support/certificates.ts';
import { portOf } from '../../../support/connections.ts';
import { checkerOf } from '../../support/checkers.ts';
import { serve, serveRaw } from '../../support/observations.ts';
import { serveScript } from '../../support/servers.ts';

describe('a tls check', () => {
  const day = 86_400_000;
  const root = mintAuthority('Test Root');
  const between = mintAuthority('Test Intermediate', root);
  const toLoopback: Lookup = async () => ({ addresses: ['127.0.0.1'] });
  const check = checkerOf('tls', { authorities: [root.certificate], lookup: toLoopback });
  const names = ['good.example'];
  const good = mint({ names, issuer: between });

  test('of a good certificate passes, and tells it', async () => {
    const { port } = await serve({ certificate: good });
    const verdict = await check(`good.example:${port}`);
    expect(verdict).toMatchObject({
      outcome: 'ok',
      cause: null,
      certificate: { ends_at: expect.any(Number), issuer: 'Test Intermediate' },
      evidence: { tls: { protocol: 'TLSv1.3', fault: null, host_matches: true } },
    });
    expect(verdict.phases?.tls).toBeTypeOf('number');
    expect(verdict.warnings).toBeUndefined();
  });

  test('asks for the name that it is told, at whatever address', async () => {
    const { port } = await serve({ certificate: good });
    const config = { server_name: 'good.example' };
    expect(await check(`127.0.0.1:${port}`, config)).toMatchObject({ outcome: 'ok' });
    expect(await check(`127.0.0.1:${port}`)).toMatchObject({
      cause: { class: 'certificate_wrong_host' },
    });
  });

  test.each([
    [
      'for another name',
      mint({ names: ['other.example'], issuer: root }),
      'certificate_wrong_host',
    ],
    ['that signed itself', mint({ names }), 'certificate_self_signed'],
    [
      'that has expired',
      mint({
        names,
        issuer: root,
        from: new Date(Date.now() - 9 * day),
        to: new Date(Date.now() - day),
      }),
      'certificate_expired',
    ],
    [
      'that begins tomorrow',
      mint({ names, issuer: root, from: new Date(Date.now() + day) }),
      'certificate_not_yet_valid',
    ],
    [
      'of an authority that is not known',
      mint({ names, issuer: mintAuthority('Unknown') }),
      'certificate_chain_incomplete',
    ],
  ])(
    'a certificate %s fails, unless nobody wants it verified',
    async (_what, certificate, cause) => {
      const { port } = await serve({ certificate });
      expect(await check(`good.example:${port}`)).toMatchObject({
        outcome: 'fail',
        cause: { class: cause },
      });
      expect(await check(`good.example:${port}`, { verify_tls: false })).toMatchObject({
        outcome: 'ok',
      });
    },
  );

  test('warns of a certificate that ends soon and of a chain that is incomplete, or fails where that is wanted', async () => {
    const soon = mint({
      names,
      issuer: root,
      from: new Date(Date.now() - 80 * day),
      to: new Date(Date.now() + 5 * day + 60_000),
    });
    const { port } = await serve({ certificate: soon });
    expect(await check(`good.example:${port}`)).toMatchObject({
      outcome: 'ok',
      warnings: [{ code: 'certificate_expires', details: { stage: 7 } }],
    });
    const config = { tls_expires_within_days: 30, fail_on: ['certificate'] };
    expect(await check(`good.example:${port}`, config)).toMatchObject({
      outcome: 'fail',
      cause: { class: 'certificate_expires_soon', params: { days: 5, within: 30 } },
    });
    const alone = await serve({ certificate: good, shows: good.certificate });
    expect(await check(`good.example:${alone.port}`, { verify_tls: false })).toMatchObject({
      outcome: 'ok',
      warnings: [{ code: 'certificate_chain_incomplete' }],
    });
  });

  test('reads a certificate whose dates are none', async () => {
    const der = new X509Certificate(between.certificate).raw.toString('hex');
    // The month of a UTCTime becomes the 99th.
    const spoiled = Buffer.from(der.replaceAll(/(?<=170d....)..../g, '3939'), 'hex');
    const pem = `-----BEGIN CERTIFICATE-----\n${spoiled.toString('base64')}\n-----END CERTIFICATE-----\n`;
    const { port } = await serve({ certificate: good, shows: `${good.certificate}${pem}` });
    expect(await check(`good.example:${port}`)).toMatchObject({
      outcome: 'fail',
      cause: { class: 'certificate_invalid' },
      evidence: { tls: { chain: [{}, {}] } },
    });
  });

  test('warns of a handshake that is slow', async () => {
    // On a fast machine one takes less than a millisecond: this server thinks for some.
    const SNICallback = (_: string, done: (error: null) => void) =>
      void setTimeout(() => done(null), 20);
    const { port } = await serve({ certificate: good, tls: { SNICallback } });
    expect(await check(`good.example:${port}`, { warn: { response_ms: 1 } })).toMatchObject({
      outcome: 'ok',
      warnings: [{ code: 'slow', details: { limit_ms: 1 } }],
    });
  });

  describe('has a floor', () => {
    test.each([
      ['TLSv1.3', {}, 'ok'],
      ['TLSv1.2', {}, 'ok'],
      ['TLSv1.2', { min_version: '1.3' }, 'The server agreed to TLS 1.2 (1.3 or newer is needed)'],
      ['TLSv1.1', {}, 'No TLS version in common (1.2 or newer is needed)'],
      ['TLSv1.1', { verify_tls: false }, 'The server agreed to TLS 1.1 (1.2 or newer is needed)'],
      ['TLSv1.1', { min_version: '1.1' }, 'ok'],
    ] as const)(
      'a server that offers at most %s, with %j',
      async (maxVersion, config, expected) => {
        const certificate = mint({ names, issuer: root, key: 'rsa' });
        const { port } = await serve({
          certificate,
          tls: { minVersion: 'TLSv1', maxVersion, ciphers: 'DEFAULT:@SECLEVEL=0' },
        });
        const verdict = await check(`good.example:${port}`, config);
        expect(verdict.sentence ?? verdict.outcome).toBe(expected);
      },
    );
  });

  test('a server that takes post-quantum groups only passes', async () => {
    const { port } = await serve({
      certificate: good,
      tls: { minVersion: 'TLSv1.3', ecdhCurve: 'X25519MLKEM768' },
    });
    expect(await check(`good.example:${port}`)).toMatchObject({ outcome: 'ok' });
  });

  describe.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'of a server that wants a certificate of ours by %s',
    (version) => {
      const demanding = (certificate: Minted) =>
        serve({
          certificate,
          tls: {
            requestCert: true,
            minVersion: version,
            ...(version === 'TLSv1.2' ? { maxVersion: version } : {}),
          },
        });

      test('passes, because the handshake was answered, and knows the certificate', async () => {
        const { port } = await demanding(good);
        expect(await check(`good.example:${port}`)).toMatchObject({
          outcome: 'ok',
          cause: null,
          phases: { tls: expect.any(Number) },
          certificate: { issuer: 'Test Intermediate' },
          evidence: { tls: { protocol: version, fault: null, host_matches: true } },
        });
        const soon = mint({ names, issuer: root, to: new Date(Date.now() + 2 * day) });
        const { port: later } = await demanding(soon);
        const config = { tls_expires_within_days: 14 };
        expect(await check(`good.example:${later}`, config)).toMatchObject({
          outcome: 'ok',
          warnings: [{ code: 'certificate_expires' }],
        });
      });

      test.each([
        ['is for another name', mint({ names: ['a.example'], issuer: root }), 'wrong_host'],
        ['signed itself', mint({ names }), 'self_signed'],
        [
          'comes from nobody known',
          mint({ names, issuer: mintAuthority('Unknown') }),
          'chain_incomplete',
        ],
        [
          'has expired',
          mint({ names, issuer: root, from: new Date(0), to: new Date(Date.now() - day) }),
          'expired',
        ],
      ])('fails where its own %s, unless nobody wants it verified', async (_, bad, cause) => {
        const target = `good.example:${(await demanding(bad)).port}`;
        expect(await check(target)).toMatchObject({
          outcome: 'fail',
          cause: { class: `certificate_${cause}` },
        });
        expect(await check(target, { verify_tls: false })).toMatchObject({ outcome: 'ok' });
      });

      test('passes by tcp too, unless words are awaited, which never come', async () => {
        const { port } = await demanding(good);
        const tcp = checkerOf('tcp', { authorities: [root.certificate], lookup: toLoopback });
        const target = `good.example:${port}`;
        expect(await tcp(target, { tls: 'implicit' })).toMatchObject({ outcome: 'ok' });
        for (const words of [{ expect: 'hello' }, { banner: 'smtp' }])
          expect((await tcp(target, { tls: 'implicit', ...words })).sentence).toBe(
            'The server refused the TLS handshake (it wants a client certificate)',
          );
      });
    },
  );

  describe('of a server that does harm', () => {
    test.each([
      ['speaks in the clear', [{ says: '220 mail.example ESMTP\r\n' }], 'tls_not_spoken'],
      [
        'speaks http',
        [{ wants: '\x16', says: 'HTTP/1.1 400 Bad Request\r\n\r\n' }],
        'tls_not_spoken',
      ],
      ['closes', [{ wants: '\x16', ends: 'close' }], 'tls_closed'],
      ['resets', [{ wants: '\x16', ends: 'reset' }], 'tls_closed'],
      [
        'sends an alert',
        [{ wants: '\x16', says: Buffer.from([0x15, 3, 3, 0, 2, 2, 112]) }],
        'tls_alert',
      ],
      ['is silent', [], 'timed_out'],
      [
        'stops within a record',
        [{ wants: '\x16', says: Buffer.from([0x16, 3, 3, 0x40]) }],
        'timed_out',
      ],
    ] as const)('%s: %s', async (_what, script, cause) => {
      const server = await serveScript(script);
      const verdict = await check(server.target, {}, { timeout_ms: 300 });
      expect(verdict).toMatchObject({ outcome: 'fail', cause: { class: cause } });
    });

    test('floods with records that mean nothing, and the check ends', async () => {
      const server = await serveRaw((socket) => {
        const more = (): void => {
          while (!socket.destroyed && socket.write(Buffer.alloc(16_384, 0x16)));
        };
        socket.on('drain', more);
        more();
      });
      const verdict = await check(`127.0.0.1:${server.port}`, {}, { timeout_ms: 1_000 });
      expect(verdict.outcome).toBe('fail');
    });
  });

  test('that is not public is never connected to', async () => {
    const { port, connections } = await serve({ certificate: good });
    const strict = checkerOf('tls', { allow: [], lookup: toLoopback });
    for (const target of [`127.0.0.1:${port}`, `good.example:${port}`])
      expect(await strict(target)).toMatchObject({ cause: { class: 'address_not_public' } });
    expect(connections()).toBe(0);
  });

  test.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'ends a handshake of %s for the server, too, before it leaves',
    async (maxVersion) => {
      const ends: string[] = [];
      const server = createServer({ cert: good.chain, key: good.key, maxVersion }, (socket) => {
        ends.push('secured');
        socket.on('error', ({ message }) => ends.push(message));
      });
      server.on('tlsClientError', ({ message }) => ends.push(message));
      const port = await portOf(server);
      for (let nth = 0; nth < 20; nth += 1) await check(`good.example:${port}`);
      await expect.poll(() => ends).toEqual(Array.from({ length: 20 }, () => 'secured'));
      server.close();
    },
  );

  test('a thousand checks leave nothing open', async () => {
    const { port } = await serve({ certificate: good });
    const before = process.getActiveResourcesInfo().length;
    for (let round = 0; round < 20; round += 1)
      await Promise.all(Array.from({ length: 50 }, () => check(`good.example:${port}`)));
    await expect
      .poll(() => process.getActiveResourcesInfo().length - before, { timeout: 30_000 })
      .toBeLessThan(20);
  });
});
