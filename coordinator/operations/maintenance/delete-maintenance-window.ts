import type { deleteMaintenanceWindow as operation } from '../../../shared/api/maintenance.ts';
import type { InputOf } from '../../../shared/api/operation.ts';
import { deleteWindow } from '../../store/store-maintenance.ts';
import type { InOrganisation } from '../operation-context.ts';
import { notFound } from '../operation-not-found.ts';

/** The past stays covered; from now on nothing is, and what the window held back goes out when its time has come (rule 25). */
export const deleteMaintenanceWindow = async (
  { sql, organisation, now }: InOrganisation,
  { window_id }: InputOf<typeof operation>,
): Promise<void> => {
  if (!(await deleteWindow(sql, organisation.id, window_id, now))) throw notFound('maintenance_window_not_found');
};
