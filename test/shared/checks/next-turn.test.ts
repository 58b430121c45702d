import fc from 'fast-check';
import { expect, test } from 'vitest';
import { nextTurn } from '../../../shared/checks/placement.ts';

test('the next turn is the first at or after a moment', () => {
  const turn = fc.record({ period_ms: fc.integer({ min: 1, max: 4_000_000 }), offset_ms: fc.nat(4_000_000) });
  fc.assert(
    fc.property(turn, fc.integer({ min: 1_700_000_000_000, max: 2_000_000_000_000 }), (given, from) => {
      const next = nextTurn(given, from);
      expect((next - given.offset_ms) % given.period_ms).toBe(0);
      expect(next - from).toBeGreaterThanOrEqual(0);
      expect(next - from).toBeLessThan(given.period_ms);
    }),
  );
});
