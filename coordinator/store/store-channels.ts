import { newId } from '../../shared/base/crypto.ts';
import type { Hours } from '../domain/telling/telling-hours.ts';
import type { Queryable } from './store-database.ts';

/** Channels as people set them up (rule 30). */

export type ChannelRow = {
  readonly key: number;
  readonly id: string;
  readonly organisation_id: string;
  /** Whose it is; null: the organisation's. */
  readonly user_id: string | null;
  readonly owner_email: string | null;
  readonly kind: string;
  readonly name: string;
  readonly config: { readonly [name: string]: string };
  readonly secrets: Uint8Array | null;
  readonly enabled: boolean;
  readonly verified_at: Date | null;
  readonly unsubscribed_at: Date | null;
  readonly covers: 'all' | 'chosen';
  readonly monitors: readonly string[];
  readonly groups: readonly string[];
  readonly delay_s: number;
  readonly reminder_s: number | null;
  readonly hours: Hours | null;
  readonly created_at: Date;
  readonly failing_since: Date | null;
  readonly refused_at: Date | null;
  readonly failure: string | null;
  readonly last_taken_at: Date | null;
  readonly deleted_at: Date | null;
  /** Of the messages of the last week: from when nothing held them any more until taken, 95 in 100 took no longer; null when none was taken. */
  readonly p95_ms: number | null;
};

const weekMs = 7 * 86_400_000;

/** A channel that is told after 5 min, or at its hours, is not slow: what a step waited for is no part of how long its message took. A reminder waits by itself. */
const p95 = (sql: Queryable, now: number) => sql`
  (select percentile_cont(0.95) within group (order by greatest(0, extract(epoch from m.settled_at) * 1000 - greatest(
      extract(epoch from m.due_at) * 1000,
      (select min(coalesce((select max((hold ->> 2)::float8) from jsonb_array_elements(s.holds) as hold), extract(epoch from s.due_at) * 1000))
        from alert_steps s where s.message_id = m.id)))) from messages m
    where m.channel_id = c.id and m.state = 'taken' and m.event <> 'reminder' and m.created_at > ${new Date(now - weekMs)})::float8`;

const columns = (sql: Queryable) => sql`
  c.key, c.id, c.organisation_id, c.user_id, u.email as owner_email, c.kind, c.name, c.config, c.secrets, c.enabled, c.verified_at, c.unsubscribed_at,
  c.covers, c.delay_s, c.reminder_s, c.hours, c.created_at, c.failing_since, c.refused_at, c.failure, c.last_taken_at, c.deleted_at,
  array(select monitor_id from channel_monitors where channel_id = c.id order by monitor_id) as monitors,
  array(select group_id from channel_groups where channel_id = c.id order by group_id) as groups`;

export const channelPage = (sql: Queryable, organisation: string, after: number, most: number, now: number): Promise<ChannelRow[]> =>
  sql<ChannelRow[]>`select ${columns(sql)}, ${p95(sql, now)} as p95_ms from channels c left join users u on u.id = c.user_id
    where c.organisation_id = ${organisation} and c.deleted_at is null and c.key > ${after} order by c.key limit ${most}`;

export const channelById = async (sql: Queryable, organisation: string, id: string, now: number): Promise<ChannelRow | undefined> => {
  const [row] = await sql<
    ChannelRow[]
  >`select ${columns(sql)}, ${p95(sql, now)} as p95_ms from channels c left join users u on u.id = c.user_id
    where c.organisation_id = ${organisation} and c.id = ${id} and c.deleted_at is null`;
  return row;
};

/** All of an organisation, those that were deleted too: for the story of an incident. How fast they are is not asked. */
export const channelsEver = (sql: Queryable, organisation: string): Promise<Omit<ChannelRow, 'p95_ms'>[]> =>
  sql<Omit<ChannelRow, 'p95_ms'>[]>`select ${columns(sql)} from channels c left join users u on u.id = c.user_id
    where c.organisation_id = ${organisation} order by c.key`;

