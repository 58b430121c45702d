import { newId } from '../../shared/base/crypto.ts';
import { Refusal } from '../../shared/base/errors.ts';
import type { Queryable } from '../database/connect.ts';
import { countOf } from '../database/sql.ts';
import { bytesText, insertRows, namesOf, updateRows } from '../database/table.ts';
import { orNotFound } from '../gate/context.ts';
import { countTrial } from '../gate/trials.ts';
import type { Hours } from './hours.ts';
import type { Because, StepEvent } from './policy.ts';
import type { Attempt, StoredHold } from './story.ts';

/** Channels as people configure them (rule 30). */

export type ChannelRow = {
  readonly key: number;
  readonly id: string;
  readonly organisation_id: string;
  /** The owner; null: the organisation. */
  readonly user_id: string | null;
  readonly owner_email: string | null;
  readonly kind: string;
  readonly name: string;
  readonly config: { readonly [name: string]: string };
  readonly secrets: Uint8Array | null;
  readonly enabled: boolean;
  readonly verified_at: number | null;
  readonly unsubscribed_at: number | null;
  readonly covers: 'all' | 'chosen';
  readonly monitors: readonly string[];
  readonly groups: readonly string[];
  readonly delay_s: number;
  readonly reminder_s: number | null;
  readonly hours: Hours | null;
  readonly warnings: boolean;
  readonly created_at: number;
  readonly failing_since: number | null;
  readonly refused_at: number | null;
  readonly failure: string | null;
  readonly last_delivered_at: number | null;
  readonly deleted_at: number | null;
  /**
   * The 95th percentile of last week's messages, from the moment that nothing held them until
   * accepted; null when none was accepted.
   */
  readonly p95_ms: number | null;
};

/** What people set, by column, with its type in the database. Exports show all of it. */
const settingColumns = {
  name: 'text',
  config: 'jsonb',
  enabled: 'boolean',
  covers: 'text',
  delay_s: 'int',
  reminder_s: 'int',
  hours: 'jsonb',
  warnings: 'boolean',
} as const;
const changedColumns = {
  ...settingColumns,
  secrets: 'bytea',
  host: 'text',
  verified_at: 'timestamptz',
} as const;
const insertedColumns = { id: 'uuid', user_id: 'uuid', kind: 'text', ...changedColumns } as const;

/** Of `c`, for statements. */
export const shownNames = namesOf(
  { id: 'uuid', user_id: 'uuid', kind: 'text', ...settingColumns },
  'c',
);

export function channelPage(
  sql: Queryable,
  organisation: string,
  after: number,
  limit: number,
  now: number,
): Promise<ChannelRow[]> {
  return sql<
    ChannelRow[]
  >`select ${columns(sql)}, ${p95(sql, now)} as p95_ms from channels c left join users u
    on u.id = c.user_id
    where c.organisation_id = ${organisation} and c.deleted_at is null and c.key > ${after}
    order by c.key limit ${limit}`;
}

function columns(sql: Queryable) {
  return sql`
  c.key, ${sql.unsafe(shownNames)}, c.organisation_id, u.email as owner_email, c.secrets,
    c.verified_at, c.unsubscribed_at,
  c.created_at, c.failing_since, c.refused_at, c.failure, c.last_delivered_at, c.deleted_at,
  array(select monitor_id from channel_choices where channel_id = c.id
    and monitor_id is not null order by monitor_id) as monitors,
  array(select group_id from channel_choices where channel_id = c.id
    and group_id is not null order by group_id) as groups`;
}

const weekMs = 7 * 86_400_000;

/**
 * A channel with a delay of 5 min, or with active hours, is not slow: a step's wait is not part of
 * its message's latency. A reminder waits by itself.
 */
function p95(sql: Queryable, now: number) {
  return sql`
  (select percentile_cont(0.95) within group (order by greatest(0,
    extract(epoch from m.settled_at) * 1000 - greatest(
      extract(epoch from m.due_at) * 1000,
      (select min(coalesce((select max((hold ->> 2)::float8)
        from jsonb_array_elements(s.holds) as hold), extract(epoch from s.due_at) * 1000))
        from alert_steps s where s.message_id = m.id)))) from deliveries m
    where m.channel_id = c.id and m.state = 'delivered' and m.event <> 'reminder'
      and m.created_at > ${new Date(now - weekMs)})::float8`;
}

