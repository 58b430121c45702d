import type { search as operation } from '../../../shared/api/inner/search.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { findAnything } from '../../store/search.ts';
import type { Answer, InOrganisation } from '../context.ts';

export const search = async (
  { sql, organisation }: InOrganisation,
  { q }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => ({ items: await findAnything(sql, organisation.id, q) });
