import { describe, expect, test } from 'vitest';
import { type MonitorHistory, stretchesOf } from '../../../coordinator/monitors/status.ts';
import {
  added,
  budgetLeftIn,
  outagesIn,
  percentIn,
  sumsOf,
} from '../../../coordinator/reports/model.ts';
import { endedBy, periodNamed, periodOn } from '../../../coordinator/reports/period.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import type { Interval } from '../../../shared/base/time.ts';
import fc from '../../support/random.ts';

const hour = 3_600_000;
const [first, last] = [Date.UTC(2020, 0, 1), Date.UTC(2041, 0, 1)];

/** Those whose clock changes between 2020 and 2040. */
const zones = Intl.supportedValuesOf('timeZone').filter((zone) => {
  const at = Temporal.Instant.fromEpochMilliseconds(first).toZonedDateTimeISO(zone);
  const next = at.getTimeZoneTransition('next');
  return next !== null && next.epochMilliseconds < last;
});

const years = Array.from({ length: 21 }, (_, nth) => String(2020 + nth));
const two = (of: number): string => String(of).padStart(2, '0');
const monthsOf = (year: string): string[] =>
  Array.from({ length: 12 }, (_, nth) => `${year}-${two(nth + 1)}`);

describe('a period', () => {
  test('begins when the clock of its zone first shows its first day, in every zone that changes its clock', () => {
    expect(zones.length).toBeGreaterThan(100);
    for (const zone of zones) {
      const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short' });
      const begins = (name: string, day: string): void => {
        const { from } = periodNamed(name, zone, 0);
        const shown = [format.format(from - 1) < day, format.format(from)];
        if (!shown[0] || shown[1] !== day) expect([zone, name, ...shown]).toEqual([]);
      };
      for (const month of years.flatMap(monthsOf)) begins(month, `${month}-01`);
      // Monday the 30th of December 2019 is the first day of the first week of 2020.
      for (let at = Date.UTC(2019, 11, 30); at < last; at += 7 * 24 * hour) {
        const monday = new Date(at);
        const thursday = new Date(at + 3 * 24 * hour);
        const year = thursday.getUTCFullYear();
        const week = Math.floor((thursday.getTime() - Date.UTC(year, 0, 1)) / (7 * 24 * hour)) + 1;
        begins(`${year}-W${two(week)}`, monday.toISOString().slice(0, 10));
      }
    }
  });

  test('ends where the next one begins', () => {
    for (const zone of ['Europe/Berlin', 'Africa/Cairo', 'America/Havana', 'Australia/Lord_Howe'])
      for (const year of years) {
        const whole = periodNamed(year, zone, 0);
        for (const parts of [monthsOf(year), [1, 2, 3, 4].map((of) => `${year}-Q${of}`)]) {
          const all = parts.map((name) => periodNamed(name, zone, 0));
          expect(all.map(({ from }) => from)).toEqual([
            whole.from,
            ...all.slice(0, -1).map(({ to }) => to),
          ]);
          expect(all.at(-1)?.to).toBe(whole.to);
        }
      }
  });

  test('has a name by the calendar of the zone', () => {
    const now = Date.parse('2026-12-31T23:30:00Z');
    const named = (text: string, zone: string) => periodNamed(text, zone, now).name;
    expect(named('this-month', 'Europe/Berlin')).toBe('2027-01');
    expect(named('last-month', 'Europe/Berlin')).toBe('2026-12');
    expect(named('last-month', 'UTC')).toBe('2026-11');
    expect(named('last-quarter', 'Europe/Berlin')).toBe('2026-Q4');
    expect(named('last-year', 'UTC')).toBe('2025');
    expect(named('this-week', 'UTC')).toBe('2026-W53');
    expect(named('last-week', 'UTC')).toBe('2026-W52');
    expect(periodOn('month', 10, 'UTC', Date.parse('2026-12-31T00:00:00Z'))).toBe('2026-02');
  });

  test('refuses what is no period, and one that has not begun or is too long', () => {
    const now = Date.UTC(2026, 5, 1);
    const wrong = ['', '26', '2026-13', '2026-00', '2026-Q5', '2025-W53', '2026-W00', 'last-day'];
    for (const text of wrong) expect(() => periodNamed(text, 'UTC', now)).toThrow(Refusal);
    const ended = (from: number, to: number) => endedBy({ name: null, from, to }, now);
    expect(() => ended(now, now + 1)).toThrow('future');
    expect(() => ended(5, 5)).toThrow('before to');
    expect(() => ended(now - 9_000 * hour, now)).toThrow('366 days');
    expect(endedBy(periodNamed('2026', 'UTC', now), now).to).toBe(now);
  });
});

type Part = 'paused' | 'maintenance' | 'down' | 'unknown';

