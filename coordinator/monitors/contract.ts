import {
  array,
  boolean,
  dateTime,
  integer,
  literal,
  maybe,
  nullable,
  number,
  object,
  optional,
  string,
  uuid,
  valueFault,
} from '../../shared/api/fields.ts';
import { MonitorOut } from '../../shared/api/monitors.ts';
import { innerOperation } from '../../shared/api/operation.ts';
import { tokenOverlapMs } from '../../shared/checks/heartbeat/config.ts';
import { type DashboardSort, dashboardSorts, type StatusRow, statusRows } from './status.ts';

/**
 * What the dashboard shows.
 *
 * Operations that only pages and operators call, with who may (`access`). Those of the API are in
 * `shared/api/`.
 */

export { type DashboardSort, dashboardSorts, type StatusRow, statusRows };

/** The number of monitors on a page. */
export const dashboardRows = 50;
const maxPages = 10_000;

const statusRow = string({
  description: '`down`, `verifying`, `up`, `maintenance`, `pending` or `paused`.',
});

/** What a list shows of a monitor, without its config. */
const { config: _, created_at: __, ...listed } = MonitorOut.shape;

const DashboardRowOut = object('DashboardRowOut', {
  ...listed,
  status: statusRow,
  since: dateTime(),
  /** The cause, in our own words. */
  cause: nullable(string()),
  incident: nullable(uuid()),
  seen_from: nullable(string()),
  /** The end of the present maintenance. */
  covered_until: nullable(dateTime()),
  /**
   * Half hours of the last day, oldest first: states, `verifying`, or `none` before the monitor was
   * created.
   */
  bars: array(string()),
  /** Milliseconds, oldest first. */
  response: array(nullable(number())),
  response_ms: nullable(number()),
  percent: nullable(number(), { description: 'Uptime of 30 days.' }),
});

const DashboardGroupOut = object('DashboardGroupOut', {
  id: uuid(),
  name: string(),
  status: string(),
  monitors: integer(),
});

export const listDashboard = innerOperation({
  id: 'listDashboard',
  access: 'read',
  summary:
    'List monitors with their state, last day, response and uptime, a page of them, counted, filtered and sorted',
  query: {
    status: maybe(literal(statusRows)),
    q: optional(string(), ''),
    group: maybe(uuid()),
    tag: maybe(string()),
    sort: optional(literal(dashboardSorts), 'state'),
    page: optional(integer({ ge: 1, le: maxPages }), 1),
  },
  response: object('DashboardOut', {
    counts: object('DashboardCountsOut', {
      all: integer(),
      down: integer(),
      verifying: integer(),
      up: integer(),
      maintenance: integer(),
      pending: integer(),
      paused: integer(),
    }),
    /** The first few names of each. */
    down: array(string()),
    verifying: array(string()),
    /** Of the latest change. */
    changed_at: nullable(dateTime()),
    matching: integer(),
    items: array(DashboardRowOut),
    groups: array(DashboardGroupOut),
    probes: array(
      object('DashboardProbeOut', { name: string(), continent: string(), well: boolean() }),
    ),
  }),
});

export const countOpenIncidents = innerOperation({
  id: 'countOpenIncidents',
  access: 'read',
  summary: 'Count the incidents that are open',
  response: object('OpenIncidentsOut', { open: integer() }),
});

const maxAtOnce = 100;

export const changeMonitors = innerOperation({
  id: 'changeMonitors',
  access: 'write',
  summary: 'Pause, resume or group several monitors at once',
  description: 'All of them or none. Those that are so already stay as they are.',
  body: object(
    'ChangeMonitorsIn',
    {
      monitors: array(uuid(), { minItems: 1, maxItems: maxAtOnce }),
      change: literal(['pause', 'resume', 'group']),
      group: maybe(uuid(), {
        description: 'For `group`: which; without it they are in none from now on.',
      }),
    },
    {},
    ({ monitors }, place) =>
      monitors.length > 0 && monitors.length <= maxAtOnce
        ? undefined
        : valueFault(
            [...place, 'monitors'],
            `choose between one and ${maxAtOnce} monitors`,
            monitors.length,
          ),
  ),
  response: object('ChangedMonitorsOut', { changed: integer() }),
  refusals: ['monitor_not_found', 'group_not_found'],
});

