import { type Alert, type AlertEvent, type AlertState, downs, settle } from '../domain/incident-alerts.ts';
import type { Queryable } from './store-database.ts';
import { jsonText } from './store-incidents-write.ts';
import type { Lease } from './store-leases.ts';
import { numbersLiteral } from './store-sql-arrays.ts';
import type { Statement } from './store-sql-statements.ts';

/** What a decision wants told: a "down" waits in the table until it is due; an "up" or "closed" goes to who got the "down". */
export type AlertWrite =
  | { readonly event: 'down'; readonly incident: string; readonly due_at: number }
  | { readonly event: 'up' | 'closed'; readonly incident: string; readonly at: number };

/** Channels come with their own work; until then everybody is this one. */
const channels = [''];

type Row = { readonly incident: string; readonly alert: Alert };

/** Rows as the core decided them: new ones, and the states of those that are there. An incident goes with its monitor; what was told of it stays. */
const put = async (sql: Queryable, rows: readonly Row[]): Promise<void> => {
  if (rows.length === 0) return;
  const told = rows.map(({ incident, alert }) => ({ incident, ...alert, due_at: new Date(alert.due_at).toISOString() }));
  await sql`
    insert into alerts (organisation_id, monitor_id, incident_id, event, channel, state, due_at)
    select i.organisation_id, i.monitor_id, d.incident, d.event, d.channel, d.state, d.due_at
    from json_to_recordset(${jsonText(told)}::text::json) as d (incident uuid, event text, channel text, state text, due_at timestamptz)
    cross join lateral (
      select organisation_id, monitor_id from incidents where id = d.incident
      union all select organisation_id, monitor_id from alerts where incident_id = d.incident limit 1) i
    on conflict (incident_id, event, channel) do update set state = excluded.state, due_at = excluded.due_at,
      settled_at = case when excluded.state = 'dropped' then now() else alerts.settled_at end`;
};

/**
 * A confirmed incident's downs, as downs() in domain/incident-alerts.ts has them, without reading before: they are its first alerts, so either none
 * is there yet, or it is dated anew, which those that are held follow.
 */
export const writeDowns = (sql: Queryable, writes: readonly (AlertWrite & { readonly event: 'down' })[]): Statement[] => {
  if (writes.length === 0) return [];
  const newest = new Map(writes.map(({ incident, due_at }) => [incident, due_at]));
  const told = [...newest].flatMap(([incident, due_at]) =>
    downs([], channels, due_at).map((alert) => ({ incident, ...alert, due_at: new Date(due_at).toISOString() })),
  );
  const statement = sql`
    insert into alerts (organisation_id, monitor_id, incident_id, event, channel, state, due_at)
    select i.organisation_id, i.monitor_id, i.id, d.event, d.channel, d.state, d.due_at
    from json_to_recordset(${jsonText(told)}::text::json) as d (incident uuid, event text, channel text, state text, due_at timestamptz)
    join incidents i on i.id = d.incident
    on conflict (incident_id, event, channel) do update set due_at = excluded.due_at
      where alerts.state = 'held' and alerts.due_at <> excluded.due_at`;
  return [statement];
};

/** What these incidents have told or are about to tell, held fast until the transaction ends: nobody lets go meanwhile what ends here. */
const rowsOf = async (sql: Queryable, incidents: readonly string[]): Promise<Map<string, readonly Alert[]>> => {
  const found = await sql<{ incident: string; event: AlertEvent; channel: string; state: AlertState; due_at: Date }[]>`
    select incident_id as incident, event, channel, state, due_at from alerts
    where incident_id = any(${[...incidents]}::uuid[]) order by id for update`;
  const rows = new Map<string, readonly Alert[]>();
  for (const { incident, due_at, ...row } of found)
    rows.set(incident, [...(rows.get(incident) ?? []), { ...row, due_at: due_at.getTime() }]);
  return rows;
};

/** In the transaction that writes the incidents, after them. What becomes of alerts is the core's to say (domain/incident-alerts.ts). */
export const writeAlerts = async (sql: Queryable, writes: readonly AlertWrite[]): Promise<void> => {
  if (writes.length === 0) return;
  const rows = await rowsOf(sql, [...new Set(writes.map(({ incident }) => incident))]);
  const changed = new Map<string, Row>();
  for (const write of writes) {
    const { incident } = write;
    const before = rows.get(incident) ?? [];
    const now = write.event === 'down' ? downs(before, channels, write.due_at) : settle(before, write.event, write.at);
    const isChanged = ({ event, channel }: Alert) => now.some((row) => row.event === event && row.channel === channel);
    rows.set(incident, [...before.filter((row) => !isChanged(row)), ...now]);
    for (const alert of now) changed.set(`${incident} ${alert.event} ${alert.channel}`, { incident, alert });
  }
  await put(sql, [...changed.values()]);
};

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
