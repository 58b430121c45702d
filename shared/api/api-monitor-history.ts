import { array, dateTime, integer, literal, nullable, number, object, optional, string, uuid } from './api-fields.ts';
import { daysBounds, UptimeOut } from './api-monitors.ts';
import { operation } from './api-operation.ts';

/** What became of a monitor over time. */

const ledgerState = string({ description: '`up`, `down`, `maintenance`, `unknown` or `paused`.' });

const StretchOut = object('StretchOut', {
  from: dateTime(),
  to: dateTime(),
  state: ledgerState,
  incident: nullable(uuid(), { description: 'The confirmed incident that made it count as down.' }),
  window: nullable(uuid(), { description: 'The maintenance window that covered it.' }),
  window_name: nullable(string()),
});

const LedgerOut = object('LedgerOut', {
  monitor: uuid(),
  ...UptimeOut.shape,
  stretches: array(StretchOut),
  left_out: integer({}, { description: 'How many older stretches are not listed; the sums count them.' }),
});

export const getMonitorLedger = operation({
  id: 'getMonitorLedger',
  method: 'GET',
  path: '/api/v1/monitors/{monitor_id}/ledger',
  tag: 'Monitor history',
  access: 'read',
  summary: 'Get the ledger of a monitor: what its uptime is made of',
  description:
    'Every second of the window in stretches, newest first, each with its state and what made it so. The stretches and the sums come from one reading and always fit.',
  params: { monitor_id: uuid() },
  query: { days: optional(integer(daysBounds, { description: 'How many days the ledger looks back.' }), 30) },
  response: LedgerOut,
  success: 200,
  refusals: ['monitor_not_found'],
});

/** How far charts look back, each with how long a point lasts and what it is made of. */
export const resultWindows = ['24h', '7d', '30d', '1y'] as const;

const PointOut = object('PointOut', {
  at: dateTime({ description: 'When the stretch of this point begins.' }),
  ok: integer(),
  failed: integer(),
  unknown: integer(),
  mean_ms: nullable(number(), { description: 'Of the passes; null when there was none.' }),
  least_ms: nullable(number()),
  most_ms: nullable(number()),
  median_ms: nullable(number(), { description: 'Known where raw results are read.' }),
  p95_ms: nullable(number()),
});

export const getMonitorResults = operation({
  id: 'getMonitorResults',
  method: 'GET',
  path: '/api/v1/monitors/{monitor_id}/results',
  tag: 'Monitor history',
  access: 'read',
  summary: 'Get response times and outcomes of a monitor by continent',
  description:
    'A point for each step that has results. `24h` is read from raw results and has percentiles; longer windows are read from hours and have mean, least and most.',
  params: { monitor_id: uuid() },
  query: { window: optional(literal(resultWindows, { description: 'How far the series look back.' }), '24h') },
  response: object('ResultSeriesOut', {
    monitor: uuid(),
    from: dateTime(),
    to: dateTime(),
    step_s: integer(),
    source: string({ description: '`raw` or `hourly`.' }),
    series: array(object('ContinentSeriesOut', { continent: string(), points: array(PointOut) })),
  }),
  success: 200,
  refusals: ['monitor_not_found'],
});
