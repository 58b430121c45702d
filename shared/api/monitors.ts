import { isRecord } from '../base/json.ts';
import { kinds } from '../checks/kinds.ts';
import { warningCodes } from '../checks/warnings.ts';
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
import { exampleIds, operation, page, pageQuery, patched } from './operation.ts';
import { sides } from './sides.ts';
import { warnings } from './warnings.ts';

/** Such as "`a`, `b` or `c`". */
const typeWords = kinds
  .map((kind) => `\`${kind}\``)
  .join(', ')
  .replace(/, ([^,]+)$/, ' or $1');

const config = {
  description:
    'Settings of the type. Secret values come back as `***`; sending `***` leaves them as they are.',
};

const parents = grown(
  array(uuid(), {
    description: 'While one of these is down, the alerts of this monitor are held.',
    example: [],
  }),
  [],
);

export const MonitorOut = object('MonitorOut', {
  id: uuid({ example: exampleIds.monitor }),
  name: string({ example: 'Shop' }),
  type: string({ description: `${typeWords}; never changes.`, example: 'https' }),
  target: string({
    description: 'The address being watched.',
    example: 'https://shop.example.com/',
  }),
  interval_s: integer({}, { description: 'Seconds between checks.', example: 60 }),
  enabled: boolean({ description: 'False while paused.', example: true }),
  config: dict({ ...config, example: { expected_status: ['2xx'], bearer_token: '***' } }),
  group: maybe(uuid(), {
    description: 'The group that the monitor is in.',
    example: exampleIds.group,
  }),
  affects_group_status: optional(
    boolean({ meaning: 'Whether it counts for the status of its group.', example: true }),
    true,
  ),
  created_at: dateTime({ example: '2026-11-02T09:30:00.000Z' }),
  status: grown(
    string({ description: '`pending`, `up`, `verifying`, `down` or `paused`.', example: 'up' }),
    'pending',
  ),
  since: maybe(dateTime(), {
    description: 'When that status began.',
    example: '2026-11-18T04:12:09.000Z',
  }),
  last_checked_at: maybe(dateTime(), {
    description: 'When the newest check began that passed or failed; null before the first.',
    example: '2026-11-20T11:59:42.318Z',
  }),
  external_id: maybe(string(), {
    description: 'What a program calls it by; unique among the monitors of the organisation.',
    example: 'shop/checkout',
  }),
  tags: grown(
    array(string(), { meaning: 'Words by which monitors are found.', example: ['eu', 'shop'] }),
    [],
  ),
  runbook: maybe(string(), {
    description: 'What to do when it fails; shown first on its incidents.',
    example: 'Restart the `shop` unit, then call Ana.',
  }),
  depends_on_monitors: parents,
  depends_on_groups: parents,
  warnings,
});

export const mostParents = 10;
const parentWords = (what: string) =>
  `Up to ${mostParents} ${what}. While one of them is down, the alerts of this monitor are held; it is told of if it stays down after that.`;
const dependencies = {
  depends_on_monitors: maybe(array(uuid(), { maxItems: mostParents }), {
    description: parentWords('monitors'),
  }),
  depends_on_groups: maybe(array(uuid(), { maxItems: mostParents }), {
    description: parentWords('groups'),
  }),
};

const runbookWords =
  'What to do when it fails, in Markdown without HTML and images, up to 2,000 characters.';
const runbook = string({ limits: { maxLength: 2_000 } });
const tagWords = 'Up to 20 words of up to 50 characters, kept in small letters.';
const tags = array(string({ minLength: 1, maxLength: 50, pattern: '^[^,\\s]+$' }), {
  maxItems: 20,
});
/**
 * Not an enumeration: clients generated from the document expect a text here, and other types may
 * follow.
 */
const types = { pattern: `^(?:${kinds.join('|')})$` };

const MonitorPage = page('MonitorPage', MonitorOut);

