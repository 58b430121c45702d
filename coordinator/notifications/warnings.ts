import { newId } from '../../shared/base/crypto.ts';
import type { CauseParams } from '../../shared/checks/result.ts';
import type { Queryable } from '../database/connect.ts';
import { warningText } from '../warnings/model.ts';
import {
  type ComposedChannel,
  type Content,
  lowered,
  type NewMessage,
  type NotifiedMonitor,
  warningSentenceOf,
} from './message.ts';
import type { HeldBy, WarningEvent } from './policy.ts';

/**
 * What alerts of warnings (rule 44) have of their own on the way of all alerts (notifier.ts):
 *
 *   plan      an organisation's alerts wait until none came for a while, so that one certificate on
 *             40 monitors, which are checked one after the other, is one message (one that became
 *             slow alone hardly waits, nor does a budget that burns fast)
 *   compose   what nothing holds (hours, mute, maintenance) leaves a channel as one message
 *
 * A warning that is over before it leaves is told to nobody, and an end goes only to those who were
 * told of the beginning.
 */

export type GatheringTimes = { readonly quietMs: number; readonly mostMs: number };

/** Most monitors are checked from all continents within this time. */
export const gatheringTimes: GatheringTimes = { quietMs: 180_000, mostMs: 900_000 };

/** A monitor that alone became slow is slow now, as a budget burns now, and waits for no other. */
const aloneMs = 10_000;

const maxAlerts = 2_000;

export type DueWarning = {
  readonly id: number;
  readonly organisation_id: string;
  readonly monitor_id: string;
  readonly incident_id: null;
  readonly event: WarningEvent;
  readonly due_at: number;
};

/** Locks alerts of warnings that are not planned yet, of organisations that have gathered theirs. */
export function takeDueWarnings(
  sql: Queryable,
  { quietMs, mostMs }: GatheringTimes,
  now: number,
): Promise<DueWarning[]> {
  return sql<DueWarning[]>`
    select id, organisation_id, monitor_id, incident_id, event, created_at as due_at from alerts
    where state = 'due' and planned_at is null and warning_id is not null and organisation_id in (
      select organisation_id from alerts
      where state = 'due' and planned_at is null and warning_id is not null
      group by organisation_id
      having max(created_at) <= ${new Date(now - quietMs)}
        or min(created_at) <= ${new Date(now - mostMs)}
        or count(*) = 1 and max(created_at) <= ${new Date(now - aloneMs)} and bool_and(
          event = 'warning' and exists (select from warnings w where w.id = warning_id
            and w.code in ('slow', 'burns_fast'))))
    order by id limit ${maxAlerts} for update skip locked`;
}

export type WarningStep = {
  readonly id: number;
  readonly channel_id: string;
  readonly warning_id: string;
  readonly monitor_id: string;
  readonly event: WarningEvent;
  readonly due_at: number;
  readonly held_by: HeldBy | null;
  readonly code: string;
  readonly details: CauseParams;
  readonly began_at: number;
  readonly confirmed_at: number;
  readonly ended_at: number | null;
  readonly was_told: boolean;
  readonly name: string;
  readonly target: string;
  readonly group_name: string | null;
};

/** Due steps of these channels, in order, so that the last of a warning is the newest. */
export function warningSteps(
  sql: Queryable,
  channels: readonly string[],
  now: number,
): Promise<WarningStep[]> {
  return sql<WarningStep[]>`
    select s.id, s.channel_id, a.warning_id, s.monitor_id, s.event, s.due_at,
      s.holds -> -1 ->> 0 as held_by, w.code, a.details, w.began_at,
      w.confirmed_at, w.ended_at, m.name, m.target, g.name as group_name,
      exists (select 1 from alert_steps t join alerts b on b.id = t.alert_id
        where t.channel_id = s.channel_id and t.state = 'told' and b.event = 'warning'
          and b.warning_id = a.warning_id) as was_told
    from alert_steps s join alerts a on a.id = s.alert_id
    join warnings w on w.id = a.warning_id join monitors m on m.id = a.monitor_id
    left join groups g on g.id = m.group_id
    where s.state = 'held' and s.look_at <= ${new Date(now)}
      and s.channel_id = any(${[...channels]}::uuid[])
    order by s.id for update of s`;
}

/** Those that there is no news in any more: a newer one says more, or nobody was told. */
export function withoutNews(steps: readonly WarningStep[]): readonly WarningStep[] {
  const newest = new Map(steps.map((step) => [`${step.warning_id} ${step.event}`, step]));
  return steps.filter(
    (step) =>
      newest.get(`${step.warning_id} ${step.event}`) !== step ||
      (step.event === 'warning' ? step.ended_at !== null : !step.was_told),
  );
}

type Around = {
  readonly channel: Pick<ComposedChannel, 'id' | 'organisation_id' | 'organisation' | 'time_zone'>;
  /** Whether what leaves the channel together is one message. */
  readonly gathers: boolean;
  readonly down: readonly { readonly incident: string; readonly name: string }[];
  readonly now: number;
};

export function warningMessages(leaving: readonly WarningStep[], around: Around): NewMessage[] {
  const { channel, gathers, now } = around;
  const parts = Map.groupBy(leaving, (step) => (gathers ? '' : step.monitor_id));
  return [...parts.values()].map((part) => {
    const id = newId();
    const told = contentOf(part, around);
    return {
      id,
      organisation: channel.organisation_id,
      channel: channel.id,
      thread: id,
      told,
      event: told.event,
      due_at: now,
      steps: part.map((step) => ({ id: step.id, event: step.event })),
    };
  });
}

/** Each monitor once: with what it is warned of now, else with what is over. */
function contentOf(
  steps: readonly WarningStep[],
  { channel: { organisation, time_zone }, down, now }: Around,
): Content {
  const monitors = [...Map.groupBy(steps, ({ monitor_id }) => monitor_id).values()].map(
    (own): NotifiedMonitor => {
      const begun = own.filter(({ event }) => event === 'warning');
      const said = begun.length > 0 ? begun : own;
      const [first] = own;
      if (first === undefined) throw new Error('a group of steps has none');
      const ends = said.map(({ ended_at }) => ended_at ?? now);
      return {
        id: first.monitor_id,
        incident: first.warning_id,
        event: begun.length > 0 ? 'warning' : 'warning_over',
        name: first.name,
        group: first.group_name,
        target: first.target,
        cause: said.map((step) => lowered(warningText(step, now))).join('; '),
        started_at: Math.min(...said.map(({ began_at }) => began_at)),
        confirmed_at: Math.min(...said.map(({ confirmed_at }) => confirmed_at)),
        resolved_at: begun.length > 0 ? null : Math.max(...ends),
        seen_from: null,
        confirmed_from: null,
        matrix: null,
        cause_id: null,
      };
    },
  );
  const sorted = monitors.toSorted(
    (a, b) => a.event.localeCompare(b.event, 'en') || a.name.localeCompare(b.name, 'en'),
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
