import type { InputOf, OutputOf } from '../../shared/api/operation.ts';
import { isId } from '../../shared/base/crypto.ts';
import type { InOrganisation, OperationResult } from '../gate/context.ts';
import type { search as operation, listRecent as recentOperation } from './contract.ts';
import { findAnything, findRecent } from './queries.ts';

export async function search(
  { sql, organisation }: InOrganisation,
  { q }: InputOf<typeof operation>,
): OperationResult<OutputOf<typeof operation>> {
  return {
    items: await findAnything(sql, organisation.id, q),
  };
}

export async function listRecent(
  { sql, organisation }: InOrganisation,
  { ids }: InputOf<typeof recentOperation>,
): OperationResult<OutputOf<typeof recentOperation>> {
  return {
    items: await findRecent(sql, organisation.id, ids.split('.').filter(isId).slice(0, 20)),
  };
}
