import type { changeMonitors as operation } from '../../../shared/api/inner/inner-dashboard.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { groupsAmong } from '../../store/store-groups.ts';
import { monitorsAtOnce, regroupMonitors, switchMonitors, tellOwners } from '../../store/store-monitors-at-once.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { notFound } from '../operation-not-found.ts';

/** All or none; what is so already stays as it is, and its owner hears nothing. */
export const changeMonitors = async (
  { sql, organisation, note }: InOrganisation,
  { monitors, change, group }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const wanted = new Set(monitors);
  const found = await monitorsAtOnce(sql, organisation.id, [...wanted]);
  if (found.length < wanted.size) throw notFound('monitor_not_found');
  if (change === 'group') {
    if (group !== null && !(await groupsAmong(sql, organisation.id, [group])).has(group)) throw notFound('group_not_found');
    const moved = found.filter(({ group_id }) => group_id !== group);
    const ids = moved.map(({ id }) => id);
    if (ids.length > 0) await regroupMonitors(sql, organisation.id, ids, group);
    note({ before: { groups: moved.map(({ id, group_id }) => ({ monitor: id, group: group_id })) }, after: { group } });
    return { changed: moved.length };
  }
  const enabled = change === 'resume';
  const switched = found.filter((monitor) => monitor.enabled !== enabled);
  const ids = switched.map(({ id }) => id);
  if (ids.length > 0) {
    await switchMonitors(sql, ids, enabled);
    await tellOwners(sql, organisation.id, switched, enabled ? 'resumed' : 'paused');
  }
  note({ before: { enabled: !enabled, monitors: ids }, after: { enabled, monitors: ids } });
  return { changed: switched.length };
};
