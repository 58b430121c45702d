import { performance } from 'node:perf_hooks';

/**
 * One timer of the system for all that wait, because a timer for each question costs as much as reading its answer, and nearly all are answered
 * long before. An alarm never rings early, and late by at most a tick.
 *
 * Modes of an alarm: idle → set → rung (idle again), or cleared before (idle). The timer runs from the first alarm set to the first tick that finds none.
 */
export type Alarm = {
  /** When it rings, by `performance.now()`. */
  due: number;
  /** Where it stands among those that are set; -1 while it is idle. Its keeper's business only. */
  place: number;
  readonly ring: () => void;
};

const tickMs = 20;

const set: Alarm[] = [];
let timer: NodeJS.Timeout | undefined;

export const newAlarm = (ring: () => void): Alarm => ({ due: 0, place: -1, ring });

export const clearAlarm = (alarm: Alarm): void => {
  const { place } = alarm;
  if (place < 0) return;
  alarm.place = -1;
  const last = set.pop();
  if (last === undefined || last === alarm) return;
  last.place = place;
  set[place] = last;
};

const tick = (): void => {
  const now = performance.now();
  // From the end, so that what takes the place of one that rang has been looked at already.
  for (let at = set.length - 1; at >= 0; at -= 1) {
    const alarm = set[at];
    if (alarm === undefined || alarm.due > now) continue;
    clearAlarm(alarm);
    alarm.ring();
  }
  if (set.length > 0) return;
  clearInterval(timer);
  timer = undefined;
};

export const setAlarm = (alarm: Alarm, due: number): void => {
  alarm.due = due;
  if (alarm.place >= 0) return;
  alarm.place = set.push(alarm) - 1;
  timer ??= setInterval(tick, tickMs);
};
