import { lastStamp, type Moment, yearOne } from '../../shared/api/moment.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { dayMs } from './recurrence.ts';

const day = 86_400_000;

/**
 * No clock change is larger, so instants are searched within this distance of their local times.
 */
export const margin = 26 * 3_600_000;

/**
 * A local time that does not exist moves forward by the gap; of one that exists twice, the first
 * counts: what Temporal calls compatible.
 */
export function instantOf(local: number, zone: string): number {
  return Temporal.PlainDateTime.from(new Date(local).toISOString().slice(0, -1)).toZonedDateTime(
    zone,
    {
      disambiguation: 'compatible',
    },
  ).epochMilliseconds;
}

/** A stretch of instants within which a zone's offset does not change. */
type Steady = { readonly from: number; readonly to: number; readonly offset: number };

export function localOf(at: number, zone: string): number {
  return at + steadyAround(at, zone).offset;
}

/** Caches the calendar's answers: it is slow, and its answers never change. */
const zoneClockKnown = new Map<string, Steady[]>();

const maxKept = 200;

function steadyAround(at: number, zone: string): Steady {
  const stretches = zoneClockKnown.get(zone) ?? [];
  const found = stretches.find(({ from, to }) => at >= from && at < to);
  if (found) return found;
  const steady = measured(at, zone);
  zoneClockKnown.set(zone, [...stretches.slice(1 - maxKept), steady]);
  return steady;
}

function measured(at: number, zone: string): Steady {
  // A change at this very moment began the stretch, so the search starts a moment later.
  const began = zoned(at + 1, zone).getTimeZoneTransition('previous');
  const ends = zoned(at, zone).getTimeZoneTransition('next');
  return {
    from: began?.epochMilliseconds ?? Number.NEGATIVE_INFINITY,
    to: ends?.epochMilliseconds ?? Number.POSITIVE_INFINITY,
    offset: offsetAt(at, zone),
  };
}

function zoned(at: number, zone: string): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone);
}

function offsetAt(at: number, zone: string): number {
  return Math.round(zoned(at, zone).offsetNanoseconds / 1_000_000);
}

/**
 * instantOf() for many local times of one zone: only those near a clock change need the calendar,
 * which is slow.
 */
export function instantsIn(zone: string): (local: number) => number {
  let steady: Steady | undefined;
  return (local) => {
    const likely = steady === undefined ? Number.NaN : local - steady.offset;
    if (steady && likely - day - margin >= steady.from && likely + day + margin < steady.to)
      return likely;
    const at = instantOf(local, zone);
    if (!steady || at < steady.from || at >= steady.to) steady = steadyAround(at, zone);
    return at;
  };
}

/**
 * localOf() and isShownTwice() for many moments of one zone: only those near a clock change need
 * the calendar, which is slow.
 */
export function clockOf(zone: string): {
  readonly local: (at: number) => number;
  readonly isTwice: (local: number, at: number) => boolean;
} {
  let steady: Steady | undefined;
  const around = (at: number): Steady => {
    if (!steady || at < steady.from || at >= steady.to) steady = steadyAround(at, zone);
    return steady;
  };
  return {
    local: (at) => at + around(at).offset,
    isTwice: (local, at) => {
      const { from, to } = around(at);
      return (at - day < from || at + day >= to) && isShownTwice(local, zone);
    },
  };
}

/** Whether this local time exists twice because the clock is set back over it. */
function isShownTwice(local: number, zone: string): boolean {
  const first = instantOf(local, zone);
  const later = Temporal.PlainDateTime.from(
    new Date(local).toISOString().slice(0, -1),
  ).toZonedDateTime(zone, { disambiguation: 'later' });
  return localOf(first, zone) === local && later.epochMilliseconds !== first;
}

/**
 * A moment of a request as an instant; without an offset it is local time in the organisation's
 * zone. The zone can move a local time out of the years that a database reads: it stays within.
 */
export function epochOf(moment: Moment, zone: string): number {
  return moment.is === 'instant'
    ? moment.at
    : Math.min(Math.max(instantOf(Date.parse(`${moment.local}Z`), zone), yearOne), lastStamp);
}

/**
 * When versions of the time zone database were released, as far as this release knows. A
 * coordinator has no way to ask; a version's name contains its year and nothing more exact.
 */
const released: Readonly<Record<string, string>> = {
  '2025a': '2025-01-15',
  '2025b': '2025-03-22',
  '2025c': '2025-12-10',
  '2026a': '2026-03-02',
  '2026b': '2026-04-22',
  '2026c': '2026-07-08',
};

/**
 * Older data needs an update: governments change their clocks several times a year, some of them
 * with weeks of notice.
 */
export const oldZoneDays = 120;

type ZoneData = {
  readonly version: string | null;
  /** Its release day (ISO); null where this release does not know it. */
  readonly released_on: string | null;
  /** Its minimum age in days; null where that is unknown. */
  readonly least_age_days: number | null;
};

/** What can be said of a version of the time zone data without asking anyone. */
export function zoneDataAt(version: string | undefined, now: number): ZoneData {
  if (version === undefined) return { version: null, released_on: null, least_age_days: null };
  const released_on = Object.hasOwn(released, version) ? (released[version] ?? null) : null;
  const year = Number(/^\d{4}/.exec(version)?.[0] ?? Number.NaN);
  // For an unknown version only its year is known: it was released on the last day of it at the
  // latest.
  const latest = released_on === null ? Date.UTC(year, 11, 31) : Date.parse(released_on);
  const days = Math.floor((now - latest) / dayMs);
  return { version, released_on, least_age_days: days >= 0 ? days : null };
}

export function isOldZoneData({ least_age_days }: ZoneData): boolean {
  return least_age_days !== null && least_age_days > oldZoneDays;
}

/**
 * An IANA zone in its own spelling. @throws Refusal `time_zone_invalid`; bare offsets are refused,
 * because they have no summer time.
 */
export function timeZoneFrom(text: string): string {
  const zone = text.trim();
  if (/^[A-Za-z]/.test(zone)) {
    try {
      return Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(zone).timeZoneId;
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
  }
  throw new Refusal('time_zone_invalid', {
    time_zone: 'must be an IANA time zone, such as Europe/Berlin or UTC.',
  });
}
