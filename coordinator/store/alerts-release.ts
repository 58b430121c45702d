import { numbersLiteral } from './array-literals.ts';
import type { Queryable } from './database.ts';
import type { Lease } from './leases.ts';

/** The channel of NOTIFY that says that somebody is to be told; it carries the table that changed. */
export const alertsChannel = 'alerts';

/** `by_target`: the target itself told of it. */
export type HeldAlert = {
  readonly id: number;
  readonly monitor_id: string;
  readonly partition: number;
  readonly due_at: Date;
  readonly by_target: boolean;
};

/** Whose alerts they are to let go: partitions that another owns by now are his. */
export type Owned = { readonly owner: string; readonly leases: readonly Lease[] };

const partitionsOf = ({ leases }: Owned): string => numbersLiteral(leases.map(({ partition }) => partition));
const epochsOf = ({ leases }: Owned): string => numbersLiteral(leases.map(({ epoch }) => epoch));

/** Alerts of these partitions whose time has come and that are still held, after an id, oldest first. */
export const heldAlerts = (sql: Queryable, owned: Owned, now: number, after: number, most: number): Promise<HeldAlert[]> =>
  sql<HeldAlert[]>`
    select a.id, a.monitor_id, m.partition, a.due_at, i.seen_continent is null as by_target
    from alerts a
    join monitors m on m.id = a.monitor_id
    join incidents i on i.id = a.incident_id
    where a.state = 'held' and a.due_at <= ${new Date(now)} and a.id > ${after} and m.partition = any(${partitionsOf(owned)}::smallint[])
    order by a.id limit ${most}`;

/** From held to due; one that was dropped in the meantime stays so, and so does one whose partition another owns by now. */
export const releaseAlerts = async (sql: Queryable, owned: Owned, ids: readonly number[]): Promise<number> => {
  if (ids.length === 0) return 0;
  const rows = await sql`
    update alerts a set state = 'due'
    from monitors m
    join leases l on l.partition = m.partition
    join unnest(${partitionsOf(owned)}::smallint[], ${epochsOf(owned)}::bigint[]) as mine (partition, epoch)
      on mine.partition = l.partition and mine.epoch = l.epoch
    where m.id = a.monitor_id and l.owner = ${owned.owner} and a.state = 'held' and a.id = any(${numbersLiteral(ids)}::bigint[])`;
  return rows.count;
};
