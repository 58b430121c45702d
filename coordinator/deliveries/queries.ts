import type { Queryable } from '../database/connect.ts';
import { jsonText } from '../database/sql.ts';
import type { Answered } from './model.ts';

/** What `deliveries` calls a kind: it follows from whom a row is for. */
export type KindName = 'alert' | 'mail' | 'event' | 'update';

/** The parts of a statement that claims. */
type Part = ReturnType<Queryable>;

export type Claiming = {
  readonly name: KindName;
  /**
   * Whom deliveries may go to now: `id`, the `host` and `organisation` that share places, whether
   * one `is_failing`, and its `turn`: smaller ones are claimed first.
   */
  readonly receivers: (sql: Queryable) => Part;
  /** What is read with a claimed delivery `d`: columns, and the tables that they are of. */
  readonly columns: (sql: Queryable) => Part;
  readonly tables: (sql: Queryable) => Part;
};

/** A delivery that this coordinator sends, and what shares places with it. */
export type Claimed = {
  readonly id: string;
  /** Its running number. */
  readonly key: number;
  readonly subject: string;
  readonly host: string;
  readonly organisation: string | null;
  readonly is_failing: boolean;
  /** Including this attempt. */
  readonly attempts: number;
};

/**
 * How many deliveries of a kind may be sent at once: in all, and to one receiver, to one host, of
 * one organisation, and to all receivers that fail, of which each has one.
 */
export type Shares = {
  readonly all: number;
  readonly subject: number;
  readonly host: number;
  readonly organisation: number;
  readonly failing: number;
};

export type OnTheWay = Pick<Claimed, 'subject' | 'host' | 'organisation' | 'is_failing'>;

/**
 * Claims due deliveries for a time, oldest first. No other coordinator sends them meanwhile; when a
 * coordinator is killed, its claims expire. No receiver, host or organisation gets more than its
 * share of what this coordinator sends at once, so that a slow one holds up nothing else.
 *
 * However much waits for a receiver, one entry of the index says whether something is due.
 */
export function claimDeliveries<Row>(
  sql: Queryable,
  { name, receivers, columns, tables }: Claiming,
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
): Promise<(Row & Claimed)[]> {
  const [at, until] = [new Date(now), new Date(now + forMs)];
  const busy = onTheWay.map(({ subject, host, organisation, is_failing }) => ({
    subject,
    host,
    organisation,
    is_failing,
  }));
  return sql<(Row & Claimed)[]>`
    with recursive waiting as (
      (select subject, next_at from deliveries where kind = ${name} and state = 'waiting'
        order by subject, next_at limit 1)
      union all
      select n.subject, n.next_at from waiting w cross join lateral (
        select subject, next_at from deliveries
        where kind = ${name} and state = 'waiting' and subject > w.subject
        order by subject, next_at limit 1) n),
    busy as materialized (
      select * from json_to_recordset(${JSON.stringify(busy)}::text::json) as b (subject uuid,
        host text, organisation uuid, is_failing boolean)),
    due as (
      select d.*, r.host, r.organisation, r.is_failing, r.turn,
        row_number() over (partition by r.host order by r.turn, d.next_at, d.key) as of_host
      from waiting w join (${receivers(sql)}) r on r.id = w.subject cross join lateral (
        select id, subject, next_at, key from deliveries
        where kind = ${name} and state = 'waiting' and subject = w.subject and next_at <= ${at}
        order by next_at, key
        limit greatest(0, case when r.is_failing then 1 else ${shares.subject} end
          - (select count(*) from busy where subject = w.subject))) d
      where w.next_at <= ${at}),
    of_host as (
      select d.*, row_number()
        over (partition by organisation order by turn, next_at, key) as of_organisation
      from due d
      where of_host <= ${shares.host} - (select count(*) from busy where host = d.host)),
    of_organisation as (
      select d.*, row_number() over (partition by is_failing order by turn, next_at, key) as alike
      from of_host d
      where of_organisation <= ${shares.organisation}
        - (select count(*) from busy where organisation = d.organisation)),
    chosen as (
      select * from of_organisation
      where not is_failing or alike <= ${shares.failing}
        - (select count(*) from busy where is_failing)
      order by turn, next_at, key limit ${Math.max(0, shares.all - onTheWay.length)}),
    claimed as (
      update deliveries
      set attempts = attempts + 1, claimed_until = ${until}, claimed_by = ${place},
        next_at = ${until}
      where id in (select id from deliveries where state = 'waiting' and next_at <= ${at}
        and id in (select id from chosen) for update skip locked)
      returning *)
    select d.id, d.key, d.subject, d.attempts, x.host, x.organisation, x.is_failing,
      ${columns(sql)}
    from claimed d join chosen x on x.id = d.id ${tables(sql)} order by d.key`;
}

