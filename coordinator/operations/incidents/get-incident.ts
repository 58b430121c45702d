import type { getIncident as operation } from '../../../shared/api/incidents.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { incidentById } from '../../store/store-incidents-read.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';
import { incidentOut } from './operation-incident-out.ts';

export const getIncident = async (
  { sql, organisation, now }: InOrganisation,
  { incident_id }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> =>
  incidentOut(found(await incidentById(sql, organisation.id, incident_id), 'incident_not_found'), now);
