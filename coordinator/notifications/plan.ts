import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import { type CauseFinder, type Judgement, nothingSuspected } from '../causes/finder.ts';
import { isToJudge } from '../causes/queries.ts';
import type { Queryable, Sql, Transaction } from '../database/connect.ts';
import { inSavepoint, inTransaction, jsonText } from '../database/sql.ts';
import { wakeSteps } from './causes.ts';
import type { ChannelKind } from './kinds/types.ts';
import {
  causeCheckMs,
  type DisabledReason,
  disabledReasonOf,
  type Flapping,
  flappingMemoryMs,
  flappingOf,
  type HeldBy,
  isCovered,
  type StepEvent,
  type WarningEvent,
} from './policy.ts';
import {
  type DueWarning,
  type GatheringTimes,
  gatheringTimes,
  takeDueWarnings,
} from './warnings.ts';

type DueEvent = {
  readonly id: number;
  readonly organisation_id: string;
  readonly monitor_id: string;
  readonly incident_id: string;
  readonly event: 'down' | 'up' | 'closed' | 'was_down';
  readonly due_at: number;
  /** Whether it may have a cause in common with others (rule 51). */
  readonly to_judge: boolean;
};

type PlannedChannel = {
  readonly id: string;
  readonly kind: string;
  readonly organisation_id: string;
  readonly covers: 'all' | 'chosen';
  readonly monitors: readonly string[];
  readonly groups: readonly string[];
  readonly enabled: boolean;
  readonly verified: boolean;
  readonly unsubscribed: boolean;
  /** Whether it wants warnings (rule 44). */
  readonly warnings: boolean;
};

export type NewStep = {
  readonly organisation: string;
  readonly channel: string;
  readonly monitor: string;
  /** Null in a step of a warning, which has the id of its alert. */
  readonly incident: string | null;
  readonly alert?: number;
  readonly event: StepEvent | WarningEvent;
  readonly seq?: number;
  readonly due_at: number;
  readonly look_at?: number;
  readonly flapping: Flapping;
  /** It waits at first: why, and until when. */
  readonly hold?: { readonly by: HeldBy; readonly until: number } | undefined;
  /** Set for a channel that gets no notifications. It is kept to explain why. */
  readonly shut?: DisabledReason | undefined;
};

/**
 * Makes steps of due events: one for each channel that covers the monitor (rule 30), each once. It
 * decides who is notified of an event at all; each step decides its own time
 * (notifications/compose.ts).
 */
type Planner = {
  /** Plans what is due. Returns the number of events. */
  readonly plan: () => Promise<number>;
};

/**
 * Each round judges causes anew, whatever its size: in smaller ones an outage of thousands would be
 * told minutes after it was confirmed.
 */
const most = 500;

type PlanningData = {
  readonly channels: ReadonlyMap<string, readonly PlannedChannel[]>;
  readonly groups: ReadonlyMap<string, string | null>;
  readonly flapping: ReadonlyMap<string, Flapping>;
  /** Whether it may have a cause in common with others (rule 51). */
  readonly isSuspected: (event: DueEvent) => boolean;
  readonly gathers: (kind: string) => boolean;
};

