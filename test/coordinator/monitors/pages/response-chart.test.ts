import { expect, test } from 'vitest';
import {
  type Results,
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
    ...['Asia', 'DNS', 'Connect', 'TLS', 'Wait', 'Download'],
    ...['5 ms', '1 ms', '2 ms', '3 ms', '4 ms', '10 ms'],
  ]);
});
