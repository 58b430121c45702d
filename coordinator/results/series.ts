import type { Interval } from '../../shared/base/time.ts';
import { type Check, phaseNames } from './check.ts';

/** The checks of one continent or private place, summarized for one step of time. */
export type SeriesRow = {
  /** A continent; of a monitor with chosen places, a private one by its id. */
  readonly continent: string;
  readonly slot: number;
  readonly ok: number;
  readonly failed: number;
  readonly unknown: number;
  readonly mean: number | null;
  readonly least: number | null;
  readonly most: number | null;
  readonly median: number | null;
  readonly p95: number | null;
  readonly p99: number | null;
  /** Means of dns, tcp, tls, first_byte and total; null where only hours are stored. */
  readonly phases: readonly (number | null)[] | null;
};

/** The percentiles of all passes of a window. */
export type Percentiles = Pick<SeriesRow, 'median' | 'p95' | 'p99'>;

export type Series = {
  readonly rows: readonly SeriesRow[];
  /** Null where only hours are stored, and where nothing passed. */
  readonly whole: Percentiles | null;
  /** The same by place, with means of phases; absent where only hours are stored. */
  readonly places?: ReadonlyMap<string, PlaceSummary>;
};

export type PlaceSummary = Percentiles & Pick<SeriesRow, 'phases'>;

/**
 * Of checks in order of start, by place and step. `places`: where each probe sees the monitor from;
 * checks of others do not count.
 */
export function seriesOf(
  checks: readonly Check[],
  places: ReadonlyMap<number, string>,
  { from }: Pick<Interval, 'from'>,
  step_s: number,
): Series {
  const byPlace = new Map<string, Map<number, Check[]>>();
  for (const check of checks) {
    const place = places.get(check.probe);
    if (place === undefined) continue;
    byPlace
      .getOrInsertComputed(place, () => new Map<number, Check[]>())
      .getOrInsertComputed(Math.floor((check.at - from) / (step_s * 1_000)), () => [])
      .push(check);
  }
  const passed = checks.filter(({ probe, outcome }) => outcome === 'ok' && places.has(probe));
  return {
    rows: [...byPlace]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([continent, slots]) =>
        Array.from(slots, ([slot, some]) => ({ continent, slot, ...summaryOf(some) })),
      ),
    whole: passed.length === 0 ? null : percentilesOf(sortedTimes(passed)),
    places: new Map(
      Array.from(
        Map.groupBy(passed, ({ probe }) => places.get(probe) ?? ''),
        ([place, some]) => [
          place,
          { ...percentilesOf(sortedTimes(some)), phases: phaseMeansOf(some) },
        ],
      ),
    ),
  };
}

function summaryOf(checks: readonly Check[]): Omit<SeriesRow, 'continent' | 'slot'> {
  const passed = checks.filter(({ outcome }) => outcome === 'ok');
  const times = sortedTimes(passed);
  return {
    ok: passed.length,
    failed: checks.filter(({ outcome }) => outcome === 'fail').length,
    unknown: checks.filter(({ outcome }) => outcome === 'unknown').length,
    mean: meanOf(times),
    least: times[0] ?? null,
    most: times.at(-1) ?? null,
    ...percentilesOf(times),
    phases: phaseMeansOf(passed),
  };
}

const phaseMeansOf = (passed: readonly Check[]): readonly (number | null)[] =>
  phaseNames.map((name) => meanOf(passed.flatMap(({ phases }) => phases?.[name] ?? [])));

const sortedTimes = (passed: readonly Check[]): Float64Array =>
  Float64Array.from(passed, ({ took_ms }) => took_ms).sort();

const percentilesOf = (times: Float64Array): Percentiles => ({
  median: percentileOf(times, 0.5),
  p95: percentileOf(times, 0.95),
  p99: percentileOf(times, 0.99),
});

/** Between its two neighbours, as `percentile_cont` of Postgres. */
function percentileOf(sorted: Float64Array, share: number): number | null {
  const place = share * (sorted.length - 1);
  const [below, above] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]];
  if (below === undefined || above === undefined) return null;
  return below + (above - below) * (place - Math.floor(place));
}

function meanOf(values: ArrayLike<number>): number | null {
  let sum = 0;
  for (let nth = 0; nth < values.length; nth += 1) sum += values[nth] ?? 0;
  return values.length === 0 ? null : sum / values.length;
}