export async function channelById(
  sql: Queryable,
  organisation: string,
  id: string,
  now: number,
): Promise<ChannelRow> {
  const [row] = await sql<
    ChannelRow[]
  >`select ${columns(sql)}, ${p95(sql, now)} as p95_ms from channels c left join users u
    on u.id = c.user_id
    where c.organisation_id = ${organisation} and c.id = ${id} and c.deleted_at is null`;
  return orNotFound(row, 'channel_not_found');
}

/**
 * All channels of an organisation, including deleted ones, for the history of an incident.
 * Latencies are not read.
 */
export function channelsEver(
  sql: Queryable,
  organisation: string,
): Promise<Omit<ChannelRow, 'p95_ms'>[]> {
  return sql<
    Omit<ChannelRow, 'p95_ms'>[]
  >`select ${columns(sql)} from channels c left join users u on u.id = c.user_id
    where c.organisation_id = ${organisation} order by c.key`;
}

export function channelsOfKind(
  sql: Queryable,
  organisation: string,
  kind: string,
): Promise<Pick<ChannelRow, 'id' | 'name' | 'config' | 'secrets'>[]> {
  return sql<
    Pick<ChannelRow, 'id' | 'name' | 'config' | 'secrets'>[]
  >`select id, name, config, secrets from channels
    where organisation_id = ${organisation} and kind = ${kind} and deleted_at is null`;
}

export async function countChannels(sql: Queryable, organisation: string): Promise<number> {
  return countOf(sql`
    select count(*) from channels where organisation_id = ${organisation}
      and deleted_at is null`);
}

export type ChannelWrite = Pick<
  ChannelRow,
  'id' | 'kind' | 'secrets' | 'verified_at' | 'monitors' | 'groups' | keyof typeof settingColumns
> & {
  readonly organisation: string;
  readonly user: string | null;
  /** The host that its messages go to. */
  readonly host: string | null;
};

export async function insertChannel(sql: Queryable, channel: ChannelWrite): Promise<void> {
  await insertRows(sql, 'channels', insertedColumns, channel.organisation, [recordOf(channel)]);
  await writeChosen(sql, channel);
}

function recordOf(channel: ChannelWrite) {
  return {
    ...channel,
    user_id: channel.user,
    secrets: bytesText(channel.secrets),
  };
}

async function writeChosen(
  sql: Queryable,
  { id, organisation, monitors, groups }: ChannelWrite,
): Promise<void> {
  await sql`delete from channel_choices where channel_id = ${id}`;
  await sql`insert into channel_choices (channel_id, monitor_id, group_id)
    select ${id}::uuid, id, null from monitors where organisation_id = ${organisation}
      and id = any(${monitors}::uuid[])
    union all select ${id}, null, id from groups where organisation_id = ${organisation}
      and id = any(${groups}::uuid[])`;
}

export async function updateChannel(
  sql: Queryable,
  channel: ChannelWrite,
  at: number,
): Promise<void> {
  await updateRows(
    sql,
    'channels',
    changedColumns,
    channel.organisation,
    [recordOf(channel)],
    [
      'unsubscribed_at = case when t.config = r.config then t.unsubscribed_at end',
      ...['failing_since', 'refused_at', 'failure', 'owners_told_at'].map(
        (name) => `${name} = null`,
      ),
    ],
  );
  await writeChosen(sql, channel);
  await endWaiting(sql, sql`c.id = ${channel.id}`, at);
  await askAgain(sql, channel.id, at);
}