export const MonitorIn = object('MonitorIn', {
  type: string({ ...types, description: `${typeWords}.`, example: 'https' }),
  target: optional(
    string({
      description:
        'An address for https and websocket, a name for dns, host:port for tcp and tls, grpcs://host:port for grpc, nothing for a heartbeat.',
      limits: { maxLength: 2_048 },
      example: 'https://shop.example.com/',
    }),
    '',
  ),
  name: optional(
    string({
      description:
        'When empty, the host of the target, with its path if another monitor has that name already. A heartbeat needs one.',
      limits: { maxLength: 200 },
      example: 'Shop',
    }),
    '',
  ),
  interval_s: maybe(integer(), {
    description: 'Seconds; 60 or the floor of the plan when not given.',
    limits: { minimum: 10, maximum: 31_536_000 },
    example: 60,
  }),
  config: maybe(dict(), { ...config, example: { expected_status: ['2xx'] } }),
  group: maybe(uuid()),
  affects_group_status: defaulted(
    boolean({
      description:
        'Whether it counts for the status of its group; not sent, a known one keeps its own.',
    }),
    true,
  ),
  external_id: maybe(string(), {
    description:
      'What your program calls it by, up to 200 characters. Where a monitor has it already, that one is changed.',
    limits: { maxLength: 200 },
  }),
  tags: maybe(tags, { description: tagWords }),
  runbook: maybe(runbook, { description: runbookWords }),
  ...dependencies,
});

export const MonitorPatch = object(
  'MonitorPatch',
  {
    name: maybe(string(), {
      description:
        'An empty one is the host of the target again, without its path; null leaves it.',
      limits: { maxLength: 200 },
    }),
    target: maybe(string({ meaning: 'What is watched.', limits: { maxLength: 2_048 } })),
    interval_s: maybe(
      integer(
        {},
        {
          meaning:
            'Seconds between two checks: 10 to 86,400, heartbeats 30 to 31,536,000, and no shorter than the plan allows.',
          limits: { minimum: 10, maximum: 31_536_000 },
        },
      ),
    ),
    config: maybe(dict(), config),
    enabled: maybe(boolean(), {
      description: 'False pauses the monitor, true resumes it.',
      example: false,
    }),
    group: maybe(uuid(), {
      description:
        'The group that it moves to; null leaves it where it is, and `ungroup` takes it out.',
    }),
    ungroup: optional(
      boolean({
        description: 'True takes the monitor out of its group; not together with `group`.',
      }),
      false,
    ),
    affects_group_status: maybe(
      boolean({ meaning: 'Whether it counts for the status of its group.' }),
    ),
    external_id: maybe(string(), {
      description: 'An empty one takes it away.',
      limits: { maxLength: 200 },
    }),
    tags: maybe(tags, {
      description: `All of them from now on; an empty list takes them away. ${tagWords}`,
    }),
    runbook: maybe(runbook, { description: `An empty one takes it away. ${runbookWords}` }),
    ...dependencies,
  },
  patched,
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
  days: integer({}, { meaning: 'So many days back from now.', example: 30 }),
  percent: nullable(number(), {
    description: 'Null when nothing in the window counts.',
    example: 99.967,
  }),
  down_seconds: number({ meaning: 'Seconds down.', example: 514.2 }),
  from: grown(
    dateTime({
      description: 'The later of the creation of the monitor and so many days back.',
      example: '2026-11-02T09:30:00.000Z',
    }),
    '',
  ),
  to: grown(
    dateTime({
      meaning: 'Where the stretch or the window ends.',
      example: '2026-11-20T12:00:00.000Z',
    }),
    '',
  ),
  up_seconds: grown(
    number({
      description: 'The five states of seconds always add up to the time from `from` to `to`.',
      example: 1_560_085.8,
    }),
    0,
  ),
  maintenance_seconds: grown(number({ meaning: 'Seconds under maintenance.', example: 3600 }), 0),
  unknown_seconds: grown(number({ meaning: 'Seconds of which nothing is known.', example: 0 }), 0),
  paused_seconds: grown(number({ meaning: 'Seconds paused.', example: 0 }), 0),
});

