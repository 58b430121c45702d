import type { endMaintenanceNow as operation } from '../../../shared/api/inner/inner-maintenance.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { Refusal } from '../../../shared/base/errors.ts';
import { windowById } from '../../store/store-maintenance.ts';
import { changeWindow, cutWindow, lockedWindow } from '../../store/store-maintenance-changes.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';
import { stateAt, windowNoted, windowOut } from './operation-window-out.ts';

/** What it held back goes out when its time has come (rule 25). */
export const endMaintenanceNow = async (
  { sql, organisation, now, note }: InOrganisation,
  { window_id }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const before = found(await lockedWindow(sql, organisation.id, window_id), 'maintenance_window_not_found');
  if (stateAt(before, now) !== 'running') throw new Refusal('window_invalid', 'It does not run now; there is nothing to end.');
  const { name, rrule, schedule, monitors, groups } = before;
  // One that does not repeat is over then; of one that repeats the others last as long as ever.
  const ends_at = Math.max(now, schedule.starts_at + 1);
  if (rrule === null) await changeWindow(sql, before, { draft: { name, schedule: { ...schedule, ends_at } }, monitors, groups }, now);
  else await cutWindow(sql, before, now);
  const after = found(await windowById(sql, organisation.id, before.id), 'maintenance_window_not_found');
  note({ before: windowNoted(before), after: windowNoted(after) });
  return windowOut(after, now);
};
