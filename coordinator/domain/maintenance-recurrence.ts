import type { ByDay, Rule } from './maintenance-rule.ts';

/**
 * RFC 5545 on floating local times: a local time is written as the milliseconds that it would be in UTC, and no zone is known here.
 * It is our own because the library that we meant to use loops for ever on rules such as FREQ=HOURLY;INTERVAL=24;BYHOUR=5; here
 * the work is bounded by the range asked for, wherever the rule began, as each period is reached by a division.
 */
const dayMs = 86_400_000;
const hourMs = 3_600_000;
const minuteMs = 60_000;

const remainder = (value: number, by: number): number => ((value % by) + by) % by;

type Day = {
  readonly number: number;
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly weekday: number;
};

export const dayOf = (number: number): Day => {
  const date = new Date(number * dayMs);
  // Day 0 of the epoch was a Thursday, which is 3 when Monday is 0.
  return { number, year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate(), weekday: remainder(number + 3, 7) };
};

const dayNumber = (year: number, month: number, day: number): number => {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getTime() / dayMs;
};

const daysIn = (year: number, month: number): number => dayNumber(year, month + 1, 1) - dayNumber(year, month, 1);

/** Whether `place` of `size` (counted from 1) is among numbers that may count from the end. */
const placed = (list: readonly number[], place: number, size: number): boolean => list.includes(place) || list.includes(place - size - 1);

/** The number of the week that a day lies in, and how many weeks that week's year has: week 1 is the first with four days in its year. */
const weekOf = ({ number, weekday }: Day, wkst: number): { week: number; weeks: number } => {
  const fourth = number - remainder(weekday - wkst, 7) + 3;
  const { year } = dayOf(fourth);
  // December 28 lies in the last week whatever the year and the first day of the week.
  const last = dayOf(dayNumber(year, 12, 28));
  const firstDay = dayNumber(year, 1, 1);
  const lastFourth = last.number - remainder(last.weekday - wkst, 7) + 3;
  return { week: Math.floor((fourth - firstDay) / 7) + 1, weeks: Math.floor((lastFourth - firstDay) / 7) + 1 };
};

const onByDay = (list: readonly ByDay[], { weekday }: Day, place: number, size: number): boolean =>
  list.some(
    (by) => by.weekday === weekday && (by.nth === 0 || by.nth === Math.ceil(place / 7) || by.nth === -Math.ceil((size - place + 1) / 7)),
  );

/** What the rule takes from its start where it says nothing itself. */
export const completed = (rule: Rule, start: Pick<Day, 'weekday' | 'day' | 'month'>): Rule => {
  const given = rule.byweekno.length + rule.byyearday.length + rule.bymonthday.length + rule.byday.length > 0;
  const onlyWeeks = rule.byweekno.length > 0 && rule.byyearday.length + rule.bymonthday.length + rule.byday.length === 0;
  if (rule.freq === 'WEEKLY' && rule.byday.length === 0) return { ...rule, byday: [{ weekday: start.weekday, nth: 0 }] };
  if (rule.freq === 'MONTHLY' && !given) return { ...rule, bymonthday: [start.day] };
  if (rule.freq === 'YEARLY' && onlyWeeks) return { ...rule, byday: [{ weekday: start.weekday, nth: 0 }] };
  if (rule.freq === 'YEARLY' && !given)
    return { ...rule, bymonthday: [start.day], bymonth: rule.bymonth.length > 0 ? rule.bymonth : [start.month] };
  return rule;
};