export function createPlanner({
  sql,
  clock,
  log,
  kindOf,
  judge,
  warningTimes = gatheringTimes,
}: {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly kindOf: (id: string) => Pick<ChannelKind, 'gathers'> | undefined;
  readonly judge: CauseFinder['judge'];
  readonly warningTimes?: GatheringTimes | undefined;
}): Planner {
  /** Alerts leave even where causes cannot be judged. */
  const suspicionsOf = async (
    transaction: Transaction,
    organisations: readonly string[],
  ): Promise<Judgement> => {
    if (organisations.length === 0) return nothingSuspected;
    try {
      return await inSavepoint(transaction, async (part) => ({
        result: await judge(part, organisations),
        stays: true,
      }));
    } catch (error) {
      if (transaction.session.isLost) throw error;
      log.error({ err: error }, 'could not judge what outages have in common');
      return nothingSuspected;
    }
  };

  const beginningsOf = async (
    transaction: Queryable,
    downs: readonly DueEvent[],
    warnings: readonly DueWarning[],
    { suspected, elsewhere }: Judgement,
    now: number,
  ): Promise<NewStep[]> => {
    const events = [...downs, ...warnings];
    if (events.length === 0) return [];
    const monitors = unique(events.map(({ monitor_id }) => monitor_id));
    const channels = await channelsToPlan(
      transaction,
      unique(events.map(({ organisation_id }) => organisation_id)),
    );
    const groups = await groupsOfMonitors(transaction, monitors);
    const outages = await outagesOf(transaction, monitors, now - flappingMemoryMs);
    const known: PlanningData = {
      channels: Map.groupBy(channels, ({ organisation_id }) => organisation_id),
      groups: new Map(groups.map(({ id, group_id }) => [id, group_id])),
      flapping: flappingOfEach(outages),
      isSuspected: ({ incident_id, organisation_id }) =>
        suspected.has(incident_id) || elsewhere.includes(organisation_id),
      gathers: (kind) => kindOf(kind)?.gathers !== false,
    };
    return [
      ...downs.flatMap((event) => stepsOfDown(event, known, now)),
      ...warnings.flatMap((event) => stepsOfWarning(event, known)),
    ];
  };

  const endsOf = async (
    transaction: Queryable,
    events: readonly DueEvent[],
    now: number,
  ): Promise<NewStep[]> => {
    if (events.length === 0) return [];
    const incidents = events.map(({ incident_id }) => incident_id);
    const earlier = Map.groupBy(
      await stepsOfIncidents(transaction, incidents),
      ({ incident_id }) => incident_id,
    );
    const monitors = unique(events.map(({ monitor_id }) => monitor_id));
    const flapping = Map.groupBy(
      await flappingNotified(transaction, monitors, now - flappingMemoryMs),
      ({ monitor_id }) => monitor_id,
    );
    await settleHeld(transaction, incidents, now);
    return events.flatMap((event) =>
      stepsOfEnd(
        event,
        earlier.get(event.incident_id) ?? [],
        (flapping.get(event.monitor_id) ?? []).map(({ channel_id }) => channel_id),
      ),
    );
  };

  return {
    plan: async () => {
      const now = clock.now();
      const planned = await inTransaction(sql, async (transaction) => {
        const events = await takeDueEvents(transaction, most);
        const warnings = await takeDueWarnings(transaction, warningTimes, now);
        if (events.length + warnings.length === 0) return undefined;
        const downs = events.filter(isBeginning);
        const organisations = unique(
          downs.flatMap(({ organisation_id, to_judge }) => (to_judge ? [organisation_id] : [])),
        );
        const suspected = await suspicionsOf(transaction, organisations);
        const steps = [
          ...(await beginningsOf(transaction, downs, warnings, suspected, now)),
          ...(await endsOf(
            transaction,
            events.filter((event) => !isBeginning(event)),
            now,
          )),
        ];
        await insertSteps(transaction, steps, now);
        await wakeSteps(transaction, organisations, now);
        await eventsPlanned(
          transaction,
          [...events, ...warnings].map(({ id }) => id),
          now,
        );
        return { events: events.length + warnings.length, steps: steps.length };
      });
      if (planned) log.info(planned, 'planned notifications');
      return planned?.events ?? 0;
    },
  };
}

function isBeginning({ event }: DueEvent): boolean {
  return event === 'down' || event === 'was_down';
}

/** What became known late became so together: of one backlog there is one message (rule 4). */
const lateTogether = 20_000;

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}

/** The channels of these organisations, without deleted ones. */
function channelsToPlan(
  sql: Queryable,
  organisations: readonly string[],
): Promise<PlannedChannel[]> {
  return sql<PlannedChannel[]>`
    select c.id, c.kind, c.organisation_id, c.covers, c.enabled, c.verified_at is not null as verified,
      c.unsubscribed_at is not null as unsubscribed, c.warnings,
      array(select monitor_id from channel_choices where channel_id = c.id
        and monitor_id is not null) as monitors,
      array(select group_id from channel_choices where channel_id = c.id
        and group_id is not null) as groups
    from channels c where c.deleted_at is null
      and c.organisation_id = any(${organisations}::uuid[])`;
}

function groupsOfMonitors(
  sql: Queryable,
  monitors: readonly string[],
): Promise<{ id: string; group_id: string | null }[]> {
  return sql`select id, group_id from monitors where id = any(${monitors}::uuid[])`;
}

type StoredOutage = {
  readonly monitor_id: string;
  readonly incident: string;
  readonly confirmed_at: number;
  readonly resolved_at: number | null;
};

/** Outages of these monitors whose "down" became due, confirmed after this, in order of time. */
export function outagesOf(
  sql: Queryable,
  monitors: readonly string[],
  since: number,
): Promise<StoredOutage[]> {
  return sql<StoredOutage[]>`
    select i.monitor_id, i.id as incident, i.confirmed_at, i.resolved_at from incidents i
    join alerts a on a.incident_id = i.id and a.event = 'down' and a.state in ('due', 'sent')
    where i.monitor_id = any(${monitors}::uuid[]) and i.confirmed_at > ${new Date(since)}
    order by i.confirmed_at, i.key`;
}

