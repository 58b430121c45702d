import type { rotateBeatAddress as operation } from '../../../shared/api/inner/inner-pings.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { newPingToken, pingFingerprint } from '../../../shared/checks/heartbeat/config.ts';
import { pingTokenOf } from '../../access/access-secrets-at-rest.ts';
import { monitorById } from '../../store/store-monitors.ts';
import { insertPingToken, retirePingTokens } from '../../store/store-ping-tokens.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';

/** A new token at once; older ones for as long as it takes to tell every job, or no longer where somebody else has one. */
export const rotateBeatAddress = async (
  { sql, organisation, now, with: { secrets, baseUrl } }: InOrganisation,
  { monitor_id: id, overlap_s }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const { type } = found(await monitorById(sql, organisation.id, id), 'monitor_not_found');
  const until = now + overlap_s * 1_000;
  if (!(await retirePingTokens(sql, organisation.id, id, until)))
    throw new Refusal('not_a_heartbeat', `This is a monitor of type ${type}; only heartbeat monitors have an address.`);
  const token = newPingToken();
  const box = await secrets.seal(sql, token, pingTokenOf(id));
  await insertPingToken(sql, { fingerprint: pingFingerprint(token), monitor: id, organisation: organisation.id, box });
  return { id, address: `${baseUrl()}/beat/${token}`, old_until: new Date(until).toISOString() };
};
