import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createWheel } from '../../../probe/schedule/wheel.ts';

const start = Date.UTC(2026, 10, 21);

/** Moves the wheel from one time to another in steps and notes what was due, and when it was told. */
const run = (wheel: ReturnType<typeof createWheel>, from: number, to: number, step = 50) => {
  const fired: { index: number; at: number; told: number }[] = [];
  for (let now = from; now <= to; now += step) wheel.advance(now, (index, at) => fired.push({ index, at, told: now }));
  return fired;
};

describe('the wheel', () => {
  test('calls an entry at each of its turns, told within one slot, and without drift over a day', () => {
    const wheel = createWheel();
    wheel.add(3, { period_ms: 30_000, offset_ms: 12_345 }, start);
    const fired = run(wheel, start, start + 86_400_000, 37);
    expect(fired.length).toBe(2_880);
    for (const [turn, { index, at, told }] of fired.entries()) {
      expect(index).toBe(3);
      expect(at).toBe(start + 12_345 + turn * 30_000);
      expect(told - at).toBeGreaterThanOrEqual(0);
      expect(told - at).toBeLessThanOrEqual(50 + 37);
    }
  });

  test('takes every turn of every entry once, whatever periods, offsets and steps', () => {
    const entry = fc.record({ period_ms: fc.integer({ min: 1_000, max: 500_000 }), offset_ms: fc.integer({ min: 0, max: 3_000_000 }) });
    fc.assert(
      fc.property(fc.array(entry, { minLength: 1, maxLength: 20 }), fc.integer({ min: 1, max: 900 }), (all, step) => {
        const wheel = createWheel(4);
        for (const [index, turns] of all.entries()) wheel.add(index, turns, start);
        const until = start + 600_000;
        const fired = run(wheel, start, until, step);
        for (const [index, { period_ms, offset_ms }] of all.entries()) {
          const times = fired.filter((one) => one.index === index).map(({ at }) => at);
          const first = start + ((((offset_ms - start) % period_ms) + period_ms) % period_ms);
          const expected: number[] = [];
          for (let at = first; at < until - step - 50; at += period_ms) expected.push(at);
          expect(times.slice(0, expected.length)).toEqual(expected);
          expect(times.length - expected.length).toBeLessThanOrEqual(1);
        }
      }),
      { numRuns: 40 },
    );
  });

  test('forgets an entry that is removed, also one whose slot is being told', () => {
    const wheel = createWheel();
    for (const index of [0, 1, 2]) wheel.add(index, { period_ms: 1_000, offset_ms: 10 }, start);
    const told: number[] = [];
    wheel.advance(start, () => undefined);
    wheel.advance(start + 100, (index) => {
      told.push(index);
      wheel.remove(0);
      wheel.remove(1);
    });
    expect(told.toSorted()).toEqual([0, 1, 2]);
    expect(wheel.count()).toBe(1);
    expect(run(wheel, start + 150, start + 5_000).every(({ index }) => index === 2)).toBe(true);
  });

  test('gives a removed entry its turns again when it comes back', () => {
    const wheel = createWheel();
    wheel.add(0, { period_ms: 2_000, offset_ms: 0 }, start);
    wheel.remove(0);
    wheel.remove(0);
    expect(wheel.count()).toBe(0);
    wheel.add(0, { period_ms: 3_000, offset_ms: 500 }, start);
    expect(run(wheel, start, start + 6_000).map(({ at }) => at - start)).toEqual([500, 3_500]);
  });

  test('keeps the place of an entry whose turns did not change, and moves one whose turns did', () => {
    const wheel = createWheel();
    wheel.add(0, { period_ms: 10_000, offset_ms: 2_000 }, start);
    run(wheel, start, start + 1_900);
    wheel.add(0, { period_ms: 10_000, offset_ms: 2_000 }, start + 1_940);
    expect(run(wheel, start + 1_950, start + 2_100).map(({ at }) => at - start)).toEqual([2_000]);
    wheel.add(0, { period_ms: 5_000, offset_ms: 4_000 }, start + 2_100);
    expect(run(wheel, start + 2_150, start + 12_000).map(({ at }) => at - start)).toEqual([4_000, 9_000]);
  });

  test('takes a turn once after a short stall, however many passed', () => {
    const wheel = createWheel();
    wheel.add(0, { period_ms: 1_000, offset_ms: 0 }, start + 1);
    run(wheel, start + 1, start + 500);
    expect(run(wheel, start + 4_300, start + 4_300).map(({ at }) => at - start)).toEqual([1_000]);
    expect(run(wheel, start + 4_350, start + 6_100).map(({ at }) => at - start)).toEqual([5_000, 6_000].slice(0, 2));
  });

  test('does not make up for what a long sleep missed', () => {
    const wheel = createWheel();
    for (let index = 0; index < 100; index += 1) wheel.add(index, { period_ms: 60_000, offset_ms: index * 600 }, start);
    run(wheel, start, start + 1_000);
    const woken = start + 3_600_000 * 8 + 7;
    expect(run(wheel, woken, woken)).toEqual([]);
    expect(run(wheel, woken + 50, woken + 60_100).length).toBeGreaterThanOrEqual(100);
  });

  test('takes no turn twice when the clock goes back a little, and goes on from there when it goes back far', () => {
    const wheel = createWheel();
    wheel.add(0, { period_ms: 10_000, offset_ms: 3_000 }, start);
    expect(run(wheel, start, start + 3_100).length).toBe(1);
    expect(run(wheel, start + 1_000, start + 12_900).length).toBe(0);
    expect(run(wheel, start + 12_950, start + 13_100).length).toBe(1);
    const back = start - 7_200_000;
    expect(run(wheel, back, back + 3_100).map(({ at }) => at - back)).toEqual([3_000]);
  });

  test('grows beyond the entries it was made for', () => {
    const wheel = createWheel(2);
    for (let index = 0; index < 1_000; index += 1) wheel.add(index, { period_ms: 10_000, offset_ms: index * 10 }, start);
    expect(new Set(run(wheel, start, start + 10_050).map(({ index }) => index)).size).toBe(1_000);
  });

  test('says when to come again', () => {
    const wheel = createWheel();
    wheel.advance(start + 20, () => undefined);
    expect(wheel.nextAt(start + 20)).toBe(start + 50);
    wheel.advance(start + 50, () => undefined);
    expect(wheel.nextAt(start + 50)).toBe(start + 100);
  });

  test('wants to be asked at once where a slot ended since it was last advanced', () => {
    const wheel = createWheel();
    wheel.add(0, { period_ms: 1_000, offset_ms: 30 }, start);
    wheel.advance(start + 49.9, () => expect.unreachable());
    expect(wheel.nextAt(start + 50.1)).toBe(start + 50);
  });
});
