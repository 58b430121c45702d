import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { newId } from '../../../shared/base/ids.ts';
import { readBatch } from '../../../shared/bus/batch-form.ts';
import { batchMessage } from '../../../shared/bus/messages.ts';

const result = (more: object = {}) => ({
  ...{ seq: 1, monitor: newId(), config_version: 1, at: 1_795_000_000_000, took_ms: 12.5, outcome: 'ok', cause: null },
  ...{ phases: { dns: 1, tcp: null, tls: 3.5, first_byte: 4, total: 9 }, evidence: null, look: null },
  ...more,
});
const batch = (more: object = {}) => ({
  v: 1,
  probe: newId(),
  generation: newId(),
  partition: 3,
  after: null,
  results: [result()],
  ...more,
});

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

describe('reading a batch by hand', () => {
  test('gives what the schema gives, whatever key holds whatever value', () => {
    const keys = [...Object.keys(batch()), 'more'];
    const inner = [...Object.keys(result()), 'more'];
    const phases = ['dns', 'tcp', 'tls', 'first_byte', 'total', 'more'];
    fc.assert(
      fc.property(
        fc.constantFrom(...keys),
        fc.constantFrom(...inner),
        fc.constantFrom(...phases),
        odd,
        fc.integer({ min: 0, max: 3 }),
        (key, within, phase, value, where) => {
          const made =
            where === 0
              ? batch({ [key]: value })
              : where === 1
                ? batch({ results: [result({ [within]: value })] })
                : where === 2
                  ? batch({ results: [result({ phases: { ...result().phases, [phase]: value } })] })
                  : batch({ results: [result(), value] });
          const read = batchMessage.safeParse(made);
          expect(readBatch(made)).toEqual(read.success ? read.data : undefined);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  test('takes failures, looks and evidence, which the schema reads', () => {
    const cause = { class: 'http_status', params: { status: 503 } };
    const failed = batch({ results: [result({ outcome: 'fail', cause, evidence: { a: [1] }, look: newId() })] });
    expect(readBatch(failed)).toEqual(failed);
  });
});
