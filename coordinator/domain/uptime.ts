import { clip, type Interval, length, subtract, union } from '../../shared/base/time.ts';

const day = 86_400_000;

/** What the five states are made of; intervals may overlap, touch, and reach beyond the window. What still lasts ends at the window's end. */
export type UptimeInput = {
  /** From `days` × 86,400 s back until now. */
  readonly window: Interval;
  readonly created_at: number;
  readonly paused: readonly Interval[];
  /** Maintenance, as maintenance-cover.ts gives it. */
  readonly cover: readonly Interval[];
  /** Confirmed incidents, from started_at to resolved_at. */
  readonly down: readonly Interval[];
  readonly unknown: readonly Interval[];
};

/** Milliseconds of each state; they add up to the time from the later of creation and the window's start until now. */
export type Uptime = {
  readonly paused: number;
  readonly maintenance: number;
  readonly down: number;
  readonly unknown: number;
  readonly up: number;
  readonly percent: number | null;
  readonly down_seconds: number;
};

export const windowOf = (days: number, now: number): Interval => ({ from: now - days * day, to: now });

/** 100 × up / (up + down), rounded down to four decimals, so that 100 means no downtime (rule 23). */
export const percentOf = (up: number, down: number): number | null => {
  if (up + down === 0) return null;
  return Number((BigInt(up) * 1_000_000n) / BigInt(up + down)) / 10_000;
};

/** Rule 21: every millisecond is exactly one of the five, the first that fits. */
export const uptime = ({ window, created_at, ...states }: UptimeInput): Uptime => {
  const whole = { from: Math.max(window.from, created_at), to: window.to };
  let left = union([whole]);
  const take = (intervals: readonly Interval[]): number => {
    const before = length(left);
    left = subtract(left, union(clip(intervals, whole)));
    return before - length(left);
  };
  const paused = take(states.paused);
  const maintenance = take(states.cover);
  const down = take(states.down);
  const unknown = take(states.unknown);
  const up = length(left);
  return { paused, maintenance, down, unknown, up, percent: percentOf(up, down), down_seconds: down / 1000 };
};

/** Whether an incident belongs to the last days: it touches the window, or is open (rule 23). */
export const touches = (window: Interval, incident: { readonly started_at: number; readonly resolved_at: number | null }): boolean =>
  incident.resolved_at === null || (incident.started_at <= window.to && incident.resolved_at >= window.from);