/** How each of these incidents is notified, given its monitor's outages up to it. */
function flappingOfEach(outages: readonly StoredOutage[]): ReadonlyMap<string, Flapping> {
  return new Map(
    [...Map.groupBy(outages, ({ monitor_id }) => monitor_id).values()].flatMap((own) => {
      const times = own.map(({ incident, confirmed_at, resolved_at }) => ({
        incident,
        confirmed_at,
        resolved_at,
      }));
      return times.map(
        ({ incident }, index) => [incident, flappingOf(times.slice(0, index + 1))] as const,
      );
    }),
  );
}

/**
 * A "down": a step for every channel that covers the monitor, preceded by "flapping" where the
 * monitor flaps.
 */
function stepsOfDown(event: DueEvent, known: PlanningData, now: number): NewStep[] {
  const flapping = known.flapping.get(event.incident_id) ?? 'plain';
  return covering(event, known).flatMap((channel) => {
    const disabledReason = disabledReasonOf({ ...channel, deleted: false });
    const base = { ...baseOf(event), channel: channel.id, flapping, shut: disabledReason };
    const step = event.event === 'was_down' ? { ...base, look_at: now + lateTogether } : base;
    const waits = known.isSuspected(event) && known.gathers(channel.kind);
    const hold = waits ? ({ by: 'cause_check', until: now + causeCheckMs } as const) : undefined;
    return [
      ...(flapping === 'flapping' ? [{ ...step, event: 'flapping' } as const] : []),
      { ...step, event: 'down', hold } as const,
    ];
  });
}

/** News of a warning: a step for every channel that wants warnings and covers the monitor. */
function stepsOfWarning(event: DueWarning, known: PlanningData): NewStep[] {
  return covering(event, known)
    .filter(({ warnings }) => warnings)
    .map((channel) => ({
      ...baseOf(event),
      alert: event.id,
      event: event.event,
      channel: channel.id,
      flapping: 'plain',
      shut: disabledReasonOf({ ...channel, deleted: false }),
    }));
}

function covering(
  { organisation_id, monitor_id }: DueEvent | DueWarning,
  { channels, groups }: PlanningData,
): readonly PlannedChannel[] {
  const monitor = { id: monitor_id, group: groups.get(monitor_id) ?? null };
  return (channels.get(organisation_id) ?? []).filter(({ covers, monitors, groups: chosen }) =>
    isCovered({ covers, monitors: new Set(monitors), groups: new Set(chosen) }, monitor),
  );
}

function baseOf({ organisation_id, monitor_id, incident_id, due_at }: DueEvent | DueWarning) {
  return {
    organisation: organisation_id,
    monitor: monitor_id,
    incident: incident_id,
    due_at,
  };
}

type EarlierStep = {
  readonly incident_id: string;
  readonly channel_id: string;
  readonly event: StepEvent;
  readonly state: 'held' | 'told' | 'dropped' | 'merged';
  readonly flapping: Flapping;
};

/** Steps that were planned for these incidents before; rows are locked. */
function stepsOfIncidents(sql: Queryable, incidents: readonly string[]): Promise<EarlierStep[]> {
  return sql<EarlierStep[]>`
    select incident_id, channel_id, event, state, flapping from alert_steps
    where incident_id = any(${incidents}::uuid[]) order by id for update`;
}

/** The channels that were notified lately that a monitor is flapping. */
function flappingNotified(
  sql: Queryable,
  monitors: readonly string[],
  since: number,
): Promise<{ monitor_id: string; channel_id: string }[]> {
  return sql`select distinct s.monitor_id, s.channel_id from alert_steps s
    where s.monitor_id = any(${monitors}::uuid[]) and s.event = 'flapping'
      and s.state = 'told' and s.due_at > ${new Date(since)} and not ${isOverSince(sql)}`;
}

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
 * Settles the held steps of incidents that are over. Reminders are dropped. A "down" that was due
 * is decided at once (notifications/policy.ts); one that waits only to leave with others goes on
 * waiting.
 */
