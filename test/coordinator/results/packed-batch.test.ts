import { describe, expect, test } from 'vitest';
import {
  packBatch,
  readPacked,
  type Taken,
  takeBatch,
  textOf,
} from '../../../coordinator/results/packed-batch.ts';
import { newId } from '../../../shared/base/crypto.ts';
import {
  type Batch,
  batchText,
  isRoutine,
  passText,
  readBatch,
  wholeText,
} from '../../../shared/bus/batch.ts';
import type { Result } from '../../../shared/checks/result.ts';
import fc from '../../support/random.ts';

const now = 1_700_000_000_000;
const ids = Array.from({ length: 9 }, newId);
const head = { probe: newId(), generation: newId(), partition: 7 };
const keyOf = (id: string): number => 3 * ids.indexOf(id) + 1;
const idOf = (key: number): string => ids[(key - 1) / 3] ?? '';

const hundredths = fc.integer({ min: 0, max: 3_000_000 }).map((times) => times / 100);
const phase = fc.option(hundredths);
const result: fc.Arbitrary<Omit<Result, 'seq'>> = fc
  .record({
    monitor: fc.constantFrom(...ids),
    config_version: fc.integer({ min: 1, max: 9 }),
    at: fc.integer({ min: now - 3_600_000, max: now }),
    took_ms: hundredths,
    outcome: fc.oneof(
      { weight: 5, arbitrary: fc.constant('ok' as const) },
      { weight: 1, arbitrary: fc.constantFrom('fail' as const, 'unknown' as const) },
    ),
    phases: fc.record({ dns: phase, tcp: phase, tls: phase, first_byte: phase, total: phase }),
    look: fc.oneof(
      { weight: 5, arbitrary: fc.constant(null) },
      { weight: 1, arbitrary: fc.constant(newId()) },
    ),
  })
  .map((some) => ({
    ...some,
    cause: some.outcome === 'fail' ? { class: 'http_status', params: { status: 500 } } : null,
    evidence: some.outcome === 'fail' ? { body: 'näh "]}" \\ 😀' } : null,
  }));

const batches = fc.record({
  results: fc.array(result, { minLength: 1, maxLength: 12 }),
  after: fc.option(fc.integer({ min: 1, max: 1_000 })),
  /** Those that were not taken. */
  left: fc.array(fc.nat(11)),
  /** Those that count as unknown. */
  unknown: fc.array(fc.nat(11)),
});

const sentOf = (results: readonly Omit<Result, 'seq'>[], after: number | null): Buffer =>
  Buffer.from(
    batchText(
      { ...head, after },
      results.map((one, nth) => {
        const seq = (after ?? 0) + 2 * nth + 1;
        return passText(seq, one) ?? wholeText(seq, one);
      }),
    ),
  );

const read = (sent: Uint8Array): Batch => {
  const batch = readBatch(JSON.parse(Buffer.from(sent).toString()));
  if (!batch) throw new Error('no batch');
  return batch;
};

type Kept = Parameters<Taken['other']>[1];
const keptOf = ({ at, took_ms, outcome, cause, phases }: Kept): Kept => ({
  ...{ at, took_ms, outcome, cause, phases },
});

const takenBy = (take: (taken: Taken) => string | null) => {
  const passes: (readonly (number | string)[])[] = [];
  const others: (readonly [number, Kept])[] = [];
  const fault = take({
    pass: (...numbers) => passes.push(numbers),
    other: (key, one) => others.push([key, keptOf(one)]),
  });
  return { passes, others, fault };
};
const takenOf = (data: Uint8Array) => takenBy((taken) => readPacked(data, taken));

const orNone = (value: number | null): number => value ?? -1;
const isTaken = (left: readonly number[]) => (_: unknown, nth: number) => !left.includes(nth);

