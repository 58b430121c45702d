import type { Interval } from '../../shared/base/time.ts';
import { percentOf } from '../core/uptime.ts';
import { type MonitorHistory, stretchesOf, uptimeOf } from '../monitors/status.ts';

/** What a report counts, from the same sums as everywhere else (rule 21). */

type Counting = {
  /** `counts`: time in maintenance is what the checks say. */
  readonly maintenance: 'apart' | 'counts';
  readonly unknown: 'apart' | 'up' | 'down';
};

/** In milliseconds. */
const states = ['up', 'down', 'maintenance', 'unknown', 'paused'] as const;
export type Sums = Readonly<Record<(typeof states)[number], number>> & {
  readonly countedUp: number;
  readonly countedDown: number;
};

export function sumsOf(history: MonitorHistory, window: Interval, counting: Counting): Sums {
  const { up, down, maintenance, unknown, paused } = uptimeOf(history, window);
  const counted = uptimeOf(asCounted(history, counting), window);
  return {
    ...{ up, down, maintenance, unknown, paused },
    countedUp: counted.up + (counting.unknown === 'up' ? counted.unknown : 0),
    countedDown: counted.down + (counting.unknown === 'down' ? counted.unknown : 0),
  };
}

function asCounted(history: MonitorHistory, { maintenance }: Counting): MonitorHistory {
  return maintenance === 'apart' ? history : { ...history, cover: [], causedCover: [] };
}

export function added(all: readonly Sums[]): Sums {
  const sum = (of: keyof Sums): number => all.reduce((total, one) => total + one[of], 0);
  return {
    up: sum('up'),
    down: sum('down'),
    maintenance: sum('maintenance'),
    unknown: sum('unknown'),
    paused: sum('paused'),
    countedUp: sum('countedUp'),
    countedDown: sum('countedDown'),
  };
}

export function percentIn({ countedUp, countedDown }: Sums): number | null {
  return percentOf(countedUp, countedDown);
}

/**
 * How much more may be down for a promised percentage to be kept, in milliseconds; null where nothing
 * counts. Not negative exactly where percentIn() is not below the promise.
 */
export function budgetLeftIn({ countedUp, countedDown }: Sums, promised: number): number | null {
  const whole = countedUp + countedDown;
  if (whole === 0) return null;
  const share = 1_000_000n - BigInt(Math.round(promised * 10_000));
  return Number((BigInt(whole) * share) / 1_000_000n) - countedDown;
}

/** A confirmed incident within a window. */
type Outage = {
  readonly incident: string;
  readonly monitor: string;
  readonly started_at: number;
  /** Its part of the time that counts as down. */
  readonly down: number;
};

export function outagesIn(
  history: MonitorHistory,
  window: Interval,
  counting: Counting,
): readonly Outage[] {
  const touching = history.down.filter(({ from, to }) => from < window.to && to > window.from);
  if (touching.length === 0) return [];
  const parts = Map.groupBy(stretchesOf(asCounted(history, counting), window), ({ cause }) =>
    cause?.is === 'incident' ? cause.id : null,
  );
  return touching.map(({ incident, from }) => ({
    incident,
    monitor: history.id,
    started_at: from,
    down: (parts.get(incident) ?? []).reduce((sum, part) => sum + (part.to - part.from), 0),
  }));
}
