import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import type { addStatusPageMonitor as operation } from '../../../shared/api/status-pages.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { nameFrom } from '../../domain/given-names.ts';
import { positionFrom } from '../../domain/status-page.ts';
import { monitorById } from '../../store/store-monitors.ts';
import { headingFor, insertPageMonitor, nextPosition, statusPageExists } from '../../store/store-status-pages.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found, notFound } from '../operation-not-found.ts';
import { pageMonitorOut } from './operation-status-page-out.ts';

export const addStatusPageMonitor = async (
  { sql, organisation }: InOrganisation,
  { page_id, monitor, display_name, position }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  if (!(await statusPageExists(sql, organisation.id, page_id))) throw notFound('status_page_not_found');
  const { name } = found(await monitorById(sql, organisation.id, monitor), 'monitor_not_found');
  const row = {
    monitor_id: monitor,
    display_name: display_name === null ? name : nameFrom(display_name, 'display_name'),
    group_id: await headingFor(sql, page_id, monitor),
    position: position === null ? await nextPosition(sql, page_id) : positionFrom(position),
  };
  if (!(await insertPageMonitor(sql, page_id, row)))
    throw new Refusal('already_published', 'monitor: is on this page already; remove it first to publish it under another name.');
  return pageMonitorOut(row);
};
