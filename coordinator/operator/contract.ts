import {
  array,
  boolean,
  dateTime,
  integer,
  maybe,
  nullable,
  object,
  optional,
  string,
  uuid,
} from '../../shared/api/fields.ts';
import {
  installationOperation,
  operatorOperation,
  page,
  pageQuery,
} from '../../shared/api/operation.ts';

/**
 * Notices for the operator, and messages that were set aside.
 *
 * Operations that only pages and operators call, with who may (`access`). Those of the API are in
 * `shared/api/`.
 */

const days = optional(
  integer({ ge: 1, le: 400 }, { description: 'How many days back; 7 when not given.' }),
  7,
);

export const listNotices = operatorOperation({
  id: 'listNotices',
  access: 'manage',
  does: 'looks',
  summary: 'List notices: all open ones, and those that ended in the last days',
  query: { days },
  response: object('NoticeListOut', {
    items: array(
      object('NoticeOut', {
        id: integer(),
        kind: string(),
        subject: string({
          description: 'The id of the probe, or the part of the house that it is about.',
        }),
        message: string(),
        what_to_do: nullable(string(), { description: 'null when it is over.' }),
        began_at: dateTime(),
        ended_at: nullable(dateTime()),
      }),
    ),
    open: integer(),
  }),
});

export const listRefused = operatorOperation({
  id: 'listRefused',
  access: 'manage',
  does: 'looks',
  summary: 'List rejected messages of the bus in the last days, by day, probe and reason',
  query: { days, probe_id: maybe(uuid(), { description: 'Only this probe.' }) },
  response: object('RefusedListOut', {
    items: array(
      object('RefusedOut', {
        day: string(),
        probe: string({
          description: 'Its id; `unknown` for a probe that does not exist, `beat` for heartbeats.',
        }),
        probe_name: nullable(string()),
        reason: string(),
        meaning: string(),
        count: integer(),
        last_at: dateTime(),
      }),
    ),
    count: integer({}, { description: 'All counts together.' }),
  }),
});

const setAside = {
  id: integer(),
  subject: string(),
  reason: string({ description: 'Why it could not be worked on.' }),
  at: dateTime(),
  bytes: integer(),
  attempts: integer({}, { description: 'How often it was worked on again in vain.' }),
  retry_asked_at: nullable(dateTime(), {
    description: 'Since when it waits to be worked on again.',
  }),
};

export const listSetAside = operatorOperation({
  id: 'listSetAside',
  access: 'manage',
  does: 'looks',
  summary: 'List failed messages',
  response: object('SetAsideListOut', {
    items: array(object('SetAsideOut', setAside)),
    count: integer(),
  }),
});

export const showSetAside = operatorOperation({
  id: 'showSetAside',
  access: 'manage',
  does: 'looks',
  summary: 'Show a failed message with its bytes',
  params: { set_aside_id: integer() },
  response: object('SetAsideDetailsOut', {
    ...setAside,
    data: string({ description: 'The message, as text where it is text.' }),
    encoding: string({ description: '`text` or `base64`.' }),
  }),
  refusals: ['set_aside_not_found'],
});

const which = object('SetAsideIn', {
  set_aside_id: maybe(integer(), { description: 'Id of the message.' }),
  all: optional(boolean({ description: 'All of them.' }), false),
});

export const retrySetAside = operatorOperation({
  id: 'retrySetAside',
  access: 'manage',
  summary: 'Retry one or all failed messages',
  body: which,
  response: object('RetriedOut', { asked: array(integer()) }),
  refusals: ['set_aside_not_found', 'request_malformed'],
});

export const dropSetAside = operatorOperation({
  id: 'dropSetAside',
  access: 'manage',
  dangerous: true,
  summary: 'Delete one or all failed messages',
  body: which,
  response: object('DroppedOut', { dropped: array(integer()) }),
  refusals: ['set_aside_not_found', 'request_malformed'],
});

const who = object('OperatorIn', { email: string() });
const OperatorOut = object('OperatorOut', { id: uuid(), email: string(), is_operator: boolean() });

/** Who may see the operator's page, and its content beside the notices. */
export const markOperator = installationOperation({
  id: 'markOperator',
  access: 'manage',
  summary: 'Make a user an operator',
  body: who,
  response: OperatorOut,
  refusals: ['user_not_found'],
});

export const unmarkOperator = installationOperation({
  id: 'unmarkOperator',
  access: 'manage',
  summary: 'Make a user no longer an operator',
  body: who,
  response: OperatorOut,
  refusals: ['user_not_found'],
});

export const listOrganisations = operatorOperation({
  id: 'listOrganisations',
  access: 'manage',
  does: 'looks',
  summary: 'List the organisations of the installation, by name',
  query: pageQuery,
  response: page(
    'OrganisationsOut',
    object('ListedOrganisationOut', {
      id: uuid(),
      name: string(),
      plan: string(),
      monitors: integer(),
      members: integer(),
      created_at: dateTime(),
      ends_at: nullable(dateTime(), {
        description: 'When it will be deleted; null: never.',
      }),
    }),
  ),
});

export const showFigures = operatorOperation({
  id: 'showFigures',
  access: 'manage',
  does: 'looks',
  summary: 'Show the figures of the installation',
  response: object('FiguresOut', {
    organisations: integer(),
    monitors: array(object('MonitorsOfKindOut', { kind: string(), count: integer() })),
    checks: nullable(object('ChecksOut', { from: dateTime(), to: dateTime(), count: integer() }), {
      description: 'In the last whole hour that is counted; null before there is one.',
    }),
    open_incidents: integer(
      {},
      { description: 'All that are not over, also those that are being verified.' },
    ),
    alerts_waiting: integer(
      {},
      { description: 'Held alerts, and messages that are not delivered yet.' },
    ),
    watcher: nullable(object('WatcherOut', { host: string(), accepted_at: nullable(dateTime()) }), {
      description:
        'Who is pinged while the installation decides, and when the last ping was accepted; null: nobody.',
    }),
    version: string(),
    time_zone_data: object('TimeZoneDataOut', {
      version: nullable(string(), {
        description: 'The version of the time zones of this coordinator.',
      }),
      released_on: nullable(string(), {
        description: 'The day on which it came out, where this release knows it.',
      }),
      least_age_days: nullable(integer(), { description: 'So many days old it is for certain.' }),
    }),
  }),
});

export const sayOutageFalse = installationOperation({
  id: 'sayOutageFalse',
  access: 'manage',
  summary: 'Mark a confirmed outage as a false alarm, or undo that; the service status counts it',
  params: { incident_id: uuid() },
  body: object('SayOutageFalseIn', { is_false: optional(boolean(), true) }),
  response: object('SaidOutageFalseOut', {
    incident: uuid(),
    monitor: string(),
    is_false: boolean(),
  }),
  refusals: ['incident_not_found'],
});
