import { newId } from '../../shared/base/crypto.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { CauseParams } from '../../shared/checks/result.ts';
import type { Queryable, Sql } from '../database/connect.ts';
import { inTransaction } from '../database/sql.ts';
import { jsonText } from '../incidents/writes.ts';
import { coverOfMonitors } from '../maintenance/queries.ts';
import { warningText } from '../warnings/model.ts';
import { downNow, insertMessages, mutesOf, type NewMessage } from './compose-queries.ts';
import { type Hours, withinHours } from './hours.ts';
import { type Content, lowered, type NotifiedMonitor, warningSentenceOf } from './message.ts';
import { channelsToPlan, groupsOfMonitors } from './plan.ts';
import { type ChannelState, disabledReasonOf, isCovered } from './policy.ts';

/**
 * Tells people of warnings (rule 44), in two steps, each one transaction:
 *
 *   1 gather   an organisation's alerts wait until none came for a while, so that one certificate on
 *              40 monitors, which are checked one after the other, is one message (one that became
 *              slow alone hardly waits); then each gets a step for every channel that wants warnings
 *              and covers the monitor
 *   2 tell     a channel's steps that nothing holds (hours, mute, maintenance) leave as one message
 *
 * A process that crashes wrote nothing; the next one does it. A warning that is over before it leaves
 * is told to nobody, and an end goes only to those who were told of the beginning.
 */
export type WarningTeller = {
  /** Returns whether there was anything. */
  readonly tell: () => Promise<boolean>;
};

export type GatheringTimes = { readonly quietMs: number; readonly mostMs: number };

/** Most monitors are checked from all continents within this time. */
export const gatheringTimes: GatheringTimes = { quietMs: 180_000, mostMs: 900_000 };

/** A monitor that alone became slow is slow now, and waits for no other. */
const aloneMs = 10_000;

/** A mute or maintenance may end before its time. */
const againMs = 60_000;
const maxAlerts = 2_000;
const maxChannels = 50;

export function createWarningTeller(deps: {
  readonly sql: Sql;
  readonly clock: Clock;
  /** Whether what becomes due together for a channel of this kind is told together. */
  readonly gathers: (kind: string) => boolean;
  readonly times?: GatheringTimes | undefined;
}): WarningTeller {
  const { sql, clock, gathers, times = gatheringTimes } = deps;
  return {
    tell: async () => {
      const now = clock.now();
      const isPlanned = await inTransaction(sql, (transaction) => plan(transaction, now, times));
      const isTold = await inTransaction(sql, (transaction) =>
        tellChannels(transaction, gathers, now),
      );
      return isPlanned || isTold;
    },
  };
}

type DueAlert = {
  readonly id: number;
  readonly organisation_id: string;
  readonly monitor_id: string;
  readonly warning_id: string;
  readonly event: 'warning' | 'warning_over';
};

/** Step 1. */
async function plan(sql: Queryable, now: number, times: GatheringTimes): Promise<boolean> {
  const alerts = await sql<DueAlert[]>`
    select id, organisation_id, monitor_id, warning_id, event from warning_alerts
    where planned_at is null and organisation_id in (
      select organisation_id from warning_alerts where planned_at is null
      group by organisation_id
      having max(created_at) <= ${new Date(now - times.quietMs)}
        or min(created_at) <= ${new Date(now - times.mostMs)}
        or count(*) = 1 and max(created_at) <= ${new Date(now - aloneMs)} and bool_and(
          event = 'warning' and exists (select from warnings w where w.id = warning_id
            and w.code = 'slow')))
    order by id limit ${maxAlerts} for update skip locked`;
  if (alerts.length === 0) return false;
  const unique = (texts: readonly string[]) => [...new Set(texts)];
  const organisations = unique(alerts.map((alert) => alert.organisation_id));
  const channels = Map.groupBy(
    (await channelsToPlan(sql, organisations)).filter(({ warnings }) => warnings),
    ({ organisation_id }) => organisation_id,
  );
  const groups = new Map(
    (await groupsOfMonitors(sql, unique(alerts.map(({ monitor_id }) => monitor_id)))).map(
      ({ id, group_id }) => [id, group_id],
    ),
  );
  const steps = alerts.flatMap(({ id, organisation_id: organisation, monitor_id }) => {
    const monitor = { id: monitor_id, group: groups.get(monitor_id) ?? null };
    return (channels.get(organisation) ?? [])
      .filter(({ covers, monitors, groups: chosen }) =>
        isCovered({ covers, monitors: new Set(monitors), groups: new Set(chosen) }, monitor),
      )
      .map((channel) => {
        const reason = disabledReasonOf({ ...channel, deleted: false });
        const because = reason === undefined ? null : `channel_${reason}`;
        return { alert: id, channel: channel.id, organisation, because };
      });
  });
  const at = new Date(now);
  await sql`
    insert into warning_steps (alert_id, channel_id, organisation_id, state, because, look_at)
    select alert, channel, organisation, case when because is null then 'held' else 'dropped' end,
      because, ${at}
    from json_to_recordset(${jsonText(steps)}::text::json) as s (alert bigint, channel uuid,
      organisation uuid, because text)
    on conflict do nothing`;
  await sql`update warning_alerts set planned_at = ${at}
    where id = any(${alerts.map(({ id }) => id)}::bigint[])`;
  return true;
}

