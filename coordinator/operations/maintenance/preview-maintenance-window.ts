import type { previewMaintenanceWindow as operation } from '../../../shared/api/maintenance.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { draftWindow, mostWrittenAhead } from '../../domain/maintenance.ts';
import { refuseOver } from '../../domain/maintenance-ahead.ts';
import { mayOccur } from '../../domain/plan-limits.ts';
import { windowById } from '../../store/store-maintenance.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';
import { aheadOut } from './operation-window-out.ts';

/** When a window would occur that is not saved: by the clock that it would have. */
export const previewMaintenanceWindow = async (
  { sql, organisation, now }: InOrganisation,
  { window, ...input }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const zone =
    window === null
      ? organisation.time_zone
      : found(await windowById(sql, organisation.id, window), 'maintenance_window_not_found').time_zone;
  const { schedule } = draftWindow({ name: null, ...input, rrule: input.rrule?.trim() === '' ? null : input.rrule }, zone);
  refuseOver(schedule, now);
  mayOccur(mostWrittenAhead(schedule), organisation.plan);
  return aheadOut(schedule, now);
};
