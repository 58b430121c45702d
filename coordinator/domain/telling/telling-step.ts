import { type Interval, union } from '../../../shared/base/time.ts';
import type { ShutBy } from './telling-channel.ts';
import { type Flapping, longMs, steadyMs } from './telling-flapping.ts';
import { type Hours, withinHours } from './telling-hours.ts';
import { allTellingRules, type TellingRules } from './telling-rules.ts';

const dayMs = 86_400_000;

/** How long after what was told before it the n-th reminder (from 1) comes: at doubling distances up to a day (rule 35). */
export const reminderAfter = (reminder_s: number, n: number, rules: TellingRules = allTellingRules): number =>
  rules.reminders_double ? Math.min(reminder_s * 1_000 * 2 ** Math.min(n - 1, 20), dayMs) : reminder_s * 1_000;

/**
 * One event of one incident for one channel, and what becomes of it: it is due now, or held until a moment at which it is asked again, or
 * dropped for good. Asked anew each time, so that what changed meanwhile counts.
 */
export const stepEvents = ['down', 'up', 'was_down', 'closed', 'reminder', 'acknowledged', 'flapping'] as const;
export type StepEvent = (typeof stepEvents)[number];

export type HeldBy = 'delay' | 'flapping' | 'steadiness' | 'reminder' | 'maintenance' | 'mute' | 'hours' | 'bucket' | 'down_on_its_way';
export type Because = 'over' | 'acknowledged' | 'down_again' | 'never_told' | 'others_open' | `channel_${ShutBy}`;

export type Step = {
  readonly event: StepEvent;
  /** When the event became due for everybody. */
  readonly due_at: number;
  /** Before this nobody need ask: a reminder's time. */
  readonly not_before: number;
};

export type Surroundings = {
  readonly incident: { readonly confirmed_at: number; readonly ended_at: number | null; readonly acknowledged_at: number | null };
  readonly channel: { readonly shut: ShutBy | undefined; readonly delay_s: number; readonly hours: Hours | null };
  /** When maintenance covers the monitor, around now, and around the end of an incident that is over. */
  readonly cover: readonly Interval[];
  /** Until when all is muted; of an incident that is over: was, at its end. */
  readonly muted_until: number | null;
  readonly flapping: Flapping;
  /** Of the end of an outage of a flapping monitor: whether it is told only once the monitor was steady, and whether it went down since. */
  readonly waits_for_steadiness: boolean;
  readonly down_again: boolean;
  /** A "down" that was due, and waits only to leave with others (rule 32): it is told also when it is over by then, or somebody is on it. */
  readonly gathered: boolean;
};

export type Disposition =
  | { readonly is: 'due'; readonly as?: 'was_down' }
  | { readonly is: 'held'; readonly by: HeldBy; readonly until: number }
  | { readonly is: 'dropped'; readonly because: Because };

const dropped = (because: Because): Disposition => ({ is: 'dropped', because });

/** What holds a "down", the first that does. */
const holdOf = (step: Step, around: Surroundings, now: number, rules: TellingRules): Disposition => {
  const { incident, channel, cover, muted_until, flapping } = around;
  const holds: [HeldBy, number][] = [];
  if (step.event === 'down' && rules.delay_is_escalation) holds.push(['delay', step.due_at + channel.delay_s * 1_000]);
  if (step.event === 'down' && flapping !== 'plain') holds.push(['flapping', incident.confirmed_at + longMs]);
  if (step.event === 'reminder') holds.push(['reminder', step.not_before]);
  const inside = union(cover).find(({ from, to }) => from <= now && now < to);
  if (inside) holds.push(['maintenance', inside.to]);
  if (muted_until !== null && rules.mute_holds) holds.push(['mute', muted_until]);
  if (channel.hours !== null && rules.quiet_hours_hold) holds.push(['hours', withinHours(channel.hours, now)]);
  const first = holds.find(([, until]) => until > now);
  return first === undefined ? { is: 'due' } : { is: 'held', by: first[0], until: first[1] };
};

/** Of an incident that is open at `now`. */
const disposeOpen = (step: Step, around: Surroundings, now: number, rules: TellingRules): Disposition => {
  const { incident, channel } = around;
  const isEnded = incident.acknowledged_at !== null && rules.acknowledging_ends;
  // A "down" that is due at once to everybody is due also to whoever hears of it a moment after somebody took the matter up.
  const isLater = step.event === 'reminder' || channel.delay_s > 0 || (incident.acknowledged_at ?? 0) > step.due_at + 1_000;
  if (isEnded && isLater && !around.gathered) return dropped('acknowledged');
  return holdOf(step, around, now, rules);
};

/**
 * Whether its beginning was due before it was over: it is told however late anybody came to it, as one that was (rule 31). What something held until
 * the end is told to nobody.
 */
const wasDue = (step: Step, around: Surroundings, ended_at: number, rules: TellingRules): boolean =>
  rules.due_is_told_though_over &&
  (step.event === 'down' || step.event === 'flapping') &&
  (around.gathered || (step.due_at <= ended_at && disposeOpen(step, around, ended_at, rules).is === 'due'));

export const dispose = (step: Step, around: Surroundings, now: number, rules: TellingRules = allTellingRules): Disposition => {
  const { incident, channel } = around;
  if (channel.shut !== undefined) return dropped(`channel_${channel.shut}`);
  if (step.event === 'up' || step.event === 'was_down') {
    if (!around.waits_for_steadiness) return { is: 'due' };
    if (around.down_again) return dropped('down_again');
    const steady = step.due_at + steadyMs;
    return steady <= now ? { is: 'due' } : { is: 'held', by: 'steadiness', until: steady };
  }
  if (step.event === 'closed') return { is: 'due' };
  if (incident.ended_at !== null) {
    if (!wasDue(step, around, incident.ended_at, rules)) return dropped('over');
    return step.event === 'down' ? { is: 'due', as: 'was_down' } : { is: 'due' };
  }
  if (step.event === 'acknowledged') return { is: 'due' };
  return disposeOpen(step, around, now, rules);
};
