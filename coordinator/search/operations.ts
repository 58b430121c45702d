import type { InputOf, OutputOf } from '../../shared/api/operation.ts';
import type { Answer, InOrganisation } from '../gate/context.ts';
import type { search as operation } from './contract.ts';
import { findAnything } from './queries.ts';

export const search = async (
  { sql, organisation }: InOrganisation,
  { q }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => ({ items: await findAnything(sql, organisation.id, q) });
