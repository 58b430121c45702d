import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { percentOf, touches, uptime, windowOf } from '../../../coordinator/core/uptime.ts';
import type { Interval } from '../../../shared/base/time.ts';

const none = { paused: [], cover: [], down: [], unknown: [] };
const hour = 3_600_000;

const interval = fc
  .tuple(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 0, max: 60 }))
  .map(([from, long]): Interval => ({ from, to: from + long }));
const intervals = fc.array(interval, { maxLength: 8 });
const input = fc.record({
  window: fc.tuple(fc.integer({ min: 0, max: 200 }), fc.integer({ min: 0, max: 200 })).map(([from, long]) => ({ from, to: from + long })),
  created_at: fc.integer({ min: 0, max: 300 }),
  paused: intervals,
  cover: intervals,
  down: intervals,
  unknown: intervals,
});

describe('rule 21: every millisecond is exactly one of five states', () => {
  test('rule 21: the five add up to the window, from the later of creation and its start', () => {
    fc.assert(
      fc.property(input, (given) => {
        const { paused, maintenance, down, unknown, up } = uptime(given);
        expect(paused + maintenance + down + unknown + up).toBe(
          Math.max(0, given.window.to - Math.max(given.window.from, given.created_at)),
        );
      }),
    );
  });

  test('rule 21: it agrees with counting millisecond by millisecond, the first state that fits', () => {
    fc.assert(
      fc.property(input, (given) => {
        const counted = { paused: 0, maintenance: 0, down: 0, unknown: 0, up: 0 };
        const inside = (list: readonly Interval[], time: number) => list.some(({ from, to }) => from <= time && time < to);
        for (let time = Math.max(given.window.from, given.created_at); time < given.window.to; time += 1) {
          if (inside(given.paused, time)) counted.paused += 1;
          else if (inside(given.cover, time)) counted.maintenance += 1;
          else if (inside(given.down, time)) counted.down += 1;
          else if (inside(given.unknown, time)) counted.unknown += 1;
          else counted.up += 1;
        }
        expect(uptime(given)).toMatchObject(counted);
      }),
    );
  });

  test('rule 21: a window of 30 days with an hour down and an hour of maintenance across it', () => {
    const window = windowOf(30, 100 * 24 * hour);
    const down = [{ from: window.to - 3 * hour, to: window.to - hour }];
    const cover = [{ from: window.to - 2 * hour, to: window.to - hour }];
    const sums = uptime({ ...none, window, created_at: 0, down, cover });
    expect(sums).toMatchObject({ down: hour, maintenance: hour, up: 718 * hour, down_seconds: 3600, percent: 99.8609 });
  });
});

describe('rule 23: the percentage', () => {
  test('rule 23: null when nothing was up or down', () => {
    expect(uptime({ ...none, window: { from: 0, to: hour }, created_at: 0, unknown: [{ from: 0, to: hour }] }).percent).toBeNull();
  });

  test('rule 23: rounded down, so that 100 means no downtime at all', () => {
    const year = 365 * 24 * hour;
    expect(percentOf(year - 1, 1)).toBe(99.9999);
    expect(percentOf(year, 0)).toBe(100);
    expect(percentOf(0, 1)).toBe(0);
    expect(percentOf(2, 1)).toBe(66.6666);
    expect(percentOf(1, 1)).toBe(50);
    fc.assert(
      fc.property(fc.nat({ max: year }), fc.integer({ min: 1, max: year }), (up, down) => {
        const percent = percentOf(up, down) ?? Number.NaN;
        expect(percent).toBeLessThan(100);
        expect(Math.round(percent * 10_000)).toBe(Number((BigInt(up) * 1_000_000n) / BigInt(up + down)));
      }),
    );
  });

  test('rule 23: incidents of the last days are those that touch the window, and every open one', () => {
    const window = { from: 100, to: 200 };
    expect(touches(window, { started_at: 20, resolved_at: 99 })).toBe(false);
    expect(touches(window, { started_at: 20, resolved_at: 100 })).toBe(true);
    expect(touches(window, { started_at: 20, resolved_at: null })).toBe(true);
    expect(touches(window, { started_at: 201, resolved_at: 202 })).toBe(false);
    expect(touches(window, { started_at: 200, resolved_at: 202 })).toBe(true);
  });
});

test('rule 21: a year with an interval every ten minutes is summed in a moment', () => {
  const window = windowOf(365, 365 * 24 * hour);
  const down = Array.from({ length: 52_560 }, (_, index) => ({ from: index * 600_000, to: index * 600_000 + 1000 }));
  const { down: sum, up } = uptime({ ...none, window, created_at: 0, down });
  expect(sum).toBe(52_560_000);
  expect(up + sum).toBe(365 * 24 * hour);
});
