import type { InputOf } from '../../shared/api/operation.ts';
import { Refusal } from '../../shared/base/errors.ts';
import { folded, nameFrom } from '../../shared/base/names.ts';
import type { InOrganisation } from '../gate/context.ts';
import type * as contract from './contract.ts';
import { countViews, deleteView, orderViews, upsertView, viewsOf } from './queries.ts';

/** As many as a navigation has room for. */
const maxViews = 20;

/** Views belong to the user who saves them; what acts without a user has none. */
export const saveView = async (
  { sql, organisation, caller: { user } }: InOrganisation,
  input: InputOf<typeof contract.saveView>,
): Promise<void> => {
  if (user === null) return;
  const name = nameFrom(input.name);
  if ((await countViews(sql, organisation.id, user, name)) >= maxViews)
    throw new Refusal(
      'too_many_views',
      `You have ${maxViews} views, which is the limit. Delete one first.`,
    );
  await upsertView(sql, organisation.id, user, { name, query: input.query });
};

/** Past one of its neighbours; the first cannot go up, nor the last down. */
export const moveView = async (
  { sql, organisation, caller: { user } }: InOrganisation,
  { name, to }: InputOf<typeof contract.moveView>,
): Promise<void> => {
  if (user === null) return;
  const names = (await viewsOf(sql, organisation.id, user)).map((view) => view.name);
  const at = names.findIndex((each) => folded(each) === folded(name));
  if (at === -1) return;
  const place = Math.min(Math.max(to === 'up' ? at - 1 : at + 1, 0), names.length - 1);
  await orderViews(sql, organisation.id, user, names.toSpliced(at, 1).toSpliced(place, 0, name));
};

export const removeView = async (
  { sql, organisation, caller: { user } }: InOrganisation,
  { name }: InputOf<typeof contract.removeView>,
): Promise<void> => {
  if (user !== null) await deleteView(sql, organisation.id, user, name);
};
