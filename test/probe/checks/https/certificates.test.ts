import { afterAll, describe, expect, test } from 'vitest';
import type { Lookup } from '../../../../probe/checks/connection/lookup.ts';
import { mint, mintAuthority } from '../../../support/certificates.ts';
import { startTarget, type Target, type TargetOptions } from '../../../support/targets.ts';
import { httpsChecker } from '../../support/checkers.ts';
import { serve, serveRaw } from '../../support/observations.ts';

/**
 * Every trap of certificates, on real sockets: the host is checked by us and not by node, and must
 * fail closed on each version of node.
 */
describe('certificates', () => {
  const day = 86_400_000;
  const root = mintAuthority('Test Root');
  const between = mintAuthority('Test Intermediate', root);
  const unknownSender = mintAuthority('Unknown Root');

  /** Names lead to loopback, so that a certificate's name can be anything. */
  const toLoopback: Lookup = async () => ({ addresses: ['127.0.0.1'] });
  const check = httpsChecker({ authorities: [root.certificate], lookup: toLoopback });

  const open: Target[] = [];
  const serve = async (options: TargetOptions): Promise<Target> => {
    const target = await startTarget(options);
    open.push(target);
    return target;
  };
  afterAll(() => Promise.all(open.map((target) => target.close())));

  const at = (target: Target, host: string): string => `https://${host}:${target.port}/`;

  describe('a certificate that is good', () => {
    test.each([
      ['signed by a known root', mint({ names: ['good.example'], issuer: root }), 'good.example'],
      [
        'signed through an intermediate that is sent along',
        mint({ names: ['good.example'], issuer: between }),
        'good.example',
      ],
      [
        'with an RSA key',
        mint({ names: ['good.example'], issuer: root, key: 'rsa' }),
        'good.example',
      ],
      [
        'for all names of a level',
        mint({ names: ['*.good.example'], issuer: root }),
        'www.good.example',
      ],
      [
        'for all names of a level, one with an underscore',
        mint({ names: ['*.good.example'], issuer: root }),
        'my_host.good.example',
      ],
      [
        'for all names of a level with an underscore',
        mint({ names: ['*.my_zone.example'], issuer: root }),
        'my_host.my_zone.example',
      ],
      [
        'for a name with an underscore',
        mint({ names: ['my_host.example'], issuer: root }),
        'my_host.example',
      ],
      ['for an address', mint({ names: ['127.0.0.1'], issuer: root }), '127.0.0.1'],
      [
        'for one of many names',
        mint({ names: ['a.example', 'b.example', 'good.example'], issuer: root }),
        'GOOD.example',
      ],
      [
        'for a name asked for with its dot',
        mint({ names: ['good.example'], issuer: root }),
        'good.example.',
      ],
      [
        'for an international name',
        mint({ names: ['xn--bcher-kva.example'], issuer: root }),
        'bücher.example',
      ],
    ])('%s passes', async (_what, certificate, host) => {
      const target = await serve({ certificate });
      expect(await check(at(target, host))).toMatchObject({ outcome: 'ok' });
      expect(target.hits).toHaveLength(1);
    });
  });

  describe('an invalid certificate is refused before the request is sent', () => {
    test.each([
      [
        'for another name',
        mint({ names: ['other.example'], issuer: root }),
        'good.example',
        'certificate_wrong_host',
      ],
      [
        'for all names of a level, two levels down',
        mint({ names: ['*.good.example'], issuer: root }),
        'a.b.good.example',
        'certificate_wrong_host',
      ],
      [
        'for all names of a level, the level itself',
        mint({ names: ['*.good.example'], issuer: root }),
        'good.example',
        'certificate_wrong_host',
      ],
      [
        'for all names of a level, one two levels down with an underscore',
        mint({ names: ['*.good.example'], issuer: root }),
        'my_host.b.good.example',
        'certificate_wrong_host',
      ],
      [
        'for all names there are, asked for one with an underscore',
        mint({ names: ['*.example'], issuer: root }),
        'my_host.example',
        'certificate_wrong_host',
      ],
      [
        'with a wildcard within a label with an underscore',
        mint({ names: ['my_*.good.example'], issuer: root }),
        'my_host.good.example',
        'certificate_wrong_host',
      ],
      [
        'with a wildcard within a label',
        mint({ names: ['w*.good.example'], issuer: root }),
        'www.good.example',
        'certificate_wrong_host',
      ],
      [
        'that has the name only as its common name',
        mint({ commonName: 'good.example', issuer: root }),
        'good.example',
        'certificate_wrong_host',
      ],
      [
        'for a name, asked for by address',
        mint({ names: ['good.example'], issuer: root }),
        '127.0.0.1',
        'certificate_wrong_host',
      ],
      [
        'for another address',
        mint({ names: ['127.0.0.2'], issuer: root }),
        '127.0.0.1',
        'certificate_wrong_host',
      ],
      [
        'with the address as a name',
        mint({ commonName: '127.0.0.1', names: ['x.example'], issuer: root }),
        '127.0.0.1',
        'certificate_wrong_host',
      ],
      [
        'that expired',
        mint({
          names: ['good.example'],
          issuer: root,
          from: new Date(Date.now() - 20 * day),
          to: new Date(Date.now() - 3.5 * day),
        }),
        'good.example',
        'certificate_expired',
      ],
      [
        'that is not valid yet',
        mint({ names: ['good.example'], issuer: root, from: new Date(Date.now() + day) }),
        'good.example',
        'certificate_not_yet_valid',
      ],
      [
        'that signed itself',
        mint({ names: ['good.example'] }),
        'good.example',
        'certificate_self_signed',
      ],
      [
        'of an unknown root',
        mint({
          names: ['good.example'],
          issuer: mintAuthority('Unknown Intermediate', unknownSender),
        }),
        'good.example',
        'certificate_untrusted',
      ],
    ])('%s', async (_what, certificate, host, cause) => {
      const target = await serve({ certificate });
      const checked = await check(at(target, host), { bearer_token: 'secret' });
      expect(checked).toMatchObject({ outcome: 'fail', cause: { class: cause } });
      expect(target.hits).toEqual([]);
      expect(checked.evidence.tls).toMatchObject({
        chain: [
          { from: expect.any(String), to: expect.any(String) },
          ...(cause === 'certificate_untrusted' ? [{}] : []),
        ],
      });
    });

    test('whose intermediate is missing', async () => {
      const certificate = mint({ names: ['good.example'], issuer: between });
      const target = await serve({ certificate, shows: certificate.certificate });
      expect(await check(at(target, 'good.example'))).toMatchObject({
        outcome: 'fail',
        cause: { class: 'certificate_chain_incomplete' },
      });
      expect(target.hits).toEqual([]);
    });

    test('whose intermediate has expired', async () => {
      const old = mint({
        commonName: 'Old Intermediate',
        authority: true,
        issuer: root,
        from: new Date(Date.now() - 20 * day),
        to: new Date(Date.now() - day),
      });
      const target = await serve({ certificate: mint({ names: ['good.example'], issuer: old }) });
      expect(await check(at(target, 'good.example'))).toMatchObject({
        outcome: 'fail',
        cause: { class: 'certificate_issuer_expired' },
      });
      expect(target.hits).toEqual([]);
    });

    test('and a root that did not sign it do not help: a certificate with a forged issuer', async () => {
      const forged = mint({
        names: ['good.example'],
        issuer: { ...unknownSender, name: root.name },
      });
      const target = await serve({ certificate: forged });
      expect(await check(at(target, 'good.example'))).toMatchObject({ outcome: 'fail' });
      expect(target.hits).toEqual([]);
    });
  });

  test('with verify_tls off, a certificate of any kind passes', async () => {
    const target = await serve({
      certificate: mint({
        names: ['other.example'],
        to: new Date(Date.now() - day),
        from: new Date(Date.now() - 5 * day),
      }),
    });
    expect(await check(at(target, 'good.example'), { verify_tls: false })).toMatchObject({
      outcome: 'ok',
    });
  });

  test('the evidence of a check has protocol, chain, names and dates', async () => {
    const certificate = mint({ names: ['good.example', '127.0.0.1'], issuer: between });
    const target = await serve({ certificate });
    const { evidence, phases } = await check(at(target, 'good.example'));
    expect(evidence.tls).toMatchObject({
      protocol: 'TLSv1.3',
      fault: null,
      host_matches: true,
      chain: [
        {
          subject: 'CN=good.example',
          issuer: 'CN=Test Intermediate',
          names: ['DNS:good.example', 'IP Address:127.0.0.1'],
        },
        { subject: 'CN=Test Intermediate', issuer: 'CN=Test Root' },
      ],
    });
    expect(phases).toMatchObject({
      dns: expect.any(Number),
      tcp: expect.any(Number),
      tls: expect.any(Number),
      first_byte: expect.any(Number),
      total: expect.any(Number),
    });
  });

  test('a certificate that ends soon fails where that is asked for, and only there', async () => {
    const target = await serve({
      certificate: mint({
        names: ['good.example'],
        issuer: root,
        to: new Date(Date.now() + 10.5 * day),
      }),
    });
    const url = at(target, 'good.example');
    expect(
      await check(url, { tls_expires_within_days: 14, fail_on: ['certificate'] }),
    ).toMatchObject({
      outcome: 'fail',
      sentence: 'Certificate expires in 10 days (fewer than 14)',
    });
    expect(
      await check(url, { tls_expires_within_days: 7, fail_on: ['certificate'] }),
    ).toMatchObject({ outcome: 'ok' });
    expect(await check(url)).toMatchObject({ outcome: 'ok' });
  });

  describe('failing handshakes', () => {
    test('TLS 1.2 is spoken too', async () => {
      const target = await serve({
        certificate: mint({ names: ['good.example'], issuer: root }),
        tls: { maxVersion: 'TLSv1.2' },
      });
      expect(await check(at(target, 'good.example'))).toMatchObject({
        outcome: 'ok',
        evidence: { tls: { protocol: 'TLSv1.2' } },
      });
    });

    test('a server that wants a client certificate', async () => {
      const target = await serve({
        certificate: mint({ names: ['good.example'], issuer: root }),
        tls: { requestCert: true },
      });
      expect(await check(at(target, 'good.example'))).toMatchObject({ outcome: 'fail' });
      expect(target.hits).toEqual([]);
    });

    test('a server with no cipher in common', async () => {
      const target = await serve({
        certificate: mint({ names: ['good.example'], issuer: root }),
        tls: { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-RSA-AES256-GCM-SHA384' },
      });
      expect(await check(at(target, 'good.example'))).toMatchObject({
        outcome: 'fail',
        sentence: 'The server refused the TLS handshake (no cipher or certificate in common)',
      });
    });

    test('a server that speaks plain HTTP', async () => {
      const target = await serve({});
      expect(await check(`https://good.example:${target.port}/`)).toMatchObject({
        outcome: 'fail',
        cause: { class: 'tls_not_spoken' },
      });
    });
  });

  test('with TLS too, an address that refuses is skipped, and its connection is not reported for the next', async () => {
    const target = await serve({ certificate: mint({ names: ['good.example'], issuer: root }) });
    const pool = httpsChecker({
      authorities: [root.certificate],
      lookup: async () => ({ addresses: ['127.0.0.99', '127.0.0.1'] }),
    });
    expect(await pool(at(target, 'good.example'))).toMatchObject({
      outcome: 'ok',
      phases: { tcp: expect.any(Number), tls: expect.any(Number), first_byte: expect.any(Number) },
      evidence: {
        address: '127.0.0.1',
        attempts: [
          { address: '127.0.0.99', code: 'ECONNREFUSED' },
          { address: '127.0.0.1', code: null },
        ],
      },
    });
    expect(
      await httpsChecker({ lookup: async () => ({ addresses: ['127.0.0.99'] }) })(
        at(target, 'good.example'),
      ),
    ).toMatchObject({
      outcome: 'fail',
      cause: { class: 'connection_refused' },
      phases: { tls: null },
    });
  });

  describe('the end of a certificate is that of', () => {
    const soon = (days: number): Date => new Date(Date.now() + days * day + 3_600_000);
    const short = mint({
      commonName: 'Short Intermediate',
      authority: true,
      issuer: root,
      to: soon(5),
    });
    const config = { tls_expires_within_days: 14, fail_on: ['certificate'] };

    test('the whole trusted path', async () => {
      const target = await serve({ certificate: mint({ names: ['good.example'], issuer: short }) });
      expect(await check(at(target, 'good.example'), config)).toMatchObject({
        outcome: 'fail',
        sentence: "A certificate of the certificate's issuer expires in 5 days (fewer than 14)",
      });
    });

    test('the root too', async () => {
      const old = mint({ commonName: 'Old Root', authority: true, to: soon(9) });
      const target = await serve({
        certificate: mint({ names: ['good.example'], issuer: { ...old, root: true } }),
      });
      const knowing = httpsChecker({ authorities: [old.certificate], lookup: toLoopback });
      expect((await knowing(at(target, 'good.example'), config)).sentence).toBe(
        "A certificate of the certificate's issuer expires in 9 days (fewer than 14)",
      );
    });

    test('every hop', async () => {
      const last = await serve({ certificate: mint({ names: ['good.example'], issuer: root }) });
      const first = await serve({
        certificate: mint({ names: ['first.example'], issuer: root, to: soon(3) }),
      });
      first.answer({ is: 'status', status: 302, headers: { location: at(last, 'good.example') } });
      expect((await check(at(first, 'first.example'), config)).sentence).toBe(
        'Certificate before redirect 1 expires in 3 days (fewer than 14)',
      );
    });

    test('nothing that is sent along without need', async () => {
      const certificate = mint({ names: ['good.example'], issuer: between });
      const target = await serve({
        certificate,
        shows: `${certificate.chain}${short.certificate}`,
      });
      expect(await check(at(target, 'good.example'), config)).toMatchObject({ outcome: 'ok' });
    });
  });

  test.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'a required client certificate over %s is reported, and the certificate of the server kept',
    async (version) => {
      const certificate = mint({ names: ['good.example'], issuer: root });
      const target = await serve({
        certificate,
        tls: {
          requestCert: true,
          minVersion: version,
          ...(version === 'TLSv1.2' ? { maxVersion: version } : {}),
        },
      });
      expect(await check(at(target, 'good.example'))).toMatchObject({
        sentence: 'The server refused the TLS handshake (it wants a client certificate)',
        evidence: { tls: { protocol: version, fault: null, host_matches: true } },
      });
    },
  );
});

