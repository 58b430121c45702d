import type { showGroup as operation } from '../../../shared/api/inner/groups.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { countsOfGroup, groupUses } from '../../store/group-standings.ts';
import type { Answer, InOrganisation } from '../context.ts';
import { found } from '../not-found.ts';
import { standingOut } from './standing-out.ts';

export const showGroup = async (
  { sql, organisation, now }: InOrganisation,
  { group_id }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const [row, uses] = await Promise.all([countsOfGroup(sql, organisation.id, group_id), groupUses(sql, organisation.id, group_id, now)]);
  return { ...standingOut(found(row, 'group_not_found')), ...uses };
};
