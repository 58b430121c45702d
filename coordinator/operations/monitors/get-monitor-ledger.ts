import type { getMonitorLedger as operation } from '../../../shared/api/monitors.ts';
import type { InputOf, OutputOf } from '../../../shared/api/operation.ts';
import { stretchesOf } from '../../domain/monitor-history.ts';
import { windowOf } from '../../domain/uptime.ts';
import type { Stretch } from '../../domain/uptime-explained.ts';
import { monitorHistories } from '../../store/store-monitor-history.ts';
import type { Answer, InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';
import { uptimeOut } from './operation-uptime-out.ts';

/** More stretches than anybody reads, and fewer than make a page slow. */
const mostStretches = 1_000;

const stretchOut = ({ from, to, state, cause }: Stretch) => ({
  from: new Date(from).toISOString(),
  to: new Date(to).toISOString(),
  state,
  incident: cause?.is === 'incident' ? cause.id : null,
  window: cause?.is === 'window' ? cause.id : null,
  window_name: cause?.is === 'window' ? cause.name : null,
});

/** Rule 43. The sum and what it is made of come from one reading of the ledger, so they always fit. */
export const getMonitorLedger = async (
  { sql, organisation, now }: InOrganisation,
  { monitor_id: id, days }: InputOf<typeof operation>,
): Answer<OutputOf<typeof operation>> => {
  const window = windowOf(days, now);
  const [history] = await monitorHistories(sql, organisation.id, [id], window);
  const of = found(history, 'monitor_not_found');
  const stretches = stretchesOf(of, window).toReversed();
  return {
    monitor: id,
    ...uptimeOut(of, days, window),
    stretches: stretches.slice(0, mostStretches).map(stretchOut),
    left_out: Math.max(0, stretches.length - mostStretches),
  };
};
