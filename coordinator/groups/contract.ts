import {
  array,
  dict,
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

/** Pages show maintenance before the status that it covers, and count it so. */
const GroupStandingOut = object('GroupStandingOut', { ...GroupOut.shape, maintenance: integer() });

export const listGroupStatuses = innerOperation({
  id: 'listGroupStandings',
  access: 'read',
  summary: 'List groups by name, each with its status and how many of its monitors are how',
  query: { page: optional(integer({ ge: 1, le: 10_000 }), 1) },
  response: object('GroupStandingsOut', {
    matching: integer(),
    items: array(GroupStandingOut),
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
    ...GroupStandingOut.shape,
    windows: array(NamedOut),
    channels: array(NamedOut),
    pages: array(NamedOut),
  }),
  refusals: ['group_not_found'],
});

/** What became of each object that was sent: `created`, `changed`, `unchanged` or `refused`. */
export const PutOut = object('PutOut', {
  items: array(
    object('PutObjectOut', {
      result: string(),
      id: nullable(uuid()),
      before: nullable(dict()),
      after: nullable(dict()),
      error: nullable(object('PutErrorOut', { code: string(), message: string() })),
    }),
  ),
});

/** Replaces groups; without an id, the one of that name, or a new one. */
export const putGroups = innerOperation({
  id: 'putGroups',
  access: 'write',
  summary: 'Create or change groups to exactly what is sent',
  body: object('PutGroupsIn', {
    items: array(
      object('PutGroupIn', {
        id: nullable(uuid()),
        name: string(),
        description: nullable(string()),
        external_id: string(),
      }),
    ),
  }),
  response: PutOut,
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
