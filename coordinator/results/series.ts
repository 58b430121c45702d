import type { Interval } from '../../shared/base/time.ts';
import type { Check } from './check.ts';

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
  const bySlot = new Map<string, Map<number, Sum>>();
  for (const check of checks) {
    const place = places.get(check.probe);
    if (place === undefined) continue;
    const slots = bySlot.getOrInsertComputed(place, () => new Map<number, Sum>());
    const slot = Math.floor((check.at - from) / (step_s * 1_000));
    addCheck(slots.getOrInsertComputed(slot, emptySum), check);
  }
  const sums = [...bySlot]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([place, slots]) => ({ place, slots, sum: sumOf(slots.values()) }));
  const whole = sumOf(sums.map(({ sum }) => sum));
  return {
    rows: sums.flatMap(({ place: continent, slots }) =>
      Array.from(slots, ([slot, sum]) => ({ continent, slot, ...summaryOf(sum) })),
    ),
    whole: whole.times.length === 0 ? null : percentilesOf(sorted(whole.times)),
    places: new Map(
      sums
        .filter(({ sum }) => sum.times.length > 0)
        .map(({ place, sum }) => [
          place,
          { ...percentilesOf(sorted(sum.times)), phases: phaseMeansOf(sum) },
        ]),
    ),
  };
}

/** What checks add up to. There are hundreds of these in a day, of few checks each. */
type Sum = {
  failed: number;
  unknown: number;
  /** Of the passes, which are as many. */
  readonly times: number[];
  /** By phase, of the passes that have it. */
  readonly phases: number[];
  readonly phaseCounts: number[];
};

const emptySum = (): Sum => ({
  failed: 0,
  unknown: 0,
  times: [],
  phases: [0, 0, 0, 0, 0],
  phaseCounts: [0, 0, 0, 0, 0],
});

function addCheck(sum: Sum, { outcome, took_ms, phases }: Check): void {
  if (outcome === 'fail') sum.failed += 1;
  else if (outcome === 'unknown') sum.unknown += 1;
  else {
    sum.times.push(took_ms);
    if (phases === null) return;
    addPhase(sum, 0, phases.dns);
    addPhase(sum, 1, phases.tcp);
    addPhase(sum, 2, phases.tls);
    addPhase(sum, 3, phases.first_byte);
    addPhase(sum, 4, phases.total);
  }
}

function addPhase(
  { phases, phaseCounts }: Sum,
  nth: number,
  ms: number | null,
  count = ms === null ? 0 : 1,
): void {
  phases[nth] = (phases[nth] ?? 0) + (ms ?? 0);
  phaseCounts[nth] = (phaseCounts[nth] ?? 0) + count;
}

function sumOf(sums: Iterable<Sum>): Sum {
  const all = emptySum();
  for (const sum of sums) {
    all.failed += sum.failed;
    all.unknown += sum.unknown;
    for (const ms of sum.times) all.times.push(ms);
    for (const [nth, ms] of sum.phases.entries()) addPhase(all, nth, ms, sum.phaseCounts[nth] ?? 0);
  }
  return all;
}

function summaryOf(sum: Sum): Omit<SeriesRow, 'continent' | 'slot'> {
  const times = sorted(sum.times);
  return {
    ok: times.length,
    failed: sum.failed,
    unknown: sum.unknown,
    mean: times.length === 0 ? null : times.reduce((all, ms) => all + ms, 0) / times.length,
    least: times[0] ?? null,
    most: times.at(-1) ?? null,
    ...percentilesOf(times),
    phases: phaseMeansOf(sum),
  };
}

const sorted = (times: readonly number[]): readonly number[] => times.toSorted((a, b) => a - b);

const phaseMeansOf = ({ phases, phaseCounts }: Sum): readonly (number | null)[] =>
  phases.map((ms, nth) => (phaseCounts[nth] ? ms / phaseCounts[nth] : null));

const percentilesOf = (times: readonly number[]): Percentiles => ({
  median: percentileOf(times, 0.5),
  p95: percentileOf(times, 0.95),
  p99: percentileOf(times, 0.99),
});

/** Between its two neighbours, as `percentile_cont` of Postgres. */
function percentileOf(times: readonly number[], share: number): number | null {
  const place = share * (times.length - 1);
  const [below, above] = [times[Math.floor(place)], times[Math.ceil(place)]];
  if (below === undefined || above === undefined) return null;
  return below + (above - below) * (place - Math.floor(place));
}
