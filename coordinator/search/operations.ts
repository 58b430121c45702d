import type { InputOf, OutputOf } from '../../shared/api/operation.ts';
import type { InOrganisation, OperationResult } from '../gate/context.ts';
import type { search as operation } from './contract.ts';
import { findAnything } from './queries.ts';

export const search = async (
  { sql, organisation }: InOrganisation,
  { q }: InputOf<typeof operation>,
): OperationResult<OutputOf<typeof operation>> => ({
  items: await findAnything(sql, organisation.id, q),
});
