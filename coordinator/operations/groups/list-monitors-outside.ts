import type { listMonitorsOutside as operation } from '../../../shared/api/inner/inner-groups.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { monitorsOutside } from '../../store/store-group-standings.ts';
import { groupsAmong } from '../../store/store-groups.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { notFound } from '../operation-not-found.ts';

export const listMonitorsOutside = async (
  { sql, organisation }: InOrganisation,
  { group_id }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  if (!(await groupsAmong(sql, organisation.id, [group_id])).has(group_id)) throw notFound('group_not_found');
  return { items: await monitorsOutside(sql, organisation.id, group_id) };
};
