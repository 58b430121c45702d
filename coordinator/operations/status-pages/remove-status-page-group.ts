import type { InputOf } from '../../../shared/api/operation.ts';
import type { removeStatusPageGroup as operation } from '../../../shared/api/status-pages.ts';
import { removePageGroup, statusPageExists } from '../../store/store-status-pages.ts';
import type { InOrganisation } from '../operation-context.ts';
import { notFound } from '../operation-not-found.ts';

export const removeStatusPageGroup = async (
  { sql, organisation }: InOrganisation,
  { page_id, group_id }: InputOf<typeof operation>,
): Promise<void> => {
  if (!(await statusPageExists(sql, organisation.id, page_id))) throw notFound('status_page_not_found');
  if (!(await removePageGroup(sql, page_id, group_id))) throw notFound('status_page_group_not_found');
};
