import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createSchedule, createWheel, type Schedule } from '../../../probe/schedule/wheel.ts';
import type { Roster } from '../../../shared/checks/assignment.ts';
import fc from '../../support/random.ts';
import { assignmentOf } from '../support/checkers.ts';

describe('the wheel', () => {
  const start = Date.UTC(2026, 10, 21);

  /**
   * Moves the wheel from one time to another in steps and notes what was due, and when it was told.
   */
  const run = (wheel: ReturnType<typeof createWheel>, from: number, to: number, step = 50) => {
    const fired: { index: number; at: number; told: number }[] = [];
    for (let now = from; now <= to; now += step)
      wheel.advance(now, (index, at) => fired.push({ index, at, told: now }));
    return fired;
  };

  test('calls an entry at each of its turns, within one slot, and without drift over a day', () => {
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
    const entry = fc.record({
      period_ms: fc.integer({ min: 1_000, max: 500_000 }),
      offset_ms: fc.integer({ min: 0, max: 3_000_000 }),
    });
    fc.assert(
      fc.property(
        fc.array(entry, { minLength: 1, maxLength: 20 }),
        fc.integer({ min: 1, max: 900 }),
        (all, step) => {
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
        },
      ),
      { numRuns: 40 },
    );
  });

  test('drops a removed entry, also one whose slot is running', () => {
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
    expect(run(wheel, start + 2_150, start + 12_000).map(({ at }) => at - start)).toEqual([
      4_000, 9_000,
    ]);
  });

  test('takes a turn once after a short stall, however many passed', () => {
    const wheel = createWheel();
    wheel.add(0, { period_ms: 1_000, offset_ms: 0 }, start + 1);
    run(wheel, start + 1, start + 500);
    expect(run(wheel, start + 4_300, start + 4_300).map(({ at }) => at - start)).toEqual([1_000]);
    expect(run(wheel, start + 4_350, start + 6_100).map(({ at }) => at - start)).toEqual(
      [5_000, 6_000].slice(0, 2),
    );
  });

  test('makes up for the last second alone of what a long sleep missed', () => {
    const wheel = createWheel();
    for (let index = 0; index < 100; index += 1)
      wheel.add(index, { period_ms: 60_000, offset_ms: index * 600 }, start);
    run(wheel, start, start + 1_000);
    const woken = start + 3_600_000 * 8 + 7;
    expect(run(wheel, woken, woken).map(({ index }) => index)).toEqual([99]);
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
    for (let index = 0; index < 1_000; index += 1)
      wheel.add(index, { period_ms: 10_000, offset_ms: index * 10 }, start);
    expect(new Set(run(wheel, start, start + 10_050).map(({ index }) => index)).size).toBe(1_000);
  });

  test('says when to come again: at the end of the next slot that has an entry, or after so long', () => {
    const wheel = createWheel();
    wheel.advance(start + 20, () => undefined);
    expect(wheel.nextAt(start + 20, 1_000)).toBe(start + 1_050);
    wheel.add(0, { period_ms: 10_000, offset_ms: 330 }, start + 20);
    expect(wheel.nextAt(start + 20, 1_000)).toBe(start + 350);
    expect(wheel.nextAt(start + 20, 200)).toBe(start + 250);
    wheel.advance(start + 350, () => undefined);
    expect(wheel.nextAt(start + 350, 1_000)).toBe(start + 1_400);
  });

  test('wants to be asked at once where a slot ended since it was last advanced', () => {
    const wheel = createWheel();
    wheel.add(0, { period_ms: 1_000, offset_ms: 30 }, start);
    wheel.advance(start + 49.9, () => expect.unreachable());
    expect(wheel.nextAt(start + 50.1, 1_000)).toBe(start + 50);
  });
});

