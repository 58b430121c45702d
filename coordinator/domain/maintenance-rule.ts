import { Refusal } from '../../shared/base/errors.ts';

/** The steps that a rule may have. SECONDLY is left out: no window of maintenance repeats so fast. */
export const frequencies = ['YEARLY', 'MONTHLY', 'WEEKLY', 'DAILY', 'HOURLY', 'MINUTELY'] as const;
export type Frequency = (typeof frequencies)[number];

/** The first to last moment at which an occurrence may still begin; local when the rule has no Z. */
export type Until = { readonly local: boolean; readonly at: number };

/** 0 is Monday; `nth` counts within the month or year, from the end when negative, and is 0 for every such day. */
export type ByDay = { readonly weekday: number; readonly nth: number };

/** An RFC 5545 RRULE as written; an empty list is a part that was not given. */
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

const weekdays: readonly string[] = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'];

/** As many as every five minutes of a day; lists of each minute and second would otherwise multiply to 86,400 a day. */
const mostTimes = 288;

export const refuseRule = (fault: string): Refusal => new Refusal('rrule_invalid', `rrule: ${fault}`);

const known = [
  ...['FREQ', 'INTERVAL', 'COUNT', 'UNTIL', 'WKST', 'BYMONTH', 'BYWEEKNO', 'BYYEARDAY', 'BYMONTHDAY', 'BYDAY', 'BYHOUR'],
  ...['BYMINUTE', 'BYSECOND', 'BYSETPOS'],
];

/** The value alone: people copy whole lines from calendars, with "RRULE:" at their head. */
export const ruleValue = (text: string): string =>
  text
    .trim()
    .replace(/^RRULE:\s*/i, '')
    .replace(/;$/, '');

/** `NAME=VALUE` parts by name. */
const partsOf = (text: string): ReadonlyMap<string, string> => {
  const parts = new Map<string, string>();
  for (const part of ruleValue(text).toUpperCase().split(';')) {
    const [name = '', content, ...more] = part.split('=');
    if (name === 'DTSTART' || name.startsWith('DTSTART')) throw refuseRule('must not hold DTSTART; starts_at says when it begins.');
    if (!known.includes(name)) throw refuseRule(`"${part.slice(0, 40)}" is no part of a rule; write such as FREQ=WEEKLY;BYDAY=SU.`);
    if (content === undefined || content === '' || more.length > 0) throw refuseRule(`${name} needs one value, as in ${name}=….`);
    if (parts.has(name)) throw refuseRule(`${name} stands twice; keep one.`);
    parts.set(name, content);
  }
  return parts;
};

const numberOf = (name: string, text: string, least: number, most: number): number => {
  const value = /^[+-]?\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw refuseRule(`${name} must be a whole number from ${least} to ${most}, not "${text.slice(0, 20)}".`);
};

/** A list of numbers up to `most`; with `fromEnd` negative ones count from the end, and zero is none. */
const listOf = (parts: ReadonlyMap<string, string>, name: string, least: number, most: number, fromEnd = false): number[] => {
  const text = parts.get(name);
  if (text === undefined) return [];
  const values = text.split(',').map((item) => numberOf(name, item, fromEnd ? -most : least, most));
  if (fromEnd && values.includes(0)) throw refuseRule(`${name} counts from 1, or from -1 at the end; 0 is neither.`);
  return [...new Set(values)].toSorted((a, b) => a - b);
};

const weekdayOf = (text: string): number => {
  const weekday = weekdays.indexOf(text);
  if (weekday < 0) throw refuseRule(`"${text.slice(0, 20)}" is no weekday; one of ${weekdays.join(', ')} would do.`);
  return weekday;
};

const byDayOf = (text: string | undefined): ByDay[] =>
  (text?.split(',') ?? []).map((item) => {
    const match = /^([+-]?\d{1,2})?([A-Z]{2})$/.exec(item);
    if (!match) throw refuseRule(`BYDAY holds "${item.slice(0, 20)}"; write such as MO, 2TU or -1FR.`);
    const nth = match[1] === undefined ? 0 : numberOf('BYDAY', match[1], -53, 53);
    if (match[1] !== undefined && nth === 0) throw refuseRule('BYDAY counts from 1, or from -1 at the end; 0 is neither.');
    return { weekday: weekdayOf(match[2] ?? ''), nth };
  });

const untilOf = (text: string): Until => {
  const match = /^(\d{4})(\d{2})(\d{2})(?:T(\d{2})(\d{2})(\d{2})(Z)?)?$/.exec(text);
  const refusal = refuseRule('UNTIL must be a date-time such as 20271231T235959 (local) or 20271231T225959Z.');
  if (!match) throw refusal;
  const [, year, month, day, hour = '23', minute = '59', second = '59', zulu] = match;
  const iso = `${year}-${month}-${day}T${hour}:${minute}:${second}.000Z`;
  const at = Date.parse(iso);
  // Date takes February 30 over into March; the way back shows it.
  if (Number.isNaN(at) || new Date(at).toISOString() !== iso) throw refusal;
  return { local: zulu === undefined, at };
};

const isFrequency = (text: string): text is Frequency => frequencies.some((name) => name === text);

/** Which parts the standard keeps from which steps (RFC 5545, 3.3.10). */
const refuseMisplaced = (rule: Rule): void => {
  const { freq } = rule;
  if (rule.count !== null && rule.until !== null) throw refuseRule('COUNT and UNTIL exclude each other; keep one.');
  if (rule.byweekno.length > 0 && freq !== 'YEARLY') throw refuseRule('BYWEEKNO goes with FREQ=YEARLY only.');
  if (rule.byyearday.length > 0 && (freq === 'MONTHLY' || freq === 'WEEKLY' || freq === 'DAILY'))
    throw refuseRule(`BYYEARDAY does not go with FREQ=${freq}.`);
  if (rule.bymonthday.length > 0 && freq === 'WEEKLY') throw refuseRule('BYMONTHDAY does not go with FREQ=WEEKLY.');
  if (rule.byday.some(({ nth }) => nth !== 0) && ((freq !== 'MONTHLY' && freq !== 'YEARLY') || rule.byweekno.length > 0))
    throw refuseRule('BYDAY with a number goes with FREQ=MONTHLY or FREQ=YEARLY, without BYWEEKNO, only.');
  const times = [rule.byhour, rule.byminute, rule.bysecond].reduce((product, list) => product * Math.max(1, list.length), 1);
  if (times > mostTimes) throw refuseRule(`BYHOUR, BYMINUTE and BYSECOND name ${times} times; ${mostTimes} are the most.`);
  const others = [rule.bymonth, rule.byweekno, rule.byyearday, rule.bymonthday, rule.byday, rule.byhour, rule.byminute, rule.bysecond];
  if (rule.bysetpos.length > 0 && others.every((part) => part.length === 0))
    throw refuseRule('BYSETPOS needs another BY… part whose days or times it chooses from.');
};

/** Reads an RRULE value. @throws Refusal `rrule_invalid`, with what would do. */
export const ruleFrom = (text: string): Rule => {
  if (text.length > 1000) throw refuseRule('is longer than 1000 characters; shorten it.');
  const parts = partsOf(text);
  const freq = parts.get('FREQ') ?? '';
  if (!isFrequency(freq))
    throw refuseRule(`FREQ must be one of ${frequencies.join(', ')}${freq === '' ? '' : `, not ${freq.slice(0, 20)}`}.`);
  const single = (name: string, most: number): number | null => {
    const value = parts.get(name);
    return value === undefined ? null : numberOf(name, value, 1, most);
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
};
