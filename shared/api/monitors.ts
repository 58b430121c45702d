import { isRecord } from '../base/json.ts';
import {
  array,
  boolean,
  dateTime,
  defaulted,
  dict,
  grown,
  integer,
  literal,
  maybe,
  nullable,
  number,
  object,
  optional,
  shortString,
  string,
  uuid,
  valueFault,
} from './fields.ts';
import { operation, page, pageQuery } from './operation.ts';

const config = { description: 'Settings of the type. Secret values come back as `***`; sending `***` leaves them as they are.' };

export const MonitorOut = object('MonitorOut', {
  id: uuid(),
  name: string(),
  type: string({ description: '`https`, `dns` or `heartbeat`; never changes.' }),
  target: string({ description: 'The address being watched.' }),
  interval_s: integer({}, { description: 'Seconds between checks.' }),
  enabled: boolean({ description: 'False while paused.' }),
  config: dict(config),
  group: maybe(uuid(), { description: 'The group that the monitor is in.' }),
  affects_group_status: optional(boolean(), true),
  created_at: dateTime(),
  status: grown(string({ description: '`pending`, `up`, `verifying`, `down` or `paused`.' }), 'pending'),
  since: maybe(dateTime(), { description: 'When that status began.' }),
  last_checked_at: maybe(dateTime(), { description: 'When the newest check began that passed or failed; null before the first.' }),
  external_id: maybe(string(), { description: 'What a program calls it by; unique among the monitors of the organisation.' }),
  tags: grown(array(string()), []),
});

const tagWords = 'Up to 20 words of up to 50 characters, kept in small letters.';
const tags = array(string({ minLength: 1, maxLength: 50, pattern: '^[^,\\s]+$' }), { maxItems: 20 });
/**
 * Not an enumeration: clients generated from the document expect a text here, and other types may
 * follow.
 */
const types = { pattern: '^(?:https|dns|heartbeat)$' };

const MonitorPage = page('MonitorPage', MonitorOut);

export const MonitorIn = object('MonitorIn', {
  type: string({ ...types, description: '`https`, `dns` or `heartbeat`.' }),
  target: optional(string({ description: 'An address for https, a name for dns, nothing for a heartbeat.' }), ''),
  name: optional(string({ description: 'When empty, the host of the target.' }), ''),
  interval_s: maybe(integer(), { description: 'Seconds; 60 or the floor of the plan when not given.' }),
  config: maybe(dict(), config),
  group: maybe(uuid()),
  affects_group_status: defaulted(
    boolean({ description: 'Whether it counts for the status of its group; not sent, a known one keeps its own.' }),
    true,
  ),
  external_id: maybe(string(), {
    description: 'What your program calls it by, up to 200 characters. Where a monitor has it already, that one is changed.',
  }),
  tags: maybe(tags, { description: tagWords }),
});

const MonitorPatch = object(
  'MonitorPatch',
  {
    name: maybe(string(), { description: 'An empty one is the host of the target again; null leaves it.' }),
    target: maybe(string()),
    interval_s: maybe(integer()),
    config: maybe(dict(), config),
    enabled: maybe(boolean(), { description: 'False pauses the monitor, true resumes it.' }),
    group: maybe(uuid(), { description: 'The group that it moves to; null leaves it where it is, and `ungroup` takes it out.' }),
    ungroup: optional(boolean({ description: 'True takes the monitor out of its group; not together with `group`.' }), false),
    affects_group_status: maybe(boolean()),
    external_id: maybe(string(), { description: 'An empty one takes it away.' }),
    tags: maybe(tags, { description: `All of them from now on; an empty list takes them away. ${tagWords}` }),
  },
  { description: 'A field that is not sent, or null, stays as it is.' },
  ({ group, ungroup }, place) =>
    group !== null && ungroup
      ? valueFault(
          [...place, 'ungroup'],
          'send either `group`, to move the monitor there, or `ungroup`, to take it out of its group, not both',
          ungroup,
        )
      : undefined,
);

export const UptimeOut = object('UptimeOut', {
  days: integer(),
  percent: nullable(number(), { description: 'Null when nothing in the window counts.' }),
  down_seconds: number(),
  from: grown(dateTime({ description: 'The later of the creation of the monitor and so many days back.' }), ''),
  to: grown(dateTime(), ''),
  up_seconds: grown(number({ description: 'The five states of seconds always add up to the time from `from` to `to`.' }), 0),
  maintenance_seconds: grown(number(), 0),
  unknown_seconds: grown(number(), 0),
  paused_seconds: grown(number(), 0),
});

export const StatusOut = object('StatusOut', {
  monitor: uuid(),
  status: string({ description: '`pending`, `up`, `verifying`, `down` or `paused`.' }),
  since: nullable(dateTime()),
  last_checked_at: nullable(dateTime()),
  enabled: boolean(),
  uptime: UptimeOut,
});

const monitorId = { monitor_id: uuid() };

export const daysBounds = { ge: 1, le: 365 } as const;

export const monitorRefusals = [
  'target_invalid',
  'target_forbidden',
  'config_invalid',
  'interval_out_of_range',
  'name_invalid',
  'nobody_can_check',
  'plan_limit_interval',
  'group_not_found',
  'external_id_invalid',
  'tags_invalid',
] as const;

