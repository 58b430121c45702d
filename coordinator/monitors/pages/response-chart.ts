import type { OutputOf } from '../../../shared/api/operation.ts';
import type { getMonitorResults } from '../../../shared/api/results.ts';
import { briefDuration, durationText } from '../../../shared/base/time.ts';
import { areaPath, axisOf, linePath, momentsBetween } from '../../web/charts.ts';
import { byContinent, countText, lineClass, msText, shortName } from '../../web/elements.ts';
import { type Html, html, joined } from '../../web/html.ts';
import { phaseNames } from '../../web/phases.ts';
import type { Times } from '../../web/times.ts';
import type { Ledger } from './ledger.ts';

/**
 * Response times of a monitor as an instrument: a line for each continent, what happened behind
 * it, and the same as a table for those who run no scripts. Where scripts run, `assets/chart.ts`
 * reads the drawn lines and says the values under the pointer.
 */

export type Results = OutputOf<typeof getMonitorResults>;
type Series = Results['series'][number];
type Point = Series['points'][number];

const [width, height] = [1_000, 240];

/** What a line shows. */
const values = {
  p50: { label: 'p50', of: ({ median_ms }: Point) => median_ms },
  p95: { label: 'p95', of: ({ p95_ms }: Point) => p95_ms },
  p99: { label: 'p99', of: ({ p99_ms }: Point) => p99_ms },
  mean: { label: 'Mean', of: ({ mean_ms }: Point) => mean_ms },
} as const;

export type ChartValue = keyof typeof values;

/** What a chart is drawn from, and how. */
export type Drawing = {
  readonly results: Results;
  /** The same stretch a week before, where it is compared. */
  readonly before?: Results | null;
  readonly ledger: Pick<Ledger, 'stretches'>;
  readonly times: Times;
  readonly value: ChartValue;
  /** Between two checks. */
  readonly interval_s: number;
};

/** The values that these results have, the first of which is shown unless another was chosen. */
export function valuesOf({ series }: Results): readonly ChartValue[] {
  const passed = series.flatMap(({ points }) => points.filter(({ ok }) => ok > 0));
  const known = passed.filter(({ median_ms }) => median_ms !== null).length;
  if (known === passed.length) return ['p50', 'p95', 'p99', 'mean'];
  return known === 0 ? ['mean'] : ['mean', 'p50', 'p95', 'p99'];
}

export function valueLabel(value: ChartValue): string {
  return values[value].label;
}

/** Of all passes at these points; of a percentile, the mean of theirs. */
export function meanOf(points: readonly Point[], value: ChartValue = 'mean'): number | null {
  const { of } = values[value];
  const passed = points.filter((point) => of(point) !== null && point.ok > 0);
  const count = passed.reduce((sum, { ok }) => sum + ok, 0);
  return count === 0
    ? null
    : passed.reduce((sum, point) => sum + (of(point) ?? 0) * point.ok, 0) / count;
}

type Scale = {
  readonly from: number;
  readonly to: number;
  readonly x: (at: number | string) => number;
};

type Heights = {
  readonly axis: ReturnType<typeof axisOf>;
  /** Where a value is drawn. */
  readonly y: (ms: number) => number;
  /** Where it would be if the axis had no end: the crosshair says that value. */
  readonly real: (ms: number) => number;
};

/** What is drawn of one series over its whole time, as exactly as it is known. */
function figureOf({ points, percentiles }: Series, value: ChartValue): number | null {
  if (percentiles === null || value === 'mean') return meanOf(points, value);
  return percentiles[`${value}_ms`];
}

/** Fewer points show no course. */
const leastPoints = 5;

