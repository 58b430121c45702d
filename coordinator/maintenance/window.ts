import type { Moment } from '../../shared/api/moment.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { nameFrom } from '../../shared/base/names.ts';
import { durationText, type Interval } from '../../shared/base/time.ts';
import { type Rule, recurrences, refuseRule, ruleFrom, ruleValue } from './recurrence.ts';
import { clockOf, epochOf, instantsIn, localOf, margin } from './zones.ts';

/**
 * The schedule of a window, as it is stored. Everything about its occurrences follows from it (rule
 * 27).
 */
export type Schedule = {
  /** The first occurrence, whatever the rule says. */
  readonly starts_at: number;
  readonly ends_at: number;
  /**
   * The local times that repeat, as the milliseconds that they would be in UTC. They differ from
   * the first occurrence where it had to move, and their distance where the clock is changed in it.
   */
  readonly local_start: number;
  readonly local_end: number;
  readonly rrule: string | null;
  readonly time_zone: string;
};

const day = 86_400_000;

/** How far in advance occurrences are stored, and when housekeeping writes the next ones. */
export const expandedAhead = 90 * day;
export const expandAgainBelow = 62 * day;

type Occurrences = {
  readonly occurrences: readonly Interval[];
  /** Nothing begins after the range. */
  readonly ended: boolean;
};

/** An occurrence with the local time that it follows from. */
type Planned = Interval & { readonly local: number };

/** The occurrences that begin in the range, in order and each once. */
function plannedIn(
  schedule: Schedule,
  range: Interval,
): { readonly planned: readonly Planned[]; readonly ended: boolean } {
  const { starts_at, ends_at, local_start, rrule } = schedule;
  const first =
    starts_at >= range.from && starts_at < range.to ? [{ at: starts_at, local: local_start }] : [];
  const { begins, ended } =
    rrule === null
      ? { begins: [], ended: starts_at < range.to }
      : repeated(schedule, ruleFrom(rrule), range);
  // Two local times within the same gap can be the same instant.
  const unique = new Map([...first, ...begins].map(({ at, local }) => [at, local]));
  const inOrder = [...unique].toSorted(([a], [b]) => a - b);
  const planned = inOrder.map(([at, local]) => ({
    from: at,
    to: at === starts_at ? ends_at : at + lengthOf(schedule),
    local,
  }));
  return { planned, ended };
}

/**
 * When an occurrence begins, and the local time that it follows from, which the clock may never
 * show.
 */
type Begin = { readonly at: number; readonly local: number };

function repeated(
  schedule: Schedule,
  rule: Rule,
  { from, to }: Interval,
): { begins: Begin[]; ended: boolean } {
  const { starts_at, local_start, time_zone } = schedule;
  // COUNT can only be applied by counting from the start.
  const near = localOf(from, time_zone) - margin;
  const low = rule.count === null ? near : local_start;
  const instant = instantsIn(time_zone);
  const begins: Begin[] = [];
  let counted = 1;
  for (const local of recurrences(rule, local_start, low, localOf(to, time_zone) + margin)) {
    if (local === local_start) continue;
    if (rule.count !== null && counted >= rule.count) break;
    if (rule.until?.local && local > rule.until.at) break;
    const at = local < near ? undefined : instant(local);
    // One behind the range is left to count, so that the rule has not ended.
    if (at !== undefined && at >= to) continue;
    counted += 1;
    if (at === undefined || (rule.until && !rule.until.local && at > rule.until.at)) continue;
    if (at > starts_at && at >= from) begins.push({ at, local });
  }
  return { begins, ended: (rule.count !== null && counted >= rule.count) || endOf(rule) < to };
}

/** When UNTIL has passed for certain, whatever the zone. */
function endOf({ until }: Rule): number {
  return until === null ? Number.POSITIVE_INFINITY : until.local ? until.at + margin : until.at;
}

/** How long an occurrence lasts on a day without a clock change. */
function lengthOf({ local_start, local_end }: Schedule): number {
  return local_end - local_start;
}

/** The occurrences in the range without their local times. */
export function occurrencesOf(schedule: Schedule, range: Interval): Occurrences {
  const { planned, ended } = plannedIn(schedule, range);
  return { occurrences: planned.map(({ from, to }) => ({ from, to })), ended };
}