/** One that lasts until someone ends it has no end, nor has one until the outage is resolved. */
const MutedOut = object('MutedOut', {
  until: nullable(
    dateTime({ meaning: 'When it ends; null: not by time.', example: '2026-11-18T14:00:00.000Z' }),
  ),
  until_resolved: boolean({ meaning: 'Whether it ends with the outage.', example: false }),
  by: nullable(string({ meaning: 'Who muted it.', example: 'Ada' })),
});

export const StatusOut = object('StatusOut', {
  monitor: uuid({ example: exampleIds.monitor }),
  status: string({
    description: '`pending`, `up`, `verifying`, `down` or `paused`.',
    example: 'up',
  }),
  since: nullable(
    dateTime({ meaning: 'When this status began.', example: '2026-11-18T04:12:09.000Z' }),
  ),
  last_checked_at: nullable(
    dateTime({
      meaning: 'When the newest check that counts began; null before there is one.',
      example: '2026-11-20T11:59:42.318Z',
    }),
  ),
  enabled: boolean({ example: true }),
  uptime: UptimeOut,
  muted: grown(
    nullable(MutedOut, { description: 'While its alerts are held; null: they are not.' }),
    null,
  ),
  warnings,
  sides,
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
  'place_unknown',
  'plan_limit_interval',
  'group_not_found',
  'external_id_invalid',
  'tags_invalid',
  'runbook_invalid',
  'ping_alias_taken',
  'dependencies_invalid',
] as const;

export const listMonitors = operation({
  id: 'listMonitors',
  method: 'GET',
  path: '/api/v1/monitors',
  tag: 'Monitors',
  access: 'read',
  summary: 'List monitors',
  description:
    'Oldest first, unless `sort` says otherwise. A walk goes on after the last row of the page ' +
    'before: what is created meanwhile shifts nothing. With `sort=name` or `sort=changed` a ' +
    'monitor that moves in the order during a walk may be missed by it.',
  query: {
    status: maybe(literal(['pending', 'up', 'verifying', 'down', 'paused']), {
      description:
        'Only monitors whose kept status is this: a silence that nobody has noticed yet is not in it.',
    }),
    type: maybe(literal(kinds), {
      description: 'Only monitors of this type.',
    }),
    group: maybe(uuid(), { description: 'Only monitors of this group.' }),
    enabled: maybe(boolean(), {
      description: 'True: only those that are checked; false: only paused ones.',
    }),
    tag: maybe(string(), {
      description: 'Only monitors with this tag.',
      limits: { maxLength: 50 },
    }),
    warning: maybe(literal(['any', ...warningCodes]), {
      description: 'Only monitors with this warning, or with any.',
    }),
    external_id: maybe(string(), {
      description: 'Only the monitor of this external id.',
      limits: { maxLength: 200 },
    }),
    text: maybe(shortString(1_000), {
      description: 'Only monitors with each of these words in their name, target, group or tags.',
    }),
    sort: optional(
      literal(['created', 'name', 'changed'], { meaning: 'The order of the list.' }),
      'created',
    ),
    ...pageQuery,
  },
  response: MonitorPage,
  refusals: ['group_not_found'],
  columns: ['status', 'name', 'type', 'target', 'interval_s', 'enabled', 'id'],
});

export const createMonitor = operation({
  id: 'createMonitor',
  method: 'POST',
  path: '/api/v1/monitors',
  tag: 'Monitors',
  access: 'write',
  summary: 'Create a monitor',
  description:
    'A new monitor is checked from the start: updateMonitor pauses it, and an `enabled` that is ' +
    'sent here is ignored. A heartbeat monitor gets a token of its own, which stands on its ' +
    'page in the web interface and never in an answer. With an `external_id` that a monitor has ' +
    'already, that one is changed to what is sent and answered with 200: target, name, ' +
    'interval, config, group, `affects_group_status`, tags, runbook and dependencies that are not sent stay ' +
    'as they are, and the type must be the same.',
  body: MonitorIn,
  response: MonitorOut,
  success: 201,
  otherSuccess: {
    status: 200,
    when: 'A monitor with this `external_id` existed already; it is as sent now.',
  },
  refusals: [
    'monitor_type_unknown',
    'monitor_not_found',
    'plan_limit_monitors',
    'type_differs',
    ...monitorRefusals,
  ],
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
  refusals: ['monitor_not_found'],
});

export const updateMonitor = operation({
  id: 'updateMonitor',
  method: 'PATCH',
  path: '/api/v1/monitors/{monitor_id}',
  tag: 'Monitors',
  access: 'write',
  summary: 'Change a monitor',
  description:
    'Only what is sent changes. The type cannot be changed: the history would be of two different things.',
  params: monitorId,
  body: MonitorPatch,
  response: MonitorOut,
  refusals: ['monitor_not_found', 'external_id_taken', ...monitorRefusals],
});

export const deleteMonitor = operation({
  id: 'deleteMonitor',
  method: 'DELETE',
  path: '/api/v1/monitors/{monitor_id}',
  tag: 'Monitors',
  access: 'write',
  summary: 'Delete a monitor with its history',
  description:
    'Every other operation then answers as for an unknown id. For 7 days restoreMonitor brings it back with its history; after that it is deleted for ever.',
  params: monitorId,
  refusals: ['monitor_not_found'],
});

export const muteInput = {
  minutes: maybe(integer({}, { limits: { minimum: 1, maximum: 10_080 } }), {
    description: 'For how long, up to a week; left out: until it is unmuted.',
    example: 60,
  }),
  until_resolved: optional(
    boolean({ meaning: 'Until the outage that is open, or the next one, is resolved.' }),
    false,
  ),
};

export const muteMonitor = operation({
  id: 'muteMonitor',
  method: 'POST',
  path: '/api/v1/monitors/{monitor_id}/mute',
  tag: 'Monitor mutes',
  access: 'write',
  summary: 'Mute the alerts of a monitor',
  description:
    'It is still checked, and its incidents and uptime go on. Alerts that it is down, and ' +
    'reminders, are held; when the mute ends, they are sent if it is still down. The end of an ' +
    'outage that was notified before is still sent. A new mute replaces the one before.',
  params: monitorId,
  body: object('MuteMonitorIn', muteInput),
  response: StatusOut,
  refusals: ['monitor_not_found', 'mute_invalid'],
});

export const unmuteMonitor = operation({
  id: 'unmuteMonitor',
  method: 'POST',
  path: '/api/v1/monitors/{monitor_id}/unmute',
  tag: 'Monitor mutes',
  access: 'write',
  summary: 'Unmute the alerts of a monitor',
  description: 'Held alerts are sent if it is still down.',
  params: monitorId,
  response: StatusOut,
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
  query: {
    days: optional(integer(daysBounds, { description: 'How many days back the uptime goes.' }), 30),
  },
  response: StatusOut,
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
      '`created`, `changed` (its `external_id` was known), `refused`, or `left`: nothing was ' +
      'wrong with it, but all were wanted or none.',
    example: 'changed',
  }),
  id: nullable(uuid(), {
    description: 'Of the monitor, where it was created or changed.',
    example: exampleIds.monitor,
  }),
  name: nullable(string({ example: 'Shop' })),
  external_id: nullable(string({ example: 'shop/checkout' })),
  error: nullable(
    object('MonitorBatchErrorOut', {
      code: string({ meaning: 'What it is, to branch on.' }),
      message: string({ meaning: 'What it is, to read.' }),
    }),
    { description: 'Why it was refused.', example: null },
  ),
});

