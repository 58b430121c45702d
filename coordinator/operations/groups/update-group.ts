import type { updateGroup as operation } from '../../../shared/api/groups.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { Refusal } from '../../../shared/base/refusal.ts';
import { descriptionFrom, nameFrom } from '../../domain/name.ts';
import { groupById, updateGroup as writeGroup } from '../../store/groups.ts';
import type { Answer, InOrganisation } from '../context.ts';
import { found } from '../not-found.ts';
import { groupOut } from './group-out.ts';

/** What is null stays; an empty description takes the old one away. */
export const updateGroup = async (
  { sql, organisation, note }: InOrganisation,
  input: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const before = found(await groupById(sql, organisation.id, input.group_id), 'group_not_found');
  const name = input.name === null ? before.name : nameFrom(input.name);
  const description = input.description === null ? before.description : descriptionFrom(input.description);
  if (!(await writeGroup(sql, before.id, name, description)))
    throw new Refusal('name_taken', `name: there is a group "${name}" already; choose another name.`);
  note({ before: { name: before.name, description: before.description }, after: { name, description } });
  return groupOut({ ...before, name, description });
};