/** Every stretch between two edges by itself: nothing of the service's own arithmetic. */
function bySweep(history: MonitorHistory, window: Interval, parts: Record<Part, Interval[]>) {
  const sums = { up: 0, down: 0, maintenance: 0, unknown: 0, paused: 0 };
  const begin = Math.max(window.from, history.created_at);
  const edges = [begin, window.to, ...Object.values(parts).flatMap((all) => all.flatMap(edgesOf))]
    .filter((at) => at >= begin && at <= window.to)
    .toSorted((a, b) => a - b);
  for (const [nth, from] of edges.entries()) {
    const to = edges[nth + 1] ?? from;
    const order: readonly Part[] = ['paused', 'maintenance', 'down', 'unknown'];
    const state = order.find((part) => parts[part].some((one) => one.from <= from && one.to >= to));
    sums[state ?? 'up'] += to - from;
  }
  return sums;
}

function edgesOf({ from, to }: Interval): number[] {
  return [from, to];
}

test('10,000 histories: sums are those of the ledger, to the millisecond', () => {
  const most = 40 * 24 * hour;
  const intervals = fc.array(fc.tuple(fc.nat(most), fc.nat(most / 4)), { maxLength: 5 });
  const history = fc.record({
    paused: intervals,
    maintenance: intervals,
    down: intervals,
    unknown: intervals,
    age: fc.nat(most),
    month: fc.nat(21 * 12 - 1),
    zone: fc.constantFrom(...zones),
  });
  fc.assert(
    fc.property(history, ({ age, month, zone, ...drawn }) => {
      const name = monthsOf(years[Math.floor(month / 12)] ?? '')[month % 12] ?? '';
      const window = periodNamed(name, zone, 0);
      const base = window.from - 4 * 24 * hour;
      const at = (all: readonly (readonly [number, number])[]): Interval[] =>
        all.map(([from, length]) => ({ from: base + from, to: base + from + length }));
      const parts = {
        paused: at(drawn.paused),
        maintenance: at(drawn.maintenance),
        down: at(drawn.down),
        unknown: at(drawn.unknown),
      };
      const monitor = historyOf(base + age, window.to, parts);
      const expected = bySweep(monitor, window, parts);
      const counted = bySweep(monitor, window, { ...parts, maintenance: [] });
      const apart = { maintenance: 'apart', unknown: 'apart' } as const;
      const sums = sumsOf(monitor, window, apart);
      expect(sums).toEqual({
        ...expected,
        countedUp: expected.up,
        countedDown: expected.down,
      });
      expect(sumsOf(monitor, window, { maintenance: 'counts', unknown: 'down' })).toEqual({
        ...expected,
        countedUp: counted.up,
        countedDown: counted.down + counted.unknown,
      });
      for (const promised of [90, 99.9, 99.9999, 100])
        expect((budgetLeftIn(sums, promised) ?? 0) >= 0).toBe((percentIn(sums) ?? 100) >= promised);
      const listed = { up: 0, down: 0, maintenance: 0, unknown: 0, paused: 0 };
      for (const { state, from, to } of stretchesOf(monitor, window)) listed[state] += to - from;
      expect(listed).toEqual(expected);
      for (const counting of [apart, { ...apart, maintenance: 'counts' }] as const)
        expect(outagesIn(monitor, window, counting).reduce((sum, { down }) => sum + down, 0)).toBe(
          sumsOf(monitor, window, counting).countedDown,
        );
      const weeks = [0, 1, 2].map((nth) => window.from + nth * 7 * 24 * hour);
      const pieces = [...weeks, window.to]
        .slice(1)
        .map((to, nth) => ({ from: weeks[nth] ?? 0, to }));
      expect(added(pieces.map((piece) => sumsOf(monitor, piece, apart)))).toEqual(sums);
    }),
    { numRuns: 10_000 },
  );
});

test('the percentage is rounded down, and none where nothing counts', () => {
  const sums = { up: 0, down: 0, maintenance: 0, unknown: 9, paused: 0 };
  expect(percentIn({ ...sums, countedUp: 0, countedDown: 0 })).toBeNull();
  expect(percentIn({ ...sums, countedUp: 2_678_399_999, countedDown: 1 })).toBe(99.9999);
});

function historyOf(
  created_at: number,
  now: number,
  { paused, maintenance, down, unknown }: Record<Part, Interval[]>,
): MonitorHistory {
  return {
    id: 'monitor',
    kind: 'https',
    interval_s: 60,
    config: {},
    created_at,
    paused_at: null,
    paused,
    cover: maintenance,
    causedCover: maintenance.map((each) => ({
      ...each,
      cause: { is: 'window', id: 'window', name: null },
    })),
    down: down.map((each, nth) => ({ ...each, incident: String(nth) })),
    unknown,
    incident: null,
    last_result_at: now,
    last_beat_at: null,
    gap_since: null,
    last_resolved_at: null,
    last_gap_ended_at: null,
    resumed_at: null,
    begins_anew_at: null,
  };
}
