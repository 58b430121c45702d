import type { showIncident as operation } from '../../../shared/api/inner/incidents.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { causeSentence } from '../../../shared/checks/causes.ts';
import type { Json } from '../../../shared/checks/result.ts';
import { incidentById, incidentDetails } from '../../store/incidents-read.ts';
import type { Answer, InOrganisation } from '../context.ts';
import { found } from '../not-found.ts';
import { incidentOut } from './incident-out.ts';

const record = (json: Json | null) => (typeof json === 'object' && json !== null && !Array.isArray(json) ? { ...json } : null);

/** With its evidence, which came from the target and is for members' eyes only. */
export const showIncident = async (
  { sql, organisation }: InOrganisation,
  { incident_id }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const row = found(await incidentById(sql, organisation.id, incident_id), 'incident_not_found');
  const { scope, layer, evidence } = await incidentDetails(sql, incident_id);
  return {
    ...incidentOut(row),
    scope,
    layer,
    evidence: evidence.map(({ cause, at, phases, evidence: saw, ...rest }) => ({
      ...rest,
      at: at.toISOString(),
      cause: cause === null ? null : causeSentence(cause),
      phases: phases === null ? null : { ...phases },
      evidence: record(saw),
    })),
  };
};
