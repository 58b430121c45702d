import {
  array,
  integer,
  nullable,
  object,
  optional,
  string,
  uuid,
} from '../../shared/api/fields.ts';
import { GroupOut } from '../../shared/api/groups.ts';
import { innerOperation } from '../../shared/api/operation.ts';

/**
 * Groups with their monitors.
 *
 * Operations that only pages and operators call, with who may (`access`). Those of the API are in
 * `shared/api/`.
 */

/** The number of groups on a page. */
export const groupRows = 50;

export const listGroupStatuses = innerOperation({
  id: 'listGroupStandings',
  access: 'read',
  summary: 'List groups by name, each with its status and how many of its monitors are how',
  query: { page: optional(integer({ ge: 1, le: 10_000 }), 1) },
  response: object('GroupStandingsOut', {
    matching: integer(),
    items: array(GroupOut),
  }),
});

const NamedOut = object('GroupUseOut', { id: uuid(), name: nullable(string()) });

export const showGroup = innerOperation({
  id: 'showGroup',
  access: 'read',
  summary:
    'Show a group with its status, and what names it: windows to come, channels and status pages',
  params: { group_id: uuid() },
  response: object('GroupShownOut', {
    ...GroupOut.shape,
    windows: array(NamedOut),
    channels: array(NamedOut),
    pages: array(NamedOut),
  }),
  refusals: ['group_not_found'],
});

export const listMonitorsOutside = innerOperation({
  id: 'listMonitorsOutside',
  access: 'read',
  summary: 'List the monitors that are not in a group, with the group that they are in',
  params: { group_id: uuid() },
  response: object('MonitorsOutsideOut', {
    items: array(
      object('MonitorOutsideOut', { id: uuid(), name: string(), group: nullable(string()) }),
    ),
  }),
  refusals: ['group_not_found'],
});
