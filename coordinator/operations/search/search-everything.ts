import type { search as operation } from '../../../shared/api/inner/inner-search.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { findAnything } from '../../store/store-search.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';

export const search = async (
  { sql, organisation }: InOrganisation,
  { q }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => ({ items: await findAnything(sql, organisation.id, q) });
