import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import type { updateStatusPageGroup as ofGroup, updateStatusPageMonitor as ofMonitor } from '../../../shared/api/status-pages.ts';
import { nameFrom } from '../../domain/given-names.ts';
import { renamePageGroup, renamePageMonitor, statusPageExists } from '../../store/store-status-pages.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found, notFound } from '../operation-not-found.ts';
import { pageGroupOut, pageMonitorOut } from './operation-status-page-out.ts';

export const updateStatusPageMonitor = async (
  { sql, organisation }: InOrganisation,
  { page_id, monitor_id, display_name }: InputOf<typeof ofMonitor>,
): Answer<OutputOf<typeof ofMonitor>> => {
  if (!(await statusPageExists(sql, organisation.id, page_id))) throw notFound('status_page_not_found');
  const name = nameFrom(display_name, 'display_name');
  return pageMonitorOut(found(await renamePageMonitor(sql, page_id, monitor_id, name), 'status_page_monitor_not_found'));
};

export const updateStatusPageGroup = async (
  { sql, organisation }: InOrganisation,
  { page_id, group_id, display_name }: InputOf<typeof ofGroup>,
): Answer<OutputOf<typeof ofGroup>> => {
  if (!(await statusPageExists(sql, organisation.id, page_id))) throw notFound('status_page_not_found');
  const name = nameFrom(display_name, 'display_name');
  return pageGroupOut(found(await renamePageGroup(sql, page_id, group_id, name), 'status_page_group_not_found'));
};
