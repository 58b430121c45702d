import type { deleteGroup as operation } from '../../../shared/api/groups.ts';
import type { InputOf } from '../../../shared/api/operation.ts';
import { groupsAmong, removeGroup } from '../../store/store-groups.ts';
import type { InOrganisation } from '../operation-context.ts';
import { notFound } from '../operation-not-found.ts';

/** Its monitors remain, without a group; a window that covered them through it covers them no longer (rule 26). */
export const deleteGroup = async ({ sql, organisation }: InOrganisation, { group_id }: InputOf<typeof operation>): Promise<void> => {
  if (!(await groupsAmong(sql, organisation.id, [group_id])).has(group_id)) throw notFound('group_not_found');
  await removeGroup(sql, organisation.id, group_id);
};