describe('key exchange groups', () => {
  const root = mintAuthority('Test Root');
  const certificate = mint({ names: ['127.0.0.1'], issuer: root });
  const check = httpsChecker({ authorities: [root.certificate] });

  /** The groups for which a ClientHello brings a key share. */
  const keyShares = (hello: Buffer): number[] => {
    // Record and handshake headers, version and random; then session id, cipher suites and
    // compressions, each behind its length.
    let at = 5 + 4 + 2 + 32;
    at += 1 + hello.readUInt8(at);
    at += 2 + hello.readUInt16BE(at);
    at += 1 + hello.readUInt8(at) + 2;
    for (; at < hello.length; at += 4 + hello.readUInt16BE(at + 2)) {
      if (hello.readUInt16BE(at) !== 51) continue;
      const groups: number[] = [];
      const end = at + 6 + hello.readUInt16BE(at + 4);
      for (let share = at + 6; share < end; share += 4 + hello.readUInt16BE(share + 2))
        groups.push(hello.readUInt16BE(share));
      return groups;
    }
    return [];
  };

  describe('protocols', () => {
    test('a server with nothing newer than TLS 1.1 is reported, and checked all the same without verification', async () => {
      const target = await serve({
        certificate,
        tls: { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT:@SECLEVEL=0' },
      });
      expect(await check(target.url())).toMatchObject({
        outcome: 'fail',
        cause: { class: 'tls_version' },
      });
      expect(await check(target.url(), { verify_tls: false })).toMatchObject({
        outcome: 'ok',
        evidence: { tls: { protocol: 'TLSv1.1' } },
      });
    });
  });

  describe('key exchange', () => {
    test('sends one key share with its first hello, of X25519', async () => {
      const hello = Promise.withResolvers<Buffer>();
      const target = await serveRaw((socket) =>
        socket.once('data', (data: Buffer) => hello.resolve(data) ?? socket.destroy()),
      );
      await check(target.url('https'));
      expect(keyShares(await hello.promise)).toEqual([0x001d]);
    });

    test('needs one connection where any of the usual groups will do', async () => {
      const target = await serve({ certificate, tls: { ecdhCurve: 'X25519MLKEM768:X25519' } });
      expect(await check(target.url())).toMatchObject({ outcome: 'ok' });
      expect(target.connections()).toBe(1);
    });

    test.each(['P-256', 'P-384', 'P-521'])(
      'reaches a server that takes only %s',
      async (ecdhCurve) => {
        const target = await serve({ certificate, tls: { ecdhCurve } });
        expect(await check(target.url())).toMatchObject({ outcome: 'ok' });
        expect(target.connections()).toBe(1);
      },
    );

    test.each(['X25519MLKEM768', 'SecP256r1MLKEM768'])(
      'reaches a server that takes only %s, on a second connection',
      async (ecdhCurve) => {
        const target = await serve({ certificate, tls: { ecdhCurve } });
        expect(await check(target.url())).toMatchObject({ outcome: 'ok' });
        expect(target.connections()).toBe(2);
        expect(target.hits).toHaveLength(1);
      },
    );

    test('judges the certificate of a server that takes only post-quantum groups', async () => {
      const stranger = mint({ names: ['127.0.0.1'], issuer: mintAuthority('Unknown Root') });
      const target = await serve({ certificate: stranger, tls: { ecdhCurve: 'X25519MLKEM768' } });
      expect(await check(target.url())).toMatchObject({
        outcome: 'fail',
        cause: { class: 'certificate_chain_incomplete' },
      });
      expect(target.hits).toHaveLength(0);
    });

    test('fails with the reason of the first handshake where no group helps', async () => {
      const target = await serve({
        certificate,
        tls: { ecdhCurve: 'brainpoolP256r1tls13', minVersion: 'TLSv1.3' },
      });
      expect(await check(target.url())).toMatchObject({
        outcome: 'fail',
        cause: { class: 'tls_alert' },
      });
      expect(target.hits).toHaveLength(0);
    });
  });
});
