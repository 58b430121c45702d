import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createSchedule, type Schedule } from '../../../probe/schedule/wheel.ts';
import type { Roster } from '../../../shared/checks/assignment.ts';
import { assignmentOf } from '../support/checkers.ts';

const self = '0193a0a0-0000-7000-8000-000000000001';
const start = Date.UTC(2026, 10, 21);
const slotMs = 50;
const roster: Roster = {
  epoch: 1,
  probes: [{ id: self, name: 'fra-1', continent: 'Europe', organisation: null, healthy: true, quarantined: false }],
};

beforeEach(() => void vi.useFakeTimers({ now: start }));
afterEach(() => void vi.useRealTimers());

/** Runs so many seconds of a schedule by a clock that moves a little with every look at it, and says how late each turn came after the end of its slot. */
const latenessOver = (seconds: number, { count, lookMs }: { readonly count: number; readonly lookMs: number }): number[] => {
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
    schedule.put(assignmentOf('https://a.example/', { ordinal, interval_ms: 10_000, timeout_ms: 1_000 }));
  schedule.start();
  begun = clock.now();
  vi.advanceTimersByTime(seconds * 1_000);
  schedule.stop();
  return late;
};

test('a slot that ends between two looks at the clock is told at once, not a slot later', () => {
  for (const lookMs of [0.07, 0.13, 0.29]) {
    const late = latenessOver(60, { count: 400, lookMs });
    expect(late.length).toBeGreaterThanOrEqual(2_390);
    expect(Math.max(...late)).toBeLessThan(5);
  }
});

test('a clock that is set back between two looks at it does not stop the schedule', () => {
  let back = 0;
  const clock = { now: () => Date.now() - back };
  const told: number[] = [];
  const schedule = createSchedule({
    ...{ self, clock },
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

const [here, there] = [self, '0193a0a0-0000-7000-8000-000000000002'];
/** Two probes of one continent, each of whom may be away, published so many seconds after the start. */
const pair = (seconds: number, well: readonly string[]): Roster => ({
  epoch: start + seconds * 1_000,
  probes: [here, there].map((id) => ({
    ...{ id, name: id, continent: 'Europe', organisation: null, quarantined: false },
    healthy: well.includes(id),
  })),
});
const monitors = Array.from({ length: 60 }, (_, ordinal) => assignmentOf('https://a.example/', { ordinal, interval_ms: 4_000 }));

/** Both probes for so many seconds; `hears`: what each does after so many milliseconds. Says how often each turn of 60 monitors was taken. */
const turnsTaken = (seconds: number, hears: (one: Schedule, other: Schedule) => readonly (readonly [number, () => void])[]) => {
  const taken = new Map<string, number>();
  const onDue = ({ monitor }: { readonly monitor: string }, at: number): void =>
    void taken.set(`${monitor} ${at}`, (taken.get(`${monitor} ${at}`) ?? 0) + 1);
  const [one, other] = [here, there].map((id) => createSchedule({ self: id, clock: { now: () => Date.now() }, onDue }));
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

test('a probe that leaves and comes back leaves no turn to nobody and none to two, whoever hears of it first', () => {
  const { taken, wanted } = turnsTaken(20, (one, other) => [
    [4_010, () => one.setRoster(pair(4, [there]))],
    [4_700, () => other.setRoster(pair(4, [there]))],
    [8_900, () => one.setRoster(pair(8, [here, there]))],
    [8_020, () => other.setRoster(pair(8, [here, there]))],
  ]);
  expect([...taken.values()].filter((times) => times !== 1)).toEqual([]);
  expect(taken.size).toBe(wanted);
});

test('a probe that hears late that another left takes at once what was its own by then', () => {
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
    const schedule = createSchedule({ self, clock: { now: () => Date.now() }, onDue: (_, at) => told.push(at), stoppedAt });
    schedule.setRoster(roster);
    for (const monitor of monitors) schedule.put(monitor);
    schedule.start();
    schedule.stop();
    expect([stoppedAt, told.length, told.every((at) => at < start && at >= start - 15_000)]).toEqual([stoppedAt, due, true]);
  }
});
