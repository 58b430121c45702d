import { Refusal } from '../../shared/base/errors.ts';

/**
 * The frequencies that a rule may have. SECONDLY is not supported: no maintenance window repeats
 * that often.
 */
export const frequencies = ['YEARLY', 'MONTHLY', 'WEEKLY', 'DAILY', 'HOURLY', 'MINUTELY'] as const;
type Frequency = (typeof frequencies)[number];

/** The last moment at which an occurrence may begin; local when the rule has no Z. */
export type Until = { readonly local: boolean; readonly at: number };

/**
 * 0 is Monday; `nth` counts within the month or year, from the end when negative, and is 0 for
 * every such day.
 */
export type ByDay = { readonly weekday: number; readonly nth: number };

/** An RFC 5545 RRULE as written; an empty list is a part that is absent. */
export type Rule = {
  readonly freq: Frequency;
  readonly interval: number;
  readonly count: number | null;
  readonly until: Until | null;
  readonly wkst: number;
  readonly bymonth: readonly number[];
  readonly byweekno: readonly number[];
  readonly byyearday: readonly number[];
  readonly bymonthday: readonly number[];
  readonly byday: readonly ByDay[];
  readonly byhour: readonly number[];
  readonly byminute: readonly number[];
  readonly bysecond: readonly number[];
  readonly bysetpos: readonly number[];
};

export function refuseRule(fault: string): Refusal {
  return new Refusal('rrule_invalid', { rrule: fault });
}

/** The value alone: people copy whole lines from calendars, which begin with "RRULE:". */
export function ruleValue(text: string): string {
  return text
    .trim()
    .replace(/^RRULE:\s*/i, '')
    .replace(/;$/, '');
}

/** Reads an RRULE value. @throws Refusal `rrule_invalid`, which says what is valid. */
export function ruleFrom(text: string): Rule {
  if (text.length > 1000) throw refuseRule('is longer than 1000 characters; shorten it.');
  const parts = partsOf(text);
  const freq = parts.get('FREQ') ?? '';
  if (!isFrequency(freq))
    throw refuseRule(
      `FREQ must be one of ${frequencies.join(', ')}${freq === '' ? '' : `, not ${freq.slice(0, 20)}`}.`,
    );
  const single = (name: string, limit: number): number | null => {
    const value = parts.get(name);
    return value === undefined ? null : numberOf(name, value, 1, limit);
  };
  const until = parts.get('UNTIL');
  const rule: Rule = {
    freq,
    interval: single('INTERVAL', 100_000) ?? 1,
    count: single('COUNT', 100_000),
    until: until === undefined ? null : untilOf(until),
    wkst: weekdayOf(parts.get('WKST') ?? 'MO'),
    bymonth: listOf(parts, 'BYMONTH', 1, 12),
    byweekno: listOf(parts, 'BYWEEKNO', 1, 53, true),
    byyearday: listOf(parts, 'BYYEARDAY', 1, 366, true),
    bymonthday: listOf(parts, 'BYMONTHDAY', 1, 31, true),
    byday: byDayOf(parts.get('BYDAY')),
    byhour: listOf(parts, 'BYHOUR', 0, 23),
    byminute: listOf(parts, 'BYMINUTE', 0, 59),
    bysecond: listOf(parts, 'BYSECOND', 0, 59),
    bysetpos: listOf(parts, 'BYSETPOS', 1, 366, true),
  };
  refuseMisplaced(rule);
  return rule;
}

const known = [
  'FREQ',
  'INTERVAL',
  'COUNT',
  'UNTIL',
  'WKST',
  'BYMONTH',
  'BYWEEKNO',
  'BYYEARDAY',
  'BYMONTHDAY',
  'BYDAY',
  'BYHOUR',
  'BYMINUTE',
  'BYSECOND',
  'BYSETPOS',
];

