import type { getGroup as operation } from '../../../shared/api/groups.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { groupById } from '../../store/store-groups.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';
import { groupOut } from './operation-group-out.ts';

export const getGroup = async (
  { sql, organisation }: InOrganisation,
  { group_id }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => groupOut(found(await groupById(sql, organisation.id, group_id), 'group_not_found'));
