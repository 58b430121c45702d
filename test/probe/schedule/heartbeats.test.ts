import { afterEach, describe, expect, test, vi } from 'vitest';
import { createHeartbeats, type Heartbeats } from '../../../probe/schedule/heartbeats.ts';
import { eventually } from '../../support/eventually.ts';
import { assignmentOf } from '../support/checkers.ts';

const self = '0198f6a0-0000-7000-8000-00000000000a';
const roster = {
  epoch: 1,
  probes: [{ id: self, name: 'a', continent: 'Asia', organisation: null, healthy: true, quarantined: false }],
} as const;

const open: Heartbeats[] = [];
afterEach(() => {
  for (const one of open.splice(0)) one.stop();
});

/** A probe's heartbeats by a clock that a test sets; what is judged is good until the next deadline, `everyMs` later. */
const judge = (everyMs: number, isSeeing = () => true, isAtOnce = true) => {
  const hour = 3_600_000;
  let shift = 0;
  const clock = { now: () => Date.now() + shift };
  const judged: number[] = [];
  const heartbeats = createHeartbeats({
    self,
    clock,
    isSeeing,
    onDue: ({ monitor }) => {
      const now = clock.now();
      judged.push(now);
      heartbeats.judged(monitor, isSeeing() ? now + everyMs : null);
    },
  });
  open.push(heartbeats);
  heartbeats.setRoster(roster);
  if (isAtOnce) heartbeats.start();
  return {
    heartbeats,
    judged,
    setClock: (hours: number) => {
      shift += hours * hour;
    },
    more: (count: number) => eventually(() => judged.length >= count),
  };
};

const heartbeat = assignmentOf('', { kind: 'heartbeat' });

describe('the deadlines that a probe judges', () => {
  test('are met one after the other, and no longer when the monitor is gone', async () => {
    const { heartbeats, judged, more } = judge(100);
    heartbeats.put(heartbeat);
    await more(2);
    expect(heartbeats.count()).toBe(1);
    heartbeats.drop(heartbeat.monitor);
    const before = judged.length;
    const other = { ...heartbeat, monitor: '0198f6a0-0000-7000-8000-00000000000b' };
    heartbeats.put(other);
    await more(before + 2);
    expect(heartbeats.count()).toBe(1);
  });

  test('of those that were known before the start are met, however long the start took', ({ onTestFinished }) => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { heartbeats, judged } = judge(3_600_000, () => true, false);
    const ids = Array.from({ length: 20 }, (_, index) => `0198f6a0-0000-7000-8000-0000000001${String(index).padStart(2, '0')}`);
    for (const [ordinal, monitor] of ids.entries()) heartbeats.put({ ...heartbeat, monitor, ordinal });
    vi.advanceTimersByTime(5_000);
    heartbeats.start();
    vi.advanceTimersByTime(5_000);
    expect(judged).toHaveLength(ids.length);
  });

  test('do not wait for the old time when the clock is set back: a host that was fast would judge nothing until then', async () => {
    const { heartbeats, judged, more, setClock } = judge(100);
    heartbeats.put(heartbeat);
    await more(1);
    setClock(-24);
    await more(judged.length + 2);
    const late = { ...heartbeat, monitor: '0198f6a0-0000-7000-8000-00000000000c' };
    heartbeats.put(late);
    await more(judged.length + 4);
  });

  test('that were set by a clock gone ahead are those of the right one again', async () => {
    const { heartbeats, judged, more, setClock } = judge(600_000);
    heartbeats.put(heartbeat);
    await more(1);
    setClock(2);
    await more(2);
    setClock(-2);
    // Its deadline by the wrong clock is hours away; by the right one nobody knows, so it is looked at again.
    await more(3);
    expect(judged.at(-1)).toBeLessThan(Date.now() + 60_000);
  });
});
