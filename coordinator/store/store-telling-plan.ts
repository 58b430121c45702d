import type { ShutBy } from '../domain/telling/telling-channel.ts';
import type { Flapping } from '../domain/telling/telling-flapping.ts';
import type { StepEvent } from '../domain/telling/telling-step.ts';
import type { Queryable } from './store-database.ts';
import { jsonText } from './store-incidents-write.ts';

/** From due events of incidents to steps for channels: what a plan reads, and what it writes. */

export type DueEvent = {
  readonly id: number;
  readonly organisation_id: string;
  readonly monitor_id: string;
  readonly incident_id: string;
  readonly event: 'down' | 'up' | 'closed';
  readonly due_at: Date;
};

/**
 * Due events that nobody has planned yet, held fast: the first of each organisation, then the second of each, so that nobody waits for somebody's
 * thousand. An end waits until its beginning has been planned, or nobody would be told of it.
 */
export const takeDueEvents = (sql: Queryable, most: number): Promise<DueEvent[]> =>
  sql<DueEvent[]>`
    with waiting as materialized (
      select a.id, row_number() over (partition by a.organisation_id order by a.id) as place from alerts a
      where a.state = 'due' and a.planned_at is null and (a.event = 'down' or not exists (
        select 1 from alerts d where d.incident_id = a.incident_id and d.event = 'down' and d.state = 'due' and d.planned_at is null)))
    select a.id, a.organisation_id, a.monitor_id, a.incident_id, a.event, coalesce(a.due_at, a.created_at) as due_at
    from waiting join alerts a using (id) where a.state = 'due' and a.planned_at is null
    order by waiting.place, a.id limit ${most} for update of a skip locked`;

export type PlannedChannel = {
  readonly id: string;
  readonly organisation_id: string;
  readonly covers: 'all' | 'chosen';
  readonly monitors: readonly string[];
  readonly groups: readonly string[];
  readonly enabled: boolean;
  readonly verified: boolean;
  readonly unsubscribed: boolean;
};

/** The channels of these organisations that were not deleted. */
export const channelsToPlan = (sql: Queryable, organisations: readonly string[]): Promise<PlannedChannel[]> =>
  sql<PlannedChannel[]>`
    select c.id, c.organisation_id, c.covers, c.enabled, c.verified_at is not null as verified, c.unsubscribed_at is not null as unsubscribed,
      array(select monitor_id from channel_monitors where channel_id = c.id) as monitors,
      array(select group_id from channel_groups where channel_id = c.id) as groups
    from channels c where c.deleted_at is null and c.organisation_id = any(${[...organisations]}::uuid[])`;

export const groupsOfMonitors = (sql: Queryable, monitors: readonly string[]): Promise<{ id: string; group_id: string | null }[]> =>
  sql`select id, group_id from monitors where id = any(${[...monitors]}::uuid[])`;

export type StoredOutage = {
  readonly monitor_id: string;
  readonly incident: string;
  readonly confirmed_at: Date;
  readonly resolved_at: Date | null;
};

/** Outages of these monitors whose "down" became due, confirmed after this, in order of time. */
export const outagesOf = (sql: Queryable, monitors: readonly string[], since: number): Promise<StoredOutage[]> =>
  sql<StoredOutage[]>`
    select i.monitor_id, i.id as incident, i.confirmed_at, i.resolved_at from incidents i
    join alerts a on a.incident_id = i.id and a.event = 'down' and a.state in ('due', 'sent')
    where i.monitor_id = any(${[...monitors]}::uuid[]) and i.confirmed_at > ${new Date(since)} order by i.confirmed_at, i.key`;

export type EarlierStep = {
  readonly incident_id: string;
  readonly channel_id: string;
  readonly event: StepEvent;
  readonly state: 'held' | 'told' | 'dropped' | 'merged';
  readonly flapping: Flapping;
};

/** What was planned of these incidents before, held fast. */
export const stepsOfIncidents = (sql: Queryable, incidents: readonly string[]): Promise<EarlierStep[]> =>
  sql<EarlierStep[]>`
    select incident_id, channel_id, event, state, flapping from alert_steps
    where incident_id = any(${[...incidents]}::uuid[]) order by id for update`;

/** Which channels were told lately that a monitor is flapping. */
export const toldOfFlapping = (
  sql: Queryable,
  monitors: readonly string[],
  since: number,
): Promise<{ monitor_id: string; channel_id: string }[]> =>
  sql`select distinct monitor_id, channel_id from alert_steps
    where monitor_id = any(${[...monitors]}::uuid[]) and event = 'flapping' and state = 'told' and due_at > ${new Date(since)}`;

export type NewStep = {
  readonly organisation: string;
  readonly channel: string;
  readonly monitor: string;
  readonly incident: string;
  readonly event: StepEvent;
  readonly seq?: number;
  readonly due_at: number;
  readonly look_at?: number;
  readonly flapping: Flapping;
  /** A channel that is told of nothing: kept, so that it can be told why. */
  readonly shut?: ShutBy | undefined;
};

/** Each at most once, however often it is planned. */
export const insertSteps = async (sql: Queryable, steps: readonly NewStep[], now: number): Promise<void> => {
  if (steps.length === 0) return;
  const rows = steps.map(({ due_at, look_at = due_at, seq = 0, shut, ...rest }) => ({
    ...rest,
    seq,
    due_at: new Date(due_at).toISOString(),
    look_at: new Date(look_at).toISOString(),
    because: shut === undefined ? null : `channel_${shut}`,
  }));
  const at = new Date(now);
  await sql`
    insert into alert_steps (organisation_id, channel_id, monitor_id, incident_id, event, seq, state, due_at, look_at, flapping, because, created_at, settled_at)
    select organisation, channel, monitor, incident, event, seq, case when because is null then 'held' else 'dropped' end, due_at, look_at, flapping,
      because, ${at}, case when because is null then null else ${at}::timestamptz end
    from json_to_recordset(${jsonText(rows)}::text::json) as s (organisation uuid, channel uuid, monitor uuid, incident uuid, event text, seq int,
      due_at timestamptz, look_at timestamptz, flapping text, because text)
    where exists (select 1 from channels c where c.id = s.channel)
    on conflict (incident_id, channel_id, event, seq) do nothing`;
};

/**
 * What these incidents still hold back: of reminders nobody is told any more, for they are over. Of their beginnings those that were due are, which is
 * asked at once (domain/telling/telling-step.ts); those that wait only for others go on waiting.
 */
export const settleHeld = async (sql: Queryable, incidents: readonly string[], now: number): Promise<void> => {
  if (incidents.length === 0) return;
  const at = new Date(now);
  await sql`
    update alert_steps set
      state = case when event in ('down', 'flapping') then state else 'dropped' end,
      because = case when event in ('down', 'flapping') then because else 'over' end,
      settled_at = case when event in ('down', 'flapping') then settled_at else ${at} end,
      look_at = case when event in ('down', 'flapping') then least(look_at, ${at}) else look_at end
    where incident_id = any(${[...incidents]}::uuid[]) and state = 'held' and (
      event in ('reminder', 'acknowledged') or event in ('down', 'flapping') and coalesce(holds -> -1 ->> 0, '') <> 'bucket')`;
};

export const eventsPlanned = async (sql: Queryable, ids: readonly number[], now: number): Promise<void> => {
  await sql`update alerts set planned_at = ${new Date(now)} where id = any(${[...ids]}::bigint[])`;
};
