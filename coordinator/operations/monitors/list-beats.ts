import type { listBeats as operation } from '../../../shared/api/inner/beats.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { Refusal } from '../../../shared/base/refusal.ts';
import { keptBeats, newestBeats } from '../../store/beats.ts';
import { monitorById } from '../../store/monitors.ts';
import type { Answer, InOrganisation } from '../context.ts';
import { found } from '../not-found.ts';

export const listBeats = async (
  { sql, organisation }: InOrganisation,
  { monitor_id: id }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const { type } = found(await monitorById(sql, organisation.id, id), 'monitor_not_found');
  if (type !== 'heartbeat') throw new Refusal('not_a_heartbeat', `This is a monitor of type ${type}; only heartbeat monitors have beats.`);
  const beats = await newestBeats(sql, organisation.id, id, keptBeats);
  return { items: beats.map(({ at, ear, ...beat }) => ({ ...beat, at: at.toISOString(), taken_by: ear })) };
};
