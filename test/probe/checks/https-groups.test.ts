import { describe, expect, test } from 'vitest';
import { mint, mintAuthority } from '../../support/certificates.ts';
import { httpsChecker } from '../support/https-checker.ts';
import { serve } from '../support/serving.ts';

const root = mintAuthority('Test Root');
const certificate = mint({ names: ['127.0.0.1'], issuer: root });
const check = httpsChecker({ authorities: [root.certificate] });

describe('key exchange', () => {
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
