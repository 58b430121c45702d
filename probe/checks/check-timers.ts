// Imported, because the global of this name is a getter, which costs more than the clock.
import { performance } from 'node:perf_hooks';

/**
 * One timer of the system for all that wait, because a timer for each question costs as much as reading its answer, and nearly all are answered
 * long before. An alarm never rings early, and late by at most a tick.
 *
 * Modes of an alarm: idle → set → rung (idle again), or cleared before (idle). Modes of the timer: stopped → armed for the tick after the earliest
 * alarm (a later one does not move it, nor does one that is cleared) → a tick: armed anew, or stopped when no alarm is set.
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
/** The moment that the timer is armed for. */
let armedFor = Number.POSITIVE_INFINITY;

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

/** Ticks lie on a grid, so that alarms which are due close together ring together. */
const tickAfter = (due: number): number => Math.ceil(due / tickMs) * tickMs;

const armFor = (at: number): void => {
  if (at >= armedFor) return;
  armedFor = at;
  clearTimeout(timer);
  timer = setTimeout(tick, Math.max(1, at - performance.now()));
  // Whoever waits for something has a socket open, which keeps the process alive if that is worth it.
  timer.unref();
};

const tick = (): void => {
  armedFor = Number.POSITIVE_INFINITY;
  const now = performance.now();
  let earliest = Number.POSITIVE_INFINITY;
  // From the end, so that what takes the place of one that rang has been looked at already.
  for (let at = set.length - 1; at >= 0; at -= 1) {
    const alarm = set[at];
    if (alarm === undefined) continue;
    if (alarm.due > now) {
      earliest = Math.min(earliest, alarm.due);
      continue;
    }
    clearAlarm(alarm);
    alarm.ring();
  }
  armFor(tickAfter(earliest));
};

export const setAlarm = (alarm: Alarm, due: number): void => {
  alarm.due = due;
  if (alarm.place < 0) alarm.place = set.push(alarm) - 1;
  armFor(tickAfter(due));
};
