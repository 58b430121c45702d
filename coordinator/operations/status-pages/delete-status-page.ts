import type { InputOf } from '../../../shared/api/operation.ts';
import type { deleteStatusPage as operation } from '../../../shared/api/status-pages.ts';
import { deleteStatusPage as remove, statusPageById } from '../../store/store-status-pages.ts';
import type { InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';

export const deleteStatusPage = async (
  { sql, organisation, note }: InOrganisation,
  { page_id }: InputOf<typeof operation>,
): Promise<void> => {
  const { name, slug } = found(await statusPageById(sql, organisation.id, page_id), 'status_page_not_found');
  await remove(sql, organisation.id, page_id);
  note({ before: { name, slug } });
};
