import type { startMaintenanceNow as operation } from '../../../shared/api/inner/inner-maintenance.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { draftWindow } from '../../domain/maintenance.ts';
import { mayHaveOneMore } from '../../domain/plan-limits.ts';
import { groupsAmong } from '../../store/store-groups.ts';
import { countWindows, insertWindow, windowById } from '../../store/store-maintenance.ts';
import { changeWindow, lockedWindow } from '../../store/store-maintenance-changes.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';
import { stateAt, windowNoted, windowOut } from './operation-window-out.ts';

export const startMaintenanceNow = async (
  { sql, organisation, now, note }: InOrganisation,
  { window_id }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const before = found(await lockedWindow(sql, organisation.id, window_id), 'maintenance_window_not_found');
  const state = stateAt(before, now);
  if (state === 'running') throw new Refusal('window_invalid', 'It runs already; there is nothing to begin.');
  const { name, monitors, schedule, rrule } = before;
  const groups = [...(await groupsAmong(sql, organisation.id, before.groups))];
  if (monitors.length + groups.length === 0)
    throw new Refusal('window_invalid', 'What it covered is deleted; choose monitors or groups for it first.');
  const ends = now + schedule.ends_at - schedule.starts_at;
  const times = { starts_at: { is: 'instant', at: now }, ends_at: { is: 'instant', at: ends } } as const;
  const draft = draftWindow({ name, rrule: null, ...times }, schedule.time_zone);
  const isMoved = state === 'coming' && rrule === null;
  const id = isMoved ? before.id : newId();
  if (isMoved) await changeWindow(sql, before, { draft, monitors, groups: before.groups }, now);
  else {
    mayHaveOneMore('windows', organisation.plan, await countWindows(sql, organisation.id, now));
    await insertWindow(sql, { id, organisation: organisation.id, draft, monitors, groups }, now);
  }
  const after = found(await windowById(sql, organisation.id, id), 'maintenance_window_not_found');
  note(isMoved ? { before: windowNoted(before), after: windowNoted(after) } : { after: windowNoted(after) });
  return windowOut(after, now);
};
