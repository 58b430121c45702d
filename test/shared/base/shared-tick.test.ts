import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { atSharedTick } from '../../../shared/base/shared-tick.ts';
import { systemClock } from '../../../shared/base/time.ts';

describe('shared tick', () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: 1_700_000_000_030 });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test('ticks of different length fall together wherever they can, a phase later where one is given, and end when they are stopped', () => {
    const seen: [string, number][] = [];
    const note = (name: string) => () => void seen.push([name, Date.now() - 1_700_000_000_000]);
    const short = atSharedTick(100, note('short'), { clock: systemClock });
    const long = atSharedTick(250, note('long'), { clock: systemClock, phase: 50 });
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
    const tick = atSharedTick(
      100,
      () => {
        ticks += 1;
      },
      { clock: systemClock },
    );
    vi.advanceTimersByTime(70);
    expect(ticks).toBe(1);
    vi.setSystemTime(1_600_000_000_000);
    vi.advanceTimersByTime(200);
    expect(ticks).toBeGreaterThanOrEqual(2);
    tick.stop();
  });

  test('one that asks for its length each time waits as long as there is nothing to do, and no longer', () => {
    let length = 1_000;
    const seen: number[] = [];
    const tick = atSharedTick(
      () => length,
      () => void seen.push(Date.now() - 1_700_000_000_000),
      { clock: systemClock },
    );
    vi.advanceTimersByTime(1_170);
    length = 100;
    tick.again();
    vi.advanceTimersByTime(200);
    expect(seen).toEqual([1_000, 1_300, 1_400]);
    tick.stop();
  });

  test('one whose timer fires a moment early ticks once', () => {
    let now = 0;
    let ticks = 0;
    const clock = { now: () => now };
    const tick = atSharedTick(
      100,
      () => {
        ticks += 1;
      },
      { clock },
    );
    now = 99;
    vi.advanceTimersByTime(100);
    vi.advanceTimersByTime(50);
    expect(ticks).toBe(1);
    tick.stop();
  });
});
