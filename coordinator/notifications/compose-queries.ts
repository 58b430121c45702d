import type { Continents } from '../../shared/base/text.ts';
import type { Interval } from '../../shared/base/time.ts';
import type { Cause } from '../../shared/checks/result.ts';
import type { Queryable } from '../database/connect.ts';
import { jsonText } from '../database/sql.ts';
import { continentsOf, type StoredSides, sidesOf } from '../incidents/queries.ts';
import type { Hours } from './hours.ts';
import { muteEnd } from './mute-queries.ts';
import type { Because, Bucket, Flapping, HeldBy, StepEvent, WarningEvent } from './policy.ts';

/** The queries that turn due steps into messages. */

export type ComposedChannel = {
  readonly id: string;
  readonly organisation_id: string;
  readonly organisation: string;
  readonly time_zone: string;
  readonly kind: string;
  readonly enabled: boolean;
  readonly deleted: boolean;
  readonly verified: boolean;
  readonly unsubscribed: boolean;
  readonly delay_s: number;
  readonly reminder_s: number | null;
  readonly hours: Hours | null;
  readonly bucket_full_at: Date;
  readonly gathering_since: Date | null;
  readonly gathered_at: Date | null;
};

/** Locks channels with due steps, and skips those that another coordinator has locked. */
export function takeChannelsWithSteps(
  sql: Queryable,
  now: number,
  limit: number,
): Promise<ComposedChannel[]> {
  return sql<ComposedChannel[]>`
    select c.id, c.organisation_id, o.name as organisation, o.time_zone, c.kind, c.enabled,
      c.deleted_at is not null as deleted,
      c.verified_at is not null as verified, c.unsubscribed_at is not null as unsubscribed,
        c.delay_s, c.reminder_s, c.hours, c.bucket_full_at,
      c.gathering_since, c.gathered_at
    from channels c join organisations o on o.id = c.organisation_id
    where c.id in (select channel_id from alert_steps where state = 'held'
      and look_at <= ${new Date(now)} group by channel_id
      order by min(look_at) limit ${limit})
    for no key update of c skip locked`;
}

export type WaitingStep = {
  readonly id: number;
  readonly channel_id: string;
  readonly organisation_id: string;
  readonly monitor_id: string;
  readonly incident_id: string;
  readonly event: StepEvent;
  readonly seq: number;
  readonly due_at: Date;
  readonly look_at: Date;
  /** When its alert became known to be due. */
  readonly created_at: Date;
  readonly flapping: Flapping;
  readonly held_by: HeldBy | null;
  /** Null once the monitor, and its incidents with it, was deleted. */
  readonly started_at: Date | null;
  readonly confirmed_at: Date | null;
  readonly resolved_at: Date | null;
  readonly acknowledged_at: Date | null;
  readonly acknowledged_as: string | null;
  readonly cause: Cause | null;
  readonly scope: string | null;
  readonly layer: string | null;
  /** The continents that the scope was judged from; null where private places saw it. */
  readonly continents: Continents | null;
  readonly sides: StoredSides | null;
  readonly seen_probe: string | null;
  readonly seen_continent: string | null;
  readonly confirmed_probe: string | null;
  readonly confirmed_continent: string | null;
  readonly monitor_name: string | null;
  readonly target: string | null;
  readonly type: string | null;
  readonly group_name: string | null;
};

/** Due steps of these channels, oldest first, with everything that a message says about them. */
export function waitingSteps(
  sql: Queryable,
  channels: readonly string[],
  now: number,
  limit: number,
): Promise<WaitingStep[]> {
  return sql<WaitingStep[]>`
    select s.id, s.channel_id, s.organisation_id, s.monitor_id, s.incident_id, s.event, s.seq,
      s.due_at, s.look_at, s.created_at, s.flapping,
      s.holds -> -1 ->> 0 as held_by,
      i.started_at, i.confirmed_at, i.resolved_at, i.acknowledged_at, i.acknowledged_as, i.cause,
        i.scope, i.layer,
      ${continentsOf(sql)} as continents, ${sidesOf(sql)} as sides, i.seen_probe, i.seen_continent,
      i.confirmed_probe, i.confirmed_continent, m.name as monitor_name, m.target, m.type,
        g.name as group_name
    from alert_steps s left join incidents i on i.id = s.incident_id left join monitors m
      on m.id = s.monitor_id left join groups g on g.id = m.group_id
    where s.state = 'held' and s.incident_id is not null and s.look_at <= ${new Date(now)}
      and s.channel_id = any(${channels}::uuid[])
    order by s.id limit ${limit} for update of s`;
}

