import type { Queryable } from './store-database.ts';
import { jsonText } from './store-incidents-write.ts';

/** Messages on their way: who sends them when, and what was answered. */

export type ClaimedMessage = {
  readonly id: string;
  /** Its running number. */
  readonly key: number;
  readonly organisation_id: string;
  readonly channel_id: string;
  readonly thread_id: string;
  /** What the receiver called the first message of the talk. */
  readonly thread_reference: string | null;
  readonly event: string;
  readonly told: unknown;
  readonly due_at: Date;
  /** This attempt counted in. */
  readonly attempts: number;
  readonly kind: string;
  readonly config: { readonly [name: string]: string };
  readonly secrets: Uint8Array | null;
  /** By what it shares places with others: `mail`, the host that it goes to, or the channel itself where that is not known. */
  readonly host: string;
};

/** What is on its way here already: how many messages of which channel, to which host, of which organisation. */
export type OnTheWay = { readonly channel: string; readonly host: string; readonly organisation: string; readonly count: number };

/** How many may be on their way at once: in all, and of what is one's. */
export type Shares = { readonly all: number; readonly channel: number; readonly host: number; readonly organisation: number };

/**
 * Takes messages that are due, the oldest first, for so long: no other coordinator sends them meanwhile, and a killed one gives them back so. No
 * channel, no host and no organisation gets more than its share of what is on its way here, so that what is slow holds up nothing else.
 */
export const claimMessages = (
  sql: Queryable,
  {
    now,
    forMs,
    place,
    shares,
    onTheWay,
  }: {
    readonly now: number;
    readonly forMs: number;
    readonly place: string;
    readonly shares: Shares;
    readonly onTheWay: readonly OnTheWay[];
  },
): Promise<ClaimedMessage[]> => {
  const [at, until] = [new Date(now), new Date(now + forMs)];
  const room = shares.all - onTheWay.reduce((sum, { count }) => sum + count, 0);
  return sql<ClaimedMessage[]>`
    with busy as materialized (
      select * from json_to_recordset(${jsonText([...onTheWay])}::text::json) as b (channel uuid, host text, organisation uuid, count int)),
    due as (
      select m.id, m.channel_id, m.organisation_id, m.next_at, m.key,
        case when h.kind = 'email' then 'mail' else coalesce(h.host, h.id::text) end as host,
        row_number() over (partition by m.channel_id order by m.next_at, m.key) as place
      from messages m join channels h on h.id = m.channel_id where m.state = 'waiting' and m.next_at <= ${at}),
    of_channel as (
      select d.*, row_number() over (partition by d.host order by d.next_at, d.key) as of_host from due d
      where d.place <= ${shares.channel} - coalesce((select sum(count) from busy where channel = d.channel_id), 0)),
    of_host as (
      select d.*, row_number() over (partition by d.organisation_id order by d.next_at, d.key) as of_organisation from of_channel d
      where d.of_host <= ${shares.host} - coalesce((select sum(count) from busy where host = d.host), 0)),
    chosen as (
      select d.id from of_host d
      where d.of_organisation <= ${shares.organisation} - coalesce((select sum(count) from busy where organisation = d.organisation_id), 0)
      order by d.next_at, d.key limit ${Math.max(0, room)}),
    claimed as (
      update messages set attempts = attempts + 1, claimed_until = ${until}, claimed_by = ${place}, next_at = ${until}
      where id in (select id from messages where state = 'waiting' and next_at <= ${at} and id in (select id from chosen) for update skip locked)
      returning id, key, organisation_id, channel_id, thread_id, event, told, due_at, attempts)
    select c.id, c.key, c.organisation_id, c.channel_id, c.thread_id, c.event, c.told, c.due_at, c.attempts, h.kind, h.config, h.secrets,
      case when h.kind = 'email' then 'mail' else coalesce(h.host, h.id::text) end as host,
      (select reference from messages t where t.id = c.thread_id) as thread_reference
    from claimed c join channels h on h.id = c.channel_id order by c.key`;
};

/** Gives back what was claimed at this place by who ran there before. */
export const releaseClaims = async (sql: Queryable, place: string, now: number): Promise<number> => {
  const at = new Date(now);
  const { count } = await sql`
    update messages set claimed_until = null, next_at = ${at} where state = 'waiting' and claimed_by = ${place} and claimed_until > ${at}`;
  return count;
};

export type Outcome = {
  readonly message: string;
  readonly channel: string;
  readonly attempt: number;
  readonly at: number;
  readonly took_ms: number;
  readonly status: number | null;
  readonly class: string;
  readonly verdict: 'taken' | 'retry' | 'refused';
  readonly words: string | null;
  readonly reference: string | null;
  readonly state: 'waiting' | 'taken' | 'refused' | 'given_up';
  /** When it is tried again, where it is. */
  readonly next_at: number | null;
};

export type DeliveringRow = {
  readonly id: string;
  readonly failing_since: Date | null;
  readonly refused_at: Date | null;
};

/** How these channels deliver, held fast until the transaction ends. */
export const deliveringOf = (sql: Queryable, channels: readonly string[]): Promise<DeliveringRow[]> =>
  sql<
    DeliveringRow[]
  >`select id, failing_since, refused_at from channels where id = any(${[...channels]}::uuid[]) order by id for no key update`;

/** What was answered. An attempt that another took over meanwhile is kept, and changes nothing unless the message was taken. */
export const writeOutcomes = async (sql: Queryable, outcomes: readonly Outcome[]): Promise<void> => {
  const text = (at: number | null) => (at === null ? null : new Date(at).toISOString());
  const rows = jsonText(outcomes.map(({ at, next_at, ...rest }) => ({ ...rest, at: text(at), next_at: text(next_at) })));
  await sql`
    insert into message_attempts (message_id, attempt, at, took_ms, status, class, verdict, words)
    select message, attempt, at, took_ms, status, class, verdict, words from json_to_recordset(${rows}::text::json) as o (message uuid, attempt int,
      at timestamptz, took_ms int, status int, class text, verdict text, words text)
    on conflict do nothing`;
  await sql`
    update messages m set state = o.state, claimed_until = null, next_at = coalesce(o.next_at, m.next_at), words = o.words,
      reference = coalesce(o.reference, m.reference), settled_at = case when o.state = 'waiting' then null else o.at end
    from json_to_recordset(${rows}::text::json) as o (message uuid, attempt int, at timestamptz, state text, next_at timestamptz, words text,
      reference text)
    where m.id = o.message and m.state = 'waiting' and (m.attempts = o.attempt or o.state = 'taken')`;
};

export type Delivery = {
  readonly id: string;
  readonly failing_since: number | null;
  readonly refused_at: number | null;
  readonly failure: string | null;
  readonly taken_at: number | null;
};

export const writeDelivering = async (sql: Queryable, deliveries: readonly Delivery[]): Promise<void> => {
  const text = (at: number | null) => (at === null ? null : new Date(at).toISOString());
  const rows = deliveries.map(({ failing_since, refused_at, taken_at, ...rest }) => ({
    ...rest,
    ...{ failing_since: text(failing_since), refused_at: text(refused_at), taken_at: text(taken_at) },
  }));
  await sql`
    update channels c set failing_since = d.failing_since, refused_at = d.refused_at, failure = d.failure,
      last_taken_at = coalesce(d.taken_at, c.last_taken_at), owners_told_at = case when d.taken_at is null then c.owners_told_at end
    from json_to_recordset(${jsonText(rows)}::text::json) as d (id uuid, failing_since timestamptz, refused_at timestamptz, failure text,
      taken_at timestamptz)
    where c.id = d.id`;
};
