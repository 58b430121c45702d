import { describe, expect, test } from 'vitest';
import {
  createSealPair,
  deriveNetworkKey,
  keyIdOf,
  openBox,
  openKey,
  sealBox,
  sealKeyTo,
  sealPairFrom,
} from '../../../shared/checks/sealed-secrets.ts';

const europe = deriveNetworkKey('a secret of the installation', 'Europe', 1);
const keys = new Map([[europe.id, europe]]);
const monitor = '0198c0de-0000-7000-8000-000000000001';

describe('a network key', () => {
  test('follows from the secret, the place and the epoch, and from nothing else', () => {
    expect(deriveNetworkKey('a secret of the installation', 'Europe', 1)).toEqual(europe);
    const others = [
      deriveNetworkKey('another secret', 'Europe', 1),
      deriveNetworkKey('a secret of the installation', 'Asia', 1),
      deriveNetworkKey('a secret of the installation', 'Europe', 2),
    ];
    expect(new Set([europe, ...others].map(({ id }) => id)).size).toBe(4);
  });
});

describe('a box', () => {
  const box = sealBox(europe, '{"bearer_token":"tür"}', monitor);

  test('opens to what was sealed', () => {
    expect(openBox(keys, box, monitor)).toBe('{"bearer_token":"tür"}');
    expect(keyIdOf(box)).toBe(europe.id);
  });

  test('differs each time, so that equal secrets cannot be recognised', () => {
    expect(sealBox(europe, '{"bearer_token":"tür"}', monitor)).not.toBe(box);
  });

  test('does not open for another monitor', () => {
    expect(() => openBox(keys, box, monitor.replace(/1$/, '2'))).toThrow();
  });

  test('names the key that is missing', () => {
    expect(() => openBox(new Map(), box, monitor)).toThrow(europe.id);
  });

  test('does not open when one bit is changed, wherever it is', () => {
    const bytes = Buffer.from(box, 'base64');
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(() => openBox(keys, changed.toString('base64'), monitor)).toThrow();
    }
  });

  test('that is truncated does not open', () => {
    expect(() => openBox(keys, box.slice(0, 16), monitor)).toThrow('too short');
  });
});

describe('a key sealed to a probe', () => {
  const probe = createSealPair();
  const sealed = sealKeyTo(probe.open, europe);

  test('opens with the private key of that probe', () => {
    expect(openKey(probe, europe.id, sealed)).toEqual(europe);
    expect(openKey(sealPairFrom(probe.secret), europe.id, sealed)).toEqual(europe);
  });

  test('opens for no other probe', () => {
    expect(() => openKey(createSealPair(), europe.id, sealed)).toThrow();
  });

  test('opens under no other id', () => {
    expect(() => openKey(probe, deriveNetworkKey('x', 'Europe', 1).id, sealed)).toThrow();
  });

  test('does not open when one bit is changed', () => {
    const bytes = Buffer.from(sealed, 'base64');
    for (const at of [0, 31, 32, 50, bytes.length - 1]) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(() => openKey(probe, europe.id, changed.toString('base64'))).toThrow();
    }
  });
});