export const channelsOfKind = (
  sql: Queryable,
  organisation: string,
  kind: string,
): Promise<Pick<ChannelRow, 'id' | 'name' | 'config' | 'secrets'>[]> =>
  sql<Pick<ChannelRow, 'id' | 'name' | 'config' | 'secrets'>[]>`select id, name, config, secrets from channels
    where organisation_id = ${organisation} and kind = ${kind} and deleted_at is null`;

export const countChannels = async (sql: Queryable, organisation: string): Promise<number> => {
  const [row] = await sql<{ count: number }[]>`
    select count(*) as count from channels where organisation_id = ${organisation} and deleted_at is null`;
  return row?.count ?? 0;
};

export type ChannelWrite = Pick<
  ChannelRow,
  | 'id'
  | 'kind'
  | 'name'
  | 'config'
  | 'secrets'
  | 'enabled'
  | 'covers'
  | 'monitors'
  | 'groups'
  | 'delay_s'
  | 'reminder_s'
  | 'hours'
  | 'verified_at'
> & {
  readonly organisation: string;
  readonly user: string | null;
  /** Where its messages go. */
  readonly host: string | null;
};

const json = (value: unknown): string | null => (value === null ? null : JSON.stringify(value));
const bytes = (box: Uint8Array | null): Buffer | null => (box === null ? null : Buffer.from(box));

const writeChosen = async (sql: Queryable, { id, organisation, monitors, groups }: ChannelWrite): Promise<void> => {
  await sql`delete from channel_monitors where channel_id = ${id}`;
  await sql`delete from channel_groups where channel_id = ${id}`;
  await sql`insert into channel_monitors (channel_id, monitor_id)
    select ${id}, id from monitors where organisation_id = ${organisation} and id = any(${[...monitors]}::uuid[])`;
  await sql`insert into channel_groups (channel_id, group_id)
    select ${id}, id from groups where organisation_id = ${organisation} and id = any(${[...groups]}::uuid[])`;
};

export const insertChannel = async (sql: Queryable, channel: ChannelWrite): Promise<void> => {
  const { id, organisation, user, kind, name, config, secrets, host, enabled, covers, delay_s, reminder_s, hours, verified_at } = channel;
  await sql`
    insert into channels (id, organisation_id, user_id, kind, name, config, secrets, host, enabled, covers, delay_s, reminder_s, hours, verified_at)
    values (${id}, ${organisation}, ${user}, ${kind}, ${name}, ${json(config)}::text::jsonb, ${bytes(secrets)}, ${host}, ${enabled}, ${covers},
      ${delay_s}, ${reminder_s}, ${json(hours)}::text::jsonb, ${verified_at})`;
  await writeChosen(sql, channel);
};

/** What held steps wait for may be another thing now: they are asked again. Reminders keep their time. */
const askAgain = async (sql: Queryable, channel: string, at: Date): Promise<void> => {
  await sql`update alert_steps set look_at = ${at} where channel_id = ${channel} and state = 'held' and event <> 'reminder' and look_at > ${at}`;
};

export const updateChannel = async (sql: Queryable, channel: ChannelWrite, at: Date): Promise<void> => {
  const { id, organisation, name, config, secrets, host, enabled, covers, delay_s, reminder_s, hours, verified_at } = channel;
  await sql`
    update channels set name = ${name}, config = ${json(config)}::text::jsonb, secrets = ${bytes(secrets)}, host = ${host}, enabled = ${enabled},
      covers = ${covers},
      delay_s = ${delay_s}, reminder_s = ${reminder_s}, hours = ${json(hours)}::text::jsonb, verified_at = ${verified_at},
      unsubscribed_at = case when config = ${json(config)}::text::jsonb then unsubscribed_at end,
      failing_since = null, refused_at = null, failure = null, owners_told_at = null
    where id = ${id} and organisation_id = ${organisation}`;
  await writeChosen(sql, channel);
  await askAgain(sql, id, at);
};

/** What it told stays, for the stories; what it was reached by goes. */
export const deleteChannel = async (sql: Queryable, organisation: string, id: string, at: Date): Promise<void> => {
  await sql`update channels set deleted_at = ${at}, config = '{}', secrets = null, verification = null, enabled = false
    where id = ${id} and organisation_id = ${organisation}`;
  await sql`update messages set state = 'given_up', settled_at = ${at}, words = 'The channel was deleted.' where channel_id = ${id} and state = 'waiting'`;
  await askAgain(sql, id, at);
};

