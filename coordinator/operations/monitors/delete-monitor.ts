import type { deleteMonitor as operation } from '../../../shared/api/monitors.ts';
import type { InputOf } from '../../../shared/api/operation.ts';
import { monitorForChange, removeMonitor, tellOwner } from '../../store/store-monitors.ts';
import { endPingTokens } from '../../store/store-ping-tokens.ts';
import type { InOrganisation } from '../operation-context.ts';
import { found } from '../operation-not-found.ts';
import { monitorOut } from './operation-monitor-out.ts';

/** Gone at once, with what refers to it; the bulk of its history follows in small bites (see forgotten_monitors). */
export const deleteMonitor = async (
  { sql, organisation, note }: InOrganisation,
  { monitor_id: id }: InputOf<typeof operation>,
): Promise<void> => {
  const row = found(await monitorForChange(sql, organisation.id, id), 'monitor_not_found');
  note({ before: monitorOut(row) });
  await endPingTokens(sql, organisation.id, id);
  await tellOwner(
    sql,
    { organisation: organisation.id, partition: row.partition },
    { monitor: id, change: 'deleted', what_is_checked_changed: false },
  );
  await removeMonitor(sql, row);
};
