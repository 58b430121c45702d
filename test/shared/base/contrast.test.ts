import fc from 'fast-check';
import { expect, test } from 'vitest';
import { contrastOf, leastContrast, readableOn } from '../../../shared/base/contrast.ts';

const colour = fc.integer({ min: 0, max: 0xff_ff_ff }).map((value) => `#${value.toString(16).padStart(6, '0')}`);

test('contrast is that of WCAG, whichever of the two comes first', () => {
  expect(contrastOf('#000000', '#ffffff')).toBeCloseTo(21);
  expect(contrastOf('#767676', '#ffffff')).toBeCloseTo(4.54, 2);
  expect(contrastOf('#ffffff', '#767676')).toBeCloseTo(4.54, 2);
  expect(contrastOf('#0a5bb5', '#0a5bb5')).toBe(1);
});

test('what can be read stays as it is, and everything else becomes readable on white and on dark', () => {
  fc.assert(
    fc.property(colour, fc.constantFrom('#ffffff', '#0f1318'), (given, ground) => {
      const made = readableOn(given, ground);
      expect(contrastOf(made, ground)).toBeGreaterThanOrEqual(leastContrast);
      if (contrastOf(given, ground) >= leastContrast) expect(made).toBe(given);
    }),
  );
});
