import type { Queryable } from './database.ts';

export type HeldAlert = { readonly id: number; readonly monitor_id: string; readonly due_at: Date };

/** Alerts whose time has come and that are still held, after an id, oldest first. */
export const heldAlerts = (sql: Queryable, now: number, after: number, most: number): Promise<HeldAlert[]> =>
  sql<HeldAlert[]>`select id, monitor_id, due_at from alerts
    where state = 'held' and due_at <= ${new Date(now)} and id > ${after} order by id limit ${most}`;

/** From held to due; one that was dropped in the meantime stays so. */
export const releaseAlerts = async (sql: Queryable, ids: readonly number[]): Promise<number> => {
  if (ids.length === 0) return 0;
  const rows = await sql`update alerts set state = 'due' where state = 'held' and id = any(${[...ids]})`;
  return rows.count;
};