export const batchMonitors = operation({
  id: 'batchMonitors',
  method: 'POST',
  path: '/api/v1/monitors/batch',
  tag: 'Monitor batches',
  access: 'write',
  summary: 'Create or change up to 500 monitors',
  description:
    'Each item is what createMonitor takes: one whose `external_id` a monitor has changes that ' +
    'one. The results are in the order of the items. With `mode` `all` one refusal leaves ' +
    'everything as it was and `applied` is false; with `each` the others are done. The body may ' +
    'be up to 2 MiB. Ten monitors, begun, count as one call.',
  body: object(
    'MonitorBatchIn',
    {
      items: array(MonitorIn, {
        minItems: 1,
        maxItems: maxInBatch,
        example: [
          { type: 'https', target: 'https://shop.example.com/', external_id: 'shop/checkout' },
        ],
      }),
      mode: optional(
        literal(['all', 'each'], {
          meaning: 'Whether all are made or none, or each by itself.',
          example: 'each',
        }),
        'all',
      ),
    },
    {},
    ({ items }, place) =>
      items.length > 0 && items.length <= maxInBatch
        ? undefined
        : valueFault(
            [...place, 'items'],
            `send between one and ${maxInBatch} monitors`,
            items.length,
          ),
  ),
  response: object('MonitorBatchOut', {
    applied: boolean({
      description: 'False when nothing was done because one was refused.',
      example: true,
    }),
    created: integer({}, { meaning: 'How many were made.', example: 0 }),
    changed: integer({}, { meaning: 'How many were changed.', example: 1 }),
    refused: integer({}, { meaning: 'How many were refused.', example: 0 }),
    items: array(BatchResultOut),
  }),
  takesMuch: true,
  calls: (body) => {
    const items = isRecord(body) && Array.isArray(body.items) ? body.items.length : 1;
    return Math.ceil(Math.min(items, maxInBatch) / monitorsForACall);
  },
  columns: ['result', 'name', 'external_id', 'error', 'id'],
});

