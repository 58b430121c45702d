import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { newId } from '../../../shared/base/crypto.ts';
import { type Batch, readBatch, resultAt } from '../../../shared/bus/batch.ts';
import { batchMessage, batchVersion, resultMessage } from '../../../shared/bus/messages.ts';

const result = (more: object = {}) => ({
  ...{ seq: 1, monitor: newId(), config_version: 1, at: 1_795_000_000_000, took_ms: 12.5, outcome: 'ok', cause: null },
  ...{ phases: { dns: 1, tcp: null, tls: 3.5, first_byte: 4, total: 9 }, evidence: null, look: null },
  ...more,
});
const pass = (seq: number, more: readonly unknown[] = [12.5, 1, -1, 3.5, 4, 9]): readonly unknown[] => [
  seq,
  1,
  1_795_000_000_000 + seq,
  ...more,
];
const batch = (more: object = {}) => ({
  ...{ v: batchVersion, probe: newId(), generation: newId(), partition: 3, after: null },
  passes: { monitors: [newId(), newId()], numbers: [pass(2), pass(5)].flat() },
  others: [],
  ...more,
});

/** The results that a batch says, in its order. */
const resultsOf = (read: Batch | undefined): unknown => read?.monitors.map((_, place) => resultAt(read, place));

/** Values that stand on the borders of what is allowed. */
const odd = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    '',
    'ok',
    'fail',
    [],
    {},
    0,
    1,
    -1,
    1.5,
    31,
    32,
    2 ** 53,
    Number.MAX_SAFE_INTEGER,
    '1',
    newId(),
    newId().toUpperCase(),
  ),
  fc.jsonValue(),
);

describe('reading a batch', () => {
  test('gives the passes and the other results in order of seq, each as it was', () => {
    const cause = { class: 'http_status', params: { status: 503 } };
    const failed = (seq: number) => result({ seq, outcome: 'fail', cause, evidence: { a: [1] }, look: newId(), other_looks: [newId()] });
    const silent = result({ seq: 7, phases: null });
    const others = [failed(1), failed(3), silent, result({ seq: 9 })];
    const made = batch({ others });
    const read = readBatch(made);
    const [first, second] = made.passes.monitors;
    const phases = { dns: 1, tcp: null, tls: 3.5, first_byte: 4, total: 9 };
    expect(resultsOf(read)).toEqual([
      others[0],
      { ...result({ seq: 2, monitor: first, at: 1_795_000_000_002 }), phases },
      others[1],
      { ...result({ seq: 5, monitor: second, at: 1_795_000_000_005 }), phases },
      silent,
      others[3],
    ]);
    expect(read?.monitors).toHaveLength(6);
    // What is a plain pass is told by its numbers, however it came.
    expect([...(read?.whole.keys() ?? [])]).toEqual([0, 2, 4]);
  });

  test('reads by hand what the schema reads, whatever key holds whatever value', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...Object.keys(batch()), 'more'),
        fc.constantFrom('monitors', 'numbers', 'more'),
        fc.constantFrom(...Object.keys(result()), 'more'),
        odd,
        fc.integer({ min: 0, max: 2 }),
        (key, within, inner, value, where) => {
          const { passes } = batch();
          const made =
            where === 0
              ? batch({ [key]: value })
              : where === 1
                ? batch({ passes: { ...passes, [within]: value } })
                : batch({ others: [result({ seq: 9, [inner]: value })] });
          const { success, data } = batchMessage.safeParse(made);
          const isWhole = success && data.passes.numbers.length === 9 * data.passes.monitors.length;
          const isFilled = success && data.passes.monitors.length + data.others.length > 0;
          expect(readBatch(made) !== undefined).toBe(isWhole && isFilled);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  test('holds the numbers of a pass to the bounds that the same result has as a whole', () => {
    fc.assert(
      fc.property(fc.nat(8), odd, (nth, value) => {
        const numbers = pass(2).with(nth, value);
        const [seq, config_version, at, took_ms, dns, tcp, tls, first_byte, total] = numbers.map((one, place) =>
          place > 3 && one === -1 ? null : one,
        );
        const same = result({ seq, config_version, at, took_ms, phases: { dns, tcp, tls, first_byte, total } });
        // Null stands for no phase in one of them only, and −1 in the other.
        const isAllowed = resultMessage.safeParse(same).success && value !== null;
        expect(readBatch(batch({ passes: { monitors: [newId()], numbers } })) !== undefined).toBe(isAllowed);
      }),
      { numRuns: 2_000 },
    );
  });

  test('refuses what is empty, more than a batch may hold, or not as many numbers as its monitors have', () => {
    const many = (count: number) => ({
      monitors: Array.from({ length: count }, newId),
      numbers: Array.from({ length: count }, (_, nth) => pass(nth + 1)).flat(),
    });
    expect(readBatch(batch({ passes: many(500) }))?.monitors).toHaveLength(500);
    expect(readBatch(batch({ passes: many(501) }))).toBeUndefined();
    expect(readBatch(batch({ passes: many(500), others: [result({ seq: 501 })] }))).toBeUndefined();
    expect(readBatch(batch({ passes: many(0) }))).toBeUndefined();
    expect(readBatch(batch({ passes: many(0), others: [result()] }))?.monitors).toHaveLength(1);
    const { monitors, numbers } = many(2);
    for (const odd of [numbers.slice(1), numbers.slice(9), [...numbers, 1]])
      expect(readBatch(batch({ passes: { monitors, numbers: odd } }))).toBeUndefined();
  });
});
