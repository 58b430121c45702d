import { performance } from 'node:perf_hooks';
import { describe, expect, test } from 'vitest';
import { type Alarm, clearAlarm, newAlarm, setAlarm } from '../../../probe/checks/limits.ts';

/** Settles when the alarm has rung, with what the clock said. */
const rung = (afterMs: number, also: () => void = () => undefined): Promise<{ readonly due: number; readonly at: number }> =>
  new Promise((resolve) => {
    const due = performance.now() + afterMs;
    const alarm = newAlarm(() => {
      also();
      resolve({ due, at: performance.now() });
    });
    setAlarm(alarm, due);
  });

describe('an alarm', () => {
  test('never rings before it is due', async () => {
    const all = await Promise.all([0, 5, 30, 55, 90].map((ms) => rung(ms)));
    expect(all.every(({ due, at }) => at >= due)).toBe(true);
  });

  test('that was cleared does not ring, whoever cleared it', async () => {
    const heard: string[] = [];
    const others: Alarm[] = Array.from({ length: 5 }, (_, nth) => newAlarm(() => heard.push(`other ${nth}`)));
    const due = performance.now() + 30;
    for (const other of others) setAlarm(other, due + 60);
    // One that rings clears those before and behind it.
    await rung(30, () => others.forEach(clearAlarm));
    await rung(150);
    expect(heard).toEqual([]);
  });

  test('that rings does not make others miss theirs, however many are set and cleared meanwhile', async () => {
    const heard = new Set<number>();
    const alarms = Array.from({ length: 200 }, (_, nth) => newAlarm(() => heard.add(nth)));
    const due = performance.now() + 20;
    for (const alarm of alarms) setAlarm(alarm, due);
    for (const [nth, alarm] of alarms.entries()) if (nth % 3 === 0) clearAlarm(alarm);
    await rung(60, () =>
      setAlarm(
        newAlarm(() => heard.add(1_000)),
        0,
      ),
    );
    await rung(60);
    expect(heard).toEqual(new Set([...alarms.keys()].filter((nth) => nth % 3 !== 0).concat(1_000)));
  });

  test('that is set again rings once, at its later time', async () => {
    const rings: number[] = [];
    const alarm = newAlarm(() => rings.push(performance.now()));
    const due = performance.now() + 20;
    setAlarm(alarm, due);
    setAlarm(alarm, due + 60);
    await rung(150);
    expect(rings).toHaveLength(1);
    expect(rings[0]).toBeGreaterThanOrEqual(due + 60);
  });
});
