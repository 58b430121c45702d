import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createDigest, digestOf } from '../../../shared/checks/digest.ts';

const elements = fc.uniqueArray(fc.tuple(fc.uuid(), fc.integer({ min: 1, max: 1_000 })), {
  selector: ([monitor]) => monitor,
  maxLength: 50,
});

describe('the digest of a set of assignments', () => {
  test('does not hang on the order in which they came', () => {
    fc.assert(
      fc.property(elements, fc.infiniteStream(fc.nat()), (set, keys) => {
        const shuffled = set.map((element) => [keys.next().value ?? 0, element] as const).toSorted(([a], [b]) => a - b);
        expect(digestOf(shuffled.map(([, element]) => element)).text()).toBe(digestOf(set).text());
      }),
    );
  });

  test('is, after any changes, what a new one of the same set would be', () => {
    fc.assert(
      fc.property(elements, elements, (kept, gone) => {
        const digest = createDigest();
        for (const [monitor, version] of [...kept, ...gone]) digest.add(monitor, version);
        for (const [monitor, version] of gone) digest.remove(monitor, version);
        expect(digest.text()).toBe(digestOf(kept).text());
        expect(digest.count()).toBe(kept.length);
      }),
    );
  });

  test('tells a missing, an additional and an older assignment', () => {
    fc.assert(
      fc.property(elements, fc.uuid(), fc.integer({ min: 1, max: 999 }), (set, monitor, version) => {
        const digest = digestOf(set);
        const before = digest.text();
        digest.add(monitor, version);
        const withIt = digest.text();
        expect(withIt).not.toBe(before);
        digest.remove(monitor, version);
        digest.add(monitor, version + 1);
        expect(digest.text()).not.toBe(withIt);
        expect(digest.text()).not.toBe(before);
      }),
    );
  });

  test('of nothing is all zeros', () => {
    expect(createDigest().text()).toBe('0'.repeat(32));
  });
});
