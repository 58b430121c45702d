import { insideOf } from '../../shared/checks/inside.ts';
import type { Placed } from '../../shared/checks/placement.ts';
import { continentsIn, type MonitorRow, probeIn } from '../store/watched.ts';

/** What placement needs of a monitor's row. */
export const placedOf = (row: MonitorRow): Placed => ({
  monitor: row.id,
  interval_ms: row.interval_s * 1_000,
  ordinal: row.key,
  continents: continentsIn(row.config),
  probe: probeIn(row.config),
  inside: insideOf(row.type, row.target, row.config)?.addresses,
});
