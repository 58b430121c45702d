import { listMonitorFigures } from '../../../shared/api/inner/inner-figures.ts';
import type { RestOperation } from '../../../shared/api/operation.ts';
import { figuresText, figuresType } from './rest-figures.ts';
import { prefix } from './rest-urls.ts';

/** What the document says of the one answer that is no JSON: figures in the text of Prometheus. */

export const figuresOperation: RestOperation = {
  ...listMonitorFigures,
  ...{ id: 'getMetrics', method: 'GET', path: `${prefix}/metrics`, tag: 'Metrics', success: 200 },
  summary: 'Get figures of all monitors for Prometheus',
  description:
    'The text format of Prometheus, version 0.0.4: `antipode_monitor_up`, `antipode_monitor_status` and `antipode_monitor_response_seconds` of as many monitors as the plan allows. What is not known has no row. A read token is enough.',
};

const monitor = { id: '0190a7c4-5b1e-7c3d-9f42-6a8b1c2d3e4f', name: 'Shop', type: 'https', status: 'up', is_up: true, response_ms: 182 };

export const figuresSuccess = (headers: Readonly<Record<string, unknown>>) => ({
  200: {
    description: 'What was asked for.',
    headers,
    content: { [figuresType]: { schema: { type: 'string' }, example: figuresText({ items: [monitor], left_out: 0 }) } },
  },
});
