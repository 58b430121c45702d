import { briefDuration } from '../../shared/base/time.ts';
import { causeName, reasonOf } from '../causes/model.ts';
import { causesToTell } from '../causes/queries.ts';
import type { Queryable } from '../database/connect.ts';
import { jsonText } from '../database/sql.ts';
import { causeGrowsMs, causeSettledMs, type StepEvent } from './policy.ts';

/** Outages of one cause are told as one to people (rule 51). */

/** The cause of an outage, as a channel knows it. */
export type CommonCause = {
  readonly id: string;
  /** "address 203.0.113.7:443" */
  readonly name: string;
  /** Behind "30 monitors are down:". */
  readonly reason: string;
  readonly began_at: number;
  readonly found_at: number;
  readonly ended_at: number | null;
  /** When one of its outages last ended. */
  readonly last_end: number | null;
  /** How many monitors of the channel are down by it; and were when it was last told of it. */
  readonly known: number;
  readonly told: number | null;
  readonly told_at: number | null;
  /** How many of them ever were. */
  readonly all: number;
};

/** The cause of each of these outages that has one, for each channel. */
export type CommonCauses = {
  readonly of: (channel: string, incident: string) => CommonCause | null;
};

export async function readCauses(
  sql: Queryable,
  channels: readonly string[],
  incidents: readonly string[],
): Promise<CommonCauses> {
  const members =
    incidents.length === 0
      ? []
      : await sql<{ incident_id: string; cause_id: string }[]>`
          select incident_id, cause_id from cause_members where incident_id = any(${incidents}::uuid[])`;
  if (members.length === 0) return { of: () => null };
  const ids = [...new Set(members.map(({ cause_id }) => cause_id))];
  const [rows, counts] = [
    await causesToTell(sql, ids),
    await sql<
      {
        channel_id: string;
        cause_id: string;
        known: number;
        all: number;
        told: number | null;
        told_at: number | null;
      }[]
    >`
      select s.channel_id, n.cause_id, count(distinct s.monitor_id)::int as "all",
        count(distinct s.monitor_id) filter (where i.resolved_at is null)::int as known,
        max(t.incidents)::int as told, max(t.told_at) as told_at
      from cause_members n join incidents i on i.id = n.incident_id
      join alert_steps s on s.incident_id = n.incident_id
        and s.event = 'down' and s.channel_id = any(${channels}::uuid[])
      left join told_causes t on t.channel_id = s.channel_id and t.cause_id = n.cause_id
      where n.cause_id = any(${ids}::uuid[]) group by 1, 2`,
  ];
  const causes = new Map(rows.map((row) => [row.id, row]));
  const ofIncident = new Map(members.map(({ incident_id, cause_id }) => [incident_id, cause_id]));
  const known = new Map(
    counts.map((count) => [`${count.channel_id} ${count.cause_id}`, count] as const),
  );
  return {
    of: (channel, incident) => {
      const row = causes.get(ofIncident.get(incident) ?? '');
      const count = row && known.get(`${channel} ${row.id}`);
      // What concerns a channel alone is told as ever.
      if (!row || !count || count.all === 1) return null;
      const { id, began_at, found_at, ended_at, last_end } = row;
      const name = causeName(row);
      const text = { name: name.charAt(0).toLowerCase() + name.slice(1), reason: reasonOf(row) };
      return {
        ...{ id, ...text, began_at, found_at, ended_at, last_end },
        ...{ known: count.known, told: count.told, told_at: count.told_at, all: count.all },
      };
    },
  };
}

/**
 * The causes of what is down, or else of what is up again because they are over. `more`: the
 * outages by them that the message does not list, because they were told before or need not be.
 */
