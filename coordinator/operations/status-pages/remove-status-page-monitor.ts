import type { InputOf } from '../../../shared/api/operation.ts';
import type { removeStatusPageMonitor as operation } from '../../../shared/api/status-pages.ts';
import { removePageMonitor, statusPageExists } from '../../store/store-status-pages.ts';
import type { InOrganisation } from '../operation-context.ts';
import { notFound } from '../operation-not-found.ts';

export const removeStatusPageMonitor = async (
  { sql, organisation }: InOrganisation,
  { page_id, monitor_id }: InputOf<typeof operation>,
): Promise<void> => {
  if (!(await statusPageExists(sql, organisation.id, page_id))) throw notFound('status_page_not_found');
  if (!(await removePageMonitor(sql, page_id, monitor_id))) throw notFound('status_page_monitor_not_found');
};
