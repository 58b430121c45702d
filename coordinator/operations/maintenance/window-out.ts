import type { ShownWindow } from '../../store/maintenance.ts';

export const windowOut = (row: ShownWindow) => ({
  id: row.id,
  name: row.name,
  starts_at: row.starts_at.toISOString(),
  ends_at: row.ends_at.toISOString(),
  rrule: row.rrule,
  monitors: row.monitors,
  groups: row.groups,
});
