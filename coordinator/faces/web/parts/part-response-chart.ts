import type { getMonitorResults } from '../../../../shared/api/monitors.ts';
import type { OutputOf } from '../../../../shared/api/operation.ts';
import { type Html, html } from '../web-html.ts';
import type { Times } from '../web-times.ts';
import { axisOf, linePath, momentsBetween } from './part-chart-scale.ts';
import { byContinent, lineClass, shortName } from './part-continents.ts';
import { countText } from './part-figures.ts';

export type Results = OutputOf<typeof getMonitorResults>;
type Series = Results['series'][number];
type Point = Series['points'][number];

/** A stretch of the ledger that is worth a band behind the lines. */
export type Band = { readonly from: string; readonly to: string; readonly state: string };

const [width, height] = [1_000, 240];

/** The middle where it is known; the mean of an hour where only hours are kept. */
const middleOf = ({ median_ms, mean_ms }: Point): number | null => median_ms ?? mean_ms;

/** Of all passes in the window. */
export const meanOf = (points: readonly Point[]): number | null => {
  const seen = points.filter(({ mean_ms, ok }) => mean_ms !== null && ok > 0);
  const count = seen.reduce((sum, { ok }) => sum + ok, 0);
  return count === 0 ? null : seen.reduce((sum, { mean_ms, ok }) => sum + (mean_ms ?? 0) * ok, 0) / count;
};

const msText = (ms: number | null): string => (ms === null ? '–' : `${countText(Math.round(ms))} ms`);

const timeText = (at: number, times: Times, long: number): string => {
  const text = times.text(at, long > 3 * 86_400_000 ? 'day' : 'precise');
  return long > 3 * 86_400_000 ? text.slice(0, -5) : text.slice(0, 5);
};

const bandPath = (bands: readonly Band[], state: string, x: (at: number) => number): string =>
  bands
    .filter((band) => band.state === state)
    .map(({ from, to }) => {
      const begin = Math.max(0, x(Date.parse(from)));
      const long = Math.max(2, Math.min(width, x(Date.parse(to))) - begin);
      return begin > width || x(Date.parse(to)) < 0 ? '' : `M${begin.toFixed(1)} 0h${long.toFixed(1)}v${height}h-${long.toFixed(1)}z`;
    })
    .join('');

const legend = (series: readonly Series[]): Html =>
  html`<ul class="chart-legend">${series.map(
    ({ continent, points }) =>
      html`<li><svg viewBox="0 0 28 8" aria-hidden="true"><path class="line ${lineClass(continent)}" d="M0 4h28"></path></svg>${shortName(continent)} <b>${msText(meanOf(points))}</b></li>`,
  )}</ul>`;

/** Response times by continent, as lines that differ by dashes too, with what was down behind them. */
export const responseChart = (results: Results, bands: readonly Band[], times: Times): Html => {
  const series = results.series.toSorted(byContinent);
  const [from, to] = [Date.parse(results.from), Date.parse(results.to)];
  const values = series.flatMap(({ points }) => points.flatMap((point) => middleOf(point) ?? [])).toSorted((a, b) => a - b);
  // One slow answer in a hundred must not press all others to the ground.
  const most = Math.min(values.at(-1) ?? 1, 1.6 * (values[Math.floor(values.length * 0.98)] ?? 1));
  const { top, ticks } = axisOf(most);
  const x = (at: number): number => ((at - from) / (to - from)) * width;
  const y = (value: number): number => height - (Math.min(value, top) / top) * height;
  const gap = results.step_s * 1_000 * 3.5;
  const words = series.map(({ continent, points }) => `${continent} ${msText(meanOf(points))}`).join(', ');
  return html`${legend(series)}<div class="chart"><ul class="chart-y" aria-hidden="true">${ticks.toReversed().map((tick) => html`<li>${countText(tick)}</li>`)}</ul>
<svg viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" role="img" aria-label="Mean response time: ${words === '' ? 'nothing yet' : words}"><path class="grid" d="${ticks
    .map((tick) => `M0 ${y(tick).toFixed(1)}H${width}`)
    .join('')}"></path>${['down', 'maintenance', 'unknown'].map(
    (state) => html`<path class="band band-${state}" d="${bandPath(bands, state, x)}"></path>`,
  )}${series.map(
    ({ continent, points }) =>
      html`<path class="line ${lineClass(continent)}" d="${linePath(
        points.map((point) => ({ at: Date.parse(point.at), value: middleOf(point) })),
        x,
        y,
        gap * Math.max(1, series.length),
      )}"></path>`,
  )}</svg>
<ul class="chart-x" aria-hidden="true">${momentsBetween(from, to, 5).map((at) => html`<li>${timeText(at, times, to - from)}</li>`)}</ul></div>`;
};

const mostRows = 32;

/** The same in numbers: so many rows that a person reads them. */
export const responseTable = (results: Results, times: Times): Html => {
  const series = results.series.toSorted(byContinent);
  const [from, to] = [Date.parse(results.from), Date.parse(results.to)];
  const step = (to - from) / Math.min(mostRows, Math.round((to - from) / (results.step_s * 1_000)));
  const rows = Array.from({ length: Math.round((to - from) / step) }, (_, at) => from + at * step).toReversed();
  const inside = (points: readonly Point[], begin: number): Point[] =>
    points.filter(({ at }) => Date.parse(at) >= begin && Date.parse(at) < begin + step);
  const cell = (points: readonly Point[]): Html => {
    const failed = points.reduce((sum, point) => sum + point.failed, 0);
    return html`${msText(meanOf(points))}${failed > 0 && html`<span class="state-down">, ${countText(failed)} failed</span>`}`;
  };
  return html`<div class="table-scroll" tabindex="0" role="region" aria-label="Response times as a table"><table><thead><tr><th scope="col">From</th>${series.map(
    ({ continent }) => html`<th scope="col" class="number">${continent}</th>`,
  )}</tr></thead><tbody>${rows.flatMap((begin) => {
    const cells = series.map(({ points }) => inside(points, begin));
    return cells.every((points) => points.length === 0)
      ? []
      : [html`<tr><td>${times.moment(begin)}</td>${cells.map((points) => html`<td class="number">${cell(points)}</td>`)}</tr>`];
  })}</tbody></table></div>`;
};