const onDay = (rule: Rule, day: Day): boolean => {
  if (rule.bymonth.length > 0 && !rule.bymonth.includes(day.month)) return false;
  // Cheap filters come first: a rule that occurs seldom is asked about many days.
  if (rule.byday.length > 0 && !rule.byday.some(({ weekday }) => weekday === day.weekday)) return false;
  const monthSize = rule.bymonthday.length + rule.byday.length > 0 ? daysIn(day.year, day.month) : 0;
  if (rule.bymonthday.length > 0 && !placed(rule.bymonthday, day.day, monthSize)) return false;
  if (rule.byweekno.length > 0) {
    const { week, weeks } = weekOf(day, rule.wkst);
    if (!placed(rule.byweekno, week, weeks)) return false;
  }
  const inYear = rule.freq === 'YEARLY' && rule.bymonth.length === 0;
  if (rule.byday.length > 0 && !inYear && !onByDay(rule.byday, day, day.day, monthSize)) return false;
  if (rule.byyearday.length === 0 && !(inYear && rule.byday.length > 0)) return true;
  const yearStart = dayNumber(day.year, 1, 1);
  const yearSize = dayNumber(day.year + 1, 1, 1) - yearStart;
  const yearDay = day.number - yearStart + 1;
  if (rule.byyearday.length > 0 && !placed(rule.byyearday, yearDay, yearSize)) return false;
  return !inYear || rule.byday.length === 0 || onByDay(rule.byday, day, yearDay, yearSize);
};

/** The times of a day at which the rule occurs, as milliseconds after midnight, ascending; `hours` and `minutes` are those of the period. */
const timesOf = (rule: Rule, start: number, hours: readonly number[], minutes: readonly number[]): number[] => {
  const second = Math.floor(remainder(start, minuteMs) / 1000);
  const fraction = remainder(start, 1000);
  const seconds = rule.bysecond.length > 0 ? rule.bysecond : [second];
  return hours.flatMap((hour) => minutes.flatMap((minute) => seconds.map((s) => hour * hourMs + minute * minuteMs + s * 1000 + fraction)));
};

/** The positions, from 0, that BYSETPOS names among so many candidates, ascending. */
const positions = (rule: Rule, size: number): readonly number[] => {
  const named = rule.bysetpos.map((position) => (position > 0 ? position - 1 : size + position));
  return [...new Set(named)].filter((position) => position >= 0 && position < size).toSorted((a, b) => a - b);
};

/** Each time of each day, both ascending, of which BYSETPOS chooses; a year has a hundred thousand, so that they are not laid out to choose one. */
function* chosen(rule: Rule, days: readonly number[], times: readonly number[]): Generator<number> {
  if (rule.bysetpos.length === 0) for (const day of days) for (const time of times) yield day + time;
  else
    for (const position of positions(rule, days.length * times.length))
      yield (days[Math.floor(position / times.length)] ?? 0) + (times[position % times.length] ?? 0);
}

/** Periods of whole days: first and last day of the period that is `steps` steps of one (not of interval) after that of the start. */
const daysOfPeriod = (rule: Rule, start: Day, steps: number): readonly [first: number, after: number] => {
  if (rule.freq === 'YEARLY') return [dayNumber(start.year + steps, 1, 1), dayNumber(start.year + steps + 1, 1, 1)];
  if (rule.freq === 'MONTHLY') return [dayNumber(start.year, start.month + steps, 1), dayNumber(start.year, start.month + steps + 1, 1)];
  if (rule.freq === 'WEEKLY') {
    const first = start.number - remainder(start.weekday - rule.wkst, 7) + steps * 7;
    return [first, first + 7];
  }
  return [start.number + steps, start.number + steps + 1];
};

/** How many periods of one step certainly lie between the start and `from`: a lower bound, so that nothing is jumped over. */
const stepsBefore = (rule: Rule, start: Day, from: Day): number => {
  const days = from.number - start.number;
  const months = (from.year - start.year) * 12 + from.month - start.month;
  const steps = { YEARLY: from.year - start.year, MONTHLY: months, WEEKLY: Math.floor(days / 7) - 1, DAILY: days, HOURLY: 0, MINUTELY: 0 };
  return Math.max(0, steps[rule.freq]);
};

