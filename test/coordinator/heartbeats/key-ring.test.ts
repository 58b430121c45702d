import { describe, expect, test } from 'vitest';
import { createKeyRing, type KeyRing } from '../../../coordinator/heartbeats/keys.ts';
import type { KnownKey } from '../../../shared/bus/pings.ts';
import { elementOf } from '../../../shared/checks/assignment.ts';
import { digestOf } from '../../support/monitors.ts';

const known = (organisation: string, until: number | null = null): KnownKey => ({ organisation, monitor: 'm', until });
const pages = async function* (...all: (readonly (readonly [string, KnownKey])[])[]) {
  yield* all;
};

/** As a ping receiver sums up the keys it holds. */
const receiverSays = (...keys: string[]) => {
  const digest = digestOf(keys.map((key) => elementOf(`${key}@0`)));
  return { count: digest.count(), digest: digest.text() };
};

const agree = (ring: KeyRing, own: string[], others: string[]): void => {
  expect(ring.digestOf('own')).toEqual(receiverSays(...own));
  expect(ring.digestOf('other')).toEqual(receiverSays(...others));
  expect(ring.digestOf(null)).toEqual(receiverSays(...own, ...others));
};

describe('the keys that a coordinator knows', () => {
  test('sum up to what a ping receiver says that has heard of the same changes', () => {
    const ring = createKeyRing();
    agree(ring, [], []);
    ring.put('a', known('own'));
    ring.put('b', known('own'));
    ring.put('c', known('other'));
    ring.put('a', known('own', 5));
    agree(ring, ['a', 'b'], ['c']);
    ring.drop('b');
    ring.drop('b');
    ring.drop('unknown');
    agree(ring, ['a'], ['c']);
    expect(ring.find('a')).toEqual(known('own', 5));
    ring.drop('c');
    agree(ring, ['a'], []);
  });

  test('are those of the database after they were read anew, but for what changed meanwhile', async () => {
    const ring = createKeyRing();
    ring.put('gone', known('own'));
    ring.put('kept', known('own'));
    const read = async function* () {
      yield [
        ['kept', known('own', 9)],
        ['late', known('own')],
      ] as const;
      // By now the page above is of the past.
      ring.put('new', known('other'));
      ring.drop('late');
      ring.drop('next');
      yield [['next', known('own')]] as const;
    };
    await ring.replace(read());
    agree(ring, ['kept'], ['new']);
    expect(ring.find('kept')).toEqual(known('own', 9));
    await ring.replace(pages([['kept', known('own')]], [['new', known('other')]]));
    agree(ring, ['kept'], ['new']);
  });

  test('stay as they are when the database goes away in the midst of it', async () => {
    const ring = createKeyRing();
    ring.put('a', known('own'));
    const broken = async function* () {
      yield [['b', known('own')]] as const;
      throw new Error('away');
    };
    await expect(ring.replace(broken())).rejects.toThrow('away');
    agree(ring, ['a', 'b'], []);
  });
});
