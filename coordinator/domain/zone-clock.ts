const day = 86_400_000;

/** No change of any clock is larger, so that instants are searched for this far beside their local times. */
export const margin = 26 * 3_600_000;

const zoned = (at: number, zone: string): Temporal.ZonedDateTime => Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone);

const offsetAt = (at: number, zone: string): number => Math.round(zoned(at, zone).offsetNanoseconds / 1_000_000);

/** A local time that does not exist moves forward by the gap, one that exists twice is the first: what Temporal calls compatible. */
export const instantOf = (local: number, zone: string): number =>
  Temporal.PlainDateTime.from(new Date(local).toISOString().slice(0, -1)).toZonedDateTime(zone, { disambiguation: 'compatible' })
    .epochMilliseconds;

/** A stretch of instants within which the clock of a zone does not change. */
type Steady = { readonly from: number; readonly to: number; readonly offset: number };

const measured = (at: number, zone: string): Steady => {
  // The change at this very moment began the stretch, so that it is looked for from a moment later.
  const began = zoned(at + 1, zone).getTimeZoneTransition('previous');
  const ends = zoned(at, zone).getTimeZoneTransition('next');
  return {
    from: began?.epochMilliseconds ?? Number.NEGATIVE_INFINITY,
    to: ends?.epochMilliseconds ?? Number.POSITIVE_INFINITY,
    offset: offsetAt(at, zone),
  };
};

/** What the calendar said before: it is slow, and its answer never changes. */
const known = new Map<string, Steady[]>();
const mostKept = 200;

const steadyAround = (at: number, zone: string): Steady => {
  const stretches = known.get(zone) ?? [];
  const found = stretches.find(({ from, to }) => at >= from && at < to);
  if (found) return found;
  const steady = measured(at, zone);
  known.set(zone, [...stretches.slice(1 - mostKept), steady]);
  return steady;
};

export const localOf = (at: number, zone: string): number => at + steadyAround(at, zone).offset;

/** instantOf() for many local times of one zone: only those near a change of its clock need the calendar, which is slow. */
export const instantsIn = (zone: string): ((local: number) => number) => {
  let steady: Steady | undefined;
  return (local) => {
    const likely = steady === undefined ? Number.NaN : local - steady.offset;
    if (steady && likely - day - margin >= steady.from && likely + day + margin < steady.to) return likely;
    const at = instantOf(local, zone);
    if (!steady || at < steady.from || at >= steady.to) steady = steadyAround(at, zone);
    return at;
  };
};

/** Whether the clock shows this local time twice, being put back over it. */
const isShownTwice = (local: number, zone: string): boolean => {
  const first = instantOf(local, zone);
  const later = Temporal.PlainDateTime.from(new Date(local).toISOString().slice(0, -1)).toZonedDateTime(zone, { disambiguation: 'later' });
  return localOf(first, zone) === local && later.epochMilliseconds !== first;
};

/** localOf() and isShownTwice() for many moments of one zone: only those near a change of its clock need the calendar, which is slow. */
export const clockOf = (
  zone: string,
): { readonly local: (at: number) => number; readonly isTwice: (local: number, at: number) => boolean } => {
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
};

/** A moment as a caller gives it: an instant, or a local time (ISO, no zone) of the organisation's clock. */
export type Moment = { readonly is: 'instant'; readonly at: number } | { readonly is: 'local'; readonly local: string };

export const epochOf = (moment: Moment, zone: string): number =>
  moment.is === 'instant' ? moment.at : instantOf(Date.parse(`${moment.local}Z`), zone);
