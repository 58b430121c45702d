import { Refusal } from '../../shared/base/errors.ts';
import type { Interval } from '../../shared/base/time.ts';
import type { MonitorHistory } from '../monitors/status.ts';
import { added, budgetLeftIn, percentIn, type Sums, sumsOf } from '../reports/model.ts';
import { type Period, periodNamed } from '../reports/period.ts';
import type { Timed } from '../results/limits.ts';
import { type Burn, burnOf } from './burn.ts';

/**
 * What an objective comes to, from the same sums as a report (rule 21); one of response times counts
 * checks where others count milliseconds.
 */

export type ObjectivePeriod = '30d' | 'month';

type Objective = { readonly target: number; readonly period: ObjectivePeriod };

const minute = 60_000;
const day = 86_400_000;

/** @throws Refusal `objective_invalid`. */
export function targetFrom(target: number): number {
  if (target > 0 && target < 100 && Number(target.toFixed(4)) === target) return target;
  throw new Refusal('objective_invalid', {
    target: 'must be above 0 and below 100, with up to four decimals, such as 99.9.',
  });
}

export function spanOf(period: ObjectivePeriod, zone: string, now: number): Interval {
  const { from, to }: Period =
    period === 'month'
      ? periodNamed('this-month', zone, now)
      : { name: null, from: now - 30 * day, to: now };
  return { from, to };
}

/** As far back as anything is counted. */
export function earliestOf(zone: string, now: number): number {
  return Math.min(spanOf('month', zone, now).from, spanOf('30d', zone, now).from);
}

/** The sums of some monitors in a window; those of each monitor are made once. */
export type Ledger = (monitors: readonly string[], window: Interval) => Sums;

export function createLedger(histories: readonly MonitorHistory[]): Ledger {
  const historyOf = new Map(histories.map((history) => [history.id, history]));
  const made = new Map<string, Sums>();
  return (monitors, window) =>
    added(
      monitors.flatMap((id) => {
        const history = historyOf.get(id);
        if (!history) return [];
        const name = `${id} ${window.from} ${window.to}`;
        const sums = made.get(name) ?? sumsOf(history, window, reported);
        made.set(name, sums);
        return [sums];
      }),
    );
}

/** Passing checks of monitors by their ids: those within the limit count as up, others as down. */
export function createTimesLedger(timesOf: ReadonlyMap<string, readonly Timed[]>): Ledger {
  return (monitors, { from, to }) => {
    let [countedUp, countedDown] = [0, 0];
    for (const id of monitors)
      for (const { at, within, beyond } of timesOf.get(id) ?? []) {
        if (at < from || at >= to) continue;
        countedUp += within;
        countedDown += beyond;
      }
    return { ...added([]), countedUp, countedDown };
  };
}

/** As a report counts that is asked for nothing else. */
const reported = { maintenance: 'apart', unknown: 'apart' } as const;

/** How fast it burns at a moment. */
export function burnAt(
  { target }: Pick<Objective, 'target'>,
  monitors: readonly string[],
  ledger: Ledger,
  now: number,
): readonly Burn[] {
  return burnOf(target, (minutes) => ledger(monitors, { from: now - minutes * minute, to: now }));
}

export type Budget = {
  readonly percent: number | null;
  /** In milliseconds, or checks, as the next; null where nothing counts. */
  readonly whole: number | null;
  readonly left: number | null;
};

/** The budget of a month is that of the whole month: what is left of it counts as if it were known. */
export function budgetOf(
  { target }: Pick<Objective, 'target'>,
  sums: Sums,
  /** How long the period still lasts, for each monitor that is checked. */
  rest: number,
): Budget {
  const left = budgetLeftIn({ ...sums, countedUp: sums.countedUp + rest }, target);
  return {
    percent: percentIn(sums),
    whole: left === null ? null : left + sums.countedDown,
    left,
  };
}

const chartSteps = 120;

/** What was left of the budget after each part of the period so far. */
export function courseOf(
  monitors: readonly string[],
  ledger: Ledger,
  { from, to }: Interval,
  whole: number,
): readonly { readonly at: number; readonly left: number }[] {
  const down = monitors.filter((id) => ledger([id], { from, to }).countedDown > 0);
  let left = whole;
  let before = from;
  return Array.from({ length: chartSteps + 1 }, (_, nth) => {
    const at = from + Math.round(((to - from) * nth) / chartSteps);
    if (at > before) left -= ledger(down, { from: before, to: at }).countedDown;
    before = at;
    return { at, left };
  });
}
