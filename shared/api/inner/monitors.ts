import { array, dateTime, integer, literal, nullable, number, object, optional, string, uuid } from '../fields.ts';
import { daysBounds } from '../monitors.ts';
import { innerOperation } from '../operation.ts';

/** What pages show of a monitor beside what the API has. */

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
  days: integer(),
  from: dateTime({ description: 'The later of the creation of the monitor and so many days back.' }),
  to: dateTime(),
  percent: nullable(number()),
  up_seconds: number(),
  down_seconds: number(),
  maintenance_seconds: number(),
  unknown_seconds: number(),
  paused_seconds: number(),
  stretches: array(StretchOut),
  left_out: integer({}, { description: 'How many older stretches are not listed; the sums count them.' }),
});

export const explainUptime = innerOperation({
  id: 'explainUptime',
  access: 'read',
  summary: 'Explain the uptime of a monitor: every second of the window, newest stretch first',
  params: { monitor_id: uuid() },
  query: { days: optional(integer(daysBounds), 30) },
  response: LedgerOut,
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

export const listMonitorResults = innerOperation({
  id: 'listMonitorResults',
  access: 'read',
  summary: 'Response times and outcomes of a monitor by continent, for charts',
  params: { monitor_id: uuid() },
  query: { window: optional(literal(resultWindows), '24h') },
  response: object('ResultSeriesOut', {
    monitor: uuid(),
    from: dateTime(),
    to: dateTime(),
    step_s: integer(),
    source: string({ description: '`raw` or `hourly`.' }),
    series: array(object('ContinentSeriesOut', { continent: string(), points: array(PointOut) })),
  }),
  refusals: ['monitor_not_found'],
});

export const getMonitorChoices = innerOperation({
  id: 'getMonitorChoices',
  access: 'read',
  summary: 'What a new or changed monitor may choose from: places, groups, and what the plan allows',
  response: object('MonitorChoicesOut', {
    continents: array(string(), { description: 'Where public probes are.' }),
    probes: array(object('PrivateProbeOut', { id: uuid(), name: string(), continent: string() }), {
      description: 'The private probes of the organisation.',
    }),
    groups: array(object('GroupChoiceOut', { id: uuid(), name: string() })),
    plan: string(),
    min_interval_s: integer({}, { description: 'The plan checks no oftener.' }),
    monitors: integer({}, { description: 'How many there are.' }),
    most_monitors: nullable(integer(), { description: 'How many the plan allows; null: any number.' }),
  }),
});