/** Nobody has to build a rule before the first alert can reach somebody (rule 30): only where there is no channel yet. */
export const insertFirstChannel = async (
  sql: Queryable,
  { organisation, email, at }: { readonly organisation: string; readonly email: string; readonly at: Date },
): Promise<void> => {
  await sql`
    insert into channels (id, organisation_id, kind, name, config, verified_at)
    select ${newId()}, ${organisation}, 'email', ${email}, ${JSON.stringify({ address: email })}::text::jsonb, ${at}
    where not exists (select 1 from channels where organisation_id = ${organisation})`;
};

/** Remembers the link that proves a mailbox; whose organisation it is for, or undefined when there is nothing to prove any more. */
export const linkChannel = async (sql: Queryable, id: string, fingerprint: Buffer): Promise<string | undefined> => {
  const [row] = await sql<{ name: string }[]>`
    update channels c set verification = ${fingerprint} from organisations o
    where o.id = c.organisation_id and c.id = ${id} and c.verified_at is null and c.deleted_at is null returning o.name`;
  return row?.name;
};

/** The mailbox is theirs: the link is good once, for a day. */
export const verifyChannel = async (
  sql: Queryable,
  fingerprint: Buffer,
  at: Date,
): Promise<{ id: string; name: string; organisation_id: string } | undefined> => {
  const [row] = await sql<{ id: string; name: string; organisation_id: string }[]>`
    update channels set verified_at = ${at}, unsubscribed_at = null
    where verification = ${fingerprint} and verification_until > ${at} and verified_at is null and deleted_at is null
    returning id, name, organisation_id`;
  return row;
};

/** What a mailbox was asked by a link; undefined for one that never was, is too old, or was replaced by a newer mail. */
export const askedMailbox = async (
  sql: Queryable,
  fingerprint: Buffer,
  at: Date,
): Promise<{ organisation: string; address: string; said: boolean } | undefined> => {
  const [row] = await sql<{ organisation: string; address: string; said: boolean }[]>`
    select o.name as organisation, c.config ->> 'address' as address, c.verified_at is not null as said
    from channels c join organisations o on o.id = c.organisation_id
    where c.verification = ${fingerprint} and c.deleted_at is null and (c.verified_at is not null or c.verification_until > ${at})`;
  return row;
};

export const wantVerification = async (sql: Queryable, id: string, until: Date): Promise<void> => {
  await sql`update channels set verified_at = null, verification = null, verification_until = ${until} where id = ${id}`;
};

/** This address wants no more: all channels of the organisation that write to it, and those to come. */
export const suppress = async (sql: Queryable, organisation: string, address: string, at: Date): Promise<void> => {
  await sql`insert into suppressions (organisation_id, address, at) values (${organisation}, lower(${address}), ${at}) on conflict do nothing`;
  await sql`update channels set unsubscribed_at = ${at} where organisation_id = ${organisation} and kind = 'email'
    and lower(config ->> 'address') = lower(${address}) and unsubscribed_at is null`;
};

/** Counts one more test of this organisation, and gives how many there were in the last hour, with this one. */
export const countChannelTest = async (sql: Queryable, organisation: string, now: Date): Promise<number> => {
  const since = new Date(now.getTime() - 3_600_000);
  await sql`delete from channel_tests where organisation_id = ${organisation} and at <= ${since}`;
  await sql`insert into channel_tests (organisation_id, at) values (${organisation}, ${now})`;
  const [row] = await sql<{ count: number }[]>`select count(*) as count from channel_tests where organisation_id = ${organisation}`;
  return row?.count ?? 0;
};

export const isSuppressed = async (sql: Queryable, organisation: string, address: string): Promise<boolean> =>
  (await sql`select 1 from suppressions where organisation_id = ${organisation} and address = lower(${address})`).length > 0;

/** Somebody's own address, and whether they proved it. */
export const ownMailbox = async (sql: Queryable, user: string): Promise<{ email: string; verified: boolean } | undefined> => {
  const [row] = await sql<{ email: string; verified: boolean }[]>`
    select email, email_verified_at is not null as verified from users where id = ${user}`;
  return row;
};
