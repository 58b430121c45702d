import { describe, expect, test } from 'vitest';
import { type Check, unionOf } from '../../../coordinator/results/check.ts';
import { chunksOf, readChunk } from '../../../coordinator/results/chunk.ts';
import { minuteChecks } from '../../support/checks.ts';
import fc from '../../support/random.ts';

const hour = Date.UTC(2026, 10, 26, 9);

const tenths = (max: number) => fc.integer({ min: 0, max }).map((value) => value / 10);
const phase = fc.option(tenths(100_000));
const cause = fc.constantFrom('connect_refused', 'tls_untrusted', 'zu langsam – 響');
const anyCheck: fc.Arbitrary<Check> = fc
  .record({
    probe: fc.constantFrom(1, 2, 300, 4_000_000_000),
    at: fc.integer({ min: hour, max: hour + 3_599_999 }),
    took_ms: tenths(4_000_000),
    outcome: fc.constantFrom('ok', 'fail', 'unknown'),
    cause: fc.option(cause),
    phases: fc.option(
      fc.record({ dns: phase, tcp: phase, tls: phase, first_byte: phase, total: phase }),
    ),
  })
  .map((check) => ({
    ...check,
    cause: check.outcome === 'ok' ? null : check.cause,
    phases:
      check.phases && Object.values(check.phases).some((ms) => ms !== null) ? check.phases : null,
  }));
const anyHour = fc.array(anyCheck, { minLength: 1, maxLength: 40 });

const readAll = (checks: readonly Check[]) =>
  chunksOf(hour, checks).map(({ at, data }) => readChunk(at, data));

describe('the chunk of an hour', () => {
  test('has the same bytes in whatever order and however often its checks come', () => {
    const arrival = anyHour.chain((checks) =>
      fc.tuple(
        fc.constant(checks),
        fc.shuffledSubarray([...checks, ...checks], {
          minLength: checks.length * 2,
          maxLength: checks.length * 2,
        }),
      ),
    );
    fc.assert(
      fc.property(arrival, ([checks, again]) => {
        expect(chunksOf(hour, again)).toEqual(chunksOf(hour, checks));
      }),
      { numRuns: 10_000 },
    );
  });

  test('has the same bytes when checks come late, and merge into what it had', () => {
    fc.assert(
      fc.property(anyHour, anyHour, (early, late) => {
        const stored = readAll(early).flatMap(({ checks }) => checks);
        expect(chunksOf(hour, [...late, ...stored])).toEqual(chunksOf(hour, [...early, ...late]));
      }),
      { numRuns: 1_000 },
    );
  });

  test('gives every check back, each once, in order of start', () => {
    fc.assert(
      fc.property(anyHour, (checks) => {
        const read = readAll(checks);
        expect(read.map(({ fault }) => fault)).toEqual(read.map(() => null));
        expect(read.flatMap((each) => each.checks)).toEqual(unionOf(checks));
      }),
      { numRuns: 2_000 },
    );
  });

  test('stores durations in tenths of a millisecond, and none below zero', () => {
    const odd: Check = {
      probe: 1,
      at: hour + 1,
      took_ms: 12.345,
      outcome: 'ok',
      cause: null,
      phases: { dns: -0.2, tcp: 1.26, tls: null, first_byte: 1e300, total: 0.04 },
    };
    expect(readAll([odd])[0]?.checks).toEqual([
      {
        ...odd,
        took_ms: 12.3,
        phases: { dns: 0, tcp: 1.3, tls: null, first_byte: 2 ** 32 / 10, total: 0 },
      },
    ]);
  });

  test('is up to four chunks by quarter when it would be too long', () => {
    const [sparse, dense] = [60_000, 10_000].map((interval_ms) =>
      chunksOf(hour, minuteChecks(hour, interval_ms)),
    );
    expect(sparse?.map(({ at }) => at)).toEqual([hour]);
    expect(dense?.map(({ at }) => at)).toEqual([0, 1, 2, 3].map((nth) => hour + nth * 900_000));
    expect(dense?.every(({ data }) => data.length < 1_960)).toBe(true);
    expect(dense?.flatMap(({ at, data }) => readChunk(at, data).checks)).toEqual(
      minuteChecks(hour, 10_000),
    );
  });

  test('takes no check of another hour', () => {
    expect(() => chunksOf(hour, minuteChecks(hour - 3_600_000, 60_000))).toThrow(
      'is not of the hour',
    );
    expect(chunksOf(hour, [])).toEqual([]);
  });

  test('costs at most 9.5 bytes for a check of five phases, each minute from three continents', () => {
    const checks = minuteChecks(hour, 60_000);
    const bytes = chunksOf(hour, checks).reduce((sum, { data }) => sum + data.length, 0);
    expect(checks).toHaveLength(60);
    expect(bytes / checks.length).toBeLessThanOrEqual(9.5);
  });
});

describe('a damaged chunk', () => {
  const checks = [
    ...minuteChecks(hour, 60_000),
    {
      probe: 2,
      at: hour + 61_000,
      took_ms: 30_000,
      outcome: 'fail',
      cause: 'connect_timeout',
      phases: null,
    } as const,
  ];
  const [chunk] = chunksOf(hour, checks);
  if (!chunk) throw new Error('the hour has no chunk');
  const whole = readChunk(hour, chunk.data).checks;
  const originals = new Set(whole.map((check) => JSON.stringify(check)));
  const isOriginal = (check: Check) => originals.has(JSON.stringify(check));

  test('has a fault at every flip of a bit, and keeps only what is right', () => {
    let kept = 0;
    for (let bit = 0; bit < chunk.data.length * 8; bit += 1) {
      const damaged = Uint8Array.from(chunk.data);
      damaged[bit >> 3] = (damaged[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      const read = readChunk(hour, damaged);
      expect(read.fault, `bit ${bit}`).toMatch(/checksum|version|cut short/);
      expect(read.checks.every(isOriginal), `bit ${bit}`).toBe(true);
      kept += read.checks.length;
    }
    // Two of three probes' checks are readable, as a rule.
    expect(kept / (chunk.data.length * 8)).toBeGreaterThan(whole.length / 2);
  });

  test('has a fault at every cut, and keeps the sections before it', () => {
    const kept = chunk.data.keys().map((length) => {
      const read = readChunk(hour, chunk.data.subarray(0, length));
      expect(read.fault, `${length} bytes`).toMatch(/empty|cut short|checksum/);
      expect(read.checks.every(isOriginal), `${length} bytes`).toBe(true);
      return read.checks.length;
    });
    const lengths = [...new Set(kept)];
    expect(lengths).toEqual([0, 20, 41, 61]);
  });

  test('says which version it does not know', () => {
    expect(readChunk(hour, Uint8Array.of(7, 1, 2))).toEqual({
      checks: [],
      fault: 'its version 7 is unknown',
    });
  });

  test('is one under another time, and bytes of chance', () => {
    expect(readChunk(hour + 3_600_000, chunk.data)).toEqual({
      checks: [],
      fault: 'its checksum is wrong',
    });
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        for (const data of [bytes, Uint8Array.of(1, ...bytes)])
          expect(readChunk(hour, data).fault).not.toBeNull();
      }),
      { numRuns: 5_000 },
    );
  });
});