/**
 * The latest occurrence that began within one occurrence's length before now. It is searched
 * backwards in growing steps: a dense rule has thousands there.
 */
function latestBegun(schedule: Schedule, now: number): Planned | undefined {
  const lasts = longestOf(schedule);
  for (let back = Math.min(lasts, day); ; back = Math.min(lasts, back * 4)) {
    const last = plannedIn(schedule, {
      from: Math.max(schedule.starts_at, now - back + 1),
      to: now + 1,
    }).planned.at(-1);
    if (last || back >= lasts) return last;
  }
}

function longestOf(schedule: Schedule): number {
  return Math.max(schedule.ends_at - schedule.starts_at, lengthOf(schedule));
}

/**
 * What is stored when a window is created: its first occurrence, the running one, and those of the
 * next months. All but the first have the same length, so of several running ones the latest
 * suffices.
 */
export function occurrencesToCome(
  schedule: Schedule,
  now: number,
): Occurrences & { readonly until: number } {
  const { starts_at, ends_at, rrule } = schedule;
  const until = Math.max(now, starts_at) + expandedAhead;
  // COUNT is counted from the beginning each time, so it is done only once.
  const isCounted = rrule !== null && ruleFrom(rrule).count !== null;
  const from = isCounted ? now - longestOf(schedule) + 1 : now + 1;
  const { occurrences, ended } = occurrencesOf(schedule, {
    from: Math.max(starts_at, from),
    to: until,
  });
  const begun = isCounted
    ? occurrences.findLast((one) => one.from <= now)
    : latestBegun(schedule, now);
  const last = begun && { from: begun.from, to: begun.to };
  const others = [...(last ? [last] : []), ...occurrences.filter((one) => one.from > now)].filter(
    (one) => one.from > starts_at,
  );
  return { occurrences: [{ from: starts_at, to: ends_at }, ...others], ended, until };
}

/**
 * A rule must occur within this time after its start, or it is taken to never occur. A year of
 * minutes is as much work as thirty years of days.
 */
const searched = {
  YEARLY: 30,
  MONTHLY: 30,
  WEEKLY: 30,
  DAILY: 30,
  HOURLY: 9,
  MINUTELY: 1,
} as const;
const maxInYear = 20_000;

/**
 * The most occurrences of a window within any 90 days of its first year: as many as are stored at a
 * time.
 */
export function maxWrittenAhead(schedule: Schedule): number {
  if (schedule.rrule === null) return 1;
  const rule = ruleFrom(schedule.rrule);
  const times: number[] = [];
  for (const time of untilEnd(rule, schedule, 1)) {
    times.push(time);
    if (times.length >= Math.min(maxInYear, rule.count ?? maxInYear)) break;
  }
  let [first, limit] = [0, 1];
  for (const [last, time] of times.entries()) {
    while ((times[first] ?? time) <= time - expandedAhead) first += 1;
    limit = Math.max(limit, last - first + 1);
  }
  return limit;
}

/**
 * The local times from the start on at which the rule occurs until UNTIL. Both are compared in the
 * same clock, whichever UNTIL is in.
 */
function* untilEnd(
  rule: Rule,
  { local_start, time_zone }: Schedule,
  years: number,
): Generator<number> {
  const { until } = rule;
  const last =
    until === null
      ? Number.POSITIVE_INFINITY
      : (until.local ? until.at : localOf(until.at, time_zone)) + margin;
  const instant = instantsIn(time_zone);
  for (const local of recurrences(
    rule,
    local_start,
    local_start,
    Math.min(local_start + years * 366 * day, last),
  ))
    if (until === null || (until.local ? local : instant(local)) <= until.at) yield local;
}

/** The validated content of a window. */
export type WindowDraft = { readonly name: string | null; readonly schedule: Schedule };

type WindowInput = {
  readonly name: string | null;
  readonly starts_at: Moment;
  readonly ends_at: Moment;
  readonly rrule: string | null;
};

/** The beginning or the end of the first occurrence; `isLocal`: given as a local time. */
type Edge = { readonly at: number; readonly local: number; readonly isLocal: boolean };

/**
 * A window in the organisation's time zone. @throws Refusal `name_invalid`, `window_invalid` or
 * `rrule_invalid`.
 */