describe('a packed batch', () => {
  test('is turned back into the very text that the probe signed, and into what was taken of it', () => {
    fc.assert(
      fc.property(batches, ({ results, after, left, unknown }) => {
        const sent = sentOf(results, after);
        const keys = results.map(({ monitor }, nth) => (left.includes(nth) ? 0 : keyOf(monitor)));
        const counted = new Set(unknown.filter((nth) => nth < results.length));
        const data = packBatch(sent, read(sent), keys, counted);
        expect(Buffer.from(textOf(data, head, idOf)).equals(sent)).toBe(true);
        const before = takenBy((taken) => {
          takeBatch(read(sent), keys, counted, taken);
          return null;
        });
        expect(before).toEqual(takenOf(data));
        const counts = results.map((one, nth) => (counted.has(nth) ? 'unknown' : one.outcome));
        const taken = results
          .map((one, nth) => ({ one, counts: counts[nth] }))
          .filter(isTaken(left));
        expect(takenOf(data)).toEqual({
          fault: null,
          passes: taken
            .filter(({ one }) => isRoutine(one))
            .map(({ one: { monitor, at, took_ms, phases }, counts: outcome }) => [
              keyOf(monitor),
              at,
              took_ms,
              orNone(phases?.dns ?? null),
              orNone(phases?.tcp ?? null),
              orNone(phases?.tls ?? null),
              orNone(phases?.first_byte ?? null),
              orNone(phases?.total ?? null),
              outcome,
            ]),
          others: taken
            .filter(({ one }) => !isRoutine(one))
            .map(({ one, counts: outcome }) => [
              keyOf(one.monitor),
              keptOf({ ...one, outcome: outcome ?? one.outcome }),
            ]),
        });
      }),
      { numRuns: 1_000 },
    );
  });

  test('keeps the text of another program, and what was taken of it', () => {
    const pass = [ids[0], 1, 1, now, 12.3456789, 1, -1, 2, 3, 12];
    const texts = [
      `{"v":2, "probe":"${head.probe}","generation":"${head.generation}","partition":7,"after":null,"passes":{"monitors":["${ids[0]}"],"numbers":[${pass.slice(1)}]},"others":[]}`,
      sentOf([], null)
        .toString()
        .replace('[],"numbers":[]', `["${ids[0]}"],"numbers":[${pass.slice(1)}]`),
    ];
    for (const text of texts) {
      const sent = Buffer.from(text);
      const data = packBatch(sent, read(sent), [4]);
      expect(Buffer.from(textOf(data, head, idOf)).toString()).toBe(text);
      const quarantined = packBatch(sent, read(sent), [4], new Set([0]));
      expect(takenOf(quarantined).passes).toEqual([
        [4, now, 12.3456789, 1, -1, 2, 3, 12, 'unknown'],
      ]);
      expect(takenOf(data)).toEqual({
        passes: [[4, now, 12.3456789, 1, -1, 2, 3, 12, 'ok']],
        others: [],
        fault: null,
      });
    }
  });

  test('that is damaged is a fault, and never thrown', () => {
    fc.assert(
      fc.property(batches, fc.nat(), fc.nat(7), fc.nat(), ({ results, after }, place, bit, cut) => {
        const sent = sentOf(results, after);
        const data = packBatch(
          sent,
          read(sent),
          results.map(({ monitor }) => keyOf(monitor)),
        );
        const flipped = data.slice();
        flipped[place % data.length] = (data[place % data.length] ?? 0) ^ (1 << bit);
        for (const damaged of [flipped, data.slice(0, cut % data.length)]) {
          expect(takenOf(damaged)).toEqual({ passes: [], others: [], fault: expect.any(String) });
          expect(() => textOf(damaged, head, idOf)).toThrow('cannot be read');
        }
      }),
    );
  });

  test('of a few hundred plain passes takes under 20 bytes a pass', () => {
    const results = Array.from({ length: 400 }, (_, nth) => ({
      monitor: ids[(nth * 7) % 9] ?? '',
      config_version: 1,
      at: now + nth * 83,
      took_ms: 80.12 + nth / 10,
      outcome: 'ok' as const,
      cause: null,
      evidence: null,
      look: null,
      phases: {
        dns: 1.2,
        tcp: 19.85,
        tls: 40.1 + (nth % 9) / 10,
        first_byte: 18,
        total: 80.12 + nth / 10,
      },
    })).map((one) => ({ ...one, took_ms: Math.round(one.took_ms * 100) / 100 }));
    const rounded = results.map((one) => ({
      ...one,
      phases: { ...one.phases, tls: Math.round(one.phases.tls * 100) / 100, total: one.took_ms },
    }));
    const sent = sentOf(rounded, null);
    const keys = rounded.map(({ monitor }, nth) => 1_000 * nth + keyOf(monitor));
    expect(packBatch(sent, read(sent), keys).length / 400).toBeLessThan(20);
  });
});