/** When these incidents ended. Open and deleted incidents are absent. */
export async function resolutionsOf(
  sql: Queryable,
  incidents: readonly string[],
): Promise<ReadonlyMap<string, Date>> {
  const rows = await sql<{ id: string; resolved_at: Date }[]>`
    select id, resolved_at from incidents where id = any(${incidents}::uuid[])
      and resolved_at is not null`;
  return new Map(rows.map(({ id, resolved_at }) => [id, resolved_at]));
}

/** When these organisations are muted, and these monitors alone. */
export async function mutesOf(
  sql: Queryable,
  { organisations, monitors }: { organisations: readonly string[]; monitors: readonly string[] },
  since: number,
): Promise<ReadonlyMap<string, readonly Interval[]>> {
  const rows = await sql<{ of: string; from: Date; to: Date }[]>`
    select coalesce(u.monitor_id, u.organisation_id) as of, u.began_at as from,
      ${muteEnd(sql)} as to
    from mutes u where u.organisation_id = any(${organisations}::uuid[])
      and (u.monitor_id is null or u.monitor_id = any(${monitors}::uuid[]))
      and u.until > ${new Date(since)}`;
  const spans = rows.map(({ of, from, to }) => ({ of, from: from.getTime(), to: to.getTime() }));
  return Map.groupBy(spans, ({ of }) => of);
}

export type DownMessage = {
  readonly step: number;
  readonly incident_id: string;
  readonly monitor_id: string;
  readonly channel_id: string;
  readonly event: 'down' | 'flapping';
  readonly message_id: string;
  readonly thread_id: string;
  readonly state: 'waiting' | 'delivered' | 'refused' | 'failed' | 'superseded';
  readonly claimed: boolean;
  /** What the message said about this incident; used when the incident was deleted since. */
  readonly told: unknown;
};

/**
 * Of a "flapping" step: the channel was told since that the monitor is stable again, or down for
 * long, so that what comes after is another time.
 */
export function isOverSince(sql: Queryable) {
  return sql`exists (select from alert_steps e
  where e.channel_id = s.channel_id and e.monitor_id = s.monitor_id and e.state = 'told'
    and e.flapping <> 'plain' and (e.event = 'up' and e.due_at > s.due_at
      or e.event = 'down' and e.due_at >= s.due_at))`;
}

/**
 * The messages that notified channels of these incidents' "down", or lately that these monitors are
 * flapping. The rows are locked, so no one starts to send one meanwhile.
 */
export function downMessages(
  sql: Queryable,
  of: {
    readonly channels: readonly string[];
    readonly incidents: readonly string[];
    readonly flapping: readonly string[];
    readonly since: number;
  },
  now: number,
): Promise<DownMessage[]> {
  return sql<DownMessage[]>`
    select s.id as step, s.incident_id, s.monitor_id, s.channel_id, s.event, m.id as message_id,
      m.thread_id, m.state,
      coalesce(m.claimed_until > ${new Date(now)}, false) as claimed, m.told
    from alert_steps s join deliveries m on m.id = s.message_id
    where s.channel_id = any(${of.channels}::uuid[]) and s.state = 'told'
      and s.event in ('down', 'flapping') and (
      s.incident_id = any(${of.incidents}::uuid[])
      or s.event = 'flapping' and s.monitor_id = any(${of.flapping}::uuid[])
      and s.due_at > ${new Date(of.since)} and not ${isOverSince(sql)})
    order by m.key, s.id for update of m`;
}

/**
 * How many of the incidents in these threads are still open. Threads without open incidents are
 * absent.
 */
export async function openInThreads(
  sql: Queryable,
  threads: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await sql<{ thread_id: string; count: number }[]>`
    select m.thread_id, count(distinct i.id) as count from deliveries m
    join alert_steps s on s.message_id = m.id and s.event in ('down', 'flapping')
      and s.state = 'told'
    join incidents i on i.id = s.incident_id and i.resolved_at is null
    where m.thread_id = any(${threads}::uuid[]) group by m.thread_id`;
  return new Map(rows.map(({ thread_id, count }) => [thread_id, count]));
}

/** What each continent observed of these incidents (rule 15), without private places beside them. */
export function matricesOf(
  sql: Queryable,
  incidents: readonly string[],
): Promise<{ incident_id: string; continent: string; failed: boolean }[]> {
  return sql`select incident_id, continent, bool_or(outcome = 1) as failed from incident_evidence
    where incident_id = any(${incidents}::uuid[]) and continent <> '' and outcome < 2
      and continent not like '%/%'
    group by incident_id, continent order by continent`;
}

/** What is down in these organisations, newest first. */
export function downNow(
  sql: Queryable,
  organisations: readonly string[],
): Promise<{ organisation_id: string; incident: string; name: string }[]> {
  return sql`select i.organisation_id, i.id as incident, m.name from incidents i join monitors m
    on m.id = i.monitor_id
    where i.organisation_id = any(${organisations}::uuid[]) and i.resolved_at is null
      and i.confirmed_at is not null order by i.key desc`;
}

