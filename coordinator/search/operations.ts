import { isId } from '../../shared/base/crypto.ts';
import { handle } from '../gate/bind.ts';
import { search as operation, listRecent as recentOperation } from './contract.ts';
import { findAnything, findRecent } from './queries.ts';

export const search = handle(operation)(async ({ sql, organisation }, { q }) => ({
  items: await findAnything(sql, organisation.id, q),
}));

export const listRecent = handle(recentOperation)(async ({ sql, organisation }, { ids }) => ({
  items: await findRecent(sql, organisation.id, ids.split('.').filter(isId).slice(0, 20)),
}));
