import type { createStatusPage as operation } from '../../../shared/api/inner/status-pages.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { newId } from '../../../shared/base/ids.ts';
import { nameFrom } from '../../domain/name.ts';
import { mayHaveOneMore } from '../../domain/plan.ts';
import { slugFrom } from '../../domain/status-page.ts';
import { countStatusPages, insertStatusPage, statusPageById } from '../../store/status-pages.ts';
import type { Answer, InOrganisation } from '../context.ts';
import { found } from '../not-found.ts';
import { summaryOut } from './page-out.ts';

export const createStatusPage = async (
  { sql, organisation }: InOrganisation,
  input: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const [name, slug] = [nameFrom(input.name), slugFrom(input.slug)];
  mayHaveOneMore('status_pages', organisation.plan, await countStatusPages(sql, organisation.id));
  const id = newId();
  await insertStatusPage(sql, { id, organisation: organisation.id, name, slug });
  return summaryOut(found(await statusPageById(sql, organisation.id, id), 'status_page_not_found'));
};
