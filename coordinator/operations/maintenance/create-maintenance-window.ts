import type { createMaintenanceWindow as operation } from '../../../shared/api/maintenance.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { newId } from '../../../shared/base/crypto.ts';
import { draftWindow, mostWrittenAhead } from '../../domain/maintenance.ts';
import { refuseOver } from '../../domain/maintenance-ahead.ts';
import { mayHaveOneMore, mayOccur } from '../../domain/plan-limits.ts';
import { countWindows, insertWindow, windowById } from '../../store/store-maintenance.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';
import { coveredFrom } from './operation-covered-by-window.ts';
import { windowOut } from './operation-window-out.ts';

/** Interpreted in the organisation's clock as it is now; the window keeps that zone. */
export const createMaintenanceWindow = async (
  context: InOrganisation,
  input: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const { sql, organisation, now } = context;
  const draft = draftWindow(input, organisation.time_zone);
  refuseOver(draft.schedule, now);
  mayOccur(mostWrittenAhead(draft.schedule), organisation.plan);
  const covered = await coveredFrom(context, input);
  mayHaveOneMore('windows', organisation.plan, await countWindows(sql, organisation.id, now));
  const id = newId();
  await insertWindow(sql, { id, organisation: organisation.id, draft, ...covered }, now);
  return windowOut(found(await windowById(sql, organisation.id, id), 'maintenance_window_not_found'), now);
};