const ledgerState = string({
  description: '`up`, `down`, `maintenance`, `unknown` or `paused`.',
  example: 'down',
});

const StretchOut = object('StretchOut', {
  from: dateTime({
    meaning: 'Where the stretch or the window begins.',
    example: '2026-11-18T04:03:35.000Z',
  }),
  to: dateTime({
    meaning: 'Where the stretch or the window ends.',
    example: '2026-11-18T04:12:09.000Z',
  }),
  state: ledgerState,
  incident: nullable(uuid(), {
    description: 'The confirmed incident that made it count as down.',
    example: exampleIds.incident,
  }),
  window: nullable(uuid(), {
    description: 'The maintenance window that covered it.',
    example: null,
  }),
  window_name: nullable(
    string({
      meaning: 'What the maintenance window is called; null where it is none, or has no name.',
      example: null,
    }),
  ),
});

const LedgerOut = object('LedgerOut', {
  monitor: uuid({ example: exampleIds.monitor }),
  ...UptimeOut.shape,
  stretches: array(StretchOut, { meaning: 'The stretches that the time is made of.' }),
  left_out: integer(
    {},
    { description: 'How many older stretches are not listed; the sums count them.', example: 0 },
  ),
});

/** The history of a monitor. */
export const getMonitorLedger = operation({
  id: 'getMonitorLedger',
  method: 'GET',
  path: '/api/v1/monitors/{monitor_id}/ledger',
  tag: 'Monitor history',
  access: 'read',
  summary: 'Get the ledger of a monitor: what its uptime is made of',
  description:
    'Every second of the window in stretches, newest first, each with its state and what made ' +
    'it so. The stretches and the sums come from one reading and always fit.',
  params: { monitor_id: uuid() },
  query: {
    days: optional(integer(daysBounds, { description: 'How many days back the ledger goes.' }), 30),
  },
  response: LedgerOut,
  refusals: ['monitor_not_found'],
});
