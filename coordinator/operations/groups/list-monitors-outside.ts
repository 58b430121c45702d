import type { listMonitorsOutside as operation } from '../../../shared/api/inner/groups.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { monitorsOutside } from '../../store/group-standings.ts';
import { groupsAmong } from '../../store/groups.ts';
import type { Answer, InOrganisation } from '../context.ts';
import { notFound } from '../not-found.ts';

export const listMonitorsOutside = async (
  { sql, organisation }: InOrganisation,
  { group_id }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  if (!(await groupsAmong(sql, organisation.id, [group_id])).has(group_id)) throw notFound('group_not_found');
  return { items: await monitorsOutside(sql, organisation.id, group_id) };
};
