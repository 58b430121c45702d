import { Refusal } from '../../../shared/base/errors.ts';
import { descriptionFrom, nameFrom } from '../../domain/given-names.ts';
import { externalIdFrom } from '../../domain/monitor-labels.ts';
import { groupCalled, groupNamed, type ShownGroup, updateGroup as writeGroup } from '../../store/store-groups.ts';
import type { InOrganisation } from '../operation-context.ts';
import { groupOut } from './operation-group-out.ts';

/** Null: not mentioned. An empty description or external id takes the old one away. */
export type GroupPatch = { readonly name: string | null; readonly description: string | null; readonly external_id: string | null };

/** Under the organisation's lock, so that what is free now is free when it is written. */
export const changeGroup = async ({ sql, organisation, note }: InOrganisation, before: ShownGroup, patch: GroupPatch) => {
  const { id: of } = organisation;
  const name = patch.name === null ? before.name : nameFrom(patch.name);
  const description = patch.description === null ? before.description : descriptionFrom(patch.description);
  const external_id = patch.external_id === null ? before.external_id : externalIdFrom(patch.external_id);
  const named = await groupNamed(sql, of, name);
  if (named && named.id !== before.id) throw new Refusal('name_taken', `name: there is a group "${name}" already; choose another name.`);
  const called = external_id === null || external_id === before.external_id ? undefined : await groupCalled(sql, of, external_id);
  if (called) throw new Refusal('external_id_taken', `external_id: another group is "${external_id}" already; choose another one.`);
  await writeGroup(sql, before.id, { name, description, external_id });
  const was = { name: before.name, description: before.description, external_id: before.external_id };
  note({ before: was, after: { name, description, external_id } });
  return groupOut({ ...before, name, description, external_id });
};
