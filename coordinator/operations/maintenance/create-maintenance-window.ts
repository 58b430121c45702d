import type { createMaintenanceWindow as operation } from '../../../shared/api/maintenance.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { newId } from '../../../shared/base/ids.ts';
import { Refusal } from '../../../shared/base/refusal.ts';
import { draftWindow } from '../../domain/maintenance.ts';
import { groupsAmong } from '../../store/groups.ts';
import { insertWindow, windowById } from '../../store/maintenance.ts';
import { monitorsAmong } from '../../store/monitors.ts';
import type { Answer, InOrganisation } from '../context.ts';
import { found, notFound } from '../not-found.ts';
import { windowOut } from './window-out.ts';

/** Interpreted in the organisation's clock as it is now; the window keeps that zone. */
export const createMaintenanceWindow = async (
  { sql, organisation, now }: InOrganisation,
  input: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const of = organisation.id;
  const [monitors, groups] = [[...new Set(input.monitors)], [...new Set(input.groups)]];
  if (monitors.length + groups.length === 0)
    throw new Refusal('window_invalid', 'monitors, groups: name at least one monitor or group that the window covers.');
  const draft = draftWindow(input, organisation.time_zone);
  if ((await monitorsAmong(sql, of, monitors)).size < monitors.length) throw notFound('monitor_not_found');
  if ((await groupsAmong(sql, of, groups)).size < groups.length) throw notFound('group_not_found');
  const id = newId();
  await insertWindow(sql, { id, organisation: of, draft, monitors, groups }, now);
  return windowOut(found(await windowById(sql, of, id), 'maintenance_window_not_found'));
};
