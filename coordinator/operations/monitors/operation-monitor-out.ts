import type { Config } from '../../../shared/checks/assignment.ts';
import { splitSecrets } from '../../../shared/checks/config.ts';
import type { ShownMonitor } from '../../store/store-monitors.ts';
import { isoOf } from '../../store/store-sql-utc-text.ts';

/** A row that is kept is shown many times. */
const opened = new WeakMap<Config, Config>();

const openOf = ({ type, config }: Pick<ShownMonitor, 'type' | 'config'>): Config => {
  const known = opened.get(config) ?? splitSecrets(type, config).open;
  opened.set(config, known);
  return known;
};

/** A monitor as answers give it; secrets never leave the store's masks, nor what was stored before it counted as one. */
export const monitorOut = (row: ShownMonitor) => ({
  id: row.id,
  name: row.name,
  type: row.type,
  target: row.target,
  interval_s: row.interval_s,
  enabled: row.enabled,
  config: openOf(row),
  group: row.group_id,
  affects_group_status: row.affects_group_status,
  external_id: row.external_id,
  tags: row.tags,
  created_at: isoOf(row.created_at),
});