/** Lines differ by dashes as well as by colour. Null where too little passed. */
export function responseChart({
  results,
  before = null,
  ledger,
  times,
  value,
  interval_s,
}: Drawing): Html | null {
  const { of, label } = values[value];
  const series = results.series.toSorted(inOrder);
  const drawn = series.flatMap(({ points }) => points.flatMap((point) => of(point) ?? []));
  if (drawn.length < leastPoints) return null;
  const scale = scaleOf(results);
  const earlier = before?.series.toSorted(inOrder) ?? [];
  const compared = earlier.flatMap(({ points }) => points.flatMap((point) => of(point) ?? []));
  // Behind medians, how slow the slow ones are.
  const hasSpread = value === 'p50';
  const highs = hasSpread
    ? series.flatMap(({ points }) => points.flatMap((point) => values.p95.of(point) ?? []))
    : [];
  const { axis, y, real } = heightsOf([...drawn, ...compared, ...highs]);
  const gapOf = ({ step_s }: Results) =>
    Math.max(step_s, interval_s) * 1_000 * 3.5 * Math.max(1, series.length);
  const gap = gapOf(results);
  const pointsOf = ({ points }: Series, ofPoint: (point: Point) => number | null, later = 0) =>
    points.map((point) => ({ at: Date.parse(point.at) + later, value: ofPoint(point) }));
  const coarse = coarseStep(results);
  const spreads = hasSpread ? series.map((each) => ({ each, spread: spreadOf(each, coarse) })) : [];
  const hasArea = spreads.some(({ spread }) => {
    const seen = spread.filter(({ low, high }) => y(low) - y(high) > leastShade);
    return seen.length * 2 > spread.length;
  });
  const areas =
    hasArea &&
    spreads.map(
      ({ each, spread }) =>
        html`
          <path
            class="area ${classOf(each)}"
            d="${areaPath(spread, scale.x, y, gap + coarse)}"
          ></path>
        `,
    );
  const dotsOf = (each: Series, dots: string) =>
    dots !== '' && html`<path class="line dots ${classOf(each)}" d="${dots}"></path>`;
  const past = earlier.map((each) => {
    const { line, dots } = linePath(
      pointsOf(each, of, weekMs),
      scale.x,
      y,
      gapOf(before ?? results),
    );
    return html`
      <g class="past">
        ${dotsOf(each, dots)}
        <path class="line ${classOf(each)}" d="${line}"></path>
      </g>
    `;
  });
  const figures = series.map((each) => `${nameOf(each)} ${msText(figureOf(each, value))}`);
  const over = ({ points }: Series): string =>
    points
      .map((point) => {
        const ms = of(point) ?? 0;
        return ms > axis.top ? `M${scale.x(point.at).toFixed(1)} ${real(ms).toFixed(1)}` : '';
      })
      .join('');
  const lines = series.map((each) => {
    const { line, dots } = linePath(pointsOf(each, of), scale.x, y, gap);
    return html`
      ${dotsOf(each, dots)}
      <path
        class="line ${classOf(each)}"
        data-name="${nameOf(each)}"
        data-over="${over(each)}"
        d="${line}"
      ></path>
    `;
  });
  return html`
    ${legend(series, value, { hasArea, hasPast: compared.length > 0 })}
    ${plot({
      step: results.step_s * 1_000,
      scale,
      axis,
      times,
      label: `Response time, ${label}: ${figures.join(', ')}`,
      drawn: html`${bands(ledger, scale, times)}${areas}${past}${lines}${deployLines(results, scale, times)}`,
    })}
    ${deployList(results, times)}
  `;
}

/** A shade less tall than this is not seen. */
const leastShade = 4;

export const weekMs = 7 * 86_400_000;

/** A shade, and a stack of columns, says as much with fewer of them, and weighs a third. */
const mostColumns = 72;

/**
 * Milliseconds of so many whole steps that few columns fill the chart, and each has a check of every
 * series: they take turns.
 */
function coarseStep(results: Results, interval_s = 0): number {
  const [from, to] = spanOf(results);
  const step = results.step_s * 1_000;
  const turn = interval_s * 1_000 * results.series.length;
  return step * Math.ceil(Math.max((to - from) / mostColumns, turn) / step);
}

/** From the lowest p50 to the highest p95 of each stretch of that length. */
function spreadOf({ points }: Series, long: number) {
  return [...Map.groupBy(points, ({ at }) => Math.floor(Date.parse(at) / long))].flatMap(
    ([, same]) => {
      const lows = same.flatMap((point) => values.p50.of(point) ?? []);
      const highs = same.flatMap((point) => values.p95.of(point) ?? []);
      return lows.length === 0 || highs.length === 0
        ? []
        : [{ at: Date.parse(same[0]?.at ?? ''), low: Math.min(...lows), high: Math.max(...highs) }];
    },
  );
}

/** Continents first, then private places. */
function inOrder(one: Series, other: Series): number {
  return one.place === null && other.place === null
    ? byContinent(one, other)
    : (one.place?.name ?? '').localeCompare(other.place?.name ?? '');
}