function* overDays(rule: Rule, start: number, from: number, to: number): Generator<number> {
  const startDay = dayOf(Math.floor(start / dayMs));
  const fromDay = dayOf(Math.floor(from / dayMs));
  const hours = rule.byhour.length > 0 ? rule.byhour : [Math.floor(remainder(start, dayMs) / hourMs)];
  const minutes = rule.byminute.length > 0 ? rule.byminute : [Math.floor(remainder(start, hourMs) / minuteMs)];
  const times = timesOf(rule, start, hours, minutes);
  const before = stepsBefore(rule, startDay, fromDay);
  for (let steps = before - (before % rule.interval); ; steps += rule.interval) {
    const [first, after] = daysOfPeriod(rule, startDay, steps);
    if (first * dayMs >= to) return;
    const days: number[] = [];
    for (let number = first; number < after; number += 1) if (onDay(rule, dayOf(number))) days.push(number * dayMs);
    yield* chosen(rule, days, times);
  }
}

/** For each number below `size`, how far it is to the next one that is listed, zero where it is itself; undefined where all are. */
const waysTo = (listed: readonly number[], size: number): readonly number[] | undefined =>
  listed.length === 0
    ? undefined
    : Array.from({ length: size }, (_, here) => Math.min(...listed.map((there) => (there >= here ? there - here : there + size - here))));

/** The walk of rules that occur many times a day: what is asked of each step is arithmetic alone, as some have a hundred thousand. */
function* withinDays(rule: Rule, start: number, from: number, to: number): Generator<number> {
  const unit = rule.freq === 'HOURLY' ? hourMs : minuteMs;
  const first = Math.floor(start / unit);
  const stepsTo = (time: number) => Math.ceil(Math.max(0, Math.floor(time / unit) - first) / rule.interval) * rule.interval;
  const startMinute = Math.floor(remainder(start, hourMs) / minuteMs);
  const toHour = waysTo(rule.byhour, 24);
  const toMinute = rule.freq === 'MINUTELY' ? waysTo(rule.byminute, 60) : undefined;
  const ofHour = rule.byminute.length > 0 ? rule.byminute : [startMinute];
  // After the beginning of its period; a rule that lists no minutes or seconds has one time in each.
  const offsets = timesOf(rule, start, [0], rule.freq === 'MINUTELY' ? [0] : ofHour);
  const chosenOffsets = [...chosen(rule, [0], offsets)];
  let dayEnd = Number.NEGATIVE_INFINITY;
  let counts = false;
  // One step earlier, as the period that `from` lies in counts too.
  for (let steps = stepsTo(from - unit * rule.interval); ; ) {
    const time = (first + steps) * unit;
    if (time >= to) return;
    if (time >= dayEnd) {
      const number = Math.floor(time / dayMs);
      dayEnd = (number + 1) * dayMs;
      counts = onDay(rule, dayOf(number));
    }
    const inDay = time - dayEnd + dayMs;
    const hour = Math.floor(inDay / hourMs);
    const hours = toHour?.[hour] ?? 0;
    const minutes = toMinute?.[Math.floor(inDay / minuteMs) % 60] ?? 0;
    if (!counts || hours > 0 || minutes > 0) {
      const next = counts ? (hours > 0 ? time - (inDay % hourMs) + hours * hourMs : time + minutes * minuteMs) : dayEnd;
      steps = Math.max(steps + rule.interval, stepsTo(Math.min(next, dayEnd)));
      continue;
    }
    steps += rule.interval;
    for (const offset of chosenOffsets) yield time + offset;
  }
}

/**
 * The local times in [from, to) at which the rule occurs, ascending, none before `start`. The start itself is among them only if
 * the rule says so; UNTIL and COUNT are for the caller, who knows the zone and the first occurrence.
 */
export function* recurrences(rule: Rule, start: number, from: number, to: number): Generator<number> {
  const whole = completed(rule, dayOf(Math.floor(start / dayMs)));
  const walk = rule.freq === 'HOURLY' || rule.freq === 'MINUTELY' ? withinDays : overDays;
  for (const time of walk(whole, start, from, to)) {
    if (time >= to) return;
    if (time >= start && time >= from) yield time;
  }
}