export const listMonitors = operation({
  id: 'listMonitors',
  method: 'GET',
  path: '/api/v1/monitors',
  tag: 'Monitors',
  access: 'read',
  summary: 'List monitors',
  description:
    'Oldest first, unless `sort` says otherwise. A walk goes on after the last row of the page before: what is created meanwhile shifts nothing. With `sort=name` or `sort=changed` a monitor that moves in the order during a walk may be missed by it.',
  query: {
    status: maybe(literal(['pending', 'up', 'verifying', 'down', 'paused']), {
      description: 'Only monitors whose kept status is this: a silence that nobody has noticed yet is not in it.',
    }),
    type: maybe(literal(['https', 'dns', 'heartbeat']), { description: 'Only monitors of this type.' }),
    group: maybe(uuid(), { description: 'Only monitors of this group.' }),
    enabled: maybe(boolean(), { description: 'True: only those that are checked; false: only paused ones.' }),
    tag: maybe(string(), { description: 'Only monitors with this tag.' }),
    external_id: maybe(string(), { description: 'Only the monitor of this external id.' }),
    text: maybe(shortString(1_000), {
      description: 'Only monitors with each of these words in their name, target, group or tags.',
    }),
    sort: optional(literal(['created', 'name', 'changed'], {}), 'created'),
    ...pageQuery,
  },
  response: MonitorPage,
  success: 200,
  refusals: ['group_not_found'],
});

export const createMonitor = operation({
  id: 'createMonitor',
  method: 'POST',
  path: '/api/v1/monitors',
  tag: 'Monitors',
  access: 'write',
  summary: 'Create a monitor',
  description:
    'A new monitor is checked from the start: updateMonitor pauses it, and an `enabled` that is sent here is ignored. A heartbeat monitor gets a token of its own, which stands on its page in the web interface and never in an answer. With an `external_id` that a monitor has already, that one is changed to what is sent and answered with 200: target, name, interval, config, group, `affects_group_status` and tags that are not sent stay as they are, and the type must be the same.',
  body: MonitorIn,
  response: MonitorOut,
  success: 201,
  otherSuccess: { status: 200, when: 'A monitor with this `external_id` existed already; it is as sent now.' },
  refusals: ['monitor_type_unknown', 'plan_limit_monitors', 'type_differs', ...monitorRefusals],
});

export const getMonitor = operation({
  id: 'getMonitor',
  method: 'GET',
  path: '/api/v1/monitors/{monitor_id}',
  tag: 'Monitors',
  access: 'read',
  summary: 'Get a monitor',
  params: monitorId,
  response: MonitorOut,
  success: 200,
  refusals: ['monitor_not_found'],
});

export const updateMonitor = operation({
  id: 'updateMonitor',
  method: 'PATCH',
  path: '/api/v1/monitors/{monitor_id}',
  tag: 'Monitors',
  access: 'write',
  summary: 'Change a monitor',
  description: 'Only what is sent changes. The type cannot be changed: the history would be of two different things.',
  params: monitorId,
  body: MonitorPatch,
  response: MonitorOut,
  success: 200,
  refusals: ['monitor_not_found', 'external_id_taken', ...monitorRefusals],
});

export const deleteMonitor = operation({
  id: 'deleteMonitor',
  method: 'DELETE',
  path: '/api/v1/monitors/{monitor_id}',
  tag: 'Monitors',
  access: 'write',
  summary: 'Delete a monitor with its history',
  description: 'Cannot be undone.',
  params: monitorId,
  success: 204,
  refusals: ['monitor_not_found'],
});

export const getMonitorStatus = operation({
  id: 'getMonitorStatus',
  method: 'GET',
  path: '/api/v1/monitors/{monitor_id}/status',
  tag: 'Monitors',
  access: 'read',
  summary: 'Get the status and uptime of a monitor',
  description: 'Uptime is computed as the dashboard and the status pages compute it.',
  params: monitorId,
  query: { days: optional(integer(daysBounds, { description: 'How many days the uptime looks back.' }), 30) },
  response: StatusOut,
  success: 200,
  refusals: ['monitor_not_found'],
});

export const maxInBatch = 500;
/**
 * Many small calls would cost us more than one large one, but a large one still costs something.
 */
const monitorsForACall = 10;

const BatchResultOut = object('MonitorBatchResultOut', {
  result: string({
    description:
      '`created`, `changed` (its `external_id` was known), `refused`, or `left`: nothing was wrong with it, but all were wanted or none.',
  }),
  id: nullable(uuid(), { description: 'Of the monitor, where it was created or changed.' }),
  name: nullable(string()),
  external_id: nullable(string()),
  error: nullable(object('MonitorBatchErrorOut', { code: string(), message: string() }), { description: 'Why it was refused.' }),
});

export const batchMonitors = operation({
  id: 'batchMonitors',
  method: 'POST',
  path: '/api/v1/monitors/batch',
  tag: 'Monitor batches',
  access: 'write',
  summary: 'Create or change up to 500 monitors',
  description:
    'Each item is what createMonitor takes: one whose `external_id` a monitor has changes that one. The results stand in the order of the items. With `mode` `all` one refusal leaves everything as it was and `applied` is false; with `each` the others are done. The body may be up to 2 MiB. Ten monitors, begun, count as one call.',
  body: object(
    'MonitorBatchIn',
    {
      items: array(MonitorIn, { minItems: 1, maxItems: maxInBatch }),
      mode: optional(literal(['all', 'each']), 'all'),
    },
    {},
    ({ items }, place) =>
      items.length > 0 && items.length <= maxInBatch
        ? undefined
        : valueFault([...place, 'items'], `send between one and ${maxInBatch} monitors`, items.length),
  ),
  response: object('MonitorBatchOut', {
    applied: boolean({ description: 'False when nothing was done because one was refused.' }),
    created: integer(),
    changed: integer(),
    refused: integer(),
    items: array(BatchResultOut),
  }),
  success: 200,
  takesMuch: true,
  calls: (body) => Math.ceil((isRecord(body) && Array.isArray(body.items) ? body.items.length : 1) / monitorsForACall),
});

/** The history of a monitor. */

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

/** The windows of results, each with the length of a point and its source. */
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