/** `NAME=VALUE` parts by name. */
function partsOf(text: string): ReadonlyMap<string, string> {
  const parts = new Map<string, string>();
  for (const part of ruleValue(text).toUpperCase().split(';')) {
    const [name = '', content, ...more] = part.split('=');
    if (name === 'DTSTART' || name.startsWith('DTSTART'))
      throw refuseRule('must not hold DTSTART; starts_at says when it begins.');
    if (!known.includes(name))
      throw refuseRule(
        `"${part.slice(0, 40)}" is no part of a rule; write such as FREQ=WEEKLY;BYDAY=SU.`,
      );
    if (content === undefined || content === '' || more.length > 0)
      throw refuseRule(`${name} needs one value, as in ${name}=….`);
    if (parts.has(name)) throw refuseRule(`${name} stands twice; keep one.`);
    parts.set(name, content);
  }
  return parts;
}

function isFrequency(text: string): text is Frequency {
  return frequencies.some((name) => name === text);
}

function numberOf(name: string, text: string, least: number, limit: number): number {
  const value = /^[+-]?\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isInteger(value) && value >= least && value <= limit) return value;
  throw refuseRule(
    `${name} must be a whole number from ${least} to ${limit}, not "${text.slice(0, 20)}".`,
  );
}

function untilOf(text: string): Until {
  const match = /^(\d{4})(\d{2})(\d{2})(?:T(\d{2})(\d{2})(\d{2})(Z)?)?$/.exec(text);
  const refusal = refuseRule(
    'UNTIL must be a date-time such as 20271231T235959 (local) or 20271231T225959Z.',
  );
  if (!match) throw refusal;
  const [, year, month, day, hour = '23', minute = '59', second = '59', zulu] = match;
  const iso = `${year}-${month}-${day}T${hour}:${minute}:${second}.000Z`;
  const at = Date.parse(iso);
  // Date turns February 30 into a day of March; converting back reveals it.
  if (Number.isNaN(at) || new Date(at).toISOString() !== iso) throw refusal;
  return { local: zulu === undefined, at };
}

const weekdays: readonly string[] = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'];

function weekdayOf(text: string): number {
  const weekday = weekdays.indexOf(text);
  if (weekday < 0) throw refuseRule(`a weekday must be one of ${weekdays.join(', ')}.`);
  return weekday;
}

/**
 * A list of numbers up to `most`; with `fromEnd` negative ones count from the end, and zero is
 * invalid.
 */
function listOf(
  parts: ReadonlyMap<string, string>,
  name: string,
  least: number,
  limit: number,
  fromEnd = false,
): number[] {
  const text = parts.get(name);
  if (text === undefined) return [];
  const values = text
    .split(',')
    .map((item) => numberOf(name, item, fromEnd ? -limit : least, limit));
  if (fromEnd && values.includes(0))
    throw refuseRule(`${name} counts from 1, or from -1 at the end; 0 is neither.`);
  return [...new Set(values)].toSorted((a, b) => a - b);
}

function byDayOf(text: string | undefined): ByDay[] {
  return (text?.split(',') ?? []).map((item) => {
    const match = /^([+-]?\d{1,2})?([A-Z]{2})$/.exec(item);
    if (!match)
      throw refuseRule(`BYDAY holds "${item.slice(0, 20)}"; write such as MO, 2TU or -1FR.`);
    const nth = match[1] === undefined ? 0 : numberOf('BYDAY', match[1], -53, 53);
    if (match[1] !== undefined && nth === 0)
      throw refuseRule('BYDAY counts from 1, or from -1 at the end; 0 is neither.');
    return { weekday: weekdayOf(match[2] ?? ''), nth };
  });
}

/**
 * One every five minutes of a day; lists of minutes and seconds would otherwise multiply to 86,400
 * a day.
 */
const maxTimes = 288;

