import type { getBeatAddress as operation } from '../../../shared/api/inner/inner-pings.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { pingTokenOf } from '../../access/access-secrets-at-rest.ts';
import { monitorById } from '../../store/store-monitors.ts';
import { pingTokenBox } from '../../store/store-ping-tokens.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';

/** The one place where a heartbeat's token is read; the API never gives it. */
export const getBeatAddress = async (
  { sql, organisation, with: { secrets, baseUrl } }: InOrganisation,
  { monitor_id: id }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const { type } = found(await monitorById(sql, organisation.id, id), 'monitor_not_found');
  const box = await pingTokenBox(sql, organisation.id, id);
  if (box === undefined)
    throw new Refusal('not_a_heartbeat', `This is a monitor of type ${type}; only heartbeat monitors have an address.`);
  return { id, address: `${baseUrl()}/beat/${await secrets.open(sql, box, pingTokenOf(id))}` };
};
