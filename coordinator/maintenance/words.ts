import { type ByDay, completed, dayOf, type Rule, type Until } from './recurrence.ts';

/**
 * A rule in words, with each of its parts. The words are our own, made from the rule as we read it:
 * the library `rrule` drops what it has no words for (BYSETPOS, BYMINUTE, times of frequencies
 * below a day), and it interprets rules in its own way, which differs from ours.
 */
const dayMs = 86_400_000;

const stepNames = {
  YEARLY: 'year',
  MONTHLY: 'month',
  WEEKLY: 'week',
  DAILY: 'day',
  HOURLY: 'hour',
  MINUTELY: 'minute',
} as const;

/**
 * How it repeats, for the middle of a sentence: `every 2 weeks on Monday and Friday, until 31
 * December 2027`. `start`: its first local time.
 */
export function ruleWords(rule: Rule, start: number): string {
  const whole = completed(rule, dayOf(Math.floor(start / dayMs)));
  const { freq, interval, bymonth, bymonthday, byday, bysetpos, wkst, until, count } = whole;
  const every =
    interval === 1 ? `every ${stepNames[freq]}` : `every ${interval} ${stepNames[freq]}s`;
  const isPlain = whole.byweekno.length + whole.byyearday.length + bysetpos.length === 0;
  const [month, day] = [bymonth[0], bymonthday[0]];
  const words: string[] = [];
  if (
    freq === 'YEARLY' &&
    isPlain &&
    byday.length === 0 &&
    bymonth.length === 1 &&
    bymonthday.length === 1 &&
    month &&
    day &&
    day > 0
  )
    words.push(`${every} on ${day} ${monthName(month)}`);
  else if (
    (freq === 'WEEKLY' || freq === 'DAILY') &&
    interval === 1 &&
    isPlain &&
    bymonthday.length === 0 &&
    isEveryWeekday(byday)
  )
    words.push(
      'every weekday',
      ...(bymonth.length > 0 ? [`in ${listed(bymonth.map(monthName))}`] : []),
    );
  else
    words.push(
      every,
      ...(bymonth.length > 0 ? [`in ${listed(bymonth.map(monthName))}`] : []),
      ...dayWords(whole),
    );
  words.push(...timeWords(whole, start));
  const more: string[] = [];
  if (bysetpos.length > 0)
    more.push(`of these only the ${listed(bysetpos.map(place))} in each ${stepNames[freq]}`);
  if (freq === 'WEEKLY' && interval > 1 && wkst !== 0)
    more.push(`in weeks that begin on ${dayName(wkst)}`);
  if (count !== null) more.push(count === 1 ? 'once' : `${count} times`);
  if (until !== null) more.push(untilWords(until));
  return [words.join(' '), ...more].join(', ');
}

const monthNames = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];

function monthName(month: number): string {
  return monthNames[month - 1] ?? '';
}

function isEveryWeekday(days: readonly ByDay[]): boolean {
  return (
    days.length === 5 &&
    [0, 1, 2, 3, 4].every((weekday) => days.some((day) => day.weekday === weekday && day.nth === 0))
  );
}

function listed(words: readonly string[], last = 'and'): string {
  return words.length < 2
    ? (words[0] ?? '')
    : `${words.slice(0, -1).join(', ')} ${last} ${words.at(-1)}`;
}

function dayWords(rule: Rule): string[] {
  const { freq, byday, bymonthday, byyearday, byweekno } = rule;
  const words: string[] = [];
  if (byweekno.length > 0)
    words.push(
      `in week ${listed(byweekno.map((week) => (week > 0 ? String(week) : `${place(week)} of the year`)))}`,
    );
  if (byyearday.length > 0) words.push(`on the ${listed(byyearday.map(place))} day of the year`);
  if (bymonthday.length > 0)
    words.push(
      `on ${monthDayWords(bymonthday)}${byday.length > 0 ? ` where that is a ${byDayWords(byday, 'or')}` : ''}`,
    );
  else if (byday.length > 0)
    words.push(
      freq === 'DAILY' || freq === 'HOURLY' || freq === 'MINUTELY'
        ? `if it is a ${byDayWords(byday, 'or')}`
        : `on ${byDayWords(byday)}`,
    );
  return words;
}

/** `1st`, `2nd`, `11th`; from the end `last`, `2nd to last`. */
function place(nth: number): string {
  if (nth === -1) return 'last';
  if (nth < 0) return `${place(-nth)} to last`;
  const tens = nth % 100;
  const ending = tens > 10 && tens < 14 ? 'th' : (['th', 'st', 'nd', 'rd'][nth % 10] ?? 'th');
  return `${nth}${ending}`;
}

/** `the 4th and the last day`: a number needs no noun, the end of a month needs "day". */
function monthDayWords(days: readonly number[]): string {
  return listed(
    days
      .toSorted((a, b) => Number(a < 0) - Number(b < 0) || a - b)
      .map((day) => `the ${place(day)}${day < 0 ? ' day' : ''}`),
  );
}

function byDayWords(days: readonly ByDay[], last = 'and'): string {
  return listed(
    days
      .toSorted((a, b) => a.nth - b.nth || a.weekday - b.weekday)
      .map(({ nth, weekday }) => `${nth === 0 ? '' : `the ${place(nth)} `}${dayName(weekday)}`),
    last,
  );
}

const dayNames = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];

function dayName(weekday: number): string {
  return dayNames[weekday] ?? '';
}

/** More times of a day than these are counted, not listed. */
const maxListed = 6;

/** The times of a day, where the rule names any. */
function timeWords(rule: Rule, start: number): string[] {
  const { freq, byhour, byminute, bysecond } = rule;
  if (byhour.length + byminute.length + bysecond.length === 0) return [];
  const at = new Date(start);
  if (freq === 'HOURLY' || freq === 'MINUTELY') {
    const part = (values: readonly number[], one: string): string[] =>
      values.length === 0
        ? []
        : [`${one}${values.length > 1 ? 's' : ''} ${listed(values.map(String))}`];
    const finer = [...part(byminute, 'minute'), ...part(bysecond, 'second')];
    return [
      ...(byhour.length > 0 ? [`in ${listed(part(byhour, 'hour'))}`] : []),
      ...(finer.length > 0 ? [`at ${listed(finer)}`] : []),
    ];
  }
  const hours = byhour.length > 0 ? byhour : [at.getUTCHours()];
  const minutes = byminute.length > 0 ? byminute : [at.getUTCMinutes()];
  const seconds = bysecond.length > 0 ? bysecond : [at.getUTCSeconds()];
  const count = hours.length * minutes.length * seconds.length;
  if (count > maxListed) return [`at ${count} times of the day`];
  return [
    `at ${listed(hours.flatMap((hour) => minutes.flatMap((minute) => seconds.map((second) => clock(hour, minute, second)))))}`,
  ];
}

function clock(hour: number, minute: number, second: number): string {
  return `${pad(hour)}:${pad(minute)}${second === 0 ? '' : `:${pad(second)}`}`;
}

function pad(value: number): string {
  return String(value).padStart(2, '0');
}

function untilWords({ at, local }: Until): string {
  const [date, time] = [new Date(at), new Date(at).toISOString().slice(11, 16)];
  const words = `until ${date.getUTCDate()} ${monthName(date.getUTCMonth() + 1)} ${date.getUTCFullYear()}`;
  return local ? `${words}${time === '23:59' ? '' : `, ${time}`}` : `${words}, ${time} UTC`;
}
