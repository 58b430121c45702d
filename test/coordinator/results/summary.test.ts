import { describe, expect, test } from 'vitest';
import type { Check } from '../../../coordinator/results/check.ts';
import {
  countCheck,
  dayOf,
  emptySummary,
  mergeSummary,
  percentileOf,
  readCells,
  type Summary,
} from '../../../coordinator/results/summary.ts';
import { minuteChecks } from '../../support/checks.ts';
import fc from '../../support/random.ts';

const day = Date.UTC(2026, 10, 20);
const hourMs = 3_600_000;
const places: Readonly<Record<number, string>> = {
  1: 'Europe',
  2: 'Asia',
  3: '0198a6f0-0000-7000-8000-000000000001',
  4: 'Europe',
};
const placeOf = (probe: number): string | undefined => places[probe];

const check: fc.Arbitrary<Check> = fc.record({
  // 5 is a probe that no place is known of.
  probe: fc.integer({ min: 1, max: 5 }),
  at: fc.integer({ min: day, max: day + 24 * hourMs - 1 }),
  took_ms: fc.integer({ min: 0, max: 200_000 }).map((ticks) => ticks / 10),
  outcome: fc.constantFrom('ok', 'ok', 'ok', 'fail', 'unknown'),
  cause: fc.constant(null),
  phases: fc.constant(null),
});
const checks = fc.array(check, { minLength: 1, maxLength: 400 });

const cellsOf = (data: Uint8Array): Map<string, Summary> => {
  const cells = new Map<string, Summary>();
  const fault = readCells(data, (place, hour) =>
    cells.getOrInsertComputed(`${place} ${hour}`, emptySummary),
  );
  if (fault !== null) throw new Error(fault);
  return cells;
};
const written = (all: readonly Check[]): Uint8Array => {
  const made = dayOf(day, all, placeOf);
  if (!made) throw new Error('there are no checks');
  return made.hours;
};

describe("a monitor's day", () => {
  test('has every check once, in the cell of its hour and place', () => {
    fc.assert(
      fc.property(checks, (all) => {
        const expected = new Map<string, Summary>();
        for (const each of all) {
          const place = placeOf(each.probe);
          if (place === undefined) continue;
          const cell = `${place} ${Math.floor((each.at - day) / hourMs)}`;
          countCheck(expected.getOrInsertComputed(cell, emptySummary), each);
        }
        const made = dayOf(day, all, placeOf);
        expect(made === null ? new Map() : cellsOf(made.hours)).toEqual(expected);
      }),
    );
  });

  test('is the same bytes in whatever order its checks come', () => {
    fc.assert(
      fc.property(checks, fc.infiniteStream(fc.nat()), (all, order) => {
        const shuffled = all
          .map((each) => [order.next().value ?? 0, each] as const)
          .toSorted(([a], [b]) => a - b);
        expect(
          dayOf(
            day,
            shuffled.map(([, each]) => each),
            placeOf,
          ),
        ).toEqual(dayOf(day, all, placeOf));
      }),
    );
  });

  test('read into one summary is the summary of all its checks, and of its whole', () => {
    fc.assert(
      fc.property(checks, (all) => {
        const some = all.filter(({ probe }) => probe < 5);
        fc.pre(some.length > 0);
        const [read, counted, merged] = [emptySummary(), emptySummary(), emptySummary()];
        expect(readCells(written(some), () => read)).toBeNull();
        for (const each of some) countCheck(counted, each);
        expect(read).toEqual(counted);
        const whole = dayOf(day, some, placeOf)?.whole ?? new Uint8Array();
        for (const cell of cellsOf(whole).values()) mergeSummary(merged, cell);
        expect(merged).toEqual(counted);
      }),
    );
  });

  test('that is damaged has a fault, and adds nothing', () => {
    fc.assert(
      fc.property(checks, fc.nat(), fc.integer({ min: 0, max: 7 }), (all, at, bit) => {
        const whole = written([
          ...all,
          { probe: 1, at: day, took_ms: 1, outcome: 'ok', cause: null, phases: null },
        ]);
        const flipped = Uint8Array.from(whole);
        flipped[at % whole.length] = (flipped[at % whole.length] ?? 0) ^ (1 << bit);
        const untouched = (): Summary => {
          throw new Error('it was read');
        };
        expect(readCells(flipped, untouched)).toMatch(/^its (version|checksum)/);
        expect(readCells(whole.subarray(0, at % whole.length), untouched)).toMatch(/^it/);
      }),
    );
  });

  test('of a minute and three continents takes at most 15 bytes a cell', () => {
    const minutes = Array.from({ length: 24 }, (_, hour) =>
      minuteChecks(day + hour * hourMs, 60_000, hour),
    );
    expect(written(minutes.flat()).length / 72).toBeLessThanOrEqual(15);
  });
});

describe('percentiles', () => {
  const passes = [120, 80, 100].map((took_ms) => ({ outcome: 'ok', took_ms }) as const);

  test('are never beyond what was seen', () => {
    const summary = emptySummary();
    for (const pass of passes) countCheck(summary, pass);
    expect(percentileOf(summary, 0.99)).toBe(120);
    const median = percentileOf(summary, 0.5) ?? Number.NaN;
    expect(Math.abs(median - 100)).toBeLessThanOrEqual(2);
  });

  test('are unknown where nothing passed', () => {
    const summary = emptySummary();
    countCheck(summary, { outcome: 'fail', took_ms: 5 });
    expect(percentileOf(summary, 0.5)).toBeNull();
  });
});
