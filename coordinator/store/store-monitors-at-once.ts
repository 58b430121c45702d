import type { Queryable } from './store-database.ts';
import { type MonitorChange, outboxChannel } from './store-outbox.ts';

/** Changes of several monitors at once, under the organisation's lock: a statement for each thing that changes, not for each monitor. */

export type AtOnce = {
  readonly id: string;
  readonly name: string;
  readonly partition: number;
  readonly enabled: boolean;
  readonly group_id: string | null;
};

export const monitorsAtOnce = (sql: Queryable, organisation: string, ids: readonly string[]): Promise<AtOnce[]> =>
  sql<AtOnce[]>`select id, name, partition, enabled, group_id from monitors
    where organisation_id = ${organisation} and id = any(${[...ids]}::uuid[]) order by key`;

/** `paused_at` is the transaction's time, which is that of the outbox lines, too. */
export const switchMonitors = async (sql: Queryable, ids: readonly string[], enabled: boolean): Promise<void> => {
  await sql`update monitors set enabled = ${enabled}, paused_at = ${enabled ? null : sql`coalesce(paused_at, now())`}
    where id = any(${[...ids]}::uuid[])`;
};

export const regroupMonitors = async (
  sql: Queryable,
  organisation: string,
  ids: readonly string[],
  group: string | null,
): Promise<void> => {
  await sql`update monitors set group_id = ${group} where id = any(${[...ids]}::uuid[])`;
  await sql`update group_memberships set ended_at = now() where monitor_id = any(${[...ids]}::uuid[]) and ended_at is null`;
  if (group === null) return;
  await sql`insert into group_memberships (organisation_id, monitor_id, group_id, began_at)
    select ${organisation}, id, ${group}, now() from unnest(${[...ids]}::uuid[]) as t (id)`;
};

/** For the owners of their partitions. */
export const tellOwners = async (
  sql: Queryable,
  organisation: string,
  monitors: readonly Pick<AtOnce, 'id' | 'partition'>[],
  change: 'paused' | 'resumed' | 'deleted',
): Promise<void> => {
  const lines = monitors.map(({ id, partition }) => {
    const payload: MonitorChange = { monitor: id, change, what_is_checked_changed: false };
    return { partition, payload };
  });
  await sql`insert into outbox (topic, partition, organisation_id, payload)
    select 'monitor', l.partition, ${organisation}, l.payload
    from json_to_recordset(${JSON.stringify(lines)}::text::json) as l (partition smallint, payload jsonb)`;
  await sql`select pg_notify(${outboxChannel}, 'monitor:' || partition) from unnest(${[...new Set(monitors.map(({ partition }) => partition))]}::int[]) as t (partition)`;
};