describe('timing', () => {
  const self = '0193a0a0-0000-7000-8000-000000000001';
  const start = Date.UTC(2026, 10, 21);
  const slotMs = 50;
  const roster: Roster = {
    epoch: 1,
    probes: [
      {
        id: self,
        name: 'fra-1',
        continent: 'Europe',
        organisation: null,
        healthy: true,
        quarantined: false,
      },
    ],
  };

  beforeEach(() => void vi.useFakeTimers({ now: start }));
  afterEach(() => void vi.useRealTimers());

  /**
   * Runs so many seconds of a schedule by a clock that moves a little with every look at it, and
   * says how late each turn came after the end of its slot.
   */
  const latenessOver = (
    seconds: number,
    { count, lookMs }: { readonly count: number; readonly lookMs: number },
  ): number[] => {
    let looks = 0;
    const clock = {
      now: () => {
        looks += lookMs;
        return Date.now() + looks;
      },
    };
    const late: number[] = [];
    let begun = 0;
    const onDue = (_: unknown, at: number): void => {
      if (at > begun) late.push(Date.now() + looks - (Math.floor(at / slotMs) + 1) * slotMs);
    };
    const schedule = createSchedule({ self, clock, onDue });
    schedule.setRoster(roster);
    for (let ordinal = 0; ordinal < count; ordinal += 1)
      schedule.put(
        assignmentOf('https://a.example/', { ordinal, interval_ms: 10_000, timeout_ms: 1_000 }),
      );
    schedule.start();
    begun = clock.now();
    vi.advanceTimersByTime(seconds * 1_000);
    schedule.stop();
    return late;
  };

  test('a slot that ends between two readings of the clock fires at once, not a slot later', () => {
    for (const lookMs of [0.07, 0.13, 0.29]) {
      const late = latenessOver(60, { count: 400, lookMs });
      expect(late.length).toBeGreaterThanOrEqual(2_390);
      expect(Math.max(...late)).toBeLessThan(5);
    }
  });

  test('a clock that is set back between two readings does not stop the schedule', () => {
    let back = 0;
    const clock = { now: () => Date.now() - back };
    const told: number[] = [];
    const schedule = createSchedule({
      self,
      clock,
      onDue: (_, at) => {
        told.push(at);
        if (told.length === 3) back = 3_600_000;
      },
    });
    schedule.setRoster(roster);
    schedule.put(assignmentOf('https://a.example/', { interval_ms: 10_000, timeout_ms: 1_000 }));
    schedule.start();
    vi.advanceTimersByTime(120_000);
    schedule.stop();
    expect(told.length).toBeGreaterThanOrEqual(11);
  });

  test('a clock that jumps ahead while the schedule sleeps costs no turn', () => {
    let ahead = 0;
    const told: number[] = [];
    const schedule = createSchedule({
      self,
      clock: { now: () => Date.now() + ahead },
      onDue: () => void told.push(Date.now()),
    });
    schedule.setRoster(roster);
    schedule.put(assignmentOf('https://a.example/', { interval_ms: 10_000, timeout_ms: 1_000 }));
    schedule.start();
    vi.advanceTimersByTime(10_000);
    for (let jump = 0; jump < 5; jump += 1) {
      // For its next turn it has gone to sleep.
      vi.advanceTimersByTime((told.at(-1) ?? 0) + 9_700 - Date.now());
      ahead += 60_000;
      vi.advanceTimersByTime(500);
    }
    schedule.stop();
    const apart = told.slice(1).map((at, nth) => at - (told[nth] ?? 0));
    expect(apart.length).toBeGreaterThanOrEqual(5);
    expect(Math.max(...apart)).toBeLessThan(11_100);
  });

  const [here, there] = [self, '0193a0a0-0000-7000-8000-000000000002'];
  /**
   * Two probes of one continent, each of whom may be away, published so many seconds after the
   * start.
   */
  const pair = (seconds: number, well: readonly string[]): Roster => ({
    epoch: start + seconds * 1_000,
    probes: [here, there].map((id) => ({
      id,
      name: id,
      continent: 'Europe',
      organisation: null,
      quarantined: false,
      healthy: well.includes(id),
    })),
  });
  const monitors = Array.from({ length: 60 }, (_, ordinal) =>
    assignmentOf('https://a.example/', { ordinal, interval_ms: 4_000 }),
  );

  /**
   * Both probes for so many seconds; `hears`: what each does after so many milliseconds. Says how
   * often each turn of 60 monitors was taken.
   */
  const turnsTaken = (
    seconds: number,
    hears: (one: Schedule, other: Schedule) => readonly (readonly [number, () => void])[],
  ) => {
    const taken = new Map<string, number>();
    const onDue = ({ monitor }: { readonly monitor: string }, at: number): void =>
      void taken.set(`${monitor} ${at}`, (taken.get(`${monitor} ${at}`) ?? 0) + 1);
    const [one, other] = [here, there].map((id) =>
      createSchedule({ self: id, clock: { now: () => Date.now() }, onDue }),
    );
    if (!one || !other) throw new Error('there are two');
    for (const schedule of [one, other]) {
      schedule.setRoster(pair(-60, [here, there]));
      for (const monitor of monitors) schedule.put(monitor);
      schedule.start();
    }
    for (const [afterMs, act] of hears(one, other)) setTimeout(act, afterMs);
    vi.advanceTimersByTime(seconds * 1_000);
    one.stop();
    other.stop();
    return { taken, wanted: (monitors.length * seconds) / 4 };
  };

  test('a probe that leaves and comes back loses no turn and doubles none, whichever probe learns of it first', () => {
    const { taken, wanted } = turnsTaken(20, (one, other) => [
      [4_010, () => one.setRoster(pair(4, [there]))],
      [4_700, () => other.setRoster(pair(4, [there]))],
      [8_900, () => one.setRoster(pair(8, [here, there]))],
      [8_020, () => other.setRoster(pair(8, [here, there]))],
    ]);
    expect([...taken.values()].filter((times) => times !== 1)).toEqual([]);
    expect(taken.size).toBe(wanted);
  });

  test('a probe that learns late that another left takes at once what was its own by then', () => {
    const { taken, wanted } = turnsTaken(20, (one, other) => [
      [4_010, () => one.setRoster(pair(4, [there]))],
      [7_500, () => other.setRoster(pair(4, [there]))],
    ]);
    expect([...taken.values()].filter((times) => times !== 1)).toEqual([]);
    expect(taken.size).toBe(wanted);
  });

  test('two changes within a second count one after the other', () => {
    const { taken, wanted } = turnsTaken(20, (one, other) => [
      [4_010, () => one.setRoster(pair(4, [there]))],
      [4_050, () => other.setRoster(pair(4, [there]))],
      [4_510, () => one.setRoster(pair(4.5, [here]))],
      [4_550, () => other.setRoster(pair(4.5, [here]))],
    ]);
    expect([...taken.values()].filter((times) => times !== 1)).toEqual([]);
    expect(taken.size).toBe(wanted);
  });

  test('a probe that starts again takes the turns since it stopped, each monitor once, and none of those before', () => {
    for (const [stoppedAt, due] of [
      [start - 2_000, 30],
      [start - 3_600_000, 60],
      [undefined, 0],
      [start + 60_000, 0],
    ] as const) {
      const told: number[] = [];
      const schedule = createSchedule({
        self,
        clock: { now: () => Date.now() },
        onDue: (_, at) => told.push(at),
        stoppedAt,
      });
      schedule.setRoster(roster);
      for (const monitor of monitors) schedule.put(monitor);
      schedule.start();
      schedule.stop();
      expect([
        stoppedAt,
        told.length,
        told.every((at) => at < start && at >= start - 15_000),
      ]).toEqual([stoppedAt, due, true]);
    }
  });

  test('a probe that starts again leaves alone the turns that it had handed over', () => {
    const told: number[] = [];
    const schedule = createSchedule({
      self: here,
      clock: { now: () => Date.now() },
      onDue: (_, at) => told.push(at),
      stoppedAt: start - 2_000,
    });
    // As the disk has it: in the order in which it came.
    schedule.setRoster(pair(-60, [here, there]));
    for (const monitor of monitors) schedule.put(monitor);
    schedule.setRoster(pair(-3, [there]));
    schedule.start();
    schedule.stop();
    expect(told).toEqual([]);
  });
});