export function draftWindow(input: WindowInput, time_zone: string): WindowDraft {
  const name = input.name === null ? null : nameFrom(input.name);
  const first = firstOf(edgeOf(input.starts_at, time_zone), edgeOf(input.ends_at, time_zone));
  const rrule = input.rrule === null ? null : ruleValue(input.rrule);
  return { name, schedule: checked({ ...first, rrule, time_zone }) };
}

/**
 * From local times follows the length that everyone reads there, whatever the clock does that
 * night; from instants their real distance. An end that a moved beginning has overtaken moves with
 * it.
 */
function firstOf(starts: Edge, ends: Edge) {
  const isRead = starts.isLocal && ends.isLocal;
  const lasts = isRead ? ends.local - starts.local : ends.at - starts.at;
  return {
    starts_at: starts.at,
    ends_at: ends.at > starts.at ? ends.at : starts.at + lasts,
    local_start: starts.local,
    local_end: starts.local + lasts,
  };
}

function edgeOf(moment: Moment, zone: string): Edge {
  const at = epochOf(moment, zone);
  return moment.is === 'local'
    ? { at, local: Date.parse(`${moment.local}Z`), isLocal: true }
    : { at, local: localOf(at, zone), isLocal: false };
}

const earliest = Date.UTC(1970, 0, 2);

const latest = Date.UTC(2900, 0, 1);

function checked(schedule: Schedule): Schedule {
  const { starts_at, ends_at, local_start, local_end, rrule } = schedule;
  for (const [key, value] of Object.entries({ starts_at, ends_at }))
    if (!(value >= earliest && value <= latest))
      throw new Refusal('window_invalid', { [key]: 'must lie between the years 1970 and 2900.' });
  if (local_end <= local_start)
    throw new Refusal('window_invalid', { ends_at: 'must be after the start.' });
  if (rrule !== null) refuseUseless(schedule, ruleFrom(rrule));
  return schedule;
}

/** Longer occurrences would overlap without end. */
const longestRepeated = 366 * day;

function refuseUseless(schedule: Schedule, rule: Rule): void {
  const { starts_at, local_start } = schedule;
  if (longestOf(schedule) > longestRepeated)
    throw new Refusal('window_invalid', {
      ends_at:
        'a window that repeats may last 366 days at most; end it earlier, or leave out rrule.',
    });
  if (
    rule.until !== null &&
    (rule.until.local ? rule.until.at < local_start : rule.until.at < starts_at)
  )
    throw refuseRule('UNTIL lies before starts_at; choose a later one.');
  const years = searched[rule.freq];
  if (untilEnd(rule, schedule, years).next().done)
    throw refuseRule(
      `never occurs${rule.until === null ? ` in the ${years} years after starts_at` : ''}; check its BY… parts.`,
    );
  let count = 0;
  for (const _ of untilEnd(rule, schedule, 1)) {
    count += 1;
    if (count > Math.min(maxInYear, rule.count ?? maxInYear)) break;
  }
  if (count > maxInYear)
    throw refuseRule(
      `occurs more than ${maxInYear} times a year; choose a longer step, or one longer window.`,
    );
}

/** Null leaves a value as it is; an empty text removes it. */
type WindowChange = {
  readonly name: string | null;
  readonly starts_at: Moment | null;
  readonly ends_at: Moment | null;
  readonly rrule: string | null;
};

/**
 * The window as it is from now on; it keeps its time zone (rule 27). @throws Refusal as
 * draftWindow().
 */
export function changedWindow(before: WindowDraft, change: WindowChange): WindowDraft {
  const { time_zone, ...was } = before.schedule;
  const name =
    change.name === null ? before.name : change.name.trim() === '' ? null : nameFrom(change.name);
  const rrule =
    change.rrule === null ? was.rrule : change.rrule.trim() === '' ? null : ruleValue(change.rrule);
  const edge = (moment: Moment | null, at: number, local: number): Edge =>
    moment === null ? { at, local, isLocal: true } : edgeOf(moment, time_zone);
  const first = firstOf(
    edge(change.starts_at, was.starts_at, was.local_start),
    edge(change.ends_at, was.ends_at, was.local_end),
  );
  return { name, schedule: checked({ ...first, rrule, time_zone }) };
}

