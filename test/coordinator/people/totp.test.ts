import { describe, expect, test } from 'vitest';
import { passkeyPlace } from '../../../coordinator/people/passkeys.ts';
import {
  codeOf,
  isTotpSecret,
  newTotpSecret,
  stepAt,
  stepOfCode,
  totpAddress,
} from '../../../coordinator/people/second-factor.ts';

describe('totp', () => {
  /** The secret of RFC 6238, "12345678901234567890", as apps take it. */
  const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';

  test('codes are those of RFC 6238', () => {
    // Its table gives eight digits; an app shows the last six.
    for (const [seconds, code] of [
      [59, '287082'],
      [1_111_111_109, '081804'],
      [1_111_111_111, '050471'],
      [1_234_567_890, '005924'],
      [2_000_000_000, '279037'],
      [20_000_000_000, '353130'],
    ] as const)
      expect([seconds, codeOf(secret, stepAt(seconds * 1000))]).toEqual([seconds, code]);
  });

  test('a code is taken half a minute early or late, and no more', () => {
    const now = 1_234_567_890_000;
    const step = stepAt(now);
    for (const away of [-1, 0, 1])
      expect(stepOfCode(secret, codeOf(secret, step + away), now)).toBe(step + away);
    for (const away of [-2, 2])
      expect(stepOfCode(secret, codeOf(secret, step + away), now)).toBeUndefined();
    for (const typed of ['', '12345', '1234567', '00592a', '٠٠٥٩٢٤'])
      expect(stepOfCode(secret, typed, now)).toBeUndefined();
  });

  test('a new secret has 160 bits, and its QR code holds it with the address of the account', () => {
    const made = newTotpSecret();
    expect(isTotpSecret(made)).toBe(true);
    expect(newTotpSecret()).not.toBe(made);
    const address = new URL(totpAddress(made, 'ada+1@shop.example'));
    expect([
      address.protocol,
      address.searchParams.get('secret'),
      address.searchParams.get('issuer'),
    ]).toEqual(['otpauth:', made, 'Antipode']);
    expect(decodeURIComponent(address.pathname)).toContain('ada+1@shop.example');
  });
});

describe('passkey place', () => {
  test('passkeys are for a host with a name, over https; on the machine itself that is localhost', () => {
    expect(passkeyPlace('https://antipode.example')).toEqual({
      host: 'antipode.example',
      origin: 'https://antipode.example',
    });
    expect(passkeyPlace('https://antipode.example:8443/')).toEqual({
      host: 'antipode.example',
      origin: 'https://antipode.example:8443',
    });
    const here = { host: 'localhost', origin: 'http://localhost:8080' };
    for (const url of ['http://127.0.0.1:8080', 'http://[::1]:8080', 'http://localhost:8080'])
      expect(passkeyPlace(url)).toEqual(here);
    for (const url of [
      'http://antipode.example',
      'https://192.0.2.1',
      'https://[2001:db8::1]',
      'http://192.0.2.1:8080',
      '',
    ])
      expect([url, passkeyPlace(url)]).toEqual([url, null]);
  });
});
