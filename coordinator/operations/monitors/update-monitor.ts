import type { updateMonitor as operation } from '../../../shared/api/monitors.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { monitorForChange } from '../../store/store-monitors.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';
import { changeMonitor } from './operation-monitor-change.ts';

export const updateMonitor = async (
  context: InOrganisation,
  { monitor_id: id, ...patch }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> =>
  changeMonitor(context, found(await monitorForChange(context.sql, context.organisation.id, id), 'monitor_not_found'), patch);