/** Messages to channels that get none any more are not tried again. */
async function endWaiting(
  sql: Queryable,
  channels: ReturnType<Queryable>,
  at: number,
): Promise<void> {
  await sql`
    update deliveries m set state = 'failed', settled_at = ${new Date(at)},
      words = case when not c.enabled then 'The channel was turned off.'
        when c.unsubscribed_at is not null then 'The mailbox unsubscribed.'
        else 'The mailbox has not confirmed that it wants alerts.' end
    from channels c where c.id = m.channel_id and m.state = 'waiting' and ${channels}
      and (not c.enabled or c.unsubscribed_at is not null or c.verified_at is null)`;
}

/**
 * Held steps may now wait for something else, so they are decided again. Reminders keep their time.
 */
async function askAgain(sql: Queryable, channel: string, at: number): Promise<void> {
  await sql`update alert_steps set look_at = ${new Date(at)} where channel_id = ${channel} and state = 'held'
    and event <> 'reminder' and look_at > ${new Date(at)}`;
}

/** The history of its notifications stays; its address and secrets are deleted. */
export async function deleteChannel(
  sql: Queryable,
  organisation: string,
  id: string,
  at: number,
): Promise<void> {
  await sql`update channels
    set deleted_at = ${new Date(at)}, config = '{}', secrets = null, verification = null, enabled = false
    where id = ${id} and organisation_id = ${organisation}`;
  await sql`update deliveries
    set state = 'failed', settled_at = ${new Date(at)}, words = 'The channel was deleted.'
    where channel_id = ${id} and state = 'waiting'`;
  await askAgain(sql, id, at);
}

/**
 * Creates the first channel only where there is none yet, so that the first alert reaches someone
 * before anyone configures a rule (rule 30).
 */
export async function insertFirstChannel(
  sql: Queryable,
  {
    organisation,
    email,
    at,
  }: { readonly organisation: string; readonly email: string; readonly at: number },
): Promise<void> {
  await sql`
    insert into channels (id, organisation_id, kind, name, config, verified_at)
    select ${newId()}, ${organisation}, 'email', ${email},
      ${JSON.stringify({ address: email })}::text::jsonb, ${new Date(at)}
    where not exists (select 1 from channels where organisation_id = ${organisation})`;
}

/**
 * Stores the link that confirms a mailbox. Returns its organisation, or undefined when there is
 * nothing left to confirm.
 */
export async function linkChannel(
  sql: Queryable,
  id: string,
  fingerprint: Buffer,
): Promise<string | undefined> {
  const [row] = await sql<{ name: string }[]>`
    update channels c set verification = ${fingerprint} from organisations o
    where o.id = c.organisation_id and c.id = ${id} and c.verified_at is null
      and c.deleted_at is null returning o.name`;
  return row?.name;
}

/** Confirms the mailbox. The link is valid once, for a day. */
export async function verifyChannel(
  sql: Queryable,
  fingerprint: Buffer,
  at: number,
): Promise<{ id: string; name: string; organisation_id: string } | undefined> {
  const [row] = await sql<{ id: string; name: string; organisation_id: string }[]>`
    update channels set verified_at = ${new Date(at)}, unsubscribed_at = null
    where verification = ${fingerprint} and verification_until > ${new Date(at)} and verified_at is null
      and deleted_at is null
    returning id, name, organisation_id`;
  return row;
}

/**
 * What a link asks the mailbox to confirm; undefined when the link never existed, is too old, or
 * was replaced by a newer mail.
 */
export async function askedMailbox(
  sql: Queryable,
  fingerprint: Buffer,
  at: number,
): Promise<{ organisation: string; address: string; said: boolean } | undefined> {
  const [row] = await sql<{ organisation: string; address: string; said: boolean }[]>`
    select o.name as organisation, c.config ->> 'address' as address,
      c.verified_at is not null as said
    from channels c join organisations o on o.id = c.organisation_id
    where c.verification = ${fingerprint} and c.deleted_at is null
      and (c.verified_at is not null or c.verification_until > ${new Date(at)})`;
  return row;
}

export async function wantVerification(
  sql: Queryable,
  id: string,
  { at, until }: { readonly at: number; readonly until: number },
): Promise<void> {
  await sql`update channels
    set verified_at = null, verification = null, verification_until = ${new Date(until)} where id = ${id}`;
  await endWaiting(sql, sql`c.id = ${id}`, at);
}