function scaleOf(results: Results): Scale {
  const [from, to] = spanOf(results);
  const ms = (at: number | string): number => (typeof at === 'number' ? at : Date.parse(at));
  return { from, to, x: (at) => ((ms(at) - from) / (to - from)) * width };
}

/** The time that the chart covers: from the first value, so that a young monitor fills it. */
function spanOf({ from, to, step_s, series }: Results): readonly [from: number, to: number] {
  const begins = series.flatMap(({ points }) => (points[0] ? [Date.parse(points[0].at)] : []));
  const end = Date.parse(to);
  // At least six steps, so that the first values are not drawn as one long line.
  const first = Math.min(...begins, end - 6 * step_s * 1_000);
  return [Math.max(Date.parse(from), first), end];
}

/** One slow response in a hundred must not flatten all others: the axis may end below it. */
function heightsOf(values: readonly number[]): Heights {
  const sorted = values.toSorted((a, b) => a - b);
  const axis = axisOf(
    Math.min(sorted.at(-1) ?? 1, 1.6 * (sorted[Math.floor(sorted.length * 0.98)] ?? 1)),
  );
  const real = (ms: number): number => height - (ms / axis.top) * height;
  return { axis, y: (ms) => Math.max(0, real(ms)), real };
}

function nameOf({ continent, place }: Series): string {
  return place?.name ?? shortName(continent);
}

function classOf({ continent, place }: Series): string {
  return place === null ? lineClass(continent) : 'line-own';
}

const phases = Object.entries(phaseNames).map(([key, label]) => ({ key, label }));

/** Where the time of a check goes: null for checks without phases, and where only hours are kept. */
export function phaseChart(results: Results, times: Times, interval_s: number): Html | null {
  const coarse = coarseStep(results, interval_s);
  const stacks = stacksOf(results, coarse);
  if (stacks.length === 0) return null;
  const scale = scaleOf(results);
  const { axis, y, real } = heightsOf(stacks.map(({ sums }) => sums.at(-1) ?? 0));
  const step = (coarse * width) / (scale.to - scale.from);
  /**
   * A column for each step above `least`, from the phases below to this one: a stroke as wide as a
   * step.
   */
  const columns = (phase: number, to: (ms: number) => number, least: number): string =>
    stacks
      .map(({ at, sums }) => {
        const [low, high] = [sums[phase - 1] ?? 0, sums[phase] ?? 0];
        return high > Math.max(low, least)
          ? `M${scale.x(at).toFixed(1)} ${to(high).toFixed(1)}v${(to(low) - to(high)).toFixed(1)}`
          : '';
      })
      .join('');
  const mean = (phase: number): number | null => phaseMean(stacks, phase);
  return html`
    <ul class="row chart-legend">
      <li class="softer">Mean</li>
      ${phases.map(
        ({ key, label }, at) =>
          html`
            <li>
              <svg viewBox="0 0 28 8" aria-hidden="true">
                <path class="phase-${key}" d="M0 0h28v8h-28z"></path>
              </svg>${label} <b>${msText(mean(at))}</b>
            </li>
          `,
      )}
    </ul>
    ${plot({
      step: coarse,
      scale,
      axis,
      times,
      label: `Phases, mean of all continents: ${phases
        .map(({ label }, at) => `${label} ${msText(mean(at))}`)
        .join(', ')}`,
      low: true,
      drawn: phases.map(
        ({ key, label }, at) =>
          html`
            <path
              class="phase-${key}"
              stroke-width="${step.toFixed(1)}"
              transform="translate(${(step / 2).toFixed(1)})"
              data-name="${label}"
              data-over="${columns(at, real, axis.top)}"
              d="${columns(at, y, 0)}"
            ></path>
          `,
      ),
    })}
  `;
}

/** The five phases of one step, each with those below it. */
type Stack = { readonly at: number; readonly sums: readonly number[] };