type Channel = {
  readonly id: string;
  readonly kind: string;
  readonly organisation_id: string;
  readonly organisation: string;
  readonly time_zone: string;
  readonly hours: Hours | null;
} & ChannelState;

type Step = {
  readonly id: number;
  readonly channel_id: string;
  readonly warning_id: string;
  readonly monitor_id: string;
  readonly event: 'warning' | 'warning_over';
  readonly code: string;
  readonly details: CauseParams;
  readonly began_at: Date;
  readonly confirmed_at: Date;
  readonly ended_at: Date | null;
  readonly was_told: boolean;
  readonly name: string;
  readonly target: string;
  readonly group_name: string | null;
};

/** Step 2. */
async function tellChannels(
  sql: Queryable,
  gathers: (kind: string) => boolean,
  now: number,
): Promise<boolean> {
  const at = new Date(now);
  const channels = await sql<Channel[]>`
    select c.id, c.kind, c.organisation_id, o.name as organisation, o.time_zone, c.hours,
      c.deleted_at is not null as deleted, c.enabled, c.verified_at is not null as verified,
      c.unsubscribed_at is not null as unsubscribed
    from channels c join organisations o on o.id = c.organisation_id
    where c.id in (select channel_id from warning_steps where state = 'held' and look_at <= ${at}
      limit ${maxChannels})
    for no key update of c skip locked`;
  if (channels.length === 0) return false;
  const ids = channels.map(({ id }) => id);
  const steps = Map.groupBy(await stepsOf(sql, ids, at), ({ channel_id }) => channel_id);
  const organisations = [...new Set(channels.map((channel) => channel.organisation_id))];
  const monitors = new Set([...steps.values()].flat().map(({ monitor_id }) => monitor_id));
  const mutes = await mutesOf(sql, { organisations, monitors: [...monitors] }, now);
  const covers = await coverOfMonitors(sql, [...monitors], {
    from: now - 1,
    to: now + againMs,
  });
  const down = await downNow(sql, organisations);
  const messages: NewMessage[] = [];
  const told: { readonly id: number; readonly message: string }[] = [];
  for (const channel of channels) {
    const { organisation_id: organisation } = channel;
    const opens = channel.hours === null ? now : withinHours(channel.hours, now);
    const heldUntil = ({ monitor_id }: Step): number =>
      Math.max(
        opens,
        ...[organisation, monitor_id]
          .flatMap((of) => [
            ...(mutes.get(of) ?? []),
            ...(of === monitor_id ? (covers.get(of) ?? []) : []),
          ])
          .filter(({ from, to }) => from <= now && now < to)
          .map(({ to }) => to),
      );
    const own = steps.get(channel.id) ?? [];
    const reason = disabledReasonOf(channel);
    if (reason !== undefined) {
      await settle(sql, own, { state: 'dropped', because: `channel_${reason}`, look_at: now });
      continue;
    }
    const newest = new Map(own.map((step) => [`${step.warning_id} ${step.event}`, step]));
    const dropped = own.filter(
      (step) =>
        newest.get(`${step.warning_id} ${step.event}`) !== step ||
        (step.event === 'warning' ? step.ended_at !== null : !step.was_told),
    );
    const rest = own.filter((step) => !dropped.includes(step));
    const held = rest.filter((step) => heldUntil(step) > now);
    const leaving = rest.filter((step) => !held.includes(step));
    await settle(sql, dropped, { state: 'dropped', because: 'over', look_at: now });
    for (const [until, some] of Map.groupBy(held, heldUntil))
      await settle(sql, some, { state: 'held', look_at: Math.min(until, now + againMs) });
    const others = down.filter((each) => each.organisation_id === organisation);
    const parts = Map.groupBy(leaving, (step) => (gathers(channel.kind) ? '' : step.monitor_id));
    for (const part of parts.values()) {
      const id = newId();
      const content = contentOf(channel, part, others, now);
      const message = { id, organisation, channel: channel.id, thread: id, told: content };
      messages.push({ ...message, event: content.event, due_at: now, steps: [] });
      told.push(...part.map((step) => ({ id: step.id, message: id })));
    }
  }
  await insertMessages(sql, messages, now);
  await sql`
    update warning_steps s set state = 'told', look_at = ${at}, message_id = t.message
    from json_to_recordset(${jsonText(told)}::text::json) as t (id bigint, message uuid)
    where s.id = t.id`;
  return true;
}

