import type { getMonitorStatus as operation } from '../../../shared/api/monitors.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { statusOf } from '../../domain/monitor-history.ts';
import { windowOf } from '../../domain/uptime.ts';
import { monitorHistories } from '../../store/store-monitor-history.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';
import { uptimeOut } from './operation-uptime-out.ts';

/** The same functions as on pages and exports, over one moment's view of the ledger. */
export const getMonitorStatus = async (
  { sql, organisation, now }: InOrganisation,
  { monitor_id: id, days }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const window = windowOf(days, now);
  const [history] = await monitorHistories(sql, organisation.id, [id], window);
  const of = found(history, 'monitor_not_found');
  const { status, since, last_checked_at } = statusOf(of, now);
  return {
    monitor: id,
    status,
    since: new Date(since).toISOString(),
    last_checked_at: last_checked_at === null ? null : new Date(last_checked_at).toISOString(),
    enabled: of.paused_at === null,
    uptime: uptimeOut(of, days, window),
  };
};
