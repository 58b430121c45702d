/**
 * Cron expressions of five fields, as Debian's cron reads them: names, ranges, steps, lists, Sunday
 * as 0 and 7, and day of month and day of week joined by "or" when both are restricted.
 */
export type Cron = {
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly days: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  readonly weekdays: ReadonlySet<number>;
  /**
   * Either day field is `*` (or `*` with a step): then a day must match both, else one of the two
   * is enough.
   */
  readonly bothDays: boolean;
  /**
   * Minute or hour begins with `*`: the job runs by elapsed time, so it runs in both passes of an
   * hour that happens twice.
   */
  readonly wild: boolean;
};

const monthNames = [
  'jan',
  'feb',
  'mar',
  'apr',
  'may',
  'jun',
  'jul',
  'aug',
  'sep',
  'oct',
  'nov',
  'dec',
];
const dayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

const shorthands: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

type Field = {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  readonly names?: readonly string[];
  readonly base?: number;
};

const fields: readonly Field[] = [
  { name: 'minute', from: 0, to: 59 },
  { name: 'hour', from: 0, to: 23 },
  { name: 'day of month', from: 1, to: 31 },
  { name: 'month', from: 1, to: 12, names: monthNames, base: 1 },
  { name: 'day of week', from: 0, to: 7, names: dayNames, base: 0 },
];

/** The expression, or one sentence that says what is wrong with it. */
export function parseCron(expression: string): Cron | string {
  const text = expression.trim().toLowerCase();
  const words = (Object.hasOwn(shorthands, text) ? (shorthands[text] ?? '') : text).split(/\s+/);
  if (words.length !== fields.length)
    return `must have five fields (minute, hour, day of month, month, day of week), such as "30 2 * * *", or be one of ${Object.keys(shorthands).join(', ')}`;
  const sets: Set<number>[] = [];
  for (const [index, field] of fields.entries()) {
    const values = valuesOf(words[index] ?? '', field);
    if (typeof values === 'string') return values;
    sets.push(values);
  }
  const [
    minutes = new Set(),
    hours = new Set(),
    days = new Set(),
    months = new Set(),
    weekdays = new Set(),
  ] = sets;
  if (weekdays.has(7)) weekdays.add(0);
  const star = (index: number): boolean => (words[index] ?? '').startsWith('*');
  const cron = {
    minutes,
    hours,
    days,
    months,
    weekdays,
    bothDays: star(2) || star(4),
    wild: star(0) || star(1),
  };
  return nextMatch(cron, 0) === undefined ? 'it never comes: there is no such day' : cron;
}

const part = /^(?:(\*)|([0-9a-z]+)(?:-([0-9a-z]+))?)(?:\/([0-9]+))?$/;

function valuesOf(text: string, field: Field): Set<number> | string {
  const read = (word: string): number | undefined => {
    const named = field.names?.indexOf(word) ?? -1;
    const value =
      named >= 0
        ? named + (field.base ?? 0)
        : /^[0-9]{1,2}$/.test(word)
          ? Number(word)
          : Number.NaN;
    return value >= field.from && value <= field.to ? value : undefined;
  };
  const values = new Set<number>();
  for (const item of text.split(',')) {
    const [matched, star, first = '', last, stepText] = part.exec(item) ?? [];
    const from = star ? field.from : read(first);
    // A step after one value counts up to the field's end, as in cron: 5/15 is 5-59/15.
    const to = star
      ? field.to
      : last !== undefined
        ? read(last)
        : stepText !== undefined
          ? field.to
          : from;
    const step = stepText === undefined ? 1 : Number(stepText);
    if (matched === undefined || from === undefined || to === undefined || from > to || step < 1)
      return `"${item}" is no ${field.name}; it takes ${field.from} to ${field.to}, ranges (1-5), lists (1,3) and steps (*/15)`;
    for (let value = from; value <= to; value += step) values.add(value);
  }
  return values;
}

const dayMs = 86_400_000;
/**
 * Longer than any schedule takes to come again: 29 February on one weekday across the year 2100.
 */
const farthestDays = 366 * 41;

/**
 * The first minute that matches, at or after `local`: a wall clock without a zone, in milliseconds
 * as if it were UTC. undefined when none comes within four decades.
 */
export function nextMatch(cron: Cron, local: number): number | undefined {
  const start = Math.ceil(local / 60_000) * 60_000;
  const hours = [...cron.hours].toSorted((a, b) => a - b);
  const minutes = [...cron.minutes].toSorted((a, b) => a - b);
  const firstDay = Math.floor(start / dayMs);
  for (let day = firstDay; day <= firstDay + farthestDays; day += 1) {
    if (!dayMatches(cron, day)) continue;
    for (const hour of hours) {
      if (day * dayMs + hour * 3_600_000 + 3_599_999 < start) continue;
      for (const minute of minutes) {
        const at = day * dayMs + hour * 3_600_000 + minute * 60_000;
        if (at >= start) return at;
      }
    }
  }
  return undefined;
}

