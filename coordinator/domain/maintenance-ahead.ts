import { Refusal } from '../../shared/base/errors.ts';
import { durationText } from '../../shared/base/time.ts';
import { latestBegun, type Planned, plannedIn, type Schedule, searched } from './maintenance.ts';
import { ruleFrom } from './maintenance-rule.ts';
import { clockOf } from './zone-clock.ts';

const day = 86_400_000;

/** An occurrence that is not over, on the clock of its zone too, with what that clock does to it. */
export type Ahead = {
  readonly from: number;
  readonly to: number;
  /** What the clock of the zone shows then, as the milliseconds that it would be in UTC. */
  readonly local_from: number;
  readonly local_to: number;
  readonly notes: readonly string[];
};

const clockText = (local: number): string => new Date(local).toISOString().slice(11, 16);

/** What the change of a clock does to an occurrence, in words. `before`: the one before it, which it may have moved against. */
const notesOn = ({ from, to, local }: Planned, before: Planned | undefined, clock: ReturnType<typeof clockOf>): string[] => {
  const [begins, ends] = [clock.local(from), clock.local(to)];
  const notes: string[] = [];
  if (begins !== local) notes.push(`The clock is put forward over ${clockText(local)} that night, so it begins at ${clockText(begins)}.`);
  else if (clock.isTwice(local, from)) notes.push(`The clock shows ${clockText(local)} twice that night; it begins at the first.`);
  const change = ends - begins - (to - from);
  if (change !== 0)
    notes.push(
      `The clock is put ${change > 0 ? 'forward' : 'back'} by ${durationText(Math.abs(change))} meanwhile, so it ends at ${clockText(ends)}.`,
    );
  // Where the clock skips it, it stays in UTC where it was; the next one moves.
  const moved = before === undefined ? 0 : from - local - (before.from - before.local);
  if (moved !== 0)
    notes.push(`From here on ${durationText(Math.abs(moved))} ${moved > 0 ? 'later' : 'earlier'} in UTC; the local time stays.`);
  return notes;
};

/** The occurrences that began last and begin next, without looking further than the rule is taken to occur at all. */
const plannedAhead = (schedule: Schedule, now: number, most: number): readonly Planned[] => {
  const found: Planned[] = [];
  const begun = latestBegun(schedule, now);
  if (begun) found.push(begun);
  const years = schedule.rrule === null ? 1 : searched[ruleFrom(schedule.rrule).freq];
  const begin = Math.max(now + 1, schedule.starts_at);
  let from = begin;
  for (let step = 7 * day; from < begin + years * 366 * day && found.length <= most; step *= 4) {
    const { planned, ended } = plannedIn(schedule, { from, to: from + step });
    found.push(...planned);
    if (ended) break;
    from += step;
  }
  return found;
};

/**
 * The next so many occurrences that are not over. What began before `cut_at` ended there, because somebody ended it: the rule knows
 * nothing of that.
 */
export const occurrencesAhead = (schedule: Schedule, now: number, { most = 10, cut_at = null }: Limits = {}): readonly Ahead[] => {
  const clock = clockOf(schedule.time_zone);
  // One more than is wanted, because the one that runs may have been ended.
  const planned = plannedAhead(schedule, now, most).slice(0, most + 1);
  return planned
    .flatMap((one, index) => {
      const to = cut_at !== null && one.from <= cut_at ? Math.min(one.to, cut_at) : one.to;
      if (to <= now) return [];
      const notes = notesOn(one, planned[index - 1], clock);
      return [{ from: one.from, to, local_from: clock.local(one.from), local_to: clock.local(to), notes }];
    })
    .slice(0, most);
};

/** @throws Refusal when nothing of it is still to come: such a window would cover nothing, whoever wrote the wrong year. */
export const refuseOver = (schedule: Schedule, now: number): void => {
  if (occurrencesAhead(schedule, now, { most: 1 }).length > 0) return;
  const what = schedule.rrule === null ? 'it' : 'its last occurrence';
  throw new Refusal(
    'window_invalid',
    `ends_at: the window lies wholly in the past, where it can cover nothing; ${what} must end after now, ${new Date(now).toISOString()}.`,
  );
};

type Limits = { readonly most?: number; readonly cut_at?: number | null };
