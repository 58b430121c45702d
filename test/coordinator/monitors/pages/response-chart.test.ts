import { expect, test } from 'vitest';
import { type Results, valuesOf } from '../../../../coordinator/monitors/pages/response-chart.ts';

/** Points with this many passes and this median. */
const resultsOf = (
  ...points: readonly (readonly [ok: number, median: number | null])[]
): Results => {
  const common = { failed: 0, unknown: 0, mean_ms: 5, least_ms: 1, most_ms: 9 };
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
