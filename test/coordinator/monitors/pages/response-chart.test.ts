import { expect, test } from 'vitest';
import {
  type Results,
  responseChart,
  responseTable,
  valuesOf,
} from '../../../../coordinator/monitors/pages/response-chart.ts';
import { timesIn } from '../../../../coordinator/web/times.ts';

/** Points with this many passes and this median. */
const resultsOf = (
  ...points: readonly (readonly [ok: number, median: number | null])[]
): Results => {
  const common = { failed: 0, unknown: 0, mean_ms: 5, min_ms: 1, max_ms: 9 };
  const at = '2026-11-20T00:00:00.000Z';
  return {
    monitor: '0198a6f0-0000-7000-8000-000000000001',
    from: at,
    to: '2026-11-21T00:00:00.000Z',
    step_s: 3_600,
    source: 'hourly',
    series: [
      {
        continent: 'Asia',
        place: null,
        percentiles: null,
        phases: null,
        points: points.map(([ok, median_ms]) => ({
          ...common,
          at,
          ok,
          median_ms,
          p95_ms: median_ms,
          p99_ms: median_ms,
          phases: null,
        })),
      },
    ],
    percentiles: null,
    deploys: [],
  };
};

test('a chart shows percentiles first where all passes have them, and means where some do not', () => {
  expect(valuesOf(resultsOf([3, 5], [0, null]))[0]).toBe('p50');
  expect(valuesOf(resultsOf([3, 5], [3, null]))).toEqual(['mean', 'p50', 'p95', 'p99']);
  expect(valuesOf(resultsOf([3, null]))).toEqual(['mean']);
});

test('the table has the values that the chart shows, says which, and has the phases too', () => {
  const results = resultsOf([3, 1_200], [1, 2_000]);
  const tableOf = (shown: Results, value: 'mean' | 'p99') => {
    const table = String(responseTable(shown, timesIn('UTC', 0), value));
    const cells = [...table.matchAll(/<t[dh][^>]*class="number"[^>]*>([^<]*)</g)];
    return [/<caption[^>]*>([^<]*)</.exec(table)?.[1], ...cells.map(([, text]) => text?.trim())];
  };
  expect(tableOf(results, 'mean')).toEqual(['Mean response time', 'Asia', '5 ms']);
  expect(tableOf(results, 'p99')).toEqual([
    'p99 response time per 1 h, averaged over each row',
    'Asia',
    '1.40 s',
  ]);
  const phases = { dns_ms: 1, tcp_ms: 2, tls_ms: 3, first_byte_ms: 4, total_ms: 20 };
  const [asia] = results.series;
  if (asia === undefined) throw new Error('there is no series');
  const points = asia.points.map((point) => ({ ...point, phases }));
  expect(tableOf({ ...results, series: [{ ...asia, points }] }, 'mean')).toEqual([
    'Mean response time; phases are means of all continents',
    ...['Asia', 'DNS', 'TCP', 'TLS', 'TTFB', 'Body'],
    ...['5 ms', '1 ms', '2 ms', '3 ms', '4 ms', '10 ms'],
  ]);
});

const drawingOf = (results: Results, value: 'p50' | 'p95' = 'p50', before?: Results) =>
  responseChart({
    results,
    value,
    ledger: { stretches: [] },
    times: timesIn('UTC', 0),
    interval_s: 60,
    ...(before && { before }),
  });
const drawnOf = (...given: Parameters<typeof drawingOf>): string => String(drawingOf(...given));

/** As many points as a chart needs. */
const five = Array.from({ length: 5 }, () => [3, 1_200] as const);

test('the legend says what is drawn, and its figure', () => {
  const results = resultsOf(...five);
  const [asia] = results.series;
  if (asia === undefined) throw new Error('there is no series');
  const percentiles = { p50_ms: 7, p95_ms: 900, p99_ms: 1_000 };
  const drawn = drawnOf({ ...results, series: [{ ...asia, percentiles }] }, 'p95');
  expect(drawn).toContain('<li class="softer">p95</li>');
  expect(drawn).toContain('Asia <b>900 ms</b>');
  expect(drawn).not.toContain('Mean');
});

test('the axis names the day wherever another begins, and the month of a year', () => {
  const axisOf = (from: string, to: string) => {
    const results = { ...resultsOf(...five), from, to, step_s: 60 };
    const [asia] = results.series;
    const points = asia?.points.map((point) => ({ ...point, at: from })) ?? [];
    const drawn = drawnOf({ ...results, series: asia ? [{ ...asia, points }] : [] });
    const axis = drawn.slice(drawn.indexOf('chart-x'));
    return [...axis.matchAll(/<li>([^<]*)</g)].map(([, words]) => words);
  };
  expect(axisOf('2026-11-20T04:00:00.000Z', '2026-11-20T20:00:00.000Z')).toEqual([
    ...['04:00', '08:00', '12:00', '16:00', '20:00'],
  ]);
  expect(axisOf('2026-11-20T12:00:00.000Z', '2026-11-22T12:00:00.000Z')).toEqual([
    ...['20 Nov, 12:00', '21 Nov, 00:00', '12:00', '22 Nov, 00:00', '12:00'],
  ]);
  expect(axisOf('2026-11-02T00:00:00.000Z', '2026-11-10T00:00:00.000Z')).toEqual([
    ...['2 Nov', '4 Nov', '6 Nov', '8 Nov', '10 Nov'],
  ]);
  expect(axisOf('2025-11-20T00:00:00.000Z', '2026-11-20T00:00:00.000Z')[0]).toBe('Nov 2025');
});

test('nothing is drawn, and no axis, where fewer than five points passed', () => {
  expect(drawingOf(resultsOf([0, null], [0, null], ...five.slice(1)))).toBe(null);
});

test('a point alone is a dot, and no shade is named where none is seen', () => {
  const results = resultsOf(...five, [3, 1_200]);
  const [asia] = results.series;
  if (asia === undefined) throw new Error('there is no series');
  const hours = [0, 1, 2, 3, 4, 20];
  const points = asia.points.map((point, nth) => ({
    ...point,
    at: `2026-11-20T${String(hours[nth]).padStart(2, '0')}:00:00.000Z`,
  }));
  const drawn = drawnOf({ ...results, series: [{ ...asia, points }] });
  expect(/class="line dots line-asia" d="([^"]*)"/.exec(drawn)?.[1]).toMatch(/^M833\.3 [\d.]+h0$/);
  expect(drawn).not.toContain('Shaded');
  const wide = points.map((point) => ({ ...point, p95_ms: 2_400 }));
  expect(drawnOf({ ...results, series: [{ ...asia, points: wide }] })).toContain('Shaded');
});

test('the week before lies faintly under the same hours, and is named', () => {
  const results = resultsOf(...five);
  const [asia] = results.series;
  if (asia === undefined) throw new Error('there is no series');
  const points = asia.points.map((point) => ({ ...point, at: '2026-11-13T00:00:00.000Z' }));
  const drawn = drawnOf(results, 'p50', { ...results, series: [{ ...asia, points }] });
  const [, past] =
    /<g class="past">.*?<path class="line line-asia"\s+d="([^"]*)"/.exec(drawn) ?? [];
  expect(past).toBe(/data-name="Asia"\s+data-over=""\s+d="([^"]*)"/.exec(drawn)?.[1]);
  expect(drawn).toContain('Faint: the week before');
  expect(drawnOf(results)).not.toContain('week before');
});
