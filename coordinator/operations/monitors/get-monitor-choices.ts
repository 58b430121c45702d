import type { getMonitorChoices as operation } from '../../../shared/api/inner/inner-monitors.ts';
import type { OutputOf } from '../../../shared/api/operation.ts';
import { plans } from '../../domain/plan-limits.ts';
import { checkersOf } from '../../store/store-checking-probes.ts';
import { groupChoices } from '../../store/store-groups.ts';
import { countMonitors } from '../../store/store-monitors.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';

/** Asked before a form is shown, so that it offers what will be taken. */
export const getMonitorChoices = async ({ sql, organisation }: InOrganisation): Answer<OutputOf<typeof operation>> => {
  const { id: of, plan } = organisation;
  const [checkers, groups, monitors] = await Promise.all([checkersOf(sql, of), groupChoices(sql, of), countMonitors(sql, of)]);
  const allows = plans[plan];
  const open = checkers.filter((each) => each.organisation === null);
  const own = checkers.filter((each) => each.organisation !== null);
  return {
    continents: [...new Set(open.map(({ continent }) => continent))].toSorted(),
    probes: own.map(({ id, name, continent }) => ({ id, name, continent })),
    groups: groups.map(({ id, name }) => ({ id, name })),
    plan,
    min_interval_s: allows.min_interval_s,
    monitors,
    most_monitors: Number.isFinite(allows.monitors) ? allows.monitors : null,
  };
};
