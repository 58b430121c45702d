import { array, dateTime, maybe, moment, object, optional, string, uuid } from './fields.ts';
import { operation } from './operation.ts';
import { nullableString, page, pageQuery } from './pagination.ts';

const local = { description: 'Without an offset a local time of the organisation; with one an instant.' };

export const MaintenanceOut = object('MaintenanceOut', {
  id: uuid(),
  name: nullableString('What the window is for.'),
  starts_at: dateTime(),
  ends_at: dateTime(),
  rrule: nullableString('How it repeats, as an RFC 5545 rule; null when it does not.'),
  monitors: array(uuid(), { description: 'Monitors covered directly.' }),
  groups: array(uuid(), { description: 'Groups covered.' }),
});

const MaintenancePage = page('MaintenancePage', MaintenanceOut);

const MaintenanceIn = object('MaintenanceIn', {
  name: maybe(string()),
  starts_at: moment(local),
  ends_at: moment(local),
  rrule: maybe(string(), { description: 'An RFC 5545 RRULE value without DTSTART; occurrences keep the local time.' }),
  monitors: optional(array(uuid()), []),
  groups: optional(array(uuid()), []),
});

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
  success: 200,
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
  response: MaintenanceOut,
  success: 201,
  refusals: ['name_invalid', 'window_invalid', 'rrule_invalid', 'monitor_not_found', 'group_not_found'],
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
  success: 200,
  refusals: ['maintenance_window_not_found'],
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
  success: 204,
  refusals: ['maintenance_window_not_found'],
});
