import { array, boolean, dateTime, dict, nullable, number, object, string, uuid } from './api-fields.ts';
import { IncidentOut } from './api-incidents.ts';
import { operation } from './api-operation.ts';

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

export const getIncidentEvidence = operation({
  id: 'getIncidentEvidence',
  method: 'GET',
  path: '/api/v1/incidents/{incident_id}/evidence',
  tag: 'Incident evidence',
  access: 'read',
  summary: 'Get an incident with its evidence',
  description:
    'What the failing checks themselves saw, what every continent saw while it lasted, who was told, the notes of members, and what it did to the uptime. Parts of it came from the target: show them as text, never as markup.',
  params: { incident_id: uuid() },
  response: object('IncidentEvidenceOut', {
    ...IncidentOut.shape,
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
  success: 200,
  refusals: ['incident_not_found'],
});
