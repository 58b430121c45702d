import type { acknowledgeIncident as operation } from '../../../shared/api/incidents.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { acknowledgementOf, writeAcknowledgement } from '../../store/store-acknowledgements.ts';
import { incidentById } from '../../store/store-incidents-read.ts';
import { ownName } from '../../store/store-users.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';

/** The first who does counts (rule 34). */
export const acknowledgeIncident = async (
  { sql, organisation, caller, now }: InOrganisation,
  { incident_id: id }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  found(await incidentById(sql, organisation.id, id), 'incident_not_found');
  const as = caller.user === null ? 'the operator' : ((await ownName(sql, caller.user)) ?? 'a member');
  await writeAcknowledgement(sql, { incidents: [id], organisation: organisation.id, user: caller.user, as, now });
  const acknowledged = await acknowledgementOf(sql, id);
  if (!acknowledged) throw new Refusal('incident_over', 'Only an incident that is confirmed and still open can be acknowledged.');
  return { incident: id, acknowledged_at: acknowledged.at.toISOString(), acknowledged_by: acknowledged.as };
};