export function isSameSchedule(a: Schedule, b: Schedule): boolean {
  return (
    a.starts_at === b.starts_at &&
    a.ends_at === b.ends_at &&
    a.local_start === b.local_start &&
    a.local_end === b.local_end &&
    a.rrule === b.rrule &&
    a.time_zone === b.time_zone
  );
}

/** A running or upcoming occurrence, with its local time, and the effect of clock changes on it. */
type UpcomingWindow = {
  readonly from: number;
  readonly to: number;
  /** The local time in the zone, as the milliseconds that it would be in UTC. */
  readonly local_from: number;
  readonly local_to: number;
  readonly notes: readonly string[];
};

/**
 * The next occurrences that are not over. What began before `cut_at` ended there, because someone
 * ended it; the rule does not know that.
 */
export function occurrencesAhead(
  schedule: Schedule,
  now: number,
  { most: limit = 10, cut_at = null }: Limits = {},
): readonly UpcomingWindow[] {
  const clock = clockOf(schedule.time_zone);
  // One more than requested, because the running one may have been ended.
  const planned = plannedAhead(schedule, now, limit).slice(0, limit + 1);
  return planned
    .flatMap((one, index) => {
      const to = cut_at !== null && one.from <= cut_at ? Math.min(one.to, cut_at) : one.to;
      if (to <= now) return [];
      const notes = notesOn(one, planned[index - 1], clock);
      return [
        { from: one.from, to, local_from: clock.local(one.from), local_to: clock.local(to), notes },
      ];
    })
    .slice(0, limit);
}

/** The occurrences that began last and begin next, within the time in which a rule must occur. */
function plannedAhead(schedule: Schedule, now: number, limit: number): readonly Planned[] {
  const found: Planned[] = [];
  const begun = latestBegun(schedule, now);
  if (begun) found.push(begun);
  const years = schedule.rrule === null ? 1 : searched[ruleFrom(schedule.rrule).freq];
  const begin = Math.max(now + 1, schedule.starts_at);
  let from = begin;
  for (let step = 7 * day; from < begin + years * 366 * day && found.length <= limit; step *= 4) {
    const { planned, ended } = plannedIn(schedule, { from, to: from + step });
    found.push(...planned);
    if (ended) break;
    from += step;
  }
  return found;
}

/**
 * The effect of a clock change on an occurrence, in words. `before`: the occurrence before it,
 * relative to which it may have moved.
 */
function notesOn(
  { from, to, local }: Planned,
  before: Planned | undefined,
  clock: ReturnType<typeof clockOf>,
): string[] {
  const [begins, ends] = [clock.local(from), clock.local(to)];
  const notes: string[] = [];
  if (begins !== local)
    notes.push(
      `The clock is put forward over ${clockText(local)} that night, so it begins at ${clockText(begins)}.`,
    );
  else if (clock.isTwice(local, from))
    notes.push(`The clock shows ${clockText(local)} twice that night; it begins at the first.`);
  const change = ends - begins - (to - from);
  if (change !== 0)
    notes.push(
      `The clock is put ${change > 0 ? 'forward' : 'back'} by ${durationText(Math.abs(change))} meanwhile, so it ends at ${clockText(ends)}.`,
    );
  // Where the clock skips the local time, the occurrence keeps its time in UTC; the next one moves.
  const moved = before === undefined ? 0 : from - local - (before.from - before.local);
  if (moved !== 0)
    notes.push(
      `From here on ${durationText(Math.abs(moved))} ${moved > 0 ? 'later' : 'earlier'} in UTC; the local time stays.`,
    );
  return notes;
}

function clockText(local: number): string {
  return new Date(local).toISOString().slice(11, 16);
}

/**
 * @throws Refusal when no occurrence is still to come: the window would cover nothing, as after a
 * typing error in the year.
 */
export function refuseOver(schedule: Schedule, now: number): void {
  if (occurrencesAhead(schedule, now, { most: 1 }).length > 0) return;
  const what = schedule.rrule === null ? 'it' : 'its last occurrence';
  throw new Refusal('window_invalid', {
    ends_at: `the window lies wholly in the past, where it can cover nothing; ${what} must end after now, ${new Date(now).toISOString()}.`,
  });
}

type Limits = { readonly most?: number; readonly cut_at?: number | null };
