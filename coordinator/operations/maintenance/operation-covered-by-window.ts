import { Refusal } from '../../../shared/base/errors.ts';
import { groupsAmong } from '../../store/store-groups.ts';
import { monitorsAmong } from '../../store/store-monitors.ts';
import type { InOrganisation } from '../operation-context.ts';
import { notFound } from '../operation-not-found.ts';

export type Covered = { readonly monitors: readonly string[]; readonly groups: readonly string[] };

/** What a window is to cover: of this organisation, each once, and something. @throws Refusal. */
export const coveredFrom = async (
  { sql, organisation }: Pick<InOrganisation, 'sql' | 'organisation'>,
  named: Covered,
  /** Was there before, also where it is deleted by now. */
  kept: Covered = { monitors: [], groups: [] },
): Promise<Covered> => {
  const [monitors, groups] = [[...new Set(named.monitors)], [...new Set(named.groups)]];
  if (monitors.length + groups.length === 0)
    throw new Refusal('window_invalid', 'monitors, groups: name at least one monitor or group that the window covers.');
  const [were, groupsWere] = [new Set(kept.monitors), new Set(kept.groups)];
  const [newMonitors, newGroups] = [monitors.filter((each) => !were.has(each)), groups.filter((each) => !groupsWere.has(each))];
  if ((await monitorsAmong(sql, organisation.id, newMonitors)).size < newMonitors.length) throw notFound('monitor_not_found');
  if ((await groupsAmong(sql, organisation.id, newGroups)).size < newGroups.length) throw notFound('group_not_found');
  return { monitors, groups };
};
