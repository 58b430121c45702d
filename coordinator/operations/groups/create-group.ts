import type { createGroup as operation } from '../../../shared/api/groups.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { newId } from '../../../shared/base/ids.ts';
import { descriptionFrom, nameFrom } from '../../domain/name.ts';
import { mayHaveOneMore } from '../../domain/plan.ts';
import { countGroups, groupById, groupNamed, insertGroup } from '../../store/groups.ts';
import { type Answer, type InOrganisation, Otherwise } from '../context.ts';
import { found } from '../not-found.ts';
import { groupOut } from './group-out.ts';

/** Asking twice makes one group: the organisation's lock lets a second caller see what the first one made. */
export const createGroup = async (
  { sql, organisation }: InOrganisation,
  input: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const name = nameFrom(input.name);
  const description = descriptionFrom(input.description);
  const existing = await groupNamed(sql, organisation.id, name);
  if (existing) return new Otherwise(200, groupOut(existing));
  mayHaveOneMore('groups', organisation.plan, await countGroups(sql, organisation.id));
  const id = newId();
  await insertGroup(sql, { id, organisation: organisation.id, name, description });
  return groupOut(found(await groupById(sql, organisation.id, id), 'group_not_found'));
};