/** Which parts the standard forbids for which frequencies (RFC 5545, 3.3.10). */
function refuseMisplaced(rule: Rule): void {
  const { freq } = rule;
  if (rule.count !== null && rule.until !== null)
    throw refuseRule('COUNT and UNTIL exclude each other; keep one.');
  if (rule.byweekno.length > 0 && freq !== 'YEARLY')
    throw refuseRule('BYWEEKNO goes with FREQ=YEARLY only.');
  if (rule.byyearday.length > 0 && (freq === 'MONTHLY' || freq === 'WEEKLY' || freq === 'DAILY'))
    throw refuseRule(`BYYEARDAY does not go with FREQ=${freq}.`);
  if (rule.bymonthday.length > 0 && freq === 'WEEKLY')
    throw refuseRule('BYMONTHDAY does not go with FREQ=WEEKLY.');
  if (
    rule.byday.some(({ nth }) => nth !== 0) &&
    ((freq !== 'MONTHLY' && freq !== 'YEARLY') || rule.byweekno.length > 0)
  )
    throw refuseRule(
      'BYDAY with a number goes with FREQ=MONTHLY or FREQ=YEARLY, without BYWEEKNO, only.',
    );
  const times = [rule.byhour, rule.byminute, rule.bysecond].reduce(
    (product, list) => product * Math.max(1, list.length),
    1,
  );
  if (times > maxTimes)
    throw refuseRule(
      `BYHOUR, BYMINUTE and BYSECOND name ${times} times; ${maxTimes} are the most.`,
    );
  const others = [
    rule.bymonth,
    rule.byweekno,
    rule.byyearday,
    rule.bymonthday,
    rule.byday,
    rule.byhour,
    rule.byminute,
    rule.bysecond,
  ];
  if (rule.bysetpos.length > 0 && others.every((part) => part.length === 0))
    throw refuseRule('BYSETPOS needs another BY… part whose days or times it chooses from.');
}

/**
 * RFC 5545 on floating local times: a local time is written as the milliseconds that it would be in
 * UTC, and zones are unknown here. It is our own because the library that we meant to use loops for
 * ever on rules such as FREQ=HOURLY;INTERVAL=24;BYHOUR=5. Here the requested range bounds the work,
 * wherever the rule began, because a division finds each period.
 */
export const dayMs = 86_400_000;

type Day = {
  readonly number: number;
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly weekday: number;
};

export function dayOf(number: number): Day {
  const date = new Date(number * dayMs);
  // Day 0 of the epoch was a Thursday, which is 3 when Monday is 0.
  return {
    number,
    year: date.getUTCFullYear(),
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    weekday: remainder(number + 3, 7),
  };
}

function remainder(value: number, by: number): number {
  return ((value % by) + by) % by;
}

/** The parts that a rule takes from its start where it does not name them. */
export function completed(rule: Rule, start: Pick<Day, 'weekday' | 'day' | 'month'>): Rule {
  const given =
    rule.byweekno.length + rule.byyearday.length + rule.bymonthday.length + rule.byday.length > 0;
  const onlyWeeks =
    rule.byweekno.length > 0 &&
    rule.byyearday.length + rule.bymonthday.length + rule.byday.length === 0;
  if (rule.freq === 'WEEKLY' && rule.byday.length === 0)
    return { ...rule, byday: [{ weekday: start.weekday, nth: 0 }] };
  if (rule.freq === 'MONTHLY' && !given) return { ...rule, bymonthday: [start.day] };
  if (rule.freq === 'YEARLY' && onlyWeeks)
    return { ...rule, byday: [{ weekday: start.weekday, nth: 0 }] };
  if (rule.freq === 'YEARLY' && !given)
    return {
      ...rule,
      bymonthday: [start.day],
      bymonth: rule.bymonth.length > 0 ? rule.bymonth : [start.month],
    };
  return rule;
}

/**
 * The local times in [from, to) at which the rule occurs, ascending, none before `start`. The start
 * itself is among them only if the rule says so. The caller applies UNTIL and COUNT, because it
 * knows the zone and the first occurrence.
 */
export function* recurrences(
  rule: Rule,
  start: number,
  from: number,
  to: number,
): Generator<number> {
  const whole = completed(rule, dayOf(Math.floor(start / dayMs)));
  const walk = rule.freq === 'HOURLY' || rule.freq === 'MINUTELY' ? withinDays : overDays;
  for (const time of walk(whole, start, from, to)) {
    if (time >= to) return;
    if (time >= start && time >= from) yield time;
  }
}

const hourMs = 3_600_000;

const minuteMs = 60_000;

/**
 * Iterates rules that occur many times a day. Each step is arithmetic alone, because some rules
 * have a hundred thousand.
 */
