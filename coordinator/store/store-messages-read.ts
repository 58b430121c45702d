import type { Because, HeldBy, StepEvent } from '../domain/telling/telling-step.ts';
import type { Attempt } from '../domain/telling/telling-story.ts';
import type { Queryable } from './store-database.ts';

/** Messages and steps as pages tell of them (rule 40). */

export type ShownAttempt = Attempt & { readonly took_ms: number };

export type ShownMessage = {
  readonly id: string;
  readonly channel_id: string;
  readonly channel_name: string;
  readonly kind: string;
  readonly event: string;
  readonly sentence: string;
  readonly state: 'waiting' | 'taken' | 'refused' | 'given_up' | 'overtaken';
  readonly due_at: Date;
  readonly created_at: Date;
  readonly settled_at: Date | null;
  readonly next_at: Date;
  readonly words: string | null;
  readonly monitors: readonly { readonly id: string; readonly incident: string; readonly name: string; readonly event: string }[];
  readonly attempts: readonly ShownAttempt[];
};

const attempts = (sql: Queryable) => sql`
  coalesce((select json_agg(json_build_object('at', (extract(epoch from a.at) * 1000)::bigint, 'took_ms', a.took_ms, 'status', a.status,
    'class', a.class, 'verdict', a.verdict, 'words', a.words) order by a.attempt) from message_attempts a where a.message_id = m.id), '[]')`;

const columns = (sql: Queryable) => sql`
  m.id, m.channel_id, c.name as channel_name, c.kind, m.event, m.told ->> 'sentence' as sentence, m.state, m.due_at, m.created_at, m.settled_at,
  m.next_at, m.words, m.told -> 'monitors' as monitors, ${attempts(sql)} as attempts`;

export const lastMessages = (sql: Queryable, organisation: string, channel: string | null, most: number): Promise<ShownMessage[]> =>
  sql<ShownMessage[]>`
    select ${columns(sql)} from messages m join channels c on c.id = m.channel_id
    where c.organisation_id = ${organisation} ${channel === null ? sql`` : sql`and m.channel_id = ${channel}`}
    order by m.key desc limit ${most}`;

/** One of this channel: of another it is not found. */
export const messageById = async (sql: Queryable, organisation: string, channel: string, id: string): Promise<ShownMessage | undefined> => {
  const [row] = await sql<ShownMessage[]>`select ${columns(sql)} from messages m join channels c on c.id = m.channel_id
    where c.organisation_id = ${organisation} and m.channel_id = ${channel} and m.id = ${id}`;
  return row;
};

export type ShownStep = {
  readonly channel_id: string;
  readonly incident_id: string;
  readonly event: StepEvent;
  readonly state: 'held' | 'told' | 'dropped' | 'merged';
  readonly due_at: Date;
  readonly created_at: Date;
  readonly settled_at: Date | null;
  readonly holds: readonly (readonly [by: HeldBy, from: number, until: number])[];
  readonly because: Because | null;
  readonly message: {
    readonly state: ShownMessage['state'];
    readonly created_at: number;
    readonly next_at: number;
    readonly settled_at: number | null;
    readonly together: number;
    readonly attempts: readonly ShownAttempt[];
  } | null;
};

/** All that was to be told of these incidents, in order. */
export const stepsToShow = (sql: Queryable, organisation: string, incidents: readonly string[]): Promise<ShownStep[]> =>
  sql<ShownStep[]>`
    select s.channel_id, s.incident_id, s.event, s.state, s.due_at, s.created_at, s.settled_at, s.holds, s.because,
      case when m.id is not null then json_build_object('state', m.state, 'created_at', (extract(epoch from m.created_at) * 1000)::bigint,
        'next_at', (extract(epoch from m.next_at) * 1000)::bigint, 'settled_at', (extract(epoch from m.settled_at) * 1000)::bigint,
        'together', json_array_length((m.told -> 'monitors')::json), 'attempts', ${attempts(sql)}) end as message
    from alert_steps s left join messages m on m.id = s.message_id
    where s.organisation_id = ${organisation} and s.incident_id = any(${[...incidents]}::uuid[]) order by s.due_at, s.id`;

export type DownOfIncident = {
  readonly id: string;
  readonly monitor_id: string;
  readonly group_id: string | null;
  readonly confirmed_at: Date | null;
  readonly resolved_at: Date | null;
  readonly acknowledged_at: Date | null;
  readonly acknowledged_as: string | null;
  readonly down_state: 'held' | 'due' | 'sent' | 'dropped' | null;
  readonly down_due_at: Date | null;
  readonly resort_at: Date | null;
  readonly resort_mailed: readonly string[] | null;
};

/** What became of the beginnings of these incidents before any channel. */
export const downsOfIncidents = (sql: Queryable, organisation: string, incidents: readonly string[]): Promise<DownOfIncident[]> =>
  sql<DownOfIncident[]>`
    select i.id, i.monitor_id, m.group_id, i.confirmed_at, i.resolved_at, i.acknowledged_at, i.acknowledged_as, a.state as down_state,
      a.due_at as down_due_at, l.at as resort_at, l.mailed as resort_mailed
    from incidents i join monitors m on m.id = i.monitor_id left join alerts a on a.incident_id = i.id and a.event = 'down'
      left join last_resorts l on l.incident_id = i.id
    where i.organisation_id = ${organisation} and i.id = any(${[...incidents]}::uuid[])`;

export type LinkedMessage = {
  readonly organisation_id: string;
  readonly organisation: string;
  readonly channel: string;
  readonly address: string | null;
  readonly sentence: string;
  readonly incidents: readonly string[];
  readonly open: number;
  readonly acknowledged_as: readonly string[];
};

/** The message with this running number. */
export const messageOfKey = async (sql: Queryable, key: number): Promise<string | undefined> => {
  const [row] = await sql<{ id: string }[]>`select id from messages where key = ${key}`;
  return row?.id;
};

/** The message that a signed link is of. */
export const messageOfLink = async (sql: Queryable, id: string): Promise<LinkedMessage | undefined> => {
  const [row] = await sql<LinkedMessage[]>`
    select o.id as organisation_id, o.name as organisation, c.name as channel, c.config ->> 'address' as address, m.told ->> 'sentence' as sentence,
      array(select value ->> 'incident' from jsonb_array_elements(m.told -> 'monitors')) as incidents,
      (select count(*) from incidents i where i.resolved_at is null and i.acknowledged_at is null and i.id::text in (
        select value ->> 'incident' from jsonb_array_elements(m.told -> 'monitors'))) as open,
      array(select distinct i.acknowledged_as from incidents i where i.acknowledged_as is not null and i.id::text in (
        select value ->> 'incident' from jsonb_array_elements(m.told -> 'monitors'))) as acknowledged_as
    from messages m join channels c on c.id = m.channel_id join organisations o on o.id = c.organisation_id
    where m.id = ${id} and c.deleted_at is null`;
  return row;
};
