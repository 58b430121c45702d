/**
 * The source of time: milliseconds since the epoch. Code receives it as a dependency, and tests
 * move it by hand.
 */
export type Clock = { readonly now: () => number };

export const systemClock: Clock = { now: () => Date.now() };

/** A moment as contracts, JSON and statements of SQL have it. */
export function isoText(at: number): string;
export function isoText(at: number | null): string | null;
export function isoText(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}

const units = [
  ['day', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const;

/**
 * `6 min 12 s`, `1 h 21 min`, `21 days 4 h`: the two largest units, rounded down; below a second `263
 * ms`.
 */
export function durationText(length: number): string {
  const ms = Math.max(0, Math.floor(length));
  if (ms < 1_000) return `${ms} ms`;
  const first = units.findIndex(([, size]) => ms >= size);
  const [name, size] = units[first] ?? ['s', 1_000];
  const whole = Math.floor(ms / size);
  const next = units[first + 1];
  const rest = next ? Math.floor((ms - whole * size) / next[1]) : 0;
  const most = counted(whole, name);
  return rest === 0 || !next ? most : `${most} ${rest} ${next[0]}`;
}

/** `29 days 22 h 38 min 48 s`: every unit, so that several add up as they are read. */
export function wholeDuration(length: number): string {
  let left = Math.max(0, length);
  const parts = units.flatMap(([name, size]) => {
    const count = Math.floor(left / size);
    left -= count * size;
    return count === 0 ? [] : [counted(count, name)];
  });
  return parts.join(' ') || '0';
}

/** `6 min`: the largest unit only, rounded down; `0 s` below a second. */
export function briefDuration(length: number): string {
  const ms = Math.max(0, length);
  const [name, size] = units.find(([, each]) => ms >= each) ?? ['s', 1_000];
  return counted(Math.floor(ms / size), name);
}

function counted(count: number, name: string): string {
  return `${count} ${name}${name === 'day' && count !== 1 ? 's' : ''}`;
}

/** `6 min ago`, as pages say it and their script keeps it. */
export function agoText(length: number): string {
  return length < 1_000 ? 'just now' : `${briefDuration(length)} ago`;
}

/** A half-open interval, [from, to), in whole milliseconds since the epoch. */
export type Interval = { readonly from: number; readonly to: number };

/** Sorted, disjoint, non-empty intervals that cover the same instants as the input. */
export function union(intervals: readonly Interval[]): Interval[] {
  const sorted = intervals.filter(({ from, to }) => from < to).toSorted((a, b) => a.from - b.from);
  const merged: { from: number; to: number }[] = [];
  for (const { from, to } of sorted) {
    const last = merged.at(-1);
    if (last && from <= last.to) last.to = Math.max(last.to, to);
    else merged.push({ from, to });
  }
  return merged;
}

/**
 * The instants of `a` that are in none of `b`; both must be sorted and disjoint, as `union` returns
 * them.
 */
export function subtract(a: readonly Interval[], b: readonly Interval[]): Interval[] {
  const left: Interval[] = [];
  let next = 0;
  for (const { from, to } of a) {
    let start = from;
    while (next < b.length && (b[next]?.to ?? 0) <= start) next += 1;
    for (let i = next; i < b.length; i += 1) {
      const hole = b[i];
      if (!hole || hole.from >= to) break;
      if (hole.from > start) left.push({ from: start, to: hole.from });
      start = Math.max(start, hole.to);
    }
    if (start < to) left.push({ from: start, to });
  }
  return left;
}

/** The part of each interval that lies inside the window. */
export function clip(intervals: readonly Interval[], window: Interval): Interval[] {
  return intervals
    .map(({ from, to }) => ({ from: Math.max(from, window.from), to: Math.min(to, window.to) }))
    .filter(({ from, to }) => from < to);
}

export function length(intervals: readonly Interval[]): number {
  return intervals.reduce((sum, { from, to }) => sum + (to - from), 0);
}

/**
 * `Retry-After` in whole seconds: a number, or an instant by the clock of who says it (its header
 * `Date`); undefined when it is absent or unreadable.
 */
export function retryAfter_s(
  said: string | undefined,
  date: string | undefined,
): number | undefined {
  const text = said?.trim() ?? '';
  const after = /^\d{1,9}(\.\d+)?$/.test(text)
    ? Number(text)
    : (instantOf(text) - instantOf(date ?? '')) / 1_000;
  return Number.isFinite(after) ? Math.max(0, Math.ceil(after)) : undefined;
}

function instantOf(date: string): number {
  return /^[A-Z][a-z]{2}, .* GMT$/.test(date) ? Date.parse(date) : Number.NaN;
}

/** The cookie in which the script of a page says the zone of the device. */
export const deviceZoneName = 'device_zone';