async function settleHeld(
  sql: Queryable,
  incidents: readonly string[],
  now: number,
): Promise<void> {
  if (incidents.length === 0) return;
  const at = new Date(now);
  await sql`
    update alert_steps set
      state = case when event in ('down', 'flapping') then state else 'dropped' end,
      because = case when event in ('down', 'flapping') then because else 'over' end,
      settled_at = case when event in ('down', 'flapping') then settled_at else ${at} end,
      look_at = case when event in ('down', 'flapping') then least(look_at, ${at}) else look_at end
    where incident_id = any(${incidents}::uuid[]) and state = 'held' and (
      event in ('reminder', 'acknowledged') or event in ('down', 'flapping')
        and coalesce(holds -> -1 ->> 0, '') <> 'bucket')`;
}

/**
 * An "up": exactly for the recipients of the "down" (rule 25); of a flapping monitor, once it was
 * steady (rule 37).
 */
function stepsOfEnd(
  event: DueEvent,
  own: readonly EarlierStep[],
  notifiedOfFlapping: readonly string[],
): NewStep[] {
  const base = {
    ...baseOf(event),
    event: event.event === 'closed' ? ('closed' as const) : ('up' as const),
  };
  const notified = (of: 'down' | 'flapping') =>
    own.filter((step) => step.event === of && step.state === 'told').map((step) => step.channel_id);
  const direct = notified('down');
  const isFlapping = own.some(({ flapping }) => flapping !== 'plain');
  // A waiting step may still be sent, however short the outage was.
  const waiting = own
    .filter(({ event, state }) => event === 'flapping' && state === 'held')
    .map((step) => step.channel_id);
  const steady = isFlapping
    ? unique([...notified('flapping'), ...waiting, ...notifiedOfFlapping]).filter(
        (channel) => !direct.includes(channel),
      )
    : [];
  return [
    ...direct.map((channel): NewStep => ({ ...base, channel, flapping: 'plain' })),
    ...steady.map((channel): NewStep => ({ ...base, channel, flapping: 'flapping' })),
  ];
}

/**
 * Locks due events that are not planned yet: the first of each organisation, then the second of
 * each, so that one organisation's thousand delay no other. An "up" waits until its "down" is
 * planned; otherwise it would find no recipients. They are locked one by one in this order, each
 * found by its id: joined as a whole, every one was compared with all others.
 */
function takeDueEvents(sql: Queryable, limit: number): Promise<DueEvent[]> {
  return sql<DueEvent[]>`
    with waiting as materialized (
      select a.id, row_number() over (partition by a.organisation_id order by a.id) as place
      from alerts a
      where a.state = 'due' and a.planned_at is null and a.incident_id is not null and (a.event = 'down' or not exists (
        select 1 from alerts d where d.incident_id = a.incident_id and d.event = 'down'
          and d.state = 'due' and d.planned_at is null)))
    select a.id, a.organisation_id, a.monitor_id, a.incident_id, a.event,
      coalesce(a.due_at, a.created_at) as due_at, ${isToJudge(sql)} as to_judge
    from (select id from waiting order by place, id) w cross join lateral (
      select * from alerts where id = w.id and state = 'due' and planned_at is null
      for update skip locked) a limit ${limit}`;
}

/** Inserts each step at most once, however often it is planned. */
export async function insertSteps(
  sql: Queryable,
  steps: readonly NewStep[],
  now: number,
): Promise<void> {
  if (steps.length === 0) return;
  const rows = steps.map(
    ({
      due_at,
      hold,
      look_at = hold?.until ?? due_at,
      seq = 0,
      shut: disabledReason,
      ...rest
    }) => ({
      ...rest,
      seq,
      due_at: new Date(due_at).toISOString(),
      look_at: new Date(look_at).toISOString(),
      holds: hold ? [[hold.by, now, hold.until]] : [],
      because: disabledReason === undefined ? null : `channel_${disabledReason}`,
    }),
  );
  const at = new Date(now);
  await sql`
    insert into alert_steps (organisation_id, channel_id, monitor_id, incident_id, alert_id, event,
      seq, state, due_at, look_at, holds, flapping, because, created_at, settled_at)
    select organisation, channel, monitor, incident, alert, event, seq, case
      when because is null then 'held' else 'dropped' end, due_at, look_at, holds, flapping,
      because, ${at}, case when because is null then null else ${at}::timestamptz end
    from json_to_recordset(${jsonText(rows)}::text::json) as s (organisation uuid, channel uuid,
      monitor uuid, incident uuid, alert bigint, event text, seq int,
      due_at timestamptz, look_at timestamptz, holds jsonb, flapping text, because text)
    where exists (select 1 from channels c where c.id = s.channel)
    on conflict do nothing`;
}

async function eventsPlanned(sql: Queryable, ids: readonly number[], now: number): Promise<void> {
  await sql`update alerts set planned_at = ${new Date(now)} where id = any(${ids}::bigint[])`;
}
