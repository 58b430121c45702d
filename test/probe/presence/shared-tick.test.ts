import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { atSharedTick } from '../../../probe/presence/clock.ts';

beforeEach(() => {
  vi.useFakeTimers({ now: 1_700_000_000_030 });
});
afterEach(() => {
  vi.useRealTimers();
});

test('ticks of different length fall together wherever they can, a phase later where one is given, and end when they are stopped', () => {
  const seen: [string, number][] = [];
  const note = (name: string) => () => void seen.push([name, Date.now() - 1_700_000_000_000]);
  const short = atSharedTick(100, note('short'));
  const long = atSharedTick(250, note('long'), { phase: 50 });
  vi.advanceTimersByTime(470);
  expect(seen).toEqual([
    ['long', 50],
    ['short', 100],
    ['short', 200],
    ['long', 300],
    ['short', 300],
    ['short', 400],
    ['short', 500],
  ]);
  short.stop();
  long.stop();
  vi.advanceTimersByTime(1_000);
  expect(seen).toHaveLength(7);
});

test('a clock that goes back makes it wait no longer than a tick', () => {
  let ticks = 0;
  const tick = atSharedTick(100, () => {
    ticks += 1;
  });
  vi.advanceTimersByTime(70);
  expect(ticks).toBe(1);
  vi.setSystemTime(1_600_000_000_000);
  vi.advanceTimersByTime(200);
  expect(ticks).toBeGreaterThanOrEqual(2);
  tick.stop();
});
