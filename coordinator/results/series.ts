import type { Interval } from '../../shared/base/time.ts';
import type { Queryable } from '../database/connect.ts';
import { placesOfProbes } from '../probes/places.ts';
import type { Check } from './check.ts';
import type { MonitorKey, Results } from './reading.ts';

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
  /** Means of dns, tcp, tls, first_byte and total; null from rows of days. */
  readonly phases: readonly (number | null)[] | null;
};

/** The percentiles of all passes of a window. */
export type Percentiles = Pick<SeriesRow, 'median' | 'p95' | 'p99'>;

export type Series = {
  readonly rows: readonly SeriesRow[];
  /** Null where nothing passed. */
  readonly whole: Percentiles | null;
  /** The same of each place where something passed, with means of phases. */
  readonly places: ReadonlyMap<string, PlaceSummary>;
};

export type PlaceSummary = Percentiles & Pick<SeriesRow, 'phases'>;

/** From single checks, as far as they are kept, with percentiles and phases. */
export async function rawSeries(
  sql: Queryable,
  results: Results,
  monitor: MonitorKey,
  window: Interval,
  step_s: number,
): Promise<Series> {
  const [[checks = []], places] = await Promise.all([
    results.within(sql, [{ ...monitor, ...window }]),
    placesOfProbes(sql, monitor.key),
  ]);
  return seriesOf(checks, places, window, step_s);
}

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
  const byPlace = new Map<string, PlaceSeries>();
  for (const check of checks) {
    const place = places.get(check.probe);
    if (place === undefined) continue;
    const series = byPlace.getOrInsertComputed(place, () => emptyPlace(place));
    const slot = Math.floor((check.at - from) / (step_s * 1_000));
    if (slot !== series.slot) {
      endSlot(series);
      series.slot = slot;
    }
    addCheck(series.current, check);
  }
  const all = [...byPlace.values()].toSorted((a, b) => (a.continent < b.continent ? -1 : 1));
  for (const series of all) endSlot(series);
  const whole = all.flatMap(({ sum }) => sum.times);
  return {
    rows: all.flatMap(({ rows }) => rows),
    whole: whole.length === 0 ? null : percentilesOf(sortTimes(whole)),
    places: new Map(
      all
        .filter(({ sum }) => sum.times.length > 0)
        .map(({ continent, sum }) => [
          continent,
          { ...percentilesOf(sortTimes(sum.times)), phases: phaseMeansOf(sum) },
        ]),
    ),
  };
}

/** Checks come in order, so a place's step is over when a check of another one comes. */
type PlaceSeries = {
  readonly continent: string;
  readonly rows: SeriesRow[];
  readonly sum: Sum;
  slot: number;
  current: Sum;
};

function emptyPlace(continent: string): PlaceSeries {
  return {
    continent,
    rows: [],
    sum: emptySum(),
    slot: Number.NaN,
    current: emptySum(),
  };
}

function endSlot(series: PlaceSeries): void {
  const { continent, rows, sum, slot, current } = series;
  if (!Number.isNaN(slot)) rows.push({ continent, slot, ...summaryOf(current) });
  addSum(sum, current);
  series.current = emptySum();
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

function emptySum(): Sum {
  return {
    failed: 0,
    unknown: 0,
    times: [],
    phases: [0, 0, 0, 0, 0],
    phaseCounts: [0, 0, 0, 0, 0],
  };
}

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

function addSum(sum: Sum, added: Sum): void {
  for (const ms of added.times) sum.times.push(ms);
  for (let nth = 0; nth < phaseCount; nth += 1)
    addPhase(sum, nth, added.phases[nth] ?? 0, added.phaseCounts[nth] ?? 0);
}

const phaseCount = 5;

function summaryOf(sum: Sum): Omit<SeriesRow, 'continent' | 'slot'> {
  const times = sortTimes(sum.times);
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

/** In place: they are ours. */
function sortTimes(times: number[]): readonly number[] {
  return times.sort((a, b) => a - b);
}

function phaseMeansOf({ phases, phaseCounts }: Sum): readonly (number | null)[] {
  return phases.map((ms, nth) => (phaseCounts[nth] ? ms / phaseCounts[nth] : null));
}

function percentilesOf(times: readonly number[]): Percentiles {
  return {
    median: percentileOf(times, 0.5),
    p95: percentileOf(times, 0.95),
    p99: percentileOf(times, 0.99),
  };
}

/** Between its two neighbours, as `percentile_cont` of Postgres. */
function percentileOf(times: readonly number[], share: number): number | null {
  const place = share * (times.length - 1);
  const [below, above] = [times[Math.floor(place)], times[Math.ceil(place)]];
  if (below === undefined || above === undefined) return null;
  return below + (above - below) * (place - Math.floor(place));
}
