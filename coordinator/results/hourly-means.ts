import type { Interval } from '../../shared/base/time.ts';
import type { Queryable } from '../database/connect.ts';
import { type Check, meanOf } from './check.ts';
import { hourMs, hourOf } from './chunk.ts';

/**
 * Mean response times of monitors by hour, as lists draw them. Hours that were over long ago hardly
 * ever change: they are read once an hour and kept in memory, so that a list that is looked at again
 * and again reads only the newest.
 */
export type HourlyMeans = {
  /**
   * Those of the last day of each monitor, by its key, oldest first; null for an hour without a
   * pass. An hour without checks is left out, and so is a monitor without hours.
   */
  readonly lastDay: (
    sql: Queryable,
    monitors: readonly number[],
    now: number,
  ) => Promise<ReadonlyMap<number, Means>>;
};

type Means = readonly (number | null)[];

const day = 24;
/** These may still be sealed, or get results that come late: they are always read. */
const newest = 2;
/** Some megabytes. */
const mostKept = 20_000;

type Window = Interval & { readonly key: number };

/** @param stored reads the checks of monitors from chunks. */
export function createHourlyMeans(
  stored: (sql: Queryable, windows: readonly Window[]) => Promise<readonly (readonly Check[])[]>,
): HourlyMeans {
  /** What is kept of each monitor, and up to which hour. */
  const kept = new Map<number, { readonly to: number; readonly means: Means }>();

  const read = async (
    sql: Queryable,
    monitors: readonly number[],
    from: number,
    to: number,
  ): Promise<ReadonlyMap<number, Means>> => {
    const windows = monitors.map((key) => ({ key, from, to }));
    const found = new Map<number, Means>();
    for (const [nth, checks] of (await stored(sql, windows)).entries()) {
      const hours = Map.groupBy(checks, ({ at }) => hourOf(at));
      const { key } = windows[nth] ?? { key: 0 };
      if (hours.size > 0) found.set(key, Array.from(hours.values(), meanOf));
    }
    return found;
  };

  return {
    lastDay: async (sql, monitors, now) => {
      const hour = hourOf(now);
      const to = hour - newest * hourMs;
      const known = new Map<number, Means>();
      for (const key of monitors) {
        const each = kept.get(key);
        if (each?.to === to) known.set(key, each.means);
      }
      const unknown = monitors.filter((key) => !known.has(key));
      const [past, recent] = await Promise.all([
        read(sql, unknown, hour - day * hourMs, to),
        read(sql, monitors, to, hour),
      ]);
      for (const key of unknown) {
        const means = past.get(key) ?? [];
        known.set(key, means);
        kept.delete(key); // The least recently read are the first.
        kept.set(key, { to, means });
      }
      const found = new Map<number, Means>();
      for (const key of monitors) {
        const means = [...(known.get(key) ?? []), ...(recent.get(key) ?? [])];
        if (means.length > 0) found.set(key, means);
      }
      for (const key of kept.keys()) {
        if (kept.size <= mostKept) break;
        kept.delete(key);
      }
      return found;
    },
  };
}
