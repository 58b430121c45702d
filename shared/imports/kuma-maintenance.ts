import { isTimeZone } from '../checks/heartbeat/schedule.ts';
import type { Work } from './result.ts';
import { parsed, type Raw, type Row, rowOf } from './rows.ts';
import { omitUnread } from './settings.ts';

/** Maintenance of Uptime Kuma, as windows with a rule. */

const meaningless = new Set(['id', 'user_id', 'active', 'cron', 'duration', 'last_start_date']);
const weekdays = ['SU', 'MO', 'TU', 'WE', 'TH', 'FR', 'SA'];

type About = { readonly monitors: readonly string[]; readonly groups: readonly string[] };

export function maintenanceFrom(raw: Raw, about: About, today: string, work: Work): void {
  const row = rowOf(raw, meaningless);
  const name = row.text('title');
  const window = windowOf(row, raw, about, today);
  if (typeof window === 'string') {
    work.omit(name, window);
    return;
  }
  if (row.text('description') !== '')
    work.omit(
      name,
      'the description of a maintenance has no counterpart; its name says what it is.',
    );
  if (window.time_zone === undefined)
    work.omit(name, 'its time zone is that of its server; here it is that of the organisation.');
  work.add('maintenance', name, window);
  omitUnread(row, name, work);
}

/** A sentence when there is none. */
function windowOf(row: Row, raw: Raw, about: About, today: string): Raw | string {
  const strategy = row.text('strategy');
  if (row.isOff('active')) return 'this maintenance is switched off, and left out.';
  if (about.monitors.length + about.groups.length === 0)
    return 'this maintenance is of no monitor, and left out.';
  const zone = row.text('timezone');
  const isZone = zone !== '' && zone !== 'SAME_AS_SERVER' && isTimeZone(zone);
  const shared = { ...about, time_zone: isZone ? zone : undefined };
  const [first, last] = [momentFrom(row.text('start_date')), momentFrom(row.text('end_date'))];
  if (strategy === 'single') {
    if (first === undefined || last === undefined || first >= last)
      return 'its beginning and end are no times.';
    if (last.slice(0, 10) < today) return 'this maintenance is over.';
    return { ...shared, starts_at: first, ends_at: last };
  }
  const rule = ruleOf(strategy, raw);
  const [from, to] = [timeFrom(row.text('start_time')), timeFrom(row.text('end_time'))];
  row.value('weekdays', 'days_of_month', 'interval_day');
  if (rule === undefined || from === undefined || to === undefined || from === to)
    return `maintenance "${strategy || 'unknown'}" has no counterpart as it is; schedule it by hand.`;
  const begin = firstDay(rule, first === undefined || first < today ? today : first.slice(0, 10));
  if (last !== undefined && last.slice(0, 10) < begin) return 'this maintenance is over.';
  const until = last === undefined ? '' : `;UNTIL=${last.slice(0, 10).replaceAll('-', '')}T235959`;
  return {
    ...shared,
    starts_at: `${begin}T${from}`,
    ends_at: `${to > from ? begin : nextDay(begin)}T${to}`,
    rrule: `${rule.text}${until}`,
  };
}

type Rule = { readonly text: string; readonly isOn: (day: Date) => boolean };

function ruleOf(strategy: string, raw: Raw): Rule | undefined {
  const list = (field: string): readonly unknown[] => {
    const value = typeof raw[field] === 'string' ? parsed(String(raw[field])) : raw[field];
    return Array.isArray(value) ? value : [];
  };
  if (strategy === 'recurring-interval') {
    const days = Number(raw.interval_day);
    return Number.isInteger(days) && days >= 1 && days <= 3_650
      ? { text: `FREQ=DAILY${days === 1 ? '' : `;INTERVAL=${days}`}`, isOn: () => true }
      : undefined;
  }
  if (strategy === 'recurring-weekday') {
    const days = [...new Set(list('weekdays').map((day) => Number(day) % 7))].filter(
      (day) => weekdays[day] !== undefined,
    );
    const text = `FREQ=WEEKLY;BYDAY=${days.map((day) => weekdays[day]).join(',')}`;
    return days.length === 0 ? undefined : { text, isOn: (day) => days.includes(day.getUTCDay()) };
  }
  if (strategy === 'recurring-day-of-month') {
    const days = [...new Set(list('days_of_month').map(dayOfMonth))].filter(
      (day) => Number.isInteger(day) && day !== 0 && day >= -4 && day <= 31,
    );
    return days.length === 0
      ? undefined
      : {
          text: `FREQ=MONTHLY;BYMONTHDAY=${days.join(',')}`,
          isOn: (day) => days.some((one) => isDayOfMonth(day, one)),
        };
  }
  return undefined;
}

/** `lastDay2` is the last day but one. */
function dayOfMonth(day: unknown): number {
  const [, fromLast] = /^lastDay(\d)$/.exec(String(day)) ?? [];
  return fromLast === undefined ? Number(day) : -Number(fromLast);
}

function isDayOfMonth(day: Date, wanted: number): boolean {
  if (wanted > 0) return day.getUTCDate() === wanted;
  const last = new Date(Date.UTC(day.getUTCFullYear(), day.getUTCMonth() + 1, 0)).getUTCDate();
  return day.getUTCDate() === last + 1 + wanted;
}

/** A window begins with its first occurrence. */
function firstDay(rule: Rule, from: string): string {
  const day = new Date(`${from}T00:00:00Z`);
  for (let tried = 0; tried < 400 && !rule.isOn(day); tried += 1)
    day.setUTCDate(day.getUTCDate() + 1);
  return iso(day);
}

function iso(day: Date): string {
  return day.toISOString().slice(0, 10);
}

function nextDay(day: string): string {
  const next = new Date(`${day}T00:00:00Z`);
  next.setUTCDate(next.getUTCDate() + 1);
  return iso(next);
}

/** A local time as `2026-11-26T02:00`. */
function momentFrom(text: string): string | undefined {
  const [, date, time = '00:00'] = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d))?/.exec(text) ?? [];
  const moment = `${date}T${time}`;
  const read = new Date(`${moment}:00Z`);
  return date !== undefined &&
    !Number.isNaN(read.getTime()) &&
    read.toISOString().startsWith(moment)
    ? moment
    : undefined;
}

function timeFrom(text: string): string | undefined {
  return /^((?:[01]\d|2[0-3]):[0-5]\d)/.exec(text)?.[1];
}
