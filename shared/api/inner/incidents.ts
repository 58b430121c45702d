import { array, boolean, dateTime, dict, nullable, number, object, string, uuid } from '../fields.ts';
import { IncidentOut } from '../incidents.ts';
import { innerOperation } from '../operation.ts';

/** An incident with its evidence, which came from the target and is for members alone. */

const EvidenceOut = object('EvidenceOut', {
  part: string({ description: '`seen`, `confirmed` or `matrix`.' }),
  continent: nullable(string(), { description: 'null: a job said so itself.' }),
  probe: string({ description: 'Who saw it, or took what a job said.' }),
  at: dateTime(),
  outcome: string(),
  took_ms: number(),
  cause: nullable(string()),
  cause_class: nullable(string()),
  phases: nullable(dict()),
  evidence: nullable(dict()),
});

const SampleOut = object('SampleOut', {
  at: dateTime(),
  continent: string(),
  probe: string(),
  outcome: string(),
  took_ms: number(),
  cause_class: nullable(string()),
});

const ToldOut = object('ToldOut', {
  event: string({ description: '`down`, `up` or `closed`.' }),
  channel: string(),
  state: string({ description: '`held`, `due`, `sent` or `dropped`.' }),
  due_at: nullable(dateTime()),
  settled_at: nullable(dateTime()),
});

export const getIncidentEvidence = innerOperation({
  id: 'getIncidentEvidence',
  access: 'read',
  summary: 'Show an incident with what the failing checks saw, and what all continents saw while it lasted',
  params: { incident_id: uuid() },
  response: object('IncidentEvidenceOut', {
    ...IncidentOut.shape,
    scope: nullable(string()),
    layer: nullable(string()),
    duration_s: number(),
    checks: array(EvidenceOut),
    samples: array(SampleOut),
    samples_complete: boolean({ description: 'False when every so many of the samples in the middle stand for all of them.' }),
    told: array(ToldOut),
    notes: array(object('NoteOut', { id: uuid(), by: nullable(string()), at: dateTime(), text: string() })),
    share: nullable(object('ShareOut', { by: nullable(string()), at: dateTime() }), {
      description: 'The link that shows it to others, while there is one.',
    }),
    effect: object('EffectOut', {
      days: number(),
      down_seconds: number({ description: 'What this incident alone counts as down in so many days.' }),
      percent: nullable(number()),
      percent_without: nullable(number()),
    }),
  }),
  refusals: ['incident_not_found'],
});

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
