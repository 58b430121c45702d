import type { showGroup as operation } from '../../../shared/api/inner/inner-groups.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { groupUses } from '../../store/store-group-standings.ts';
import { groupById } from '../../store/store-groups.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';
import { groupOut } from './operation-group-out.ts';

export const showGroup = async (
  { sql, organisation, now }: InOrganisation,
  { group_id }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const [row, uses] = await Promise.all([groupById(sql, organisation.id, group_id), groupUses(sql, organisation.id, group_id, now)]);
  return { ...groupOut(found(row, 'group_not_found')), ...uses };
};