function dayMatches(cron: Cron, day: number): boolean {
  const date = new Date(day * dayMs);
  if (!cron.months.has(date.getUTCMonth() + 1)) return false;
  const inMonth = cron.days.has(date.getUTCDate());
  const inWeek = cron.weekdays.has(date.getUTCDay());
  return cron.bothDays ? inMonth && inWeek : inMonth || inWeek;
}

/** The first occurrence after `after`; undefined when none comes within four decades. */
export function nextOccurrence(cron: Cron, zone: string, after: number): number | undefined {
  let at = after + 1;
  for (;;) {
    const segment = segmentAt(at, zone);
    if (!cron.wild && at === segment.from && segment.setBack < 0) {
      // Skipped wall-clock times run at this instant.
      const jumped = nextMatch(cron, at + segment.offset + segment.setBack);
      if (jumped !== undefined && jumped < at + segment.offset) return at;
    }
    const repeated = !cron.wild && segment.setBack > 0 ? segment.from + segment.setBack : at;
    const local = nextMatch(cron, Math.max(at, repeated) + segment.offset);
    if (local === undefined) return undefined;
    if (local - segment.offset < segment.to) return local - segment.offset;
    at = segment.to;
  }
}

/**
 * The next occurrence of a cron schedule in a time zone. We tried croner and cron-parser: both are
 * a pass late where clocks change by half an hour (Lord Howe), and each expects runs that cron
 * skips when an hour happens twice.
 *
 * As in Debian's cron: a job at fixed times (`30 2 * * *`, `15 1-3 * * *`) whose time does not
 * exist runs right after the gap, and one whose time exists twice runs the first time only; a job
 * with `*` in minute or hour runs by elapsed time, in both passes.
 */
type Segment = {
  /** From when (inclusive) until when (exclusive) the zone keeps this offset from UTC. */
  readonly from: number;
  readonly to: number;
  readonly offset: number;
  /** How far the clock was set back at `from`; negative when it was set forward. */
  readonly setBack: number;
};

function segmentAt(at: number, zone: string): Segment {
  const here = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone);
  const next = here.getTimeZoneTransition('next')?.epochMilliseconds ?? Number.POSITIVE_INFINITY;
  // The search for earlier transitions is exclusive, so one millisecond later finds the one at this
  // very instant.
  const from =
    here.add({ milliseconds: 1 }).getTimeZoneTransition('previous')?.epochMilliseconds ??
    Number.NEGATIVE_INFINITY;
  const offset = here.offsetNanoseconds / 1_000_000;
  const before = Number.isFinite(from)
    ? Temporal.Instant.fromEpochMilliseconds(from - 1).toZonedDateTimeISO(zone).offsetNanoseconds /
      1_000_000
    : offset;
  return { from, to: next, offset, setBack: before - offset };
}

/** A host's clock is rarely further ahead: an earlier ping was not triggered by this occurrence. */
const maxLeadMs = 30_000;

/**
 * The first occurrence that still needs a run after a ping at this instant; undefined when none
 * comes within four decades.
 */
export function nextDue(cron: Cron, zone: string, ping: number): number | undefined {
  const next = nextOccurrence(cron, zone, ping);
  if (next === undefined || next - ping > maxLeadMs) return next;
  return next - ping <= leadOf(cron, zone, next) ? nextOccurrence(cron, zone, next) : next;
}

/**
 * At most the last quarter of the gap before an occurrence: a late ping for the previous run comes
 * in the other three.
 */
const leadShare = 4;

/**
 * How long before `due` a ping already counts for it: the clock of the job's host may be ahead of
 * the ping receiver's.
 */
function leadOf(cron: Cron, zone: string, due: number): number {
  let gap = maxLeadMs * leadShare;
  let before = nextOccurrence(cron, zone, due - gap - 1);
  while (before !== undefined && before < due) {
    gap = due - before;
    before = nextOccurrence(cron, zone, before);
  }
  return gap / leadShare;
}

/** Probes also run on Node 24, which has no Temporal: there, only `isTimeZone` works. */
export function canReckonSchedules(): boolean {
  return 'Temporal' in globalThis;
}

/**
 * Whether this is a time zone of the IANA database, as `config.timezone` and an organisation's time
 * zone accept.
 */
export function isTimeZone(name: string): boolean {
  try {
    // Temporal accepts offsets such as "+02:00" as zones, but they never change with the seasons,
    // which is the purpose of a zone.
    return /^[A-Za-z]/.test(name) && zoneId(name).length > 0;
  } catch {
    return false; // Not a zone is a valid answer here, not a failure.
  }
}

/**
 * Temporal refuses an unknown zone, and so does the calendar of a Node without it. @throws
 * RangeError.
 */
function zoneId(name: string): string {
  return canReckonSchedules()
    ? Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name).timeZoneId
    : new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone;
}
