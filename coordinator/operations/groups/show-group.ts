import type { showGroup as operation } from '../../../shared/api/inner/groups.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { groupUses } from '../../store/group-standings.ts';
import { groupById } from '../../store/groups.ts';
import type { Answer, InOrganisation } from '../context.ts';
import { found } from '../not-found.ts';
import { groupOut } from './group-out.ts';

export const showGroup = async (
  { sql, organisation, now }: InOrganisation,
  { group_id }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const [row, uses] = await Promise.all([groupById(sql, organisation.id, group_id), groupUses(sql, organisation.id, group_id, now)]);
  return { ...groupOut(found(row, 'group_not_found')), ...uses };
};
