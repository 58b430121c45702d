import type { showMaintenanceWindow as operation } from '../../../shared/api/inner/inner-maintenance.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { windowById } from '../../store/store-maintenance.ts';
import { coveredNames, lastEnded } from '../../store/store-maintenance-by-time.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';
import { stateAt, windowOut } from './operation-window-out.ts';

export const showMaintenanceWindow = async (
  { sql, organisation, now }: InOrganisation,
  { window_id }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const row = found(await windowById(sql, organisation.id, window_id), 'maintenance_window_not_found');
  const [names, ended] = await Promise.all([coveredNames(sql, organisation.id, row.id), lastEnded(sql, row.id, now)]);
  return { window: windowOut(row, now), state: stateAt(row, now), last_ended_at: ended?.toISOString() ?? null, ...names };
};
