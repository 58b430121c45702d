import { Refusal } from '../../shared/base/errors.ts';
import { instantOf, localOf, timeZoneFrom } from '../maintenance/zones.ts';

/**
 * When a channel may be notified (rule 36): spans of days of the week in a time zone. Monday is 1.
 */
type Span = { readonly days: readonly number[]; readonly from: string; readonly to: string };
export type Hours = { readonly zone: string; readonly spans: readonly Span[] };

const clock = /^([01]\d|2[0-3]):[0-5]\d$/;

/**
 * Null without spans: at any hour. The zone is validated all the same. @throws Refusal
 * `hours_invalid`, or `time_zone_invalid`.
 */
export function hoursFrom(
  given: {
    readonly zone: string | null;
    readonly spans: readonly {
      readonly days: readonly number[];
      readonly from: string;
      readonly to: string;
    }[];
  },
  organisationZone: string,
): Hours | null {
  const { spans } = given;
  const zone = timeZoneFrom(given.zone ?? organisationZone);
  if (spans.length === 0) return null;
  if (spans.length > 21)
    throw refuse(
      'must have at most 21 spans, each with days, from and to; without spans alerts are sent at any hour.',
    );
  for (const { days, from, to } of spans) {
    if (days.length === 0 || days.some((day) => !Number.isInteger(day) || day < 1 || day > 7))
      throw refuse('days are numbers from 1 (Monday) to 7 (Sunday), at least one.');
    if (!clock.test(from) || !(clock.test(to) || to === '24:00'))
      throw refuse('from and to are times such as 09:00 and 17:30.');
    if (from === to)
      throw refuse('from and to are the same; for the whole day use 00:00 and 24:00.');
  }
  return {
    zone,
    spans: spans.map(({ days, from, to }) => ({
      days: [...new Set(days)].toSorted((a, b) => a - b),
      from,
      to,
    })),
  };
}

function refuse(what: string): Refusal {
  return new Refusal('hours_invalid', { hours: what });
}

const dayMs = 86_400_000;

/** The first moment from `now` on within the hours: `now` itself, or their next beginning. */
export function withinHours(hours: Hours, now: number): number {
  const today = localOf(now, hours.zone);
  // From yesterday, whose span may reach into today, to the same day of next week.
  const stretches = [-1, 0, 1, 2, 3, 4, 5, 6, 7].flatMap((ahead) =>
    stretchesOf(hours, today + ahead * dayMs),
  );
  const moments = stretches.filter(({ to }) => to > now).map(({ from }) => Math.max(from, now));
  // Hours without any span are refused when they are written; a channel that has them anyway is
  // notified at any hour.
  return moments.length === 0 ? now : Math.min(...moments);
}

const minuteMs = 60_000;

/**
 * The spans that begin on the local day of `local`, as instants. A span that ends before it begins
 * ends on the next day.
 */
function stretchesOf({ zone, spans }: Hours, local: number): { from: number; to: number }[] {
  const midnight = Math.floor(local / dayMs) * dayMs;
  return spans
    .filter(({ days }) => days.includes(weekdayOf(midnight)))
    .map(({ from, to }) => {
      const [begins, ends] = [minutesOf(from), minutesOf(to)];
      const end = ends <= begins ? ends + 24 * 60 : ends;
      return {
        from: instantOf(midnight + begins * minuteMs, zone),
        to: instantOf(midnight + end * minuteMs, zone),
      };
    });
}

function weekdayOf(local: number): number {
  return ((Math.floor(local / dayMs) + 3) % 7) + 1;
}

function minutesOf(text: string): number {
  const [, hours = '', minutes = ''] = /^(\d\d):(\d\d)$/.exec(text) ?? [];
  return Number(hours) * 60 + Number(minutes);
}
