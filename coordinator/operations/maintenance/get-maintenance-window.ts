import type { getMaintenanceWindow as operation } from '../../../shared/api/maintenance.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { windowById } from '../../store/store-maintenance.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';
import { windowOut } from './operation-window-out.ts';

export const getMaintenanceWindow = async (
  { sql, organisation, now }: InOrganisation,
  { window_id }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> =>
  windowOut(found(await windowById(sql, organisation.id, window_id), 'maintenance_window_not_found'), now);
