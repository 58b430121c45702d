import { isId } from '../../shared/base/crypto.ts';
import { handle } from '../gate/bind.ts';
import { groupChoices } from '../groups/queries.ts';
import { monitorChoices } from '../monitors/queries.ts';
import * as contract from './contract.ts';
import { findAnything, findRecent } from './queries.ts';

export const search = handle(contract.search)(async ({ sql, organisation }, { q, typos }) => ({
  items: await findAnything(sql, organisation.id, q, typos),
}));

export const listRecent = handle(contract.listRecent)(async ({ sql, organisation }, { ids }) => ({
  items: await findRecent(sql, organisation.id, ids.split('.').filter(isId).slice(0, 20)),
}));

export const getChannelChoices = handle(contract.getChannelChoices)(
  async ({ sql, organisation }) => {
    const [monitors, groups] = await Promise.all([
      monitorChoices(sql, organisation.id),
      groupChoices(sql, organisation.id),
    ]);
    return {
      monitors: monitors.map(({ id, name, words }) => ({ id, name, words })),
      groups: groups.map(({ id, name }) => ({ id, name })),
    };
  },
);
