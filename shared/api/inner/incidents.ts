import { array, dateTime, dict, nullable, number, object, string, uuid } from '../fields.ts';
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
  phases: nullable(dict()),
  evidence: nullable(dict()),
});

export const showIncident = innerOperation({
  id: 'showIncident',
  access: 'read',
  summary: 'Show an incident with what the failing checks saw',
  params: { incident_id: uuid() },
  response: object('IncidentDetailsOut', {
    ...IncidentOut.shape,
    scope: nullable(string()),
    layer: nullable(string()),
    evidence: array(EvidenceOut),
  }),
  refusals: ['incident_not_found'],
});
