import { isTimeZone, parseCron } from '../checks/heartbeat/schedule.ts';
import { ofTable } from './rows.ts';

/** Calendar events of systemd, such as `Mon..Fri 09:00`, as cron expressions. */

const shorthands: Readonly<Record<string, string>> = {
  minutely: '*:*',
  hourly: '*:00',
  daily: '00:00',
  weekly: 'Mon',
  monthly: '*-01',
  quarterly: '01,04,07,10-01',
  semiannually: '01,07-01',
  yearly: '01-01',
  annually: '01-01',
};

/** Undefined where cron cannot say it: years, seconds, last days, a weekday of some days alone. */
export function cronFrom(
  event: string,
): { readonly schedule: string; readonly zone: string } | undefined {
  const given = event.trim().split(/\s+/);
  const last = given.at(-1) ?? '';
  const zone = isTimeZone(last) && weekdaysFrom(last) === undefined ? last : '';
  const own = zone === '' ? given : given.slice(0, -1);
  const [first = ''] = own;
  const words = own.length === 1 ? [ofTable(shorthands, first.toLowerCase()) ?? first] : own;
  const take = (what: RegExp): string | undefined =>
    what.test(words[0] ?? '') ? words.shift() : undefined;
  const weekdays = take(/^[a-z]/i);
  const date = take(/-/) ?? '*-*';
  const time = take(/:/) ?? '00:00';
  if (words.length > 0) return undefined;
  const [, , month = '', day = ''] = /^(\*-)?([^-]+)-([^-]+)$/.exec(date) ?? [];
  const [, hour = '', minute = ''] = /^([^:]+):([^:]+)(?::0?0)?$/.exec(time) ?? [];
  // Cron takes either where both are given.
  if (weekdays !== undefined && day !== '*') return undefined;
  const fields = [
    fieldFrom(minute, 0, 59),
    fieldFrom(hour, 0, 23),
    fieldFrom(day, 1, 31),
    fieldFrom(month, 1, 12),
    weekdays === undefined ? '*' : weekdaysFrom(weekdays),
  ];
  const schedule = fields.join(' ');
  return fields.includes(undefined) || typeof parseCron(schedule) === 'string'
    ? undefined
    : { schedule, zone };
}

function fieldFrom(text: string, from: number, to: number): string | undefined {
  const parts = text.split(',').map((part) => {
    const [whole, star, first, last, step] =
      /^(?:(\*)|(\d\d?)(?:\.\.(\d\d?))?)(?:\/(\d\d?))?$/.exec(part) ?? [];
    if (whole === undefined) return undefined;
    if (star !== undefined)
      return step === undefined ? '*' : from === 0 ? `*/${Number(step)}` : undefined;
    const start = Number(first);
    if (step !== undefined) return `${start}-${Number(last ?? to)}/${Number(step)}`;
    return last === undefined ? String(start) : `${start}-${Number(last)}`;
  });
  return parts.includes(undefined) ? undefined : parts.join(',');
}

const days = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];

function weekdaysFrom(text: string): string | undefined {
  const parts = text.split(',').map((part) => {
    const [first = 0, last = first, ...more] = part
      .toLowerCase()
      .split(/\.\.|-/)
      .map((name) => days.findIndex((day) => name.startsWith(day)) + 1);
    if (first === 0 || last === 0 || more.length > 0) return undefined;
    if (first === last) return String(first);
    return first < last ? `${first}-${last}` : `${first}-7,1-${last}`;
  });
  return parts.includes(undefined) ? undefined : parts.join(',');
}
