import type { withdrawIncidentShare as operation } from '../../../shared/api/inner/incidents.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { removeShare } from '../../store/incident-shares.ts';
import type { Answer, InOrganisation } from '../context.ts';
import { notFound } from '../not-found.ts';

export const withdrawIncidentShare = async (
  { sql, organisation }: InOrganisation,
  { incident_id: incident }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  if (!(await removeShare(sql, organisation.id, incident))) throw notFound('share_not_found');
};