function* withinDays(rule: Rule, start: number, from: number, to: number): Generator<number> {
  const unit = rule.freq === 'HOURLY' ? hourMs : minuteMs;
  const first = Math.floor(start / unit);
  const stepsTo = (time: number) =>
    Math.ceil(Math.max(0, Math.floor(time / unit) - first) / rule.interval) * rule.interval;
  const startMinute = Math.floor(remainder(start, hourMs) / minuteMs);
  const toHour = waysTo(rule.byhour, 24);
  const toMinute = rule.freq === 'MINUTELY' ? waysTo(rule.byminute, 60) : undefined;
  const ofHour = rule.byminute.length > 0 ? rule.byminute : [startMinute];
  // Relative to the beginning of the period; a rule that lists no minutes or seconds has one time
  // in each.
  const offsets = timesOf(rule, start, [0], rule.freq === 'MINUTELY' ? [0] : ofHour);
  const chosenOffsets = [...chosen(rule, [0], offsets)];
  let dayEnd = Number.NEGATIVE_INFINITY;
  let counts = false;
  // One step earlier, because the period of `from` counts too.
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
      const next = counts
        ? hours > 0
          ? time - (inDay % hourMs) + hours * hourMs
          : time + minutes * minuteMs
        : dayEnd;
      steps = Math.max(steps + rule.interval, stepsTo(Math.min(next, dayEnd)));
      continue;
    }
    steps += rule.interval;
    for (const offset of chosenOffsets) yield time + offset;
  }
}

/**
 * For each number below `size`, the distance to the next listed one, zero where it is listed
 * itself; undefined where all are.
 */
function waysTo(listed: readonly number[], size: number): readonly number[] | undefined {
  return listed.length === 0
    ? undefined
    : Array.from({ length: size }, (_, here) =>
        Math.min(...listed.map((there) => (there >= here ? there - here : there + size - here))),
      );
}

/**
 * The times of a day at which the rule occurs, as milliseconds after midnight, ascending; `hours`
 * and `minutes` are those of the period.
 */
function timesOf(
  rule: Rule,
  start: number,
  hours: readonly number[],
  minutes: readonly number[],
): number[] {
  const second = Math.floor(remainder(start, minuteMs) / 1000);
  const fraction = remainder(start, 1000);
  const seconds = rule.bysecond.length > 0 ? rule.bysecond : [second];
  return hours.flatMap((hour) =>
    minutes.flatMap((minute) =>
      seconds.map((s) => hour * hourMs + minute * minuteMs + s * 1000 + fraction),
    ),
  );
}

/**
 * Each time of each day, both ascending, from which BYSETPOS selects. A year has a hundred
 * thousand, so they are not listed to select one.
 */
function* chosen(rule: Rule, days: readonly number[], times: readonly number[]): Generator<number> {
  if (rule.bysetpos.length === 0)
    for (const day of days) for (const time of times) yield day + time;
  else
    for (const position of positions(rule, days.length * times.length))
      yield (days[Math.floor(position / times.length)] ?? 0) +
        (times[position % times.length] ?? 0);
}

/** The positions, from 0, that BYSETPOS selects among this many candidates, ascending. */
function positions(rule: Rule, size: number): readonly number[] {
  const named = rule.bysetpos.map((position) => (position > 0 ? position - 1 : size + position));
  return [...new Set(named)]
    .filter((position) => position >= 0 && position < size)
    .toSorted((a, b) => a - b);
}

function onDay(rule: Rule, day: Day): boolean {
  if (rule.bymonth.length > 0 && !rule.bymonth.includes(day.month)) return false;
  // Cheap filters come first: a rare rule is checked on many days.
  if (rule.byday.length > 0 && !rule.byday.some(({ weekday }) => weekday === day.weekday))
    return false;
  const monthSize =
    rule.bymonthday.length + rule.byday.length > 0 ? daysIn(day.year, day.month) : 0;
  if (rule.bymonthday.length > 0 && !placed(rule.bymonthday, day.day, monthSize)) return false;
  if (rule.byweekno.length > 0) {
    const { week, weeks } = weekOf(day, rule.wkst);
    if (!placed(rule.byweekno, week, weeks)) return false;
  }
  const inYear = rule.freq === 'YEARLY' && rule.bymonth.length === 0;
  if (rule.byday.length > 0 && !inYear && !onByDay(rule.byday, day, day.day, monthSize))
    return false;
  if (rule.byyearday.length === 0 && !(inYear && rule.byday.length > 0)) return true;
  const yearStart = dayNumber(day.year, 1, 1);
  const yearSize = dayNumber(day.year + 1, 1, 1) - yearStart;
  const yearDay = day.number - yearStart + 1;
  if (rule.byyearday.length > 0 && !placed(rule.byyearday, yearDay, yearSize)) return false;
  return !inYear || rule.byday.length === 0 || onByDay(rule.byday, day, yearDay, yearSize);
}

