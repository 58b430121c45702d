import type { shareIncident as operation } from '../../../shared/api/inner/inner-incidents.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { newShareText, shareFingerprint } from '../../access/access-share-links.ts';
import { writeShare } from '../../store/store-incident-shares.ts';
import { incidentById } from '../../store/store-incidents-read.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';

/** The link holds the only copy of its secret. */
export const shareIncident = async (
  { sql, organisation, caller, now, with: { baseUrl } }: InOrganisation,
  { incident_id: incident }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  found(await incidentById(sql, organisation.id, incident), 'incident_not_found');
  const text = newShareText();
  const fingerprint = shareFingerprint(text);
  await writeShare(sql, { ...{ incident, fingerprint }, organisation: organisation.id, user: caller.user, at: new Date(now) });
  return { link: `${baseUrl()}/shared/incidents/${text}` };
};
