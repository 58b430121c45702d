import { array, integer, object, optional, string, uuid } from '../../shared/api/fields.ts';
import { IncidentOut, incidentFilter } from '../../shared/api/incidents.ts';
import { daysBounds } from '../../shared/api/monitors.ts';
import { innerOperation, page, pageQuery } from '../../shared/api/operation.ts';

/**
 * Lists of incidents for people.
 *
 * Operations that only pages and operators call, with who may (`access`). Those of the API are in
 * `shared/api/`.
 */

/** A monitor that went down three times within it is shown as flapping. */
export const flappingMs = 30 * 60_000;

export const listFoldedIncidents = innerOperation({
  id: 'listFoldedIncidents',
  access: 'read',
  summary: 'List resolved incidents; three and more of a monitor become its newest one',
  query: { ...incidentFilter, ...pageQuery },
  response: page(
    'FoldedIncidentPage',
    object('FoldedIncidentOut', {
      ...IncidentOut.shape,
      times: integer(),
      /** How often the monitor went down within `flappingMs`. */
      recent: integer(),
    }),
  ),
});

export const listIncidentChoices = innerOperation({
  id: 'listIncidentChoices',
  access: 'read',
  summary: 'List what the incidents of some days can be filtered by',
  query: { days: optional(integer(daysBounds), 30) },
  response: object('IncidentChoicesOut', {
    monitors: array(object('IncidentChoiceOut', { id: uuid(), name: string() })),
    layers: array(string()),
    owners: array(string()),
  }),
});
