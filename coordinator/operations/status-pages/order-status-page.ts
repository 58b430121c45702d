import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import type { orderStatusPage as operation } from '../../../shared/api/status-pages.ts';
import { orderFrom } from '../../domain/status-page.ts';
import { statusPageById, writeOrder } from '../../store/store-status-pages.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';
import { pageOut } from './operation-status-page-out.ts';

export const orderStatusPage = async (
  { sql, organisation }: InOrganisation,
  { page_id, rows }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const { monitors, groups } = found(await statusPageById(sql, organisation.id, page_id), 'status_page_not_found');
  const present = [...monitors.map(({ monitor_id }) => monitor_id), ...groups.map(({ group_id }) => group_id)];
  await writeOrder(sql, page_id, orderFrom(rows, present));
  return pageOut(found(await statusPageById(sql, organisation.id, page_id), 'status_page_not_found'));
};