export const getMonitorChoices = innerOperation({
  id: 'getMonitorChoices',
  access: 'read',
  summary:
    'What a new or changed monitor may choose from: places, groups, and what the plan allows',
  response: object('MonitorChoicesOut', {
    continents: array(string(), { description: 'Where public probes are.' }),
    probes: array(object('PrivateProbeOut', { id: uuid(), name: string(), continent: string() }), {
      description: 'The private probes of the organisation.',
    }),
    groups: array(object('GroupChoiceOut', { id: uuid(), name: string() })),
    plan: string(),
    min_interval_s: integer({}, { description: 'The plan checks no oftener.' }),
    monitors: integer({}, { description: 'How many there are.' }),
    most_monitors: nullable(integer(), {
      description: 'How many the plan allows; null: any number.',
    }),
  }),
});

/** The address of a heartbeat monitor, and its pings. */

export const getPingAddress = innerOperation({
  id: 'getBeatAddress',
  access: 'read',
  summary: 'Tell the address that a heartbeat monitor is pinged at',
  params: { monitor_id: uuid() },
  response: object('BeatAddressOut', { id: uuid(), address: string() }),
  refusals: ['monitor_not_found', 'not_a_heartbeat'],
});

const PingOut = object('BeatOut', {
  id: uuid(),
  kind: string({ description: '`success`, `start`, `fail` or `log`.' }),
  at: dateTime(),
  exit_code: nullable(integer()),
  rid: nullable(uuid()),
  run_ms: nullable(integer(), { description: 'How long the run took that it ended.' }),
  method: string(),
  body: string(),
  taken_by: string({ description: 'The probe whose ear took it, or `coordinator`.' }),
});

export const listBeats = innerOperation({
  id: 'listBeats',
  access: 'read',
  summary: 'List the last beats of a heartbeat monitor, newest first',
  params: { monitor_id: uuid() },
  response: object('BeatListOut', { items: array(PingOut) }),
  refusals: ['monitor_not_found', 'not_a_heartbeat'],
});

const longestOverlap_s = tokenOverlapMs / 1_000;

export const rotatePingAddress = innerOperation({
  id: 'rotateBeatAddress',
  access: 'write',
  summary:
    'Give a heartbeat monitor a new address; the old one goes on working for a day, or for less',
  description:
    'Older addresses go on working for `overlap_s` at most; 0 ends them at once, as one that has leaked.',
  params: { monitor_id: uuid() },
  body: object('RotateBeatAddressIn', {
    overlap_s: optional(
      integer(
        { ge: 0, le: longestOverlap_s },
        {
          description:
            'Seconds that older addresses go on working; 0 ends one that has leaked at once.',
        },
      ),
      longestOverlap_s,
    ),
  }),
  response: object('RotatedBeatAddressOut', {
    id: uuid(),
    address: string(),
    old_until: dateTime(),
  }),
  refusals: ['monitor_not_found', 'not_a_heartbeat'],
});

/** What an organisation's own monitoring reads of its monitors. */

const MonitorFigureOut = object('MonitorFigureOut', {
  id: uuid(),
  name: string(),
  type: string(),
  status: string({ description: '`up`, `down`, `verifying`, `pending` or `paused`.' }),
  /** Up until a failure is confirmed; null where nothing is known or nothing is checked. */
  is_up: nullable(boolean()),
  response_ms: nullable(number(), {
    description: 'Of the newest check, if that passed; null for heartbeats.',
  }),
});

export const listMonitorFigures = innerOperation({
  id: 'listMonitorFigures',
  access: 'read',
  summary:
    'List the state and the response of all monitors, as many as the plan lets the organisation have',
  response: object('MonitorFiguresOut', { items: array(MonitorFigureOut), left_out: integer() }),
});
