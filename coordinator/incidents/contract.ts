import { object, string, uuid } from '../../shared/api/fields.ts';
import { innerOperation } from '../../shared/api/operation.ts';

/**
 * What members of an organisation do about an incident.
 *
 * Operations that only pages and operators call, with who may (`access`). Those of the API are in
 * `shared/api/`.
 */

export const addIncidentNote = innerOperation({
  id: 'addIncidentNote',
  access: 'write',
  summary: 'Write a note about an incident, for the members of the organisation',
  params: { incident_id: uuid() },
  body: object('NoteIn', { text: string() }),
  response: object('WrittenNoteOut', { id: uuid() }),
  refusals: ['incident_not_found', 'note_invalid'],
});

export const shareIncident = innerOperation({
  id: 'shareIncident',
  access: 'write',
  summary: 'Make a link that shows an incident to whoever has it; one made before ends',
  params: { incident_id: uuid() },
  response: object('ShareLinkOut', { link: string({ description: 'Shown once.' }) }),
  refusals: ['incident_not_found'],
});

export const withdrawIncidentShare = innerOperation({
  id: 'withdrawIncidentShare',
  access: 'write',
  summary: 'End the link that shows an incident',
  params: { incident_id: uuid() },
  refusals: ['share_not_found'],
});
