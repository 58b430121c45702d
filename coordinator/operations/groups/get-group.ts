import type { getGroup as operation } from '../../../shared/api/groups.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { groupById } from '../../store/groups.ts';
import type { Answer, InOrganisation } from '../context.ts';
import { found } from '../not-found.ts';
import { groupOut } from './group-out.ts';

export const getGroup = async (
  { sql, organisation }: InOrganisation,
  { group_id }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => groupOut(found(await groupById(sql, organisation.id, group_id), 'group_not_found'));
