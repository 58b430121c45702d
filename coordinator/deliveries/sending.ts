import type { Starts, Ticker } from '../../shared/actor/supervisor.ts';
import type { Log } from '../../shared/base/log.ts';
import { type Clock, isoText } from '../../shared/base/time.ts';
import type { Queryable, Sql, Transaction } from '../database/connect.ts';
import { inTransaction, jsonText } from '../database/sql.ts';
import { type Answered, nextAttempt, type Pauses } from './model.ts';

/**
 * Sends what waits in `deliveries` until it is accepted. Alerts, mails, events for webhooks and
 * updates for subscribers of status pages are kinds: each says how a claimed delivery is composed,
 * sent and judged, and what the answers change for those that it goes to.
 *
 *   1 claim     what is due belongs to this coordinator for a time; a killed one's claims expire
 *   2 attempt   the kind composes and sends it, with the same id at each attempt
 *   3 settle    the answer, when it is tried again, and what the kind makes of it: one transaction
 *
 *   state       waiting     for its next attempt; `claimed_until`: in delivery
 *               delivered   accepted
 *               refused     never accepted like this
 *               failed      given up after the last attempt, or nothing is sent there any more
 *               cancelled   there is nothing to say any more, or the receiver was turned off
 *               superseded  of an alert: what it told was over before it was delivered
 *
 * What was sent but not stored is sent again when its claim expires: at once where the next process
 * runs at the same place.
 *
 * No receiver waits for another: each has a few at once, and neither one host nor one organisation
 * nor those that fail can take all places. Each kind has places of its own.
 */
export type Sending = {
  /**
   * Finds what is due and sends it. Resolves when everything due is claimed, not when it is sent.
   */
  readonly hurry: () => Promise<void>;
  /** The same, and almost nothing where none waits. */
  readonly look: () => Promise<void>;
  /** Sends everything due, and resolves when nothing is being sent. */
  readonly tick: () => Promise<void>;
  /** Claims no more, and waits for what is being sent. */
  readonly close: () => Promise<void>;
};

export type Kind<Row> = Claiming & {
  /** Longer than an attempt takes. */
  readonly claimMs: number;
  readonly shares: Shares;
  readonly pauses: Pauses;
  /** Classes of failures that a process which starts may not have any more. */
  readonly retriedOnStart?: readonly string[];
  /** Whether the log keeps all attempts, or the last. */
  readonly keepsAll: boolean;
  /** Composes and sends it. What it throws is logged, and sent again when the claim expires. */
  readonly attempt: (delivery: Row & Claimed) => Promise<Answered>;
  /**
   * Stores the answers with `write`, and what they change for the receivers: whoever turns a
   * receiver off locks it before its deliveries, and so does this.
   */
  readonly settle: (
    transaction: Transaction,
    outcomes: readonly Outcome[],
    write: () => Promise<void>,
  ) => Promise<void>;
};

export type SendingDependencies = {
  readonly sql: Sql;
  /**
   * Where this coordinator runs; the same after each start. No other runs there at the same time.
   */
  readonly place: string;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn' | 'error'>;
  /** From 0 to 1: how much later a repeated attempt is, where the kind's pauses vary. */
  readonly chance?: () => number;
};

