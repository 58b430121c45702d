import {
  array,
  boolean,
  dateTime,
  dict,
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
import { MonitorIn, MonitorOut, muteInput, StatusOut } from '../../shared/api/monitors.ts';
import { innerOperation } from '../../shared/api/operation.ts';
import { MonitorCheckOut } from '../../shared/api/results.ts';
import { tokenOverlapMs } from '../../shared/checks/heartbeat/config.ts';
import { kinds } from '../../shared/checks/kinds.ts';
import { warningCodes } from '../../shared/checks/warnings.ts';
import { PutOut } from '../groups/contract.ts';
import {
  type DashboardSort,
  dashboardSorts,
  noGroup,
  type StatusRow,
  statusRows,
} from './status.ts';

/**
 * What the dashboard shows.
 *
 * Operations that only pages and operators call, with who may (`access`). Those of the API are in
 * `shared/api/`.
 */

export { type DashboardSort, dashboardSorts, noGroup, type StatusRow, statusRows };

/** The number of monitors on a page. */
export const dashboardRows = 50;
const maxPages = 10_000;

const statusRow = string({
  description: '`down`, `verifying`, `up`, `maintenance`, `pending` or `paused`.',
});

/** What a list shows of a monitor, without what is long. */
const {
  config: _config,
  runbook: _runbook,
  created_at: _created_at,
  depends_on_monitors: _monitors,
  depends_on_groups: _groups,
  ...listed
} = MonitorOut.shape;

const DashboardRowOut = object('DashboardRowOut', {
  ...listed,
  status: statusRow,
  since: dateTime(),
  /** The cause, in our own words. */
  cause: nullable(string()),
  incident: nullable(uuid()),
  /** The end of the present maintenance. */
  covered_until: nullable(dateTime()),
  /**
   * Half hours of the last day, oldest first: states, `verifying`, or `none` before the monitor was
   * created.
   */
  bars: array(string()),
  /** When it was down in the time of the bars. */
  downs: array(object('DownTimeOut', { from: integer(), to: integer() })),
  /** Milliseconds, oldest first. */
  response: array(nullable(number())),
  response_ms: nullable(number()),
  percent: nullable(number(), {
    description: 'Uptime of 30 days; null while less than an hour was measured.',
  }),
  /** Of the outages that make it flapping now: how many, and when the first was confirmed. */
  flapping: nullable(object('FlappingOut', { times: integer(), since: dateTime() })),
  muted: StatusOut.shape.muted,
  /** Where it fails in private places alone, which is no outage. */
  inside: nullable(string()),
  /** Who has its open incident, and since when. */
  owner: nullable(object('IncidentOwnerOut', { name: string(), since: dateTime() })),
});

const DashboardGroupOut = object('DashboardGroupOut', {
  id: uuid(),
  name: string(),
  status: string(),
  monitors: integer(),
  /** Down, or being verified. */
  failing: integer(),
});

/** Several tags as one text, with commas between them; in the way that they are stored. */
export function tagsIn(text: string): readonly string[] {
  return [
    ...new Set(
      text
        .split(',')
        .map((tag) => tag.trim().toLowerCase())
        .filter((tag) => tag !== ''),
    ),
  ];
}

/** What narrows the dashboard. */
const filters = {
  status: maybe(literal(statusRows)),
  kind: maybe(literal(kinds)),
  q: optional(string(), ''),
  group: maybe(uuid()),
  tag: maybe(string(), { description: 'One or several with commas between: all of them.' }),
  warning: maybe(literal(['any', ...warningCodes]), {
    description: 'With this warning, or with any.',
  }),
};

const GroupChoiceOut = object('GroupChoiceOut', { id: uuid(), name: string() });

export const listDashboard = innerOperation({
  id: 'listDashboard',
  access: 'read',
  summary:
    'List monitors with their state, last day, response and uptime, a page of them, counted, filtered and sorted',
  query: {
    ...filters,
    sort: optional(literal(dashboardSorts), 'group'),
    page: optional(integer({ ge: 1, le: maxPages }), 1),
  },
  response: object('DashboardOut', {
    /** Of those that match, whatever their status. */
    counts: object('DashboardCountsOut', {
      all: integer(),
      down: integer(),
      verifying: integer(),
      up: integer(),
      maintenance: integer(),
      pending: integer(),
      paused: integer(),
      /** With warnings, whatever their status. */
      warned: integer(),
    }),
    /** What several of those in trouble have in common. */
    causes: array(
      object('FailingCauseOut', {
        id: uuid(),
        name: string(),
        down: integer(),
        since: dateTime(),
      }),
    ),
    /** The first few of the others in trouble. */
    failing: array(
      object('FailingMonitorOut', {
        id: uuid(),
        name: string(),
        status: string(),
        since: dateTime(),
        owner: nullable(string(), { description: 'Who has its incident.' }),
        incident: nullable(uuid()),
        cause: nullable(string()),
        witnesses: array(
          object('WitnessOut', {
            place: string(),
            outcome: literal(['ok', 'fail', 'unknown']),
            after_ms: nullable(integer()),
          }),
        ),
      }),
    ),
    /** In trouble too, but not among those that match. */
    others: object('DashboardOthersOut', { down: integer(), verifying: integer() }),
    matching: integer(),
    items: array(DashboardRowOut),
    groups: array(DashboardGroupOut),
    /** The first hundred, for moving monitors. */
    group_choices: array(GroupChoiceOut),
    probes: array(
      object('DashboardProbeOut', { name: string(), continent: string(), well: boolean() }),
    ),
  }),
});

export const listFilters = innerOperation({
  id: 'listFilters',
  access: 'read',
  summary: 'List the kinds, tags and groups that the dashboard can be filtered by, with counts',
  query: filters,
  response: object('FiltersOut', {
    items: array(
      object('FilterOut', {
        facet: string({ description: '`kind`, `tag` or `group`.' }),
        value: string(),
        name: string(),
        monitors: integer(),
      }),
    ),
  }),
});

export const maxAtOnce = 100;
const ChangedMonitorsOut = object('ChangedMonitorsOut', { changed: integer() });

export const changeMonitors = innerOperation({
  id: 'changeMonitors',
  access: 'write',
  summary: 'Pause, resume, move, tag, mute or delete several monitors at once',
  description: 'All of them or none. A monitor that already is as wanted stays as it is.',
  body: object(
    'ChangeMonitorsIn',
    {
      monitors: array(uuid(), { minItems: 1, maxItems: maxAtOnce }),
      change: literal(['pause', 'resume', 'group', 'tag', 'untag', 'mute', 'unmute', 'delete']),
      group: maybe(uuid(), { description: 'For `group`: the group; null: no group.' }),
      tag: maybe(string(), { description: 'For `tag` and `untag`: the tag.' }),
      ...muteInput,
    },
    {},
    ({ monitors }, place) =>
      monitors.length > 0 && monitors.length <= maxAtOnce
        ? undefined
        : valueFault(
            [...place, 'monitors'],
            `select between one and ${maxAtOnce} monitors`,
            monitors.length,
          ),
  ),
  response: ChangedMonitorsOut,
  refusals: [
    'monitor_not_found',
    'group_not_found',
    'tags_invalid',
    'mute_invalid',
    'dependencies_invalid',
  ],
});

/** Before several are changed, a page says which. */
export const nameMonitors = innerOperation({
  id: 'nameMonitors',
  access: 'read',
  does: 'looks',
  summary: 'List the names of some monitors',
  body: object('NameMonitorsIn', { monitors: array(uuid(), { maxItems: maxAtOnce }) }),
  response: object('NamedMonitorsOut', {
    items: array(object('NamedMonitorOut', { id: uuid(), name: string() })),
  }),
});

export const listParents = innerOperation({
  id: 'listParents',
  access: 'read',
  summary: 'List what a monitor depends on, and who depends on it, by name',
  params: { monitor_id: uuid() },
  response: object('ParentsOut', {
    items: array(
      object('ParentOut', { id: uuid(), name: string(), kind: literal(['monitor', 'group']) }),
    ),
    /** Who depends on it, or on its group: the first by name, and how many. */
    dependents: object('DependentsOut', {
      first: array(object('DependentOut', { id: uuid(), name: string() })),
      count: integer(),
    }),
  }),
  refusals: ['monitor_not_found'],
});

export const purgeMonitor = innerOperation({
  id: 'purgeMonitor',
  access: 'write',
  summary: 'Delete a monitor that is in the trash for ever',
  params: { monitor_id: uuid() },
  refusals: ['monitor_not_found'],
});

export const undoChange = innerOperation({
  id: 'undoChange',
  access: 'write',
  summary: 'Undo your last change of several monitors, or your new maintenance window',
  description:
    'What you did on a page, for a minute. A monitor that is no longer as you left it stays as it is.',
  response: ChangedMonitorsOut,
  refusals: [
    'nothing_to_undo',
    'external_id_taken',
    'plan_limit_monitors',
    'tags_invalid',
    'dependencies_invalid',
  ],
});

export const getMonitorChoices = innerOperation({
  id: 'getMonitorChoices',
  access: 'read',
  summary:
    'Get what a monitor may choose from: locations, groups, parents, and what the plan allows',
  does: 'looks',
  body: object('MonitorChoicesIn', {
    find: optional(string(), ''),
    chosen: optional(array(uuid(), { maxItems: maxAtOnce }), []),
  }),
  response: object('MonitorChoicesOut', {
    continents: array(string(), { description: 'Locations of public probes.' }),
    regions: array(string(), { description: 'As `config.places` names them.' }),
    places: array(
      object('PlaceChoiceOut', {
        id: uuid(),
        name: string(),
        called: string({ description: 'As `config.places` names it.' }),
        continent: string(),
        probes: array(string(), { description: 'The names of its probes.' }),
      }),
      {
        description: 'The private places of the organisation.',
      },
    ),
    groups: array(GroupChoiceOut),
    parents: array(object('ParentChoiceOut', { id: uuid(), name: string(), words: string() }), {
      description:
        'The monitors that one may depend on; where there are too many, those that are chosen and those found by words.',
    }),
    plan: string(),
    min_interval_s: integer({}, { description: 'The shortest interval of the plan.' }),
    monitors: integer({}, { description: 'How many monitors exist.' }),
    most_monitors: nullable(integer(), {
      description: 'How many the plan allows; null: any number.',
    }),
  }),
});

/** One of `getMonitorChecks`, which its start and its probe tell from all others. */
export const getMonitorCheck = innerOperation({
  id: 'getMonitorCheck',
  access: 'read',
  summary: 'Get a single check of a monitor, with its evidence where that is kept',
  params: { monitor_id: uuid() },
  query: { at: integer(), probe: string() },
  response: object('MonitorCheckDetailOut', {
    check: MonitorCheckOut,
    cause: nullable(string(), { description: 'In our own words, where its evidence is kept.' }),
    evidence: nullable(dict()),
    incident: nullable(uuid(), { description: 'The one that was open at that time.' }),
  }),
  refusals: ['monitor_not_found', 'check_not_found'],
});

export const findSameTarget = innerOperation({
  id: 'findSameTarget',
  access: 'read',
  summary: 'List the monitors of a type that check this address already, the oldest first',
  query: { type: optional(string(), ''), target: optional(string(), '') },
  response: object('SameTargetOut', {
    items: array(object('SameTargetMonitorOut', { id: uuid(), name: string() })),
  }),
});

/** The address of a heartbeat monitor, and its pings. */
export const getPingAddress = innerOperation({
  id: 'getBeatAddress',
  access: 'read',
  summary: 'Get the ping address of a heartbeat monitor',
  params: { monitor_id: uuid() },
  response: object('BeatAddressOut', { id: uuid(), address: string() }),
  refusals: ['monitor_not_found', 'not_a_heartbeat'],
});

const longestOverlap_s = tokenOverlapMs / 1_000;

export const rotatePingAddress = innerOperation({
  id: 'rotateBeatAddress',
  access: 'write',
  summary:
    'Give a heartbeat monitor a new ping address; the old one works for another day, or for less',
  description:
    'Older addresses work for `overlap_s` at most; 0 ends them at once, for one that has leaked.',
  params: { monitor_id: uuid() },
  body: object('RotateBeatAddressIn', {
    overlap_s: optional(
      integer(
        { ge: 0, le: longestOverlap_s },
        {
          description: 'How many seconds older addresses still work; 0 ends them at once.',
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
  place: nullable(string(), { description: 'Where that check was made.' }),
  warnings: array(string(), { description: 'The codes of its warnings.' }),
});

/** What an organisation's own monitoring reads of its monitors. */
export const listMonitorFigures = innerOperation({
  id: 'listMonitorFigures',
  access: 'read',
  summary:
    'List the state and the response of all monitors, as many as the plan lets the organisation have',
  response: object('MonitorFiguresOut', { items: array(MonitorFigureOut), left_out: integer() }),
});

/** Replaces monitors; without an id, one is created. */
export const putMonitors = innerOperation({
  id: 'putMonitors',
  access: 'write',
  summary: 'Create or change monitors to exactly what is sent',
  body: object('PutMonitorsIn', {
    items: array(
      object('PutMonitorIn', {
        ...MonitorIn.shape,
        id: nullable(uuid()),
        new_id: maybe(uuid(), { description: 'What a new one is to be known by.' }),
        enabled: boolean(),
      }),
    ),
  }),
  response: PutOut,
});
