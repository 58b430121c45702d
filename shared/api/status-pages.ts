import { array, boolean, dateTime, integer, maybe, nullable, object, string, uuid } from './fields.ts';
import { operation } from './operation.ts';
import { page, pageQuery } from './pagination.ts';

const summary = {
  id: uuid(),
  name: string(),
  slug: string({ description: 'The page is published at `/status/<slug>`.' }),
};

export const StatusPageSummaryOut = object('StatusPageSummaryOut', { ...summary, enabled: boolean(), created_at: dateTime() });

const StatusPagePage = page('StatusPagePage', StatusPageSummaryOut);

export const StatusPageMonitorOut = object('StatusPageMonitorOut', {
  monitor: uuid(),
  display_name: string({ description: 'The name chosen for the audience of the page.' }),
  group: nullable(uuid(), { description: 'The heading that it stands under.' }),
  position: integer(),
});

export const StatusPageGroupOut = object('StatusPageGroupOut', { group: uuid(), display_name: string(), position: integer() });

export const StatusPageOut = object('StatusPageOut', {
  ...summary,
  description: nullable(string()),
  enabled: boolean(),
  created_at: dateTime(),
  monitors: array(StatusPageMonitorOut),
  groups: array(StatusPageGroupOut),
});

const StatusPageMonitorIn = object('StatusPageMonitorIn', {
  monitor: uuid(),
  display_name: maybe(string(), { description: 'The name of the monitor when not given.' }),
  position: maybe(integer(), { description: 'At the end when not given.' }),
});

const StatusPageGroupIn = object('StatusPageGroupIn', {
  group: uuid(),
  display_name: maybe(string(), { description: 'The name of the group when not given.' }),
});

const pageId = { page_id: uuid() };

export const listStatusPages = operation({
  id: 'listStatusPages',
  method: 'GET',
  path: '/api/v1/status-pages',
  tag: 'Status pages',
  access: 'read',
  summary: 'List status pages',
  description: 'Oldest first, with whether each is enabled. Status pages are created in the web interface.',
  query: pageQuery,
  response: StatusPagePage,
  success: 200,
});

export const getStatusPage = operation({
  id: 'getStatusPage',
  method: 'GET',
  path: '/api/v1/status-pages/{page_id}',
  tag: 'Status pages',
  access: 'read',
  summary: 'Get a status page and what is published on it',
  params: pageId,
  response: StatusPageOut,
  success: 200,
  refusals: ['status_page_not_found'],
});

export const addStatusPageMonitor = operation({
  id: 'addStatusPageMonitor',
  method: 'POST',
  path: '/api/v1/status-pages/{page_id}/monitors',
  tag: 'Status pages',
  access: 'write',
  summary: 'Publish a monitor on a status page',
  params: pageId,
  body: StatusPageMonitorIn,
  response: StatusPageMonitorOut,
  success: 201,
  refusals: ['status_page_not_found', 'monitor_not_found', 'name_invalid', 'position_invalid', 'already_published'],
});

export const removeStatusPageMonitor = operation({
  id: 'removeStatusPageMonitor',
  method: 'DELETE',
  path: '/api/v1/status-pages/{page_id}/monitors/{monitor_id}',
  tag: 'Status pages',
  access: 'write',
  summary: 'Take a monitor off a status page',
  description: 'Off this page only; other pages keep it.',
  params: { ...pageId, monitor_id: uuid() },
  success: 204,
  refusals: ['status_page_not_found', 'status_page_monitor_not_found'],
});

export const addStatusPageGroup = operation({
  id: 'addStatusPageGroup',
  method: 'POST',
  path: '/api/v1/status-pages/{page_id}/groups',
  tag: 'Status pages',
  access: 'write',
  summary: 'Publish a group on a status page',
  description: 'The group becomes a heading, and its monitors are published under it.',
  params: pageId,
  body: StatusPageGroupIn,
  response: StatusPageGroupOut,
  success: 201,
  refusals: ['status_page_not_found', 'group_not_found', 'name_invalid', 'already_published'],
});

export const removeStatusPageGroup = operation({
  id: 'removeStatusPageGroup',
  method: 'DELETE',
  path: '/api/v1/status-pages/{page_id}/groups/{group_id}',
  tag: 'Status pages',
  access: 'write',
  summary: 'Take the heading of a group off a status page',
  description: 'Its monitors stay published.',
  params: { ...pageId, group_id: uuid() },
  success: 204,
  refusals: ['status_page_not_found', 'status_page_group_not_found'],
});
