import type { ShownGroup } from '../../store/groups.ts';

export const groupOut = (row: ShownGroup) => ({
  id: row.id,
  name: row.name,
  description: row.description,
  monitors: row.monitors,
  created_at: row.created_at.toISOString(),
});
