import { array, integer, object, optional, string, uuid } from '../../shared/api/fields.ts';
import { IncidentOut, incidentFilter } from '../../shared/api/incidents.ts';
import { daysBounds } from '../../shared/api/monitors.ts';
import { innerOperation, page, pageQuery } from '../../shared/api/operation.ts';

/**
 * What members of an organisation do about an incident.
 *
 * Operations that only pages and operators call, with who may (`access`). Those of the API are in
 * `shared/api/`.
 */

export const addIncidentNote = innerOperation({
  id: 'addIncidentNote',
  access: 'write',
  summary: 'Add a note to an incident, for the members of the organisation',
  params: { incident_id: uuid() },
  body: object('NoteIn', { text: string() }),
  response: object('WrittenNoteOut', { id: uuid() }),
  refusals: ['incident_not_found', 'note_invalid'],
});

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

export const shareIncident = innerOperation({
  id: 'shareIncident',
  access: 'write',
  summary: 'Create a link that shows an incident to anyone who has it; an earlier one is revoked',
  params: { incident_id: uuid() },
  response: object('ShareLinkOut', { link: string({ description: 'Shown once.' }) }),
  refusals: ['incident_not_found'],
});

export const withdrawIncidentShare = innerOperation({
  id: 'withdrawIncidentShare',
  access: 'write',
  summary: 'Revoke the link that shows an incident',
  params: { incident_id: uuid() },
  refusals: ['share_not_found'],
});
