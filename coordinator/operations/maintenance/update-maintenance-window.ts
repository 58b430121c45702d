import type { updateMaintenanceWindow as operation } from '../../../shared/api/maintenance.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { changedWindow, isSameSchedule, mostWrittenAhead } from '../../domain/maintenance.ts';
import { refuseOver } from '../../domain/maintenance-ahead.ts';
import { mayHaveOneMore, mayOccur } from '../../domain/plan-limits.ts';
import { countWindows, windowById } from '../../store/store-maintenance.ts';
import { changeWindow, lockedWindow } from '../../store/store-maintenance-changes.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';
import { coveredFrom } from './operation-covered-by-window.ts';
import { stateAt, windowNoted, windowOut } from './operation-window-out.ts';

/** What is null stays. From now on; what it covered stays covered (rule 24). */
export const updateMaintenanceWindow = async (
  context: InOrganisation,
  input: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const { sql, organisation, now, note } = context;
  const before = found(await lockedWindow(sql, organisation.id, input.window_id), 'maintenance_window_not_found');
  const draft = changedWindow(before, input);
  if (!isSameSchedule(before.schedule, draft.schedule)) {
    refuseOver(draft.schedule, now);
    mayOccur(mostWrittenAhead(draft.schedule), organisation.plan);
    if (stateAt(before, now) === 'over') mayHaveOneMore('windows', organisation.plan, await countWindows(sql, organisation.id, now));
  }
  const named = { monitors: input.monitors ?? before.monitors, groups: input.groups ?? before.groups };
  const covered = input.monitors === null && input.groups === null ? named : await coveredFrom(context, named, before);
  await changeWindow(sql, before, { draft, ...covered }, now);
  const after = found(await windowById(sql, organisation.id, before.id), 'maintenance_window_not_found');
  note({ before: windowNoted(before), after: windowNoted(after) });
  return windowOut(after, now);
};
