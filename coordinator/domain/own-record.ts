/** How well the house itself did, as it tells of itself. Pure. */

export type OwnDay = {
  /** 2026-11-22, in UTC. */
  readonly day: string;
  readonly confirmed: number;
  readonly p50_ms: number | null;
  readonly p95_ms: number | null;
  /** That two continents saw, and no other of those that looked. */
  readonly doubted: number;
  /** That the operator said to have been none. */
  readonly false_by_word: number;
  readonly results_lost: number;
  readonly own_outages: number;
  readonly own_outage_s: number;
};

/** To whom the operator opens it. */
export const recordReaders = ['everyone', 'users', 'nobody'] as const;
export type RecordReaders = (typeof recordReaders)[number];

export type OwnSum = {
  readonly confirmed: number;
  readonly false_by_word: number;
  readonly doubted: number;
  readonly results_lost: number;
  readonly own_outages: number;
  readonly own_outage_s: number;
  /** The slowest and the middle of the days' medians say little together; what is told is the median of the days. */
  readonly p50_ms: number | null;
  readonly p95_ms: number | null;
};

const middle = (values: readonly number[]): number | null => {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? null;
};

const present = (values: readonly (number | null)[]): readonly number[] => values.filter((value) => value !== null);

export const sumOf = (days: readonly OwnDay[]): OwnSum => {
  const all = (of: (day: OwnDay) => number): number => days.reduce((sum, day) => sum + of(day), 0);
  return {
    confirmed: all(({ confirmed }) => confirmed),
    false_by_word: all((day) => day.false_by_word),
    doubted: all(({ doubted }) => doubted),
    results_lost: all((day) => day.results_lost),
    own_outages: all((day) => day.own_outages),
    own_outage_s: all((day) => day.own_outage_s),
    p50_ms: middle(present(days.map(({ p50_ms }) => p50_ms))),
    p95_ms: middle(present(days.map(({ p95_ms }) => p95_ms))),
  };
};

const dayMs = 86_400_000;
/** A confirmed outage is left an hour for others to agree, and late results some minutes to come. */
const settleMs = 70 * 60_000;

export const dayOf = (at: number): string => new Date(at).toISOString().slice(0, 10);

/** Days that are over and settled, the oldest first; what would be needed to count older ones is no longer kept. */
export const settledDays = (now: number, rawDays: number): readonly string[] => {
  const last = Math.floor((now - settleMs) / dayMs) - 1;
  const count = Math.min(rawDays - 1, 30);
  return Array.from({ length: Math.max(0, count) }, (_, index) => dayOf((last - count + 1 + index) * dayMs));
};
