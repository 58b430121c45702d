import { Refusal } from '../../../shared/base/errors.ts';

/** How long a channel waits before it is told (rule 33) and before it is reminded (rule 35), and how long all of them are held (rule 36). */

const longestWait_s = 86_400;
/** Nobody is reminded more often than this. */
const shortestReminder_s = 60;
const longestMute_min = 10_080;

const isWithin = (value: number, least: number, most: number): boolean => value >= least && value <= most;

/** @throws Refusal `channel_invalid`. */
export const delayFrom = (delay_s: number): number => {
  if (isWithin(delay_s, 0, longestWait_s)) return delay_s;
  throw new Refusal('channel_invalid', `delay_s: must be from 0 (at once) to ${longestWait_s} seconds.`);
};

/** Null: never. @throws Refusal `channel_invalid`. */
export const reminderFrom = (reminder_s: number): number | null => {
  if (!isWithin(reminder_s, 0, longestWait_s))
    throw new Refusal('channel_invalid', `reminder_s: must be from 0 (never) to ${longestWait_s} seconds.`);
  return reminder_s === 0 ? null : Math.max(shortestReminder_s, reminder_s);
};

/** @throws Refusal `mute_invalid`. */
export const muteFrom = (minutes: number): number => {
  if (isWithin(minutes, 1, longestMute_min)) return minutes;
  throw new Refusal('mute_invalid', `minutes: must be from 1 to ${longestMute_min}, which is a week.`);
};
