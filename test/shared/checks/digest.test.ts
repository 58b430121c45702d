import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { continents } from '../../../shared/base/continents.ts';
import { type Assigned, assignedElement, assignmentsDigest, createDigest, isComparable } from '../../../shared/checks/assignment.ts';
import { digestOf } from '../../support/monitors.ts';

const one: fc.Arbitrary<Assigned> = fc.record({
  monitor: fc.uuid(),
  config_version: fc.integer({ min: 1, max: 1_000 }),
  interval_ms: fc.integer({ min: 10, max: 100 }).map((seconds) => seconds * 1_000),
  ordinal: fc.nat(),
  continents: fc.option(fc.subarray([...continents], { minLength: 1 })),
  probe: fc.option(fc.uuid()),
  key: fc.option(fc.stringMatching(/^[0-9a-f]{8}$/)),
});
const sets = fc.uniqueArray(one, { selector: ({ monitor }) => monitor, maxLength: 50 });
const textOf = (set: readonly Assigned[]): string => digestOf(set.map(assignedElement)).text();

describe('the digest of a set of assignments', () => {
  test('does not hang on the order in which they came', () => {
    fc.assert(
      fc.property(sets, fc.infiniteStream(fc.nat()), (set, keys) => {
        const shuffled = set.map((element) => [keys.next().value ?? 0, element] as const).toSorted(([a], [b]) => a - b);
        expect(textOf(shuffled.map(([, element]) => element))).toBe(textOf(set));
      }),
    );
  });

  test('is, after any changes, what a new one of the same set would be', () => {
    fc.assert(
      fc.property(sets, sets, (kept, gone) => {
        const digest = createDigest();
        for (const element of [...kept, ...gone]) digest.add(assignedElement(element));
        for (const element of gone) digest.remove(assignedElement(element));
        expect(digest.text()).toBe(textOf(kept));
        expect(digest.count()).toBe(kept.length);
      }),
    );
  });

  test('tells a missing and an additional one', () => {
    fc.assert(
      fc.property(sets, one, (set, more) => {
        expect(textOf([...set, more])).not.toBe(textOf(set));
      }),
    );
  });

  test('tells one of which anything is another: version, interval, ordinal, continents, probe, or the key that its secrets are under', () => {
    const changed: { readonly [Part in keyof Assigned]?: (was: Assigned) => Partial<Assigned> } = {
      config_version: ({ config_version }) => ({ config_version: config_version + 1 }),
      interval_ms: ({ interval_ms }) => ({ interval_ms: interval_ms + 1_000 }),
      ordinal: ({ ordinal }) => ({ ordinal: ordinal + 1 }),
      continents: ({ continents: was }) => ({ continents: was ? null : ['Asia'] }),
      probe: ({ probe }) => ({ probe: probe ? null : '0198c0de-0000-7000-8000-000000000001' }),
      key: ({ key }) => ({ key: key ? null : '0badcafe' }),
    };
    fc.assert(
      fc.property(sets, one, (set, was) => {
        for (const [part, change] of Object.entries(changed))
          expect(textOf([...set, { ...was, ...change(was) }]), part).not.toBe(textOf([...set, was]));
      }),
    );
  });

  test('of nothing is all zeros, and says of which form it is', () => {
    expect(createDigest().text()).toBe('0'.repeat(32));
    expect(isComparable(assignmentsDigest(createDigest()))).toBe(true);
    expect(isComparable(createDigest().text())).toBe(false);
  });
});
