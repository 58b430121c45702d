import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createSchedule } from '../../../probe/checking/checking-schedule.ts';
import type { Roster } from '../../../shared/checks/checks-assignment.ts';
import { assignmentOf } from '../support/probe-support-assignment.ts';

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
