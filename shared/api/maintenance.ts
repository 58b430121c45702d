import { array, dateTime, maybe, object, optional, string, uuid } from './fields.ts';
import { moment, written } from './moment.ts';
import { exampleIds, maxIdsIn, nullableString, operation, page, pageQuery } from './operation.ts';

const local = {
  ...written,
  description:
    'As 2026-11-24T02:00 a local time of the organisation; with Z or an offset an instant.',
};

const localTime = {
  description: 'What the clock of the window shows then, as 2026-11-24T02:00:00.',
};

const OccurrenceOut = object('OccurrenceOut', {
  starts_at: dateTime({
    meaning: 'When the first occurrence begins.',
    example: '2026-11-24T01:00:00.000Z',
  }),
  ends_at: dateTime({
    meaning: 'When the first occurrence ends.',
    example: '2026-11-24T02:00:00.000Z',
  }),
  local_start: string({ ...localTime, example: '2026-11-24T02:00:00' }),
  local_end: string({ ...localTime, example: '2026-11-24T03:00:00' }),
  notes: array(string(), {
    description: 'What a change of the clock does to it, in words.',
    example: [],
  }),
});

const ahead = {
  time_zone: string({
    description:
      'The time zone in which it repeats: as given, or that of the organisation when it was created.',
    example: 'Europe/Berlin',
  }),
  repeats: nullableString('How it repeats, in words; null when it does not.', {
    example: 'every week on Tuesday',
  }),
  next_occurrences: array(OccurrenceOut, {
    description: 'Those that are not over, the next ten at most.',
  }),
};

export const MaintenanceOut = object('MaintenanceOut', {
  id: uuid({ example: exampleIds.window }),
  name: nullableString('What the window is for.', { example: 'Weekly release' }),
  starts_at: dateTime({
    meaning: 'When the first occurrence begins.',
    example: '2026-11-24T01:00:00.000Z',
  }),
  ends_at: dateTime({
    meaning: 'When the first occurrence ends.',
    example: '2026-11-24T02:00:00.000Z',
  }),
  rrule: nullableString('How it repeats, as an RFC 5545 rule; null when it does not.', {
    example: 'FREQ=WEEKLY;BYDAY=TU',
  }),
  monitors: array(uuid(), {
    description: 'Monitors covered directly.',
    example: [exampleIds.monitor],
  }),
  groups: array(uuid(), { description: 'Groups covered.', example: [] }),
  ...ahead,
});

const MaintenancePage = page('MaintenancePage', MaintenanceOut);

const maxIds = { maxItems: maxIdsIn.largeBody };

const timeZone = maybe(string({ minLength: 1, limits: { maxLength: 100 } }), {
  description:
    'The IANA time zone of local times, in which occurrences keep their time; that of the organisation if not given. It cannot be changed later.',
  example: 'Europe/Berlin',
});

export const MaintenanceIn = object('MaintenanceIn', {
  name: maybe(string({ minLength: 1, limits: { maxLength: 200 }, example: 'Weekly release' })),
  starts_at: moment({ ...local, example: '2026-11-24T02:00:00+01:00' }),
  ends_at: moment({ ...local, example: '2026-11-24T03:00:00+01:00' }),
  rrule: maybe(string({ minLength: 1 }), {
    description: 'An RFC 5545 RRULE value without DTSTART; occurrences keep the local time.',
    limits: { maxLength: 1_000 },
    example: 'FREQ=WEEKLY;BYDAY=TU',
  }),
  time_zone: timeZone,
  monitors: optional(array(uuid(), { ...maxIds, example: [exampleIds.monitor] }), []),
  groups: optional(array(uuid(), maxIds), []),
});

const ofWindow = {
  ...written,
  description: 'As 2026-11-24T02:00 a local time of the window; with Z or an offset an instant.',
};

const MaintenancePatch = object(
  'MaintenancePatch',
  {
    name: maybe(string(), {
      description: 'An empty one takes the name away.',
      limits: { maxLength: 200 },
    }),
    starts_at: maybe(moment({ ...ofWindow, meaning: 'When the first occurrence begins.' })),
    ends_at: maybe(
      moment({
        ...ofWindow,
        meaning: 'When the first occurrence ends.',
        example: '2026-11-24T04:00:00+01:00',
      }),
    ),
    rrule: maybe(string(), {
      description: 'An empty one: it no longer repeats.',
      limits: { maxLength: 1_000 },
    }),
    monitors: maybe(array(uuid(), maxIds)),
    groups: maybe(array(uuid(), maxIds)),
  },
  {
    description:
      'A field that is not sent, or null, stays as it is. What the window covered until now stays covered.',
  },
);

const planLimits = ['plan_limit_windows', 'plan_limit_occurrences'] as const;