export type Outcome = {
  readonly id: string;
  /** Whom it was for. */
  readonly subject: string;
  readonly attempt: number;
  readonly at: number;
  readonly verdict: Answered['verdict']['is'];
  readonly words: string | null;
  /** The receiver's name for it. */
  readonly reference: string | null;
  readonly state: 'waiting' | 'delivered' | 'refused' | 'failed' | 'cancelled';
  /** When the next attempt is due; null when there is none. */
  readonly next_at: number | null;
  /** What the log keeps of the attempt. */
  readonly logged: Readonly<Record<string, string | number | null>>;
};

/**
 * Stores outcomes. Where another coordinator took a delivery over meanwhile, only an acceptance
 * changes it, and only while it waits or when it was given up; where the log keeps all attempts, it
 * has this one, too. What is sent again begins with attempt 1: an older answer does not settle it.
 */
export async function writeOutcomes(
  sql: Queryable,
  outcomes: readonly Outcome[],
  keepsAll: boolean,
): Promise<void> {
  const text = (at: number | null) => (at === null ? null : new Date(at).toISOString());
  const rows = jsonText(
    outcomes.map(({ at, next_at, ...rest }) => ({ ...rest, at: text(at), next_at: text(next_at) })),
  );
  const written = await sql<{ id: string }[]>`
    update deliveries d
    set state = o.state, claimed_until = null, next_at = coalesce(o.next_at, d.next_at),
      words = o.words, reference = coalesce(o.reference, d.reference),
      settled_at = case when o.state <> 'waiting' then o.at end,
      log = case when ${keepsAll} then d.log else '[]' end || o.logged
    from json_to_recordset(${rows}::text::json) as o (id uuid, attempt int, at timestamptz,
      state text, next_at timestamptz, words text, reference text, logged jsonb)
    where d.id = o.id and (d.state = 'waiting' and d.attempts = o.attempt
      or d.state in ('waiting', 'failed') and o.state = 'delivered' and d.attempts >= o.attempt)
    returning d.id`;
  const isWritten = new Set(written.map(({ id }) => id));
  const overtaken = outcomes.filter(({ id }) => !isWritten.has(id));
  if (!keepsAll || overtaken.length === 0) return;
  await sql`
    update deliveries d set log = d.log || o.logged
    from json_to_recordset(${jsonText(overtaken)}::text::json) as o (id uuid, logged jsonb)
    where d.id = o.id`;
}

/** Once a receiver accepts again, what waits for its next attempt is due. */
export async function retryOthersNow(
  sql: Queryable,
  kind: KindName,
  subjects: readonly string[],
  now: number,
): Promise<void> {
  if (subjects.length === 0) return;
  const at = new Date(now);
  await sql`
    update deliveries set next_at = ${at} where kind = ${kind} and state = 'waiting'
      and subject = any(${subjects}::uuid[]) and next_at > ${at} and claimed_until is null`;
}

/** What failed last for one of these reasons is due. */
export async function retryNow(
  sql: Queryable,
  kind: KindName,
  classes: readonly string[],
  now: number,
): Promise<void> {
  const at = new Date(now);
  await sql`
    update deliveries set next_at = ${at} where kind = ${kind} and state = 'waiting'
      and claimed_until is null and next_at > ${at} and log -> -1 ->> 'class' = any(${classes})`;
}

/** What waits for these receivers is not sent any more. */
export async function cancelWaiting(
  sql: Queryable,
  kind: KindName,
  subjects: readonly string[],
  at: Date,
): Promise<void> {
  await sql`update deliveries set state = 'cancelled', settled_at = ${at}
    where kind = ${kind} and subject = any(${subjects}::uuid[]) and state = 'waiting'`;
}

/** Releases the claims that the previous process at this place left. Returns how many. */
export async function takeBackClaims(
  sql: Queryable,
  kind: KindName,
  place: string,
  now: number,
): Promise<number> {
  const at = new Date(now);
  const { count } = await sql`
    update deliveries set claimed_until = null, next_at = ${at}
    where kind = ${kind} and state = 'waiting' and claimed_by = ${place}
      and claimed_until > ${at}`;
  return count;
}

/**
 * Deletes a batch of what was settled, oldest first; what a step of an alert refers to stays.
 * Returns whether there may be more.
 */
export async function forgetSettled(
  sql: Queryable,
  kind: KindName,
  before: Date,
  limit: number,
): Promise<boolean> {
  const { count } = await sql`delete from deliveries where id in (
    select d.id from deliveries d
    where d.kind = ${kind} and d.state <> 'waiting' and d.settled_at < ${before}
      and not exists (select 1 from alert_steps s where s.message_id = d.id)
    order by d.settled_at limit ${limit})`;
  return count === limit;
}
