import type { Interval } from '../../shared/base/time.ts';
import type { Queryable } from '../database/connect.ts';
import { type Timed, timesWithin } from '../results/limits.ts';
import type { Results } from '../results/reading.ts';
import { createTimesLedger, type Ledger } from './model.ts';
import { keysOf, type ObjectiveRow } from './queries.ts';

type Limited = Pick<ObjectiveRow, 'latency_ms' | 'monitors'>;
/** By limit and monitor. */
export type TimesRead = ReadonlyMap<number, ReadonlyMap<string, readonly Timed[]>>;

/** Response times of the monitors of objectives, against their limits. */
export async function readTimes(
  sql: Queryable,
  results: Results,
  objectives: readonly Limited[],
  window: Interval,
): Promise<TimesRead> {
  const found = new Map<number, ReadonlyMap<string, readonly Timed[]>>();
  for (const [limit, some] of Map.groupBy(objectives, ({ latency_ms }) => latency_ms)) {
    if (limit === null) continue;
    const keys = await keysOf(sql, [...new Set(some.flatMap(({ monitors }) => monitors))]);
    const times = await timesWithin(sql, results, keys, window, limit);
    found.set(limit, new Map(keys.map(({ id, key }) => [id, times.get(key) ?? []])));
  }
  return found;
}

/** The ledger by which an objective is judged. */
export function ledgersOf(
  availability: Ledger,
  ...reads: readonly TimesRead[]
): (objective: Pick<ObjectiveRow, 'latency_ms'>) => Ledger {
  const made = new Map<number, Ledger>();
  return ({ latency_ms: limit }) => {
    if (limit === null) return availability;
    return made.getOrInsertComputed(limit, () => {
      const joined = new Map<string, Timed[]>();
      for (const read of reads)
        for (const [id, times] of read.get(limit) ?? [])
          joined.set(id, [...(joined.get(id) ?? []), ...times]);
      return createTimesLedger(joined);
    });
  };
}
