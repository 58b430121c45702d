import { clip, type Interval, length, subtract, union } from '../../shared/base/time.ts';

export const states = ['paused', 'maintenance', 'down', 'unknown', 'up'] as const;
type State = (typeof states)[number];

/**
 * What made an interval count as it does. A gap has no details, and time that is up has no cause.
 */
export type Cause =
  | { readonly is: 'pause' }
  | { readonly is: 'window'; readonly id: string; readonly name: string | null }
  | { readonly is: 'incident'; readonly id: string }
  | { readonly is: 'gap' };

export type Caused = Interval & { readonly cause: Cause };

export type Stretch = Interval & { readonly state: State; readonly cause: Cause | null };

/** The input of uptime(), each interval with its cause. */
type ExplainedInput = {
  readonly window: Interval;
  readonly created_at: number;
  readonly paused: readonly Caused[];
  readonly cover: readonly Caused[];
  readonly down: readonly Caused[];
  readonly unknown: readonly Caused[];
};

/**
 * Rule 43: the intervals behind the sum of rule 21, in order and without a hole, from the later of
 * creation and the window's start to its end.
 */
export function explained({
  window,
  created_at,
  paused,
  cover,
  down,
  unknown,
}: ExplainedInput): Stretch[] {
  const whole = { from: Math.max(window.from, created_at), to: window.to };
  let left = union([whole]);
  const stretches: Stretch[] = [];
  const claims = [
    ['paused', paused],
    ['maintenance', cover],
    ['down', down],
    ['unknown', unknown],
  ] as const;
  for (const [state, intervals] of claims) {
    const claimed = inTurn(intervals.filter((each) => meets(each, whole)));
    if (claimed.length === 0) continue;
    for (const part of partsIn(left, claimed))
      stretches.push({ from: part.from, to: part.to, state, cause: part.cause });
    left = subtract(left, union(clip(claimed, whole)));
  }
  for (const { from, to } of left) stretches.push({ from, to, state: 'up', cause: null });
  return stretches.toSorted((a, b) => a.from - b.from);
}

/** Whether they have a moment in common. */
function meets(a: Interval, b: Interval): boolean {
  return a.from < b.to && a.to > b.from && a.from < a.to;
}

/** Sorted and disjoint; where two overlap, the earlier one keeps the time. */
function inTurn(given: readonly Caused[]): Caused[] {
  const turn: Caused[] = [];
  let covered = Number.NEGATIVE_INFINITY;
  for (const each of given.toSorted((a, b) => a.from - b.from || a.to - b.to)) {
    const from = Math.max(each.from, covered);
    if (from < each.to) turn.push({ ...each, from });
    covered = Math.max(covered, each.to);
  }
  return turn;
}

/** The parts of `given` inside `left`; both are sorted and disjoint. */
function partsIn(left: readonly Interval[], given: readonly Caused[]): Caused[] {
  const parts: Caused[] = [];
  let first = 0;
  for (const each of given) {
    while (first < left.length && (left[first]?.to ?? 0) <= each.from) first += 1;
    for (let place = first; place < left.length; place += 1) {
      const free = left[place];
      if (!free || free.from >= each.to) break;
      parts.push({ ...each, from: Math.max(each.from, free.from), to: Math.min(each.to, free.to) });
    }
  }
  return parts;
}

/** The states of a bar in a strip. `none` is time before the monitor was made. */
const barStates = ['up', 'verifying', 'down', 'maintenance', 'unknown', 'paused', 'none'] as const;
type BarState = (typeof barStates)[number];

/** Where times of a bar are equal, the first of these wins: unknown time is never shown as up. */
const order = ['unknown', 'maintenance', 'paused', 'up'] as const;

/**
 * Time as bars of equal length, oldest first. A bar with any downtime is down; else it is what most
 * of it was. `verifying`: since when an incident is being verified.
 */
export function barsOf(
  stretches: readonly Stretch[],
  window: Interval,
  count: number,
  verifying: number | null,
): BarState[] {
  const width = (window.to - window.from) / count;
  const bars: BarState[] = [];
  let first = 0;
  for (let index = 0; index < count; index += 1) {
    const from = window.from + index * width;
    const to = window.from + (index + 1) * width;
    while (first < stretches.length && (stretches[first]?.to ?? 0) <= from) first += 1;
    const one = stretches[first];
    // Nearly every bar is within one stretch.
    if (one && one.from <= from && one.to >= to) {
      bars.push(
        one.state !== 'down' && verifying !== null && verifying < to ? 'verifying' : one.state,
      );
      continue;
    }
    const times = { up: 0, down: 0, maintenance: 0, unknown: 0, paused: 0 };
    for (let place = first; place < stretches.length; place += 1) {
      const stretch = stretches[place];
      if (!stretch || stretch.from >= to) break;
      times[stretch.state] += Math.min(stretch.to, to) - Math.max(stretch.from, from);
    }
    const limit = Math.max(times.up, times.maintenance, times.unknown, times.paused);
    if (times.down > 0) bars.push('down');
    else if (verifying !== null && verifying < to) bars.push('verifying');
    else
      bars.push(limit === 0 ? 'none' : (order.find((state) => times[state] === limit) ?? 'none'));
  }
  return bars;
}

const day = 86_400_000;

export function windowOf(days: number, now: number): Interval {
  return {
    from: now - days * day,
    to: now,
  };
}

/**
 * What the five states are made of. Intervals may overlap, touch, and reach beyond the window. Open
 * intervals end at the window's end.
 */
type UptimeInput = {
  /** From `days` × 86,400 s back until now. */
  readonly window: Interval;
  readonly created_at: number;
  readonly paused: readonly Interval[];
  /** Maintenance, from maintenance/window.ts. */
  readonly cover: readonly Interval[];
  /** Confirmed incidents, from started_at to resolved_at. */
  readonly down: readonly Interval[];
  readonly unknown: readonly Interval[];
};

/**
 * Milliseconds of each state; they add up to the time from the later of creation and the window's
 * start until now.
 */
export type Uptime = {
  readonly paused: number;
  readonly maintenance: number;
  readonly down: number;
  readonly unknown: number;
  readonly up: number;
  readonly percent: number | null;
  readonly down_seconds: number;
};

/** Rule 21: every millisecond is exactly one of the five, the first that fits. */
export function uptime({ window, created_at, ...states }: UptimeInput): Uptime {
  const whole = { from: Math.max(window.from, created_at), to: window.to };
  let left = union([whole]);
  const take = (intervals: readonly Interval[]): number => {
    if (!intervals.some((each) => meets(each, whole))) return 0;
    const before = length(left);
    left = subtract(left, union(clip(intervals, whole)));
    return before - length(left);
  };
  const paused = take(states.paused);
  const maintenance = take(states.cover);
  const down = take(states.down);
  const unknown = take(states.unknown);
  const up = length(left);
  return {
    paused,
    maintenance,
    down,
    unknown,
    up,
    percent: percentOf(up, down),
    down_seconds: down / 1000,
  };
}

/**
 * 100 × up / (up + down), rounded down to four decimals, so that 100 means no downtime (rule 23).
 */
export function percentOf(up: number, down: number): number | null {
  if (up + down === 0) return null;
  return Number((BigInt(up) * 1_000_000n) / BigInt(up + down)) / 10_000;
}

/** Whether an incident belongs to the last days: it touches the window, or is open (rule 23). */
export function touches(
  window: Interval,
  incident: { readonly started_at: number; readonly resolved_at: number | null },
): boolean {
  return (
    incident.resolved_at === null ||
    (incident.started_at <= window.to && incident.resolved_at >= window.from)
  );
}
