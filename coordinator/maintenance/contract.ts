import {
  array,
  boolean,
  dateTime,
  integer,
  nullable,
  object,
  optional,
  string,
  uuid,
} from '../../shared/api/fields.ts';
import { MaintenanceOut } from '../../shared/api/maintenance.ts';
import { innerOperation } from '../../shared/api/operation.ts';

/**
 * Windows as people see them: sorted by when they are.
 *
 * Operations that only pages and operators call, with who may (`access`). Those of the API are in
 * `shared/api/`.
 */

/** The number of windows on a page. */
export const maintenanceRows = 50;

const state = string({ description: '`running`, `coming` or `over`.' });
const NamedOut = object('MaintenanceCoversOut', { id: uuid(), name: string() });

export const listMaintenanceByTime = innerOperation({
  id: 'listMaintenanceByTime',
  access: 'read',
  summary:
    'List maintenance windows that run or come, the soonest first, or those that are over, the latest first',
  query: { over: optional(boolean(), false), page: optional(integer({ ge: 1, le: 10_000 }), 1) },
  response: object('MaintenanceByTimeOut', {
    running: integer(),
    coming: integer(),
    over: integer(),
    items: array(
      object('MaintenanceRowOut', {
        id: uuid(),
        name: nullable(string()),
        state,
        starts_at: dateTime({
          description: 'Of the occurrence that runs, comes next, or was the last.',
        }),
        ends_at: dateTime(),
        repeats: nullable(string()),
        covers: array(string(), {
          description: 'The first few names of what it covers, groups first.',
        }),
        monitors: integer(),
        groups: integer(),
      }),
    ),
  }),
});

export const showMaintenanceWindow = innerOperation({
  id: 'showMaintenanceWindow',
  access: 'read',
  summary: 'Show a maintenance window with the names of what it covers, and whether it runs',
  params: { window_id: uuid() },
  response: object('MaintenanceShownOut', {
    window: MaintenanceOut,
    state,
    /** The local times that repeat. The first occurrence may have had to move. */
    local_start: string(),
    local_end: string(),
    last_ended_at: nullable(dateTime({ description: 'When its last occurrence so far was over.' })),
    monitors: array(NamedOut),
    groups: array(NamedOut),
    /** What it covers by now, also through a group: no more than a page shows. */
    affected: array(
      object('MaintenanceAffectsOut', {
        id: uuid(),
        name: string(),
        target: string(),
        group: nullable(string()),
        status: string(),
      }),
    ),
  }),
  refusals: ['maintenance_window_not_found'],
});
