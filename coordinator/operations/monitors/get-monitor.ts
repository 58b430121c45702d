import type { getMonitor as operation } from '../../../shared/api/monitors.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { standingMonitor } from '../../store/store-monitor-standings.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';
import { monitorNow } from './operation-monitor-standing-out.ts';

export const getMonitor = async (
  { sql, organisation, now }: InOrganisation,
  { monitor_id }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> =>
  monitorNow(found(await standingMonitor(sql, organisation.id, monitor_id), 'monitor_not_found'), now);
