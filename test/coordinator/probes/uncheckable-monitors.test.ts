import { describe, expect, test } from 'vitest';
import type { Checker } from '../../../coordinator/monitors/model.ts';
import { type RestrictedMonitor, uncheckableSentence, whyUncheckable } from '../../../coordinator/probes/uncheckable.ts';

const somewhere: Checker = { id: 'p', organisation: null, continent: 'Europe', allowed_cidrs: [] };
const monitor: RestrictedMonitor = { name: 'shop', kind: 'https', target: 'https://example.com/', config: {}, organisation: 'o' };

describe('rule 5: a monitor that nobody can check any more', () => {
  test('is told by what a new one like it would be refused with', () => {
    const asian = { ...monitor, config: { continents: ['Asia'] } };
    expect(whyUncheckable(asian, [somewhere])).toMatch(/^config\.continents: no probe is in Asia/);
    expect(whyUncheckable(asian, [{ ...somewhere, continent: 'Asia' }])).toBeUndefined();
    expect(whyUncheckable(monitor, [somewhere])).toBeUndefined();
  });

  test('is not what an error of ours makes of it', () => {
    const broken = new Proxy([somewhere], {
      get: () => {
        throw new TypeError('broken');
      },
    });
    expect(() => whyUncheckable(monitor, broken)).toThrow(TypeError);
  });

  const some = (count: number) => Array.from({ length: count }, (_, nth) => ({ name: `m${nth + 1}`, why: `gone ${nth + 1}.` }));

  test('is one notice for all of them, which names the first five', () => {
    expect(uncheckableSentence(some(1))).toBe('Nobody can check this monitor: "m1" (gone 1)');
    expect(uncheckableSentence(some(2))).toBe('Nobody can check these 2 monitors: "m1" (gone 1), "m2" (gone 2)');
    expect(uncheckableSentence(some(5))).toMatch(/"m4" \(gone 4\), "m5" \(gone 5\)$/);
    expect(uncheckableSentence(some(7))).toMatch(/^Nobody can check these 7 monitors: .*"m5" \(gone 5\) and 2 more$/);
  });
});
