import { dateTime, nullable, object, string, uuid } from './fields.ts';
import { MonitorOut } from './monitors.ts';
import { exampleIds, operation, page, pageQuery } from './operation.ts';

const DeletedMonitorOut = object('DeletedMonitorOut', {
  id: uuid({ example: exampleIds.monitor }),
  name: string({ example: 'Shop' }),
  type: string({ example: 'https' }),
  target: string({ example: 'https://shop.example.com/' }),
  external_id: nullable(string({ example: 'shop/checkout' })),
  deleted_at: dateTime({ meaning: 'When it was deleted.', example: '2026-11-18T04:03:35.000Z' }),
  deleted_by: string({ meaning: 'Who deleted it.', example: 'Ada' }),
  deleted_for_ever_at: dateTime({
    meaning: 'Until then it can be restored.',
    example: '2026-11-25T04:03:35.000Z',
  }),
});

export const listDeletedMonitors = operation({
  id: 'listDeletedMonitors',
  method: 'GET',
  path: '/api/v1/monitors/deleted',
  tag: 'Monitor trash',
  access: 'read',
  summary: 'List the deleted monitors that can be restored',
  description: 'The one that was deleted last comes first.',
  query: pageQuery,
  response: page('DeletedMonitorPage', DeletedMonitorOut),
  columns: ['name', 'type', 'target', 'deleted_by', 'deleted_at', 'deleted_for_ever_at', 'id'],
});

export const restoreMonitor = operation({
  id: 'restoreMonitor',
  method: 'POST',
  path: '/api/v1/monitors/deleted/{monitor_id}/restore',
  tag: 'Monitor trash',
  access: 'write',
  summary: 'Restore a deleted monitor with its history',
  description:
    'It comes back as it was, on its status pages and channels too, unless these are gone. The ' +
    'time in which it was deleted counts as paused. An incident that was open then ended with it.',
  params: { monitor_id: uuid() },
  response: MonitorOut,
  refusals: [
    'monitor_not_found',
    'external_id_taken',
    'ping_alias_taken',
    'plan_limit_monitors',
    'dependencies_invalid',
  ],
});
