import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import type { createStatusPage as operation } from '../../../shared/api/status-pages.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { descriptionFrom, nameFrom } from '../../domain/given-names.ts';
import { mayHaveOneMore } from '../../domain/plan-limits.ts';
import { slugFrom } from '../../domain/status-page.ts';
import { countStatusPages, insertStatusPage, statusPageById } from '../../store/store-status-pages.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';
import { pageOut } from './operation-status-page-out.ts';

export const createStatusPage = async (
  { sql, organisation }: InOrganisation,
  { enabled, language, ...input }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const [name, slug, description] = [nameFrom(input.name), slugFrom(input.slug), descriptionFrom(input.description)];
  mayHaveOneMore('status_pages', organisation.plan, await countStatusPages(sql, organisation.id));
  const id = newId();
  await insertStatusPage(sql, { id, organisation: organisation.id, name, slug, description, enabled, language });
  return pageOut(found(await statusPageById(sql, organisation.id, id), 'status_page_not_found'));
};