/**
 * Unsubscribes this address from all channels of the organisation that write to it, present and
 * future. Returns whether that changes anything.
 */
export async function suppress(
  sql: Queryable,
  organisation: string,
  address: string,
  at: number,
): Promise<boolean> {
  const added = await sql`insert into suppressions (organisation_id, address, at)
    values (${organisation}, lower(${address}), ${new Date(at)}) on conflict do nothing returning at`;
  const ended = await sql`
    update channels set unsubscribed_at = ${new Date(at)} where organisation_id = ${organisation}
    and kind = 'email' and lower(config ->> 'address') = lower(${address})
    and unsubscribed_at is null returning id`;
  await endWaiting(
    sql,
    sql`c.organisation_id = ${organisation} and c.unsubscribed_at = ${new Date(at)}`,
    at,
  );
  return added.length + ended.length > 0;
}

const hourMs = 3_600_000;
/**
 * Tests and confirmation mails go to other people's addresses: the limit keeps them from being
 * flooded.
 */
const maxAnHour = 10;

/** Counts one more test or confirmation mail. @throws Refusal. */
export async function countTry(sql: Queryable, organisation: string, now: number): Promise<void> {
  if ((await countTrial(sql, organisation, 'channel', { now, withinMs: hourMs })) > maxAnHour)
    throw new Refusal(
      'channel_test_limit',
      `An organisation can send ${maxAnHour} tests and confirmation mails an hour. Try again later.`,
      { waitS: hourMs / 1000 },
    );
}

export async function isSuppressed(
  sql: Queryable,
  organisation: string,
  address: string,
): Promise<boolean> {
  return (
    (
      await sql`select 1 from suppressions where organisation_id = ${organisation}
      and address = lower(${address})`
    ).length > 0
  );
}

/** A user's own address, and whether it is verified. */
export async function ownMailbox(
  sql: Queryable,
  user: string,
): Promise<{ email: string; verified: boolean } | undefined> {
  const [row] = await sql<{ email: string; verified: boolean }[]>`
    select email, email_verified_at is not null as verified from users where id = ${user}`;
  return row;
}

/** Messages and steps for the pages (rule 40). */
type AttemptRow = Attempt & { readonly took_ms: number };

export type MessageRow = {
  readonly key: number;
  readonly id: string;
  readonly channel_id: string;
  readonly channel_name: string;
  readonly kind: string;
  readonly event: string;
  readonly sentence: string;
  readonly state: 'waiting' | 'delivered' | 'refused' | 'failed' | 'superseded';
  readonly due_at: number;
  readonly created_at: number;
  readonly settled_at: number | null;
  readonly next_at: number;
  readonly words: string | null;
  readonly monitors: readonly {
    readonly id: string;
    readonly incident: string;
    readonly name: string;
    readonly event: string;
    readonly cause: string;
    readonly started_at: number;
    readonly confirmed_at: number | null;
    readonly resolved_at: number | null;
  }[];
  readonly attempts: readonly AttemptRow[];
};

/** Those with a smaller running number, of one channel or of all, newest first. */
export function lastMessages(
  sql: Queryable,
  organisation: string,
  {
    channel,
    before,
    most,
  }: { readonly channel: string | null; readonly before: number; readonly most: number },
): Promise<MessageRow[]> {
  return sql<MessageRow[]>`
    select ${messageColumns(sql)} from deliveries m join channels c on c.id = m.channel_id
    where m.kind = 'alert' and m.organisation_id = ${organisation} and m.key < ${before}
      ${channel === null ? sql`` : sql`and m.channel_id = ${channel}`}
    order by m.key desc limit ${most}`;
}

function messageColumns(sql: Queryable) {
  return sql`
  m.key, m.id, m.channel_id, c.name as channel_name, c.kind, m.event, m.told ->> 'sentence' as sentence,
    m.state, m.due_at, m.created_at, m.settled_at,
  m.next_at, m.words, m.told -> 'monitors' as monitors, m.log as attempts`;
}

