import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { newId } from '../../../shared/base/crypto.ts';
import { batchText, passText, readBatch, resultAt, wholeText } from '../../../shared/bus/batch.ts';
import type { Result } from '../../../shared/checks/result.ts';

const phase = fc.option(fc.double({ min: 0, max: 30_000, noNaN: true }));
const result: fc.Arbitrary<Omit<Result, 'seq'>> = fc.oneof(
  fc.record({
    ...{ monitor: fc.constant(0).map(newId), config_version: fc.integer({ min: 1 }), at: fc.integer({ min: 0 }) },
    ...{ took_ms: fc.double({ min: 0, max: 30_000, noNaN: true }), outcome: fc.constant('ok' as const), cause: fc.constant(null) },
    ...{ evidence: fc.constant(null), look: fc.option(fc.constant(0).map(newId), { freq: 10 }) },
    phases: fc.option(fc.record({ dns: phase, tcp: phase, tls: phase, first_byte: phase, total: phase }), { freq: 10 }),
  }),
  fc.record({
    ...{ monitor: fc.constant(0).map(newId), config_version: fc.integer({ min: 1 }), at: fc.integer({ min: 0 }) },
    ...{ took_ms: fc.integer({ min: 0 }), outcome: fc.constantFrom('fail' as const, 'unknown' as const) },
    ...{ cause: fc.constant({ class: 'http_status', params: { status: 503 } }), evidence: fc.constant({ text: '[",{' }) },
    ...{ look: fc.constant(0).map(newId), other_looks: fc.constant(0).map(() => [newId()]), phases: fc.constant(null) },
  }),
);
const head = { probe: newId(), generation: newId(), partition: 7, after: 3 };
const textsOf = (results: readonly Omit<Result, 'seq'>[]): string[] =>
  results.map((one, nth) => passText(nth + 4, one) ?? wholeText(nth + 4, one));

describe('the text of a batch', () => {
  test('is read as the very results that it was written of', () => {
    fc.assert(
      fc.property(fc.array(result, { minLength: 1, maxLength: 20 }), (results) => {
        const body: unknown = JSON.parse(batchText(head, textsOf(results)));
        const read = readBatch(body);
        // What JSON cannot tell apart is the same.
        const expected: unknown = JSON.parse(JSON.stringify(results.map((one, nth) => ({ seq: nth + 4, ...one }))));
        expect(read?.monitors.map((_, place) => resultAt(read, place))).toEqual(expected);
        expect(read).toMatchObject(head);
      }),
      { numRuns: 500 },
    );
  });

  test('takes less than half of the bytes for passes that they take as whole results', () => {
    const phases = { dns: 1.2, tcp: 9.8, tls: 20.1, first_byte: 30.5, total: 35.2 };
    const passes = Array.from({ length: 100 }, () => ({
      ...{ monitor: newId(), config_version: 1, at: 1_795_000_000_000, took_ms: 35.25, outcome: 'ok' as const, cause: null },
      ...{ phases, evidence: null, look: null },
    }));
    const whole = passes.map((one, nth) => wholeText(nth + 4, one));
    expect(batchText(head, textsOf(passes)).length).toBeLessThan(0.45 * batchText(head, whole).length);
  });
});
