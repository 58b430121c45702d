import { splitSecrets } from '../../../shared/checks/config.ts';
import type { ShownMonitor } from '../../store/monitors.ts';
import { isoOf } from '../../store/utc-text.ts';

/** A monitor as answers give it; secrets never leave the store's masks, nor what was stored before it counted as one. */
export const monitorOut = (row: ShownMonitor) => ({
  id: row.id,
  name: row.name,
  type: row.type,
  target: row.target,
  interval_s: row.interval_s,
  enabled: row.enabled,
  config: splitSecrets(row.type, row.config).open,
  group: row.group_id,
  affects_group_status: row.affects_group_status,
  external_id: row.external_id,
  tags: row.tags,
  created_at: isoOf(row.created_at),
});