/** The newest messages that say something of an incident. */
export function messagesOfIncident(
  sql: Queryable,
  organisation: string,
  incident: string,
  most: number,
): Promise<MessageRow[]> {
  return sql<MessageRow[]>`
    select ${messageColumns(sql)} from deliveries m join channels c on c.id = m.channel_id
    where m.organisation_id = ${organisation} and m.id in (select s.message_id from alert_steps s
      where s.organisation_id = ${organisation} and s.incident_id = ${incident})
    order by m.key desc limit ${most}`;
}

/** A message of this channel; another channel's message is not found. */
export async function messageById(
  sql: Queryable,
  organisation: string,
  channel: string,
  id: string,
): Promise<MessageRow | undefined> {
  const [row] = await sql<
    MessageRow[]
  >`select ${messageColumns(sql)} from deliveries m join channels c on c.id = m.channel_id
    where c.organisation_id = ${organisation} and m.channel_id = ${channel} and m.id = ${id}`;
  return row;
}

export type StepRow = {
  readonly channel_id: string;
  readonly incident_id: string;
  readonly event: StepEvent;
  readonly state: 'held' | 'told' | 'dropped' | 'merged';
  readonly due_at: number;
  readonly created_at: number;
  readonly settled_at: number | null;
  readonly holds: readonly StoredHold[];
  readonly because: Because | null;
  readonly message: {
    readonly state: MessageRow['state'];
    readonly created_at: number;
    readonly next_at: number;
    readonly settled_at: number | null;
    readonly words: string | null;
    readonly together: number;
    readonly attempts: readonly AttemptRow[];
  } | null;
};

/** All steps of these incidents, in order. */
export function stepsToShow(
  sql: Queryable,
  organisation: string,
  incidents: readonly string[],
): Promise<StepRow[]> {
  return sql<StepRow[]>`
    select s.channel_id, s.incident_id, s.event, s.state, s.due_at, s.created_at, s.settled_at,
      s.holds, s.because,
      case when m.id is not null then json_build_object('state', m.state, 'created_at',
        (extract(epoch from m.created_at) * 1000)::bigint,
        'next_at', (extract(epoch from m.next_at) * 1000)::bigint, 'settled_at',
          (extract(epoch from m.settled_at) * 1000)::bigint,
        'words', case when m.state = 'failed' and m.words is distinct from m.log -> -1 ->> 'words'
          then m.words end,
        'together', json_array_length((m.told -> 'monitors')::json), 'attempts',
          m.log) end as message
    from alert_steps s left join deliveries m on m.id = s.message_id
    where s.organisation_id = ${organisation} and s.incident_id = any(${incidents}::uuid[])
    order by s.due_at, s.id`;
}

export type DownOfIncident = {
  readonly id: string;
  readonly monitor_id: string;
  readonly group_id: string | null;
  readonly confirmed_at: number | null;
  readonly resolved_at: number | null;
  readonly acknowledged_at: number | null;
  readonly acknowledged_as: string | null;
  readonly down_state: 'held' | 'due' | 'sent' | 'dropped' | null;
  readonly down_due_at: number | null;
  readonly resort_at: number | null;
  readonly resort_mailed: readonly string[] | null;
};

/** What happened to the "down" of these incidents before any channel. */
export function downsOfIncidents(
  sql: Queryable,
  organisation: string,
  incidents: readonly string[],
): Promise<DownOfIncident[]> {
  return sql<DownOfIncident[]>`
    select i.id, i.monitor_id, m.group_id, i.confirmed_at, i.resolved_at, i.acknowledged_at,
      i.acknowledged_as, a.state as down_state,
      a.due_at as down_due_at, l.at as resort_at, l.mailed as resort_mailed
    from incidents i join monitors m on m.id = i.monitor_id left join alerts a
      on a.id = (select max(id) from alerts where incident_id = i.id
        and event in ('down', 'was_down'))
      left join last_resorts l on l.incident_id = i.id
    where i.organisation_id = ${organisation} and i.id = any(${incidents}::uuid[])`;
}