export function causesTold(
  items: readonly { readonly event: StepEvent; readonly common: CommonCause | null }[],
): {
  readonly event: StepEvent;
  readonly words: string | null;
  readonly more: number;
} {
  const event = items.some((item) => item.event === 'down') ? 'down' : 'up';
  const own = items.filter(
    ({ event: is, common }) => is === event && (is === 'down' || common?.ended_at != null),
  );
  const causes = [...new Map(own.flatMap(({ common }) => (common ? [[common.id, common]] : [])))];
  const countOf = ({ known, all }: CommonCause) => (event === 'down' ? known : all);
  const several = causes.flatMap(([, cause]) => (countOf(cause) > 1 ? [cause] : []));
  const [first] = several;
  if (first === undefined) return { event, words: null, more: 0 };
  const ofThem = own.filter(({ common }) => several.some(({ id }) => id === common?.id));
  const more = several.reduce((sum, cause) => sum + countOf(cause), 0) - ofThem.length;
  if (event === 'down')
    return { event, words: `: ${several.map(({ reason }) => reason).join('; ')}`, more };
  const names = several.map(({ name }) => name).join('; ');
  const lasted = briefDuration(Math.max(...several.map(lastedMs)));
  return { event, words: ` after ${lasted}: it was ${names}`, more };
}

function lastedMs({ began_at, last_end, ended_at }: CommonCause): number {
  return (last_end ?? ended_at ?? began_at) - began_at;
}

export type Telling = {
  readonly channel: string;
  readonly cause: string;
  readonly organisation: string;
  readonly incidents: number;
};

export async function writeTold(
  sql: Queryable,
  told: readonly Telling[],
  now: number,
): Promise<void> {
  if (told.length === 0) return;
  await sql`
    insert into told_causes (channel_id, cause_id, organisation_id, incidents, told_at)
    select channel, cause, organisation, incidents, ${new Date(now)}
    from json_to_recordset(${jsonText([...told])}::text::json) as t (channel uuid, cause uuid,
      organisation uuid, incidents int)
    on conflict (channel_id, cause_id) do update set incidents = excluded.incidents,
      told_at = excluded.told_at`;
}

/**
 * Has those decided again that wait for a cause which was found meanwhile, has grown, is over or is
 * not theirs any more. It runs in the transaction that changed the causes.
 */
export async function wakeSteps(
  sql: Queryable,
  organisations: readonly string[],
  now: number,
): Promise<void> {
  if (organisations.length === 0) return;
  await sql`
    with grown as materialized (
      select t.channel_id, t.cause_id, greatest(${new Date(now)}::timestamptz,
        t.told_at + make_interval(secs => ${causeGrowsMs / 1_000})) as at from told_causes t
      join causes c on c.id = t.cause_id and c.ended_at is null
      where t.organisation_id = any(${organisations}::uuid[]) and t.incidents * 2 < (
        select count(distinct s.monitor_id) from cause_members n
        join incidents i on i.id = n.incident_id and i.resolved_at is null
        join alert_steps s on s.incident_id = n.incident_id
          and s.event = 'down' and s.channel_id = t.channel_id
        where n.cause_id = t.cause_id))
    update alert_steps s set look_at = w.at from (
      select h.id, case when h.holds -> -1 ->> 0 = 'cause'
        then coalesce(g.at, ${new Date(now)}::timestamptz)
        else c.found_at + make_interval(secs => ${causeSettledMs / 1_000}) end as at
      from channels o join alert_steps h on h.channel_id = o.id and h.state = 'held'
        left join cause_members n on n.incident_id = h.incident_id
        left join causes c on c.id = n.cause_id
        left join grown g on g.channel_id = h.channel_id and g.cause_id = c.id
          and h.event = 'down'
      where o.organisation_id = any(${organisations}::uuid[]) and (
        h.holds -> -1 ->> 0 = 'cause_check' and c.id is not null
        or h.holds -> -1 ->> 0 = 'cause' and (c.id is null or c.ended_at is not null
          or g.at is not null))) w
    where s.id = w.id and s.look_at > w.at`;
}
