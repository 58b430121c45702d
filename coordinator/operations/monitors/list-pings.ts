import type { listBeats as operation } from '../../../shared/api/inner/inner-pings.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { monitorById } from '../../store/store-monitors.ts';
import { keptPings, newestPings } from '../../store/store-pings.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';

export const listBeats = async (
  { sql, organisation }: InOrganisation,
  { monitor_id: id }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const { type } = found(await monitorById(sql, organisation.id, id), 'monitor_not_found');
  if (type !== 'heartbeat') throw new Refusal('not_a_heartbeat', `This is a monitor of type ${type}; only heartbeat monitors have beats.`);
  const pings = await newestPings(sql, organisation.id, id, keptPings);
  return { items: pings.map(({ at, ear, ...ping }) => ({ ...ping, at: at.toISOString(), taken_by: ear })) };
};