/** Means over all continents, by how many passes stand behind each, for each stretch so long. */
function stacksOf(results: Results, long = results.step_s * 1_000): readonly Stack[] {
  const points = results.series
    .flatMap((each) => each.points)
    .filter((point) => point.phases !== null);
  const [from] = spanOf(results);
  const begin = ({ at }: Point) => from + Math.floor((Date.parse(at) - from) / long) * long;
  return [...Map.groupBy(points, begin)]
    .map(([at, same]) => {
      const passes = same.reduce((sum, { ok }) => sum + ok, 0);
      const mean = (of: (point: Point) => number | null | undefined): number =>
        same.reduce((sum, point) => sum + (of(point) ?? 0) * point.ok, 0) / Math.max(1, passes);
      const [dns, tcp, tls, wait] = [
        mean(({ phases: p }) => p?.dns_ms),
        mean(({ phases: p }) => p?.tcp_ms),
        mean(({ phases: p }) => p?.tls_ms),
        mean(({ phases: p }) => p?.first_byte_ms),
      ];
      const total = Math.max(
        dns + tcp + tls + wait,
        mean(({ phases: p }) => p?.total_ms),
      );
      return {
        at,
        sums: [dns, dns + tcp, dns + tcp + tls, dns + tcp + tls + wait, total],
      };
    })
    .toSorted((a, b) => a.at - b.at);
}

function phaseMean(stacks: readonly Stack[], phase: number): number | null {
  return stacks.length === 0
    ? null
    : stacks.reduce((sum, { sums }) => sum + (sums[phase] ?? 0) - (sums[phase - 1] ?? 0), 0) /
        stacks.length;
}

type Plot = {
  /** Of an arrow key. */
  readonly step: number;
  readonly scale: Scale;
  readonly axis: Heights['axis'];
  readonly times: Times;
  readonly label: string;
  /** Drawn lower, below another that has the same times. */
  readonly low?: boolean;
  readonly drawn: Html | readonly Html[];
};

/**
 * A drawing between its axes. `data-…` is what the script needs to say what stands under the
 * pointer; it draws the crosshair into the last two elements.
 */
function plot({ step, scale, axis, times, label, low = false, drawn }: Plot): Html {
  const { from, to } = scale;
  return html`
    <div class="chart${low && ' chart-low'}">
      <ul class="chart-y" aria-hidden="true">
        ${axis.ticks
          .toReversed()
          .map((tick, at) => html`<li>${countText(tick)}${at === 0 && ' ms'}</li>`)}
      </ul>
      <div
        class="chart-plot"
        tabindex="0"
        data-chart
        data-from="${from}"
        data-to="${to}"
        data-top="${axis.top}"
        data-step="${step}"
        data-zone="${times.zone}"
      >
        <svg
          viewBox="0 0 ${width} ${height}"
          preserveAspectRatio="none"
          role="img"
          aria-label="${label}"
        >
          <path
            class="grid"
            d="${axis.ticks
              .map((tick) => `M0 ${(height - (tick / axis.top) * height).toFixed(1)}H${width}`)
              .join('')}"
          ></path>
          ${drawn}
        </svg>
        <b hidden></b>
        <i hidden></i>
        <output hidden></output>
      </div>
      <ul class="chart-x" aria-hidden="true">
        ${axisTimes(momentsBetween(from, to, 5), times).map((words) => html`<li>${words}</li>`)}
      </ul>
    </div>
  `;
}

const day = 86_400_000;

/** Each names its day where that is another than of the one before it. */
function axisTimes(moments: readonly number[], times: Times): readonly string[] {
  const long = (moments.at(-1) ?? 0) - (moments[0] ?? 0);
  const dates = moments.map((at) => times.text(at, 'day'));
  if (long > 200 * day) return dates.map((date) => date.replace(/^\d+ /, ''));
  const days = dates.map((date) => date.slice(0, -5));
  if (long > 4 * day) return days;
  return moments.map((at, nth) => {
    const isNew = days[0] !== days.at(-1) && days[nth] !== days[nth - 1];
    return `${isNew ? `${days[nth]}, ` : ''}${times.text(at, 'minute')}`;
  });
}

function legend(
  series: readonly Series[],
  value: ChartValue,
  { hasArea, hasPast }: { readonly hasArea: boolean; readonly hasPast: boolean },
): Html {
  return html`
    <ul class="row chart-legend">
      <li class="softer">${valueLabel(value)}</li>
      ${series.map(
        (each) =>
          html`
            <li>
              <svg viewBox="0 0 28 8" aria-hidden="true">
                <path class="line ${classOf(each)}" d="M0 4h28"></path>
              </svg>${nameOf(each)} <b>${msText(figureOf(each, value))}</b>
            </li>
          `,
      )}
      ${hasArea && html`<li class="softer">Shaded: p50 to p95</li>`}
      ${hasPast && html`<li class="softer">Faint: the week before</li>`}
    </ul>
  `;
}

const bandWords: Readonly<Record<string, string>> = {
  down: 'Down',
  maintenance: 'Maintenance',
  unknown: 'No data',
};

