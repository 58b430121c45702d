import { type Cron, nextMatch } from './checks-heartbeat-cron.ts';

/**
 * When a cron schedule comes next in a time zone. croner and cron-parser were tried: both are a pass late where clocks change by
 * half an hour (Lord Howe), and each expects runs that cron does not do when an hour happens twice.
 *
 * As Debian's cron: a job at fixed times (`30 2 * * *`, `15 1-3 * * *`) whose time does not exist runs right after the gap, and one
 * whose time exists twice runs the first time only; a job with `*` in minute or hour runs by elapsed time, in both passes.
 */
type Segment = {
  /** From when (inclusive) until when (exclusive) the zone keeps this distance from UTC. */
  readonly from: number;
  readonly to: number;
  readonly offset: number;
  /** How far the clock was set back at `from`; negative when it was set forward. */
  readonly setBack: number;
};

const segmentAt = (at: number, zone: string): Segment => {
  const here = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone);
  const next = here.getTimeZoneTransition('next')?.epochMilliseconds ?? Number.POSITIVE_INFINITY;
  // Transitions before an instant are asked for exclusively, so one millisecond later finds the one at this very instant.
  const from = here.add({ milliseconds: 1 }).getTimeZoneTransition('previous')?.epochMilliseconds ?? Number.NEGATIVE_INFINITY;
  const offset = here.offsetNanoseconds / 1_000_000;
  const before = Number.isFinite(from)
    ? Temporal.Instant.fromEpochMilliseconds(from - 1).toZonedDateTimeISO(zone).offsetNanoseconds / 1_000_000
    : offset;
  return { from, to: next, offset, setBack: before - offset };
};

/** The first occurrence after `after`; undefined when none comes within four decades. */
export const nextOccurrence = (cron: Cron, zone: string, after: number): number | undefined => {
  let at = after + 1;
  for (;;) {
    const segment = segmentAt(at, zone);
    if (!cron.wild && at === segment.from && segment.setBack < 0) {
      // The wall-clock times that were jumped over are made up for at this instant.
      const jumped = nextMatch(cron, at + segment.offset + segment.setBack);
      if (jumped !== undefined && jumped < at + segment.offset) return at;
    }
    const repeated = !cron.wild && segment.setBack > 0 ? segment.from + segment.setBack : at;
    const local = nextMatch(cron, Math.max(at, repeated) + segment.offset);
    if (local === undefined) return undefined;
    if (local - segment.offset < segment.to) return local - segment.offset;
    at = segment.to;
  }
};

/** A host's clock is seldom further ahead than this: whoever pings earlier has not been woken by that time. */
const mostLeadMs = 30_000;
/** Of the gap before an occurrence its last quarter at most: a late ping for the run before comes in the other three. */
const leadShare = 4;

/** How long before `due` a ping counts for it already: the job's host may have a clock that is ahead of the ping receiver's. */
const leadOf = (cron: Cron, zone: string, due: number): number => {
  let gap = mostLeadMs * leadShare;
  let before = nextOccurrence(cron, zone, due - gap - 1);
  while (before !== undefined && before < due) {
    gap = due - before;
    before = nextOccurrence(cron, zone, before);
  }
  return gap / leadShare;
};

/** The first occurrence that a ping at this instant leaves to be run for; undefined when none comes within four decades. */
export const nextDue = (cron: Cron, zone: string, ping: number): number | undefined => {
  const next = nextOccurrence(cron, zone, ping);
  if (next === undefined || next - ping > mostLeadMs) return next;
  return next - ping <= leadOf(cron, zone, next) ? nextOccurrence(cron, zone, next) : next;
};

/** Probes also run on Node 24, which has no Temporal: nothing here can be asked there but `isTimeZone`. */
export const canReckonSchedules = (): boolean => 'Temporal' in globalThis;

/** Temporal refuses what is no zone, and so does the calendar of a Node without it. @throws RangeError. */
const zoneId = (name: string): string =>
  canReckonSchedules()
    ? Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name).timeZoneId
    : new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;

/** Whether this is a time zone of the IANA database, as `config.timezone` and an organisation's clock take them. */
export const isTimeZone = (name: string): boolean => {
  try {
    // Offsets such as "+02:00" are zones to Temporal, but they never change with the seasons, which is what a zone is given for.
    return /^[A-Za-z]/.test(name) && zoneId(name).length > 0;
  } catch {
    return false; // Not a zone is the answer here, not a failure.
  }
};
