import { Refusal } from '../../shared/base/errors.ts';
import type { Interval } from '../../shared/base/time.ts';

/** Periods of reports by the calendar of a zone. */

export type Period = Interval & {
  /** As it is written in full, such as `2026-10`; null of a window without a name. */
  readonly name: string | null;
};

const units = ['week', 'month', 'quarter', 'year'] as const;
type Unit = (typeof units)[number];

/**
 * The period of a name: `2026`, `2026-Q3`, `2026-10`, `2026-W44`, `last-month`. Days begin when the
 * zone's clock first shows them, so periods that follow each other have no gap between them. @throws
 * Refusal `period_invalid`.
 */
export function periodNamed(text: string, zone: string, now: number): Period {
  const relative = /^(this|last)-(\w+)$/.exec(text);
  const unit = units.find((each) => each === relative?.[2]);
  const name = unit ? periodOn(unit, relative?.[1] === 'last' ? 1 : 0, zone, now) : text;
  const read = /^([12]\d{3})(?:-(?:Q([1-4])|W(\d\d)|(\d\d)))?$/.exec(name);
  const [, year = '', quarter, week, month] = read ?? [];
  if (!read || Number(month ?? 1) > 12 || month === '00' || !hasWeek(Number(year), week))
    throw new Refusal('period_invalid', {
      period:
        'must be such as 2026, 2026-Q3, 2026-10, 2026-W44, this-month or last-week; other periods have from and to.',
    });
  const first = week
    ? firstWeek(Number(year)).add({ weeks: Number(week) - 1 })
    : Temporal.PlainDate.from({
        year: Number(year),
        month: quarter ? Number(quarter) * 3 - 2 : Number(month ?? 1),
        day: 1,
      });
  const next = first.add(
    week ? { weeks: 1 } : quarter ? { months: 3 } : month ? { months: 1 } : { years: 1 },
  );
  return { name, from: beginningOf(first, zone), to: beginningOf(next, zone) };
}

/** The name of the period that was so many before the one of this moment. */
export function periodOn(unit: Unit, before: number, zone: string, now: number): string {
  const today = Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(zone).toPlainDate();
  if (unit === 'week') {
    const day = today.subtract({ weeks: before });
    return `${day.yearOfWeek}-W${String(day.weekOfYear).padStart(2, '0')}`;
  }
  // Of the first day: the 31st of most months does not exist.
  const first = today.with({ day: 1 });
  if (unit === 'year') return String(first.subtract({ years: before }).year);
  if (unit === 'month') return first.subtract({ months: before }).toString().slice(0, 7);
  const { year, month } = first.subtract({ months: 3 * before });
  return `${year}-Q${Math.ceil(month / 3)}`;
}

/** When the mail of a period that is over goes out next: on the day after it, at eight. */
export function mailDue(every: 'week' | 'month', zone: string, after: number): number {
  const today = Temporal.Instant.fromEpochMilliseconds(after)
    .toZonedDateTimeISO(zone)
    .toPlainDate();
  const first =
    every === 'week' ? today.subtract({ days: today.dayOfWeek - 1 }) : today.with({ day: 1 });
  const next = first.add(every === 'week' ? { weeks: 1 } : { months: 1 });
  const [at, later] = [first, next].map(
    (day) => day.toZonedDateTime({ timeZone: zone, plainTime: '08:00' }).epochMilliseconds,
  );
  return at !== undefined && at > after ? at : (later ?? after);
}

/** More than two zones differ, and less than any period lasts. */
const zonesMs = 2 * 86_400_000;

/**
 * What the mail of a subscription is of, that was due by now, and when its next is. No period: the
 * organisation moved to another zone, whose clock shows that time later. After an absence only the
 * newest is mailed.
 */
export function mailedBy(
  every: 'week' | 'month',
  zone: string,
  { due, now }: { readonly due: number; readonly now: number },
): { readonly period: string | null; readonly next: number } {
  const next = mailDue(every, zone, now);
  const present = periodNamed(periodOn(every, 1, zone, next), zone, now);
  const isDue = present.from >= due - zonesMs;
  return { period: isDue ? periodOn(every, 2, zone, next) : null, next };
}

function hasWeek(year: number, week: string | undefined): boolean {
  const last = firstWeek(year + 1).subtract({ weeks: 1 }).weekOfYear ?? 0;
  return week === undefined || (week >= '01' && Number(week) <= last);
}

/** The Monday of the week that the year's fourth of January is in. */
function firstWeek(year: number): Temporal.PlainDate {
  const fourth = Temporal.PlainDate.from({ year, month: 1, day: 4 });
  return fourth.subtract({ days: fourth.dayOfWeek - 1 });
}

function beginningOf(day: Temporal.PlainDate, zone: string): number {
  return day.toZonedDateTime(zone).epochMilliseconds;
}

/** The longest: a leap year. */
const mostMs = 366 * 86_400_000;

/** Up to now. @throws Refusal `period_invalid` when nothing of it has been, or it is too long. */
export function endedBy(period: Period, now: number): Period {
  const to = Math.min(period.to, now);
  const refuse = (fault: string) => new Refusal('period_invalid', { from: fault });
  if (period.from >= period.to) throw refuse('must be before to.');
  if (period.from >= now) throw refuse('must not be in the future.');
  // A year has an hour more where the clock is set back for good.
  if (to - period.from > mostMs + 86_400_000) throw refuse('may be at most 366 days before to.');
  return { ...period, to };
}
