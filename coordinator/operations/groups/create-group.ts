import type { createGroup as operation } from '../../../shared/api/groups.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { descriptionFrom, nameFrom } from '../../domain/given-names.ts';
import { externalIdFrom } from '../../domain/monitor-labels.ts';
import { mayHaveOneMore } from '../../domain/plan-limits.ts';
import { countGroups, groupById, groupCalled, groupNamed, insertGroup } from '../../store/store-groups.ts';
import { type Answer, type InOrganisation, Otherwise } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';
import { changeGroup } from './operation-group-change.ts';
import { groupOut } from './operation-group-out.ts';

/** Asking twice makes one group: the organisation's lock lets a second caller see what the first one made. */
export const createGroup = async (context: InOrganisation, input: InputOf<typeof operation>): Answer<OutputOf<typeof operation>> => {
  const { sql, organisation } = context;
  const name = nameFrom(input.name);
  const description = descriptionFrom(input.description);
  const external_id = input.external_id === null ? null : externalIdFrom(input.external_id);
  const called = external_id === null ? undefined : await groupCalled(sql, organisation.id, external_id);
  if (called) return new Otherwise(200, await changeGroup(context, called, { name, description: input.description, external_id: null }));
  const existing = await groupNamed(sql, organisation.id, name);
  if (existing) {
    // A program that calls a group by its own id from now on takes over the one of that name, unless another program has.
    if (external_id === null) return new Otherwise(200, groupOut(existing));
    if (existing.external_id !== null)
      throw new Refusal(
        'name_taken',
        `name: there is a group "${existing.name}" already, which is "${existing.external_id}"; choose another name.`,
      );
    return new Otherwise(200, await changeGroup(context, existing, { name: null, description: null, external_id }));
  }
  mayHaveOneMore('groups', organisation.plan, await countGroups(sql, organisation.id));
  const id = newId();
  await insertGroup(sql, { id, organisation: organisation.id, name, description, external_id });
  return groupOut(found(await groupById(sql, organisation.id, id), 'group_not_found'));
};
