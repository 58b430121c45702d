import type { getChannelChoices as operation } from '../../../shared/api/inner/inner-channels.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { groupChoices } from '../../store/store-groups.ts';
import { monitorChoices } from '../../store/store-monitors.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';

export const getChannelChoices = async ({ sql, organisation }: InOrganisation): Answer<OutputOf<typeof operation>> => {
  const [monitors, groups] = await Promise.all([monitorChoices(sql, organisation.id), groupChoices(sql, organisation.id)]);
  return { monitors: monitors.map(({ id, name }) => ({ id, name })), groups: groups.map(({ id, name }) => ({ id, name })) };
};
