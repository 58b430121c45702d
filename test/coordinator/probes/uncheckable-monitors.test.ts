import { describe, expect, test } from 'vitest';
import type { Checker } from '../../../coordinator/monitors/model.ts';
import { type RestrictedMonitor, unassignableSentence, whyUnassignable } from '../../../coordinator/probes/uncheckable.ts';

const somewhere: Checker = { id: 'p', organisation: null, continent: 'Europe', allowed_cidrs: [] };
const monitor: RestrictedMonitor = { name: 'shop', kind: 'https', target: 'https://example.com/', config: {}, organisation: 'o' };

describe('rule 5: a monitor that nobody can check any more', () => {
  test('is told by what a new one like it would be refused with', () => {
    const asian = { ...monitor, config: { continents: ['Asia'] } };
    expect(whyUnassignable(asian, [somewhere])).toMatch(/^config\.continents: no probe is in Asia/);
    expect(whyUnassignable(asian, [{ ...somewhere, continent: 'Asia' }])).toBeUndefined();
    expect(whyUnassignable(monitor, [somewhere])).toBeUndefined();
  });

  test('is not what an error of ours makes of it', () => {
    const broken = new Proxy([somewhere], {
      get: () => {
        throw new TypeError('broken');
      },
    });
    expect(() => whyUnassignable(monitor, broken)).toThrow(TypeError);
  });

  const some = (count: number) => Array.from({ length: count }, (_, nth) => ({ name: `m${nth + 1}`, why: `gone ${nth + 1}.` }));

  test('is one notice for all of them, which names the first five', () => {
    expect(unassignableSentence(some(1))).toBe('Nobody can check this monitor: "m1" (gone 1)');
    expect(unassignableSentence(some(2))).toBe('Nobody can check these 2 monitors: "m1" (gone 1), "m2" (gone 2)');
    expect(unassignableSentence(some(5))).toMatch(/"m4" \(gone 4\), "m5" \(gone 5\)$/);
    expect(unassignableSentence(some(7))).toMatch(/^Nobody can check these 7 monitors: .*"m5" \(gone 5\) and 2 more$/);
  });
});
