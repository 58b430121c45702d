import type { listMonitors as operation } from '../../../shared/api/monitors.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { groupsAmong } from '../../store/store-groups.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { placedPageOf } from '../operation-cursors.ts';
import { notFound } from '../operation-not-found.ts';
import { monitorNow } from './operation-monitor-standing-out.ts';

export const listMonitors = async (
  { sql, organisation, now, with: { cursors, shownMonitors } }: InOrganisation,
  { sort, limit, cursor, ...filter }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const { id: of } = organisation;
  const { status, type, group, enabled, external_id } = filter;
  const [text, tag] = [filter.text ?? '', filter.tag?.trim().toLowerCase() ?? null];
  if (group !== null && !(await groupsAmong(sql, of, [group])).has(group)) throw notFound('group_not_found');
  return placedPageOf(
    cursors,
    ['monitors', of, sort, status, type, group, enabled, tag, external_id, text],
    { limit, cursor },
    (after, most) =>
      shownMonitors.page(sql, { organisation: of, filter: { status, type, group, enabled, tag, external_id, text }, sort, after, most }),
    (row) => monitorNow(row, now),
  );
};