const maxBands = 1_000;

/** Downtime, maintenance and gaps behind the lines: each says its time. */
function bands(
  { stretches }: Pick<Ledger, 'stretches'>,
  { from, to, x }: Scale,
  times: Times,
): readonly Html[] {
  return stretches
    .filter(
      (each) =>
        bandWords[each.state] !== undefined &&
        Date.parse(each.from) < to &&
        Date.parse(each.to) > from,
    )
    .slice(0, maxBands)
    .map((each) => {
      const begin = Math.max(0, x(each.from));
      const long = Math.max(2, Math.min(width, x(each.to)) - begin);
      const top = each.state === 'unknown' ? height - 4 : 0;
      const duration = durationText(Date.parse(each.to) - Date.parse(each.from));
      return html`
        <path
          class="band-${each.state}"
          d="M${begin.toFixed(1)} ${top}h${long.toFixed(1)}V${height}h-${long.toFixed(1)}z"
        >
          <title>
            ${each.window_name ?? bandWords[each.state]}, ${times.text(each.from, 'moment')},
            ${duration}
          </title>
        </path>
      `;
    });
}

function deployLines({ deploys }: Results, { from, x }: Scale, times: Times): readonly Html[] {
  return deploys
    .filter(({ at }) => Date.parse(at) >= from)
    .map(
      ({ at, name }) =>
        html`
          <path class="deploy" d="M${x(at).toFixed(1)} 0v${height}">
            <title>${name}, ${times.text(at, 'moment')}</title>
          </path>
        `,
    );
}

/** Deploys by name, because a line can only be pointed at. */
function deployList({ deploys }: Results, times: Times): Html | null {
  return deploys.length === 0
    ? null
    : html`
      <p class="soft">
        Deploys: ${joined(
          deploys.map(({ at, name }) => html`${times.moment(at)} ${name}`),
          ' · ',
        )}
      </p>
    `;
}

const maxRows = 16;

/** Both charts in numbers, with as many rows as a person reads. */
export function responseTable(results: Results, times: Times, value: ChartValue): Html {
  const series = results.series.toSorted(inOrder);
  const stacks = stacksOf(results);
  const shownPhases = stacks.length === 0 ? [] : phases;
  const [from, to] = spanOf(results);
  const steps = Math.max(1, Math.round((to - from) / (results.step_s * 1_000)));
  const step = (to - from) / Math.min(maxRows, steps);
  const rows = Array.from(
    { length: Math.round((to - from) / step) },
    (_, at) => from + at * step,
  ).toReversed();
  const isInside = (at: number, begin: number): boolean => at >= begin && at < begin + step;
  const inside = (points: readonly Point[], begin: number): Point[] =>
    points.filter(({ at }) => isInside(Date.parse(at), begin));
  const cell = (points: readonly Point[]): Html => {
    const failed = points.reduce((sum, point) => sum + point.failed, 0);
    return html`
      ${msText(meanOf(points, value))}
      ${failed > 0 && html`<span class="state-down">, ${countText(failed)} failed</span>`}
    `;
  };
  return html`
    <div class="table-scroll" tabindex="0" role="region" aria-label="Response times as a table">
      <table>
        <caption class="soft">
          ${valueLabel(value)} response time${value !== 'mean' && ` per ${briefDuration(results.step_s * 1_000)}, averaged over each row`}${shownPhases.length > 0 && '; phases are means of all continents'}
        </caption>
        <thead>
          <tr>
            <th scope="col">From</th>
            ${series.map((each) => html`<th scope="col" class="number">${each.place?.name ?? each.continent}</th>`)}
            ${shownPhases.map(({ label }) => html`<th scope="col" class="number">${label}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${rows.flatMap((begin) => {
            const cells = series.map(({ points }) => inside(points, begin));
            const own = stacks.filter(({ at }) => isInside(at, begin));
            return cells.every((points) => points.length === 0)
              ? []
              : [
                  html`
                    <tr>
                      <td>${times.moment(begin)}</td>
                      ${cells.map((points) => html`<td class="number">${cell(points)}</td>`)}
                      ${shownPhases.map(
                        (_, phase) =>
                          html`<td class="number">${msText(phaseMean(own, phase))}</td>`,
                      )}
                    </tr>
                  `,
                ];
          })}
        </tbody>
      </table>
    </div>
  `;
}