export function createSending<Row>(kind: Kind<Row>, deps: SendingDependencies): Sending {
  const { sql, place, clock, log, chance = Math.random } = deps;
  const underWay = new Map<Claimed, Promise<void>>();
  const answered: Outcome[] = [];
  let storing: Promise<void> | undefined;
  let claiming: Promise<void> | undefined;
  let claimAgain = false;
  let closed = false;
  let isTakenBack = false;

  const outcomeOf = (
    { id, subject, attempts }: Claimed,
    { verdict, status, class: failure, answer }: Answered,
    began: number,
  ): Outcome => {
    const at = clock.now();
    const next_at =
      verdict.is === 'retry'
        ? nextAttempt(kind.pauses, { attempts, after_s: verdict.after_s }, at, chance())
        : null;
    const words = 'words' in verdict ? verdict.words : null;
    return {
      id,
      subject,
      attempt: attempts,
      at,
      verdict: verdict.is,
      words,
      reference: 'reference' in verdict ? (verdict.reference ?? null) : null,
      state: stateAfter(verdict.is, next_at),
      next_at,
      logged: {
        at,
        took_ms: Math.max(0, Math.round(performance.now() - began)),
        status,
        class: failure,
        verdict: verdict.is,
        words,
        ...(answer === undefined ? {} : { answer }),
      },
    };
  };

  /** Answers that arrive meanwhile are stored together. */
  const storeAll = async (): Promise<void> => {
    while (answered.length > 0) {
      const some = answered.splice(0);
      await inTransaction(sql, (transaction) =>
        kind.settle(transaction, some, () => writeOutcomes(transaction, some, kind.keepsAll)),
      ).catch((error: unknown) =>
        log.error(
          { err: error, kind: kind.name, deliveries: some.length },
          'could not store the answers to deliveries; sending them again',
        ),
      );
    }
    storing = undefined;
  };

  const deliver = async (delivery: Row & Claimed): Promise<void> => {
    const began = performance.now();
    try {
      answered.push(outcomeOf(delivery, await kind.attempt(delivery), began));
      storing ??= storeAll();
      await storing;
    } catch (error) {
      const { id, subject } = delivery;
      log.error(
        { err: error, kind: kind.name, delivery: id, subject },
        'could not send a delivery; retrying',
      );
    }
  };

  /**
   * Sends again at once what the previous process at this place had claimed. A delivery without a
   * stored answer may never have left. It keeps its id, so receivers that support ids recognise it.
   * All claimed deliveries had also been started, because a claimed one never waits.
   */
  const takeBack = async (): Promise<void> => {
    if (isTakenBack) return;
    const now = clock.now();
    const deliveries = await takeBackClaims(sql, kind.name, place, now);
    if (kind.retriedOnStart !== undefined) await retryNow(sql, kind.name, kind.retriedOnStart, now);
    isTakenBack = true;
    if (deliveries > 0)
      log.warn(
        { kind: kind.name, deliveries },
        'this coordinator stopped while it was sending; sending again',
      );
  };

  /** Whether there may be more to claim. */
  const claimSome = async (): Promise<boolean> => {
    if (closed || underWay.size >= kind.shares.all) return false;
    const claimed = await claimDeliveries<Row>(sql, kind, {
      now: clock.now(),
      forMs: kind.claimMs,
      place,
      shares: kind.shares,
      onTheWay: [...underWay.keys()],
    });
    for (const delivery of claimed) {
      const done: Promise<void> = deliver(delivery).finally(() => {
        underWay.delete(delivery);
        void hurry().catch((error: unknown) =>
          log.error({ err: error, kind: kind.name }, 'could not read what is due; retrying'),
        );
      });
      underWay.set(delivery, done);
    }
    return claimed.length > 0;
  };

  const claimDue = async (): Promise<void> => {
    try {
      await takeBack();
      do {
        claimAgain = false;
      } while ((await claimSome()) || claimAgain);
    } finally {
      // In the turn of the last look at `claimAgain`: who hurries after it starts a new claim.
      claiming = undefined;
    }
  };

  const hurry = (): Promise<void> => {
    claimAgain = true;
    claiming ??= claimDue();
    return claiming;
  };

  return {
    hurry,
    look: async () => {
      if (!isTakenBack || (await doesAnyWait(sql, kind.name))) await hurry();
    },
    tick: async () => {
      await hurry();
      while (underWay.size > 0) {
        await Promise.all(underWay.values());
        await claiming;
      }
    },
    close: async () => {
      closed = true;
      await claiming?.catch(() => undefined); // It is logged; claimed deliveries are being sent.
      await Promise.all(underWay.values());
    },
  };
}

/** Sends what is due until the coordinator ends, every so often and whenever it is hurried. */
export function startSending<Name extends string>(
  supervisor: Starts<Name>,
  name: Name,
  everyMs: number,
  sending: Sending,
): Ticker {
  const ticker = supervisor.ticker(name, { everyMs, tick: sending.look });
  supervisor.part(name, async () => {
    await ticker.stop();
    await sending.close();
  });
  return ticker;
}

function stateAfter(verdict: Outcome['verdict'], next_at: number | null): Outcome['state'] {
  if (verdict === 'retry') return next_at === null ? 'failed' : 'waiting';
  return verdict === 'gone' ? 'failed' : verdict;
}

/** What `deliveries` calls a kind: it follows from whom a row is for. */
type KindName = 'alert' | 'mail' | 'event' | 'update';

/** The parts of a statement that claims. */
type Part = ReturnType<Queryable>;

type Claiming = {
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

async function doesAnyWait(sql: Queryable, kind: KindName): Promise<boolean> {
  const [row] = await sql<{ waits: boolean }[]>`
    select exists (select from deliveries where kind = ${kind} and state = 'waiting') as waits`;
  return row?.waits ?? true;
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
async function writeOutcomes(
  sql: Queryable,
  outcomes: readonly Outcome[],
  keepsAll: boolean,
): Promise<void> {
  const rows = jsonText(
    outcomes.map(({ at, next_at, ...rest }) => ({
      ...rest,
      at: isoText(at),
      next_at: isoText(next_at),
    })),
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
async function retryNow(
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
  at: number,
): Promise<void> {
  await sql`update deliveries set state = 'cancelled', settled_at = ${new Date(at)}
    where kind = ${kind} and subject = any(${subjects}::uuid[]) and state = 'waiting'`;
}

/** Releases the claims that the previous process at this place left. Returns how many. */
async function takeBackClaims(
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
  before: number,
  limit: number,
): Promise<boolean> {
  const { count } = await sql`delete from deliveries where id in (
    select d.id from deliveries d
    where d.kind = ${kind} and d.state <> 'waiting' and d.settled_at < ${new Date(before)}
      and not exists (select 1 from alert_steps s where s.message_id = d.id)
    order by d.settled_at limit ${limit})`;
  return count === limit;
}