/** In order, so that the last of a warning is the newest. */
function stepsOf(sql: Queryable, channels: readonly string[], at: Date): Promise<Step[]> {
  return sql<Step[]>`
    select s.id, s.channel_id, a.warning_id, a.monitor_id, a.event, w.code, a.details, w.began_at,
      w.confirmed_at, w.ended_at, m.name, m.target, g.name as group_name,
      exists (select 1 from warning_steps t join warning_alerts b on b.id = t.alert_id
        where t.channel_id = s.channel_id and t.state = 'told' and b.event = 'warning'
          and b.warning_id = a.warning_id) as was_told
    from warning_steps s join warning_alerts a on a.id = s.alert_id
    join warnings w on w.id = a.warning_id join monitors m on m.id = a.monitor_id
    left join groups g on g.id = m.group_id
    where s.state = 'held' and s.look_at <= ${at} and s.channel_id = any(${[...channels]}::uuid[])
    order by s.id for update of s`;
}

async function settle(
  sql: Queryable,
  steps: readonly Step[],
  as: {
    readonly state: 'held' | 'dropped';
    readonly because?: string;
    readonly look_at: number;
  },
): Promise<void> {
  if (steps.length === 0) return;
  await sql`
    update warning_steps set state = ${as.state}, look_at = ${new Date(as.look_at)},
      because = ${as.because ?? null}
    where id = any(${steps.map(({ id }) => id)}::bigint[])`;
}

/** Each monitor once: with what it is warned of now, else with what is over. */
function contentOf(
  { organisation, time_zone }: Channel,
  steps: readonly Step[],
  down: readonly { readonly incident: string; readonly name: string }[],
  now: number,
): Content {
  const monitors = [...Map.groupBy(steps, ({ monitor_id }) => monitor_id).values()].map(
    (own): NotifiedMonitor => {
      const begun = own.filter(({ event }) => event === 'warning');
      const said = begun.length > 0 ? begun : own;
      const [first] = own;
      if (first === undefined) throw new Error('a group of steps has none');
      const ends = said.map(({ ended_at }) => ended_at?.getTime() ?? now);
      return {
        id: first.monitor_id,
        incident: first.warning_id,
        event: begun.length > 0 ? 'warning' : 'warning_over',
        name: first.name,
        group: first.group_name,
        target: first.target,
        cause: said.map((step) => lowered(warningText(step, now))).join('; '),
        started_at: Math.min(...said.map(({ began_at }) => began_at.getTime())),
        confirmed_at: Math.min(...said.map(({ confirmed_at }) => confirmed_at.getTime())),
        resolved_at: begun.length > 0 ? null : Math.max(...ends),
        seen_from: null,
        confirmed_from: null,
        matrix: null,
      };
    },
  );
  const sorted = monitors.toSorted(
    (a, b) => a.event.length - b.event.length || a.name.localeCompare(b.name, 'en'),
  );
  return {
    event: sorted[0]?.event ?? 'warning',
    sentence: warningSentenceOf(sorted),
    monitors: sorted,
    others_down: { count: down.length, names: down.slice(0, 5).map(({ name }) => name) },
    organisation,
    time_zone,
    at: now,
    thread: { over: true },
  };
}
