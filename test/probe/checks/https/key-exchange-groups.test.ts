import { describe, expect, test } from 'vitest';
import { mint, mintAuthority } from '../../../support/certificates.ts';
import { httpsChecker } from '../../support/checkers.ts';
import { serve, serveRaw } from '../../support/observations.ts';

const root = mintAuthority('Test Root');
const certificate = mint({ names: ['127.0.0.1'], issuer: root });
const check = httpsChecker({ authorities: [root.certificate] });

/** The groups for which a ClientHello brings a key share. */
const keyShares = (hello: Buffer): number[] => {
  // Record and handshake headers, version and random; then session id, cipher suites and compressions, each behind its length.
  let at = 5 + 4 + 2 + 32;
  at += 1 + hello.readUInt8(at);
  at += 2 + hello.readUInt16BE(at);
  at += 1 + hello.readUInt8(at) + 2;
  for (; at < hello.length; at += 4 + hello.readUInt16BE(at + 2)) {
    if (hello.readUInt16BE(at) !== 51) continue;
    const groups: number[] = [];
    const end = at + 6 + hello.readUInt16BE(at + 4);
    for (let share = at + 6; share < end; share += 4 + hello.readUInt16BE(share + 2)) groups.push(hello.readUInt16BE(share));
    return groups;
  }
  return [];
};

describe('protocols', () => {
  test('a server of HTTP/2 alone is told as such, whether it says so in the handshake or by its first frame', async () => {
    const only = { outcome: 'fail', sentence: 'The server speaks HTTP/2 only, and checks speak HTTP/1.1' };
    const target = await serve({ certificate, tls: { ALPNProtocols: ['h2'] } });
    expect(await check(target.url())).toMatchObject(only);
    const settings = Buffer.from('000006040000000000000300000064', 'hex');
    const silent = await serveRaw((socket) => socket.end(settings));
    expect(await check(silent.url())).toMatchObject(only);
  });

  test('a server that speaks nothing newer than TLS 1.1 is told, and checked all the same where nothing is to be verified', async () => {
    const target = await serve({ certificate, tls: { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT:@SECLEVEL=0' } });
    expect(await check(target.url())).toMatchObject({ outcome: 'fail', cause: { class: 'tls_version' } });
    expect(await check(target.url(), { verify_tls: false })).toMatchObject({ outcome: 'ok', evidence: { tls: { protocol: 'TLSv1.1' } } });
  });
});

describe('key exchange', () => {
  test('sends one key share with its first hello, of X25519', async () => {
    const hello = Promise.withResolvers<Buffer>();
    const target = await serveRaw((socket) => socket.once('data', (data: Buffer) => hello.resolve(data) ?? socket.destroy()));
    await check(target.url('https'));
    expect(keyShares(await hello.promise)).toEqual([0x001d]);
  });

  test('needs one connection where any of the usual groups will do', async () => {
    const target = await serve({ certificate, tls: { ecdhCurve: 'X25519MLKEM768:X25519' } });
    expect(await check(target.url())).toMatchObject({ outcome: 'ok' });
    expect(target.connections()).toBe(1);
  });

  test.each(['P-256', 'P-384', 'P-521'])('reaches a server that takes only %s', async (ecdhCurve) => {
    const target = await serve({ certificate, tls: { ecdhCurve } });
    expect(await check(target.url())).toMatchObject({ outcome: 'ok' });
    expect(target.connections()).toBe(1);
  });

  test.each(['X25519MLKEM768', 'SecP256r1MLKEM768'])('reaches a server that takes only %s, on a second connection', async (ecdhCurve) => {
    const target = await serve({ certificate, tls: { ecdhCurve } });
    expect(await check(target.url())).toMatchObject({ outcome: 'ok' });
    expect(target.connections()).toBe(2);
    expect(target.hits).toHaveLength(1);
  });

  test('judges the certificate of a server that takes only post-quantum groups', async () => {
    const stranger = mint({ names: ['127.0.0.1'], issuer: mintAuthority('Unknown Root') });
    const target = await serve({ certificate: stranger, tls: { ecdhCurve: 'X25519MLKEM768' } });
    expect(await check(target.url())).toMatchObject({ outcome: 'fail', cause: { class: 'certificate_chain_incomplete' } });
    expect(target.hits).toHaveLength(0);
  });

  test('fails with the reason of the first handshake where no group helps', async () => {
    const target = await serve({ certificate, tls: { ecdhCurve: 'brainpoolP256r1tls13', minVersion: 'TLSv1.3' } });
    expect(await check(target.url())).toMatchObject({ outcome: 'fail', cause: { class: 'tls_alert' } });
    expect(target.hits).toHaveLength(0);
  });
});