const windowId = { window_id: uuid() };

export const listMaintenanceWindows = operation({
  id: 'listMaintenanceWindows',
  method: 'GET',
  path: '/api/v1/maintenance',
  tag: 'Maintenance',
  access: 'read',
  summary: 'List maintenance windows',
  description: 'Newest first.',
  query: pageQuery,
  response: MaintenancePage,
  columns: ['name', 'starts_at', 'ends_at', 'rrule', 'monitors', 'groups', 'id'],
});

export const createMaintenanceWindow = operation({
  id: 'createMaintenanceWindow',
  method: 'POST',
  path: '/api/v1/maintenance',
  tag: 'Maintenance',
  access: 'write',
  summary: 'Schedule a maintenance window',
  description: 'At least one monitor or group. What it covers is still checked and does not alert.',
  body: MaintenanceIn,
  takesMuch: true,
  response: MaintenanceOut,
  success: 201,
  refusals: [
    ...([
      'name_invalid',
      'window_invalid',
      'rrule_invalid',
      'time_zone_invalid',
      'monitor_not_found',
      'group_not_found',
    ] as const),
    ...planLimits,
  ],
});

export const getMaintenanceWindow = operation({
  id: 'getMaintenanceWindow',
  method: 'GET',
  path: '/api/v1/maintenance/{window_id}',
  tag: 'Maintenance',
  access: 'read',
  summary: 'Get a maintenance window',
  params: windowId,
  response: MaintenanceOut,
  refusals: ['maintenance_window_not_found'],
});

export const updateMaintenanceWindow = operation({
  id: 'updateMaintenanceWindow',
  method: 'PATCH',
  path: '/api/v1/maintenance/{window_id}',
  tag: 'Maintenance changes',
  access: 'write',
  summary: 'Change a maintenance window',
  description:
    'From now on; what it covered in the past stays covered, and it keeps the clock that it repeats by.',
  params: windowId,
  body: MaintenancePatch,
  takesMuch: true,
  response: MaintenanceOut,
  refusals: [
    'maintenance_window_not_found',
    ...([
      'name_invalid',
      'window_invalid',
      'rrule_invalid',
      'monitor_not_found',
      'group_not_found',
    ] as const),
    ...planLimits,
  ],
});

export const previewMaintenanceWindow = operation({
  id: 'previewMaintenanceWindow',
  method: 'GET',
  path: '/api/v1/maintenance/preview',
  tag: 'Maintenance changes',
  access: 'read',
  summary: 'Preview when a maintenance window would occur',
  description: 'Nothing is saved. Refused for the reasons for which such a window would be.',
  query: {
    starts_at: moment({ ...local, meaning: 'When the first occurrence begins.' }),
    ends_at: moment({ ...local, meaning: 'When the first occurrence ends.' }),
    rrule: maybe(string({ minLength: 1 }), {
      description: 'An RFC 5545 RRULE value without DTSTART.',
      limits: { maxLength: 1_000 },
    }),
    window: maybe(uuid(), {
      description: 'The window that would be changed so: the preview is in its time zone.',
    }),
    time_zone: timeZone,
  },
  response: object('MaintenancePreviewOut', ahead),
  refusals: [
    'maintenance_window_not_found',
    'window_invalid',
    'rrule_invalid',
    'time_zone_invalid',
    'plan_limit_occurrences',
  ],
});

export const deleteMaintenanceWindow = operation({
  id: 'deleteMaintenanceWindow',
  method: 'DELETE',
  path: '/api/v1/maintenance/{window_id}',
  tag: 'Maintenance',
  access: 'write',
  summary: 'Delete a maintenance window',
  description: 'What it covered in the past stays covered.',
  params: windowId,
  refusals: ['maintenance_window_not_found'],
});

export const startMaintenanceNow = operation({
  id: 'startMaintenanceNow',
  method: 'POST',
  path: '/api/v1/maintenance/{window_id}/start',
  tag: 'Maintenance changes',
  access: 'write',
  summary: 'Begin a maintenance window now',
  description:
    'For as long as it lasts. One that is to come and does not repeat is moved; of any other a new one is made that covers the same, once: the answer is the one that runs.',
  params: windowId,
  response: MaintenanceOut,
  refusals: ['maintenance_window_not_found', 'window_invalid', 'plan_limit_windows'],
});

export const endMaintenanceNow = operation({
  id: 'endMaintenanceNow',
  method: 'POST',
  path: '/api/v1/maintenance/{window_id}/end',
  tag: 'Maintenance changes',
  access: 'write',
  summary: 'End what runs of a maintenance window now',
  description: 'One that repeats goes on with its next occurrence.',
  params: windowId,
  response: MaintenanceOut,
  refusals: ['maintenance_window_not_found', 'window_invalid'],
});
