import type { updateGroup as operation } from '../../../shared/api/groups.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { groupById } from '../../store/store-groups.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';
import { changeGroup } from './operation-group-change.ts';

export const updateGroup = async (context: InOrganisation, input: InputOf<typeof operation>): Answer<OutputOf<typeof operation>> =>
  changeGroup(context, found(await groupById(context.sql, context.organisation.id, input.group_id), 'group_not_found'), input);
