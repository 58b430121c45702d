import type { OutputOf } from '../../shared/api/operation.ts';
import type { getUptimeReport } from '../../shared/api/reports.ts';
import { capital, listInWords } from '../../shared/base/text.ts';
import { durationText } from '../../shared/base/time.ts';
import { percentOfEnough } from '../monitors/status.ts';
import { percentText } from '../web/elements.ts';
import type { Times } from '../web/times.ts';

/** What the page of a report and its mail say alike. */

type Report = OutputOf<typeof getUptimeReport>;

const months = new Intl.DateTimeFormat('en-GB', {
  month: 'long',
  year: 'numeric',
  timeZone: 'UTC',
});

/** `October 2026`, `Q3 2026`, `week 44 of 2026`, `last month`. */
export function periodWords(name: string): string {
  if (/^\D/.test(name)) return name.replace('-', ' ');
  const [year = '', part = ''] = name.split('-');
  if (part.startsWith('Q')) return `${part} ${year}`;
  if (part.startsWith('W')) return `week ${Number(part.slice(1))} of ${year}`;
  return part === '' ? year : months.format(Date.parse(`${name}-01T00:00:00Z`));
}

/** `1 Nov 2026 to 1 Dec 2026`, or `1 Dec 2026, until 01:19` of a day that is not over. */
export function spanWords({ from, to }: Pick<Headed, 'from' | 'to'>, times: Times): string {
  const end = new Date(to).getTime();
  const [first, last] = [times.text(from, 'day'), times.text(end - 1, 'day')];
  if (first !== last) return `${first} to ${last}`;
  return last === times.text(end, 'day') ? `${first}, until ${times.text(end, 'minute')}` : first;
}

type Headed = Pick<Report, 'title' | 'period' | 'total'> &
  Readonly<Record<'from' | 'to', string | number>>;

export function sentenceOf({ title, period, from, to, total }: Headed, times: Times): string {
  const when = period === null ? spanWords({ from, to }, times) : periodWords(period);
  const percent = percentOf(total);
  return `${title}, ${when}: ${percent === null ? 'no uptime measured' : `${percentText(percent)} up`}`;
}

/** Null where too little was measured to say it. */
export function percentOf({
  percent,
  counted_up_seconds,
  counted_down_seconds,
}: Report['total']): number | null {
  return percentOfEnough(percent, (counted_up_seconds + counted_down_seconds) * 1_000);
}

export function countingWords({
  time_zone,
  maintenance,
  unknown,
}: Pick<Report, 'time_zone' | 'maintenance' | 'unknown'>): string {
  const apart = [
    ...(maintenance === 'apart' ? ['maintenance'] : []),
    ...(unknown === 'apart' ? ['unknown time'] : []),
    'paused time',
  ];
  const counted = unknown === 'apart' ? '' : `; unknown time counts as ${unknown}`;
  return `${time_zone}. ${capital(listInWords(apart))} ${apart.length === 1 ? 'is' : 'are'} left out${counted}.`;
}

/** Kept, with what may still be down, or missed, with what was down too long. */
export function keptWords({ kept, budget_left_seconds: left }: Report['total']): string | null {
  if (kept === null || left === null) return null;
  return `${kept ? 'kept' : 'missed'}, ${lengthWords(Math.abs(left))} ${kept ? 'left' : 'too long'}`;
}

export function lengthWords(seconds: number): string {
  return seconds === 0 ? '0' : durationText(seconds * 1_000);
}
