import type { Queryable } from './store-database.ts';

/** Calls of a subject that other coordinators do not know of yet, and since when its window counts here. */
export type UnsettledCalls = { readonly subject: string; readonly began_at: number; readonly calls: number };
/** `coordinators`: how many count at this moment. */
export type SettledWindow = { readonly subject: string; readonly began_at: number; readonly calls: number; readonly coordinators: number };

/**
 * Adds calls to the windows that all coordinators share and gives these windows back, in one statement for all. A window that is over
 * is replaced; of two that began at nearly the same time the earlier stays.
 */
export const settleWindows = async (
  sql: Queryable,
  unsettled: readonly UnsettledCalls[],
  length_ms: number,
): Promise<readonly SettledWindow[]> => {
  const rows = unsettled.map(({ subject, began_at, calls }) => ({ subject, began_at: new Date(began_at).toISOString(), calls }));
  const over = `${length_ms} milliseconds`;
  const settled = await sql<{ subject: string; began_at: Date; calls: number; coordinators: number }[]>`
    insert into rate_windows as w (subject, began_at, calls)
    select u.subject, u.began_at, u.calls
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as u (subject text, began_at timestamptz, calls int) order by u.subject
    on conflict (subject) do update set
      began_at = case when w.began_at + ${over}::interval <= excluded.began_at then excluded.began_at else w.began_at end,
      calls = case when w.began_at + ${over}::interval <= excluded.began_at then excluded.calls else w.calls + excluded.calls end
    returning subject, began_at, calls, (select count(*) from coordinators where seen_at > now() - interval '1 minute')::int as coordinators`;
  return settled.map(({ began_at, ...rest }) => ({ ...rest, began_at: began_at.getTime() }));
};

/** Windows that ended a while ago are of no use to anyone. */
export const forgetWindows = async (sql: Queryable, endedBefore: number): Promise<void> => {
  await sql`delete from rate_windows where began_at < ${new Date(endedBefore)}`;
};