function daysIn(year: number, month: number): number {
  return dayNumber(year, month + 1, 1) - dayNumber(year, month, 1);
}

function dayNumber(year: number, month: number, day: number): number {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getTime() / dayMs;
}

/**
 * Whether `place` of `size` (counted from 1) is in a list of numbers that may count from the end.
 */
function placed(list: readonly number[], place: number, size: number): boolean {
  return list.includes(place) || list.includes(place - size - 1);
}

/**
 * The week number of a day, and how many weeks that week's year has: week 1 is the first with four
 * days in its year.
 */
function weekOf({ number, weekday }: Day, wkst: number): { week: number; weeks: number } {
  const fourth = number - remainder(weekday - wkst, 7) + 3;
  const { year } = dayOf(fourth);
  // December 28 is in the last week whatever the year and the first day of the week.
  const last = dayOf(dayNumber(year, 12, 28));
  const firstDay = dayNumber(year, 1, 1);
  const lastFourth = last.number - remainder(last.weekday - wkst, 7) + 3;
  return {
    week: Math.floor((fourth - firstDay) / 7) + 1,
    weeks: Math.floor((lastFourth - firstDay) / 7) + 1,
  };
}

function onByDay(list: readonly ByDay[], { weekday }: Day, place: number, size: number): boolean {
  return list.some(
    (by) =>
      by.weekday === weekday &&
      (by.nth === 0 ||
        by.nth === Math.ceil(place / 7) ||
        by.nth === -Math.ceil((size - place + 1) / 7)),
  );
}

function* overDays(rule: Rule, start: number, from: number, to: number): Generator<number> {
  const startDay = dayOf(Math.floor(start / dayMs));
  const fromDay = dayOf(Math.floor(from / dayMs));
  const hours =
    rule.byhour.length > 0 ? rule.byhour : [Math.floor(remainder(start, dayMs) / hourMs)];
  const minutes =
    rule.byminute.length > 0 ? rule.byminute : [Math.floor(remainder(start, hourMs) / minuteMs)];
  const times = timesOf(rule, start, hours, minutes);
  const before = stepsBefore(rule, startDay, fromDay);
  for (let steps = before - (before % rule.interval); ; steps += rule.interval) {
    const [first, after] = daysOfPeriod(rule, startDay, steps);
    if (first * dayMs >= to) return;
    const days: number[] = [];
    for (let number = first; number < after; number += 1)
      if (onDay(rule, dayOf(number))) days.push(number * dayMs);
    yield* chosen(rule, days, times);
  }
}

/** A lower bound of the single steps between the start and `from`, so that nothing is skipped. */
function stepsBefore(rule: Rule, start: Day, from: Day): number {
  const days = from.number - start.number;
  const months = (from.year - start.year) * 12 + from.month - start.month;
  const steps = {
    YEARLY: from.year - start.year,
    MONTHLY: months,
    WEEKLY: Math.floor(days / 7) - 1,
    DAILY: days,
    HOURLY: 0,
    MINUTELY: 0,
  };
  return Math.max(0, steps[rule.freq]);
}

/**
 * Periods of whole days: first and last day of the period that is `steps` single steps (not
 * intervals) after that of the start.
 */
function daysOfPeriod(
  rule: Rule,
  start: Day,
  steps: number,
): readonly [first: number, after: number] {
  if (rule.freq === 'YEARLY')
    return [dayNumber(start.year + steps, 1, 1), dayNumber(start.year + steps + 1, 1, 1)];
  if (rule.freq === 'MONTHLY')
    return [
      dayNumber(start.year, start.month + steps, 1),
      dayNumber(start.year, start.month + steps + 1, 1),
    ];
  if (rule.freq === 'WEEKLY') {
    const first = start.number - remainder(start.weekday - rule.wkst, 7) + steps * 7;
    return [first, first + 7];
  }
  return [start.number + steps, start.number + steps + 1];
}