export type Hold = {
  readonly id: number;
  readonly by: HeldBy;
  readonly until: number;
  readonly isNew: boolean;
};

/** Maintenance may end earlier than it says, so what it holds is decided again after this. */
const maintenanceAgainMs = 5_000;

/**
 * Holds each step until its next decision. A hold for a different reason is recorded; a hold for
 * the same reason is extended.
 */
export async function holdSteps(
  sql: Queryable,
  holds: readonly Hold[],
  now: number,
): Promise<void> {
  if (holds.length === 0) return;
  const rows = holds.map(({ id, by, until, isNew }) => ({
    id,
    look_at: new Date(
      by === 'maintenance' ? Math.min(until, now + maintenanceAgainMs) : until,
    ).toISOString(),
    until_ms: until,
    hold: isNew ? [[by, now, until]] : null,
  }));
  await sql`
    update alert_steps s set look_at = h.look_at,
      holds = case when h.hold is null then jsonb_set(s.holds, '{-1,2}', h.until_ms)
        else s.holds || h.hold end
    from json_to_recordset(${jsonText(rows)}::text::json) as h (id bigint, look_at timestamptz,
      until_ms jsonb, hold jsonb) where s.id = h.id`;
}

export async function dropSteps(
  sql: Queryable,
  drops: readonly { readonly id: number; readonly because: Because }[],
  now: number,
): Promise<void> {
  if (drops.length === 0) return;
  await sql`
    update alert_steps s set state = 'dropped', because = d.because, settled_at = ${new Date(now)}
    from json_to_recordset(${jsonText([...drops])}::text::json) as d (id bigint, because text)
    where s.id = d.id`;
}

/**
 * Ends "down" steps whose incident ended before their message was accepted. Their messages are
 * done; whatever else these said goes out again in other messages.
 */
export async function mergeSteps(
  sql: Queryable,
  steps: readonly number[],
  messages: readonly string[],
  now: number,
): Promise<void> {
  if (steps.length === 0) return;
  const at = new Date(now);
  await sql`update alert_steps set state = 'merged', settled_at = ${at}
    where id = any(${steps}::bigint[])`;
  await sql`update deliveries set state = 'superseded', settled_at = ${at}
    where id = any(${messages}::uuid[])`;
  await sql`update alert_steps
    set state = 'held', look_at = ${at}, message_id = null, settled_at = null
    where message_id = any(${messages}::uuid[]) and state = 'told'`;
}

export type NewMessage = {
  readonly id: string;
  readonly organisation: string;
  readonly channel: string;
  readonly event: string;
  readonly thread: string;
  readonly told: unknown;
  readonly due_at: number;
  readonly steps: readonly { readonly id: number; readonly event: StepEvent | WarningEvent }[];
};

export async function insertMessages(
  sql: Queryable,
  messages: readonly NewMessage[],
  now: number,
): Promise<void> {
  if (messages.length === 0) return;
  const at = new Date(now);
  const rows = messages.map(({ steps, due_at, ...rest }) => ({
    ...rest,
    due_at: new Date(due_at).toISOString(),
  }));
  await sql`
    insert into deliveries (id, organisation_id, channel_id, event, thread_id, told, state, due_at,
      created_at, next_at)
    select id, organisation, channel, event, thread, told, 'waiting', due_at, ${at}, ${at}
    from json_to_recordset(${jsonText(rows)}::text::json) as m (id uuid, organisation uuid,
      channel uuid, event text, thread uuid, told jsonb,
      due_at timestamptz)`;
  const steps = messages.flatMap(({ id: message, steps: told }) =>
    told.map((step) => ({ ...step, message })),
  );
  await sql`
    update alert_steps s
    set state = 'told', event = t.event, message_id = t.message, settled_at = ${at},
      first_told_at = coalesce(s.first_told_at, ${at})
    from json_to_recordset(${jsonText(steps)}::text::json) as t (id bigint, event text,
      message uuid) where s.id = t.id`;
}

export async function writeBuckets(
  sql: Queryable,
  buckets: readonly { readonly id: string; readonly bucket: Bucket }[],
): Promise<void> {
  if (buckets.length === 0) return;
  const text = (at: number | null) => (at === null ? null : new Date(at).toISOString());
  const rows = buckets.map(({ id, bucket: { fullAt, since, newest } }) => ({
    id,
    full_at: text(fullAt),
    since: text(since),
    newest: text(newest),
  }));
  await sql`update channels c
    set bucket_full_at = b.full_at, gathering_since = b.since, gathered_at = b.newest
    from json_to_recordset(${jsonText(rows)}::text::json) as b (id uuid, full_at timestamptz,
      since timestamptz, newest timestamptz)
    where c.id = b.id`;
}
