import type { getMonitorResults as operation } from '../../../shared/api/monitors.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { monitorKey } from '../../store/store-monitors.ts';
import { hourlySeries, rawSeries, type SeriesRow } from '../../store/store-result-series.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';

const hour = 3_600;
const day = 24 * hour;

/** So many points that a chart on a ping intake is full and a phone not slow. */
const windows = {
  '24h': { long_s: day, step_s: 300, source: 'raw' },
  '7d': { long_s: 7 * day, step_s: hour, source: 'hourly' },
  '30d': { long_s: 30 * day, step_s: 4 * hour, source: 'hourly' },
  '1y': { long_s: 365 * day, step_s: day, source: 'hourly' },
} as const;

const rounded = (ms: number | null): number | null => (ms === null ? null : Math.round(ms * 10) / 10);

export const getMonitorResults = async (
  { sql, organisation, now }: InOrganisation,
  { monitor_id: id, window }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const key = found(await monitorKey(sql, organisation.id, id), 'monitor_not_found');
  const { long_s, step_s, source } = windows[window];
  // Whole steps, so that a point says the same from one reading to the next; the last one is still filling.
  const to = Math.ceil(now / (step_s * 1_000)) * step_s * 1_000;
  const from = to - long_s * 1_000;
  const rows = await (source === 'raw' ? rawSeries : hourlySeries)(sql, key, { from, to }, step_s);
  const pointOf = ({ slot, ok, failed, unknown, mean, least, most, median, p95 }: SeriesRow) => ({
    at: new Date(from + slot * step_s * 1_000).toISOString(),
    ...{ ok, failed, unknown },
    mean_ms: rounded(mean),
    least_ms: rounded(least),
    most_ms: rounded(most),
    median_ms: rounded(median),
    p95_ms: rounded(p95),
  });
  const of = Map.groupBy(rows, (row) => row.continent);
  return {
    ...{ monitor: id, step_s, source },
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    series: [...of].map(([continent, points]) => ({ continent, points: points.map(pointOf) })),
  };
};
