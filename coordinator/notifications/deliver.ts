import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { Queryable, Sql } from '../database/connect.ts';
import { inTransaction } from '../database/sql.ts';
import { type Figures, noFigures } from '../health/meters.ts';
import { jsonText } from '../incidents/writes.ts';
import { isWarning } from './kinds/text.ts';
import {
  type ChannelConfig,
  type ChannelKind,
  type Outgoing,
  type SendOutcome,
  setUpFailures,
  type Verdict,
} from './kinds/types.ts';
import { contentFrom, type MessageLinks, type Notification, newestOfEach } from './message.ts';
import { afterAttempt, isBelieved, tryAgain } from './policy.ts';
import { atOnceToOneHost } from './transport.ts';

export type ClaimedMessage = {
  readonly id: string;
  /** Its running number. */
  readonly key: number;
  readonly organisation_id: string;
  readonly channel_id: string;
  readonly thread_id: string;
  /** The receiver's name for the first message of the thread. */
  readonly thread_reference: string | null;
  readonly event: string;
  readonly told: unknown;
  readonly due_at: Date;
  /** Including this attempt. */
  readonly attempts: number;
  readonly kind: string;
  readonly config: { readonly [name: string]: string };
  readonly secrets: Uint8Array | null;
  /**
   * The group that shares places with this message: `mail`, the host that it goes to, or the
   * channel where the host is unknown.
   */
  readonly host: string;
};

/** How many messages may be sent at once: in all, per channel, per host and per organisation. */
export type Shares = {
  readonly all: number;
  readonly channel: number;
  readonly host: number;
  readonly organisation: number;
};

export type Outcome = {
  readonly message: string;
  readonly channel: string;
  readonly attempt: number;
  readonly at: number;
  readonly took_ms: number;
  readonly status: number | null;
  readonly class: string;
  readonly verdict: 'delivered' | 'retry' | 'refused';
  readonly words: string | null;
  readonly reference: string | null;
  readonly state: 'waiting' | 'delivered' | 'refused' | 'failed';
  /** When the next attempt is due; null when there is none. */
  readonly next_at: number | null;
};

/**
 * Sends messages. It claims what is due for a time, so that a killed coordinator's claims expire;
 * sends it; and stores the answer (rule 31). A message that was sent but not stored is sent again
 * with the same key.
 *
 * Channels do not wait for each other: each sends two messages at most at once, and neither one
 * host nor one organisation can take all places.
 */
export type Deliverer = {
  /**
   * Finds what is due and sends it. Resolves when everything due is claimed, not when it is sent.
   */
  readonly hurry: () => Promise<void>;
  /** Claims no more, and waits for the messages being sent. */
  readonly close: () => Promise<void>;
};

/**
 * Longer than any timeout of a delivery; shorter than the time after which owners are mailed about
 * undelivered alerts.
 */
const claimMs = 60_000;
/** A host gets no more than the sender allows to it at once. */
const shares: Shares = { all: 256, channel: 2, host: atOnceToOneHost, organisation: 32 };

export type DelivererDependencies = {
  readonly sql: Sql;
  /**
   * Where this coordinator runs; the same after each start. No other runs there at the same time.
   */
  readonly place: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly kindOf: (id: string) => ChannelKind | undefined;
  readonly send: (outgoing: Outgoing) => Promise<SendOutcome>;
  readonly openSecrets: (channel: string, box: Uint8Array) => Promise<ChannelConfig>;
  readonly linksOf: (message: {
    readonly id: string;
    readonly key: number;
    readonly channel: string;
    readonly incidents: readonly string[];
    /** The monitors, where it is about warnings. */
    readonly warned: readonly string[] | null;
    readonly mayAcknowledge: boolean;
    /** The address that can unsubscribe from it; null where it is no mail. */
    readonly mailbox: string | null;
  }) => Promise<MessageLinks>;
  readonly figures?: Figures;
};

type Sent = { readonly status: number | null; readonly class: string; readonly verdict: Verdict };

export function createDeliverer(deps: DelivererDependencies): Deliverer {
  const { sql, place, clock, log, kindOf, send, openSecrets, linksOf, figures = noFigures } = deps;
  const underWay = new Map<ClaimedMessage, Promise<void>>();
  const answered: Outcome[] = [];
  let storing: Promise<void> | undefined;
  let claiming: Promise<void> | undefined;
  let claimAgain = false;
  let closed = false;
  let isReleased = false;

  const notificationOf = async (
    message: ClaimedMessage,
    mailbox: string | null,
  ): Promise<Notification> => {
    const content = contentFrom(message.told);
    const { id, key, channel_id: channel, thread_id, thread_reference } = message;
    const open = content.monitors.filter(
      ({ event }) => event === 'down' || event === 'reminder' || event === 'flapping',
    );
    const incidents = content.monitors.map(({ incident }) => incident);
    const links = await linksOf({
      id,
      key,
      channel,
      incidents,
      warned: isWarning(content) ? content.monitors.map((monitor) => monitor.id) : null,
      mayAcknowledge: open.length > 0,
      mailbox,
    });
    const monitors = newestOfEach(content.monitors, ({ id: monitor }) => monitor);
    return {
      ...content,
      monitors,
      links,
      key: id,
      thread: { key: thread_id, reference: thread_reference, over: content.thread.over },
    };
  };

  const attempt = async (message: ClaimedMessage): Promise<Sent> => {
    const kind = kindOf(message.kind);
    const refused = (words: string): Sent => ({
      status: null,
      class: 'settings',
      verdict: { is: 'refused', words },
    });
    if (kind === undefined) return refused('This version does not support this kind of channel.');
    const secrets =
      message.secrets === null ? {} : await openSecrets(message.channel_id, message.secrets);
    const notification = await notificationOf(
      message,
      kind.id === 'email' ? (message.config.address ?? null) : null,
    );
    let outgoing: Outgoing;
    try {
      outgoing = kind.message(notification, { ...message.config, ...secrets }, clock.now());
    } catch (error) {
      log.error(
        { err: error, channel: message.channel_id, kind: message.kind },
        'could not compose a message',
      );
      return refused(
        'The settings of this channel are not valid any more. Edit and save the channel.',
      );
    }
    const answer = await send(outgoing);
    return { ...classOf(answer), verdict: kind.judge(answer) };
  };

  const outcomeOf = (
    message: ClaimedMessage,
    { status, class: kind, verdict: said }: Sent,
    began: number,
  ): Outcome => {
    const at = clock.now();
    const { id, channel_id: channel, attempts } = message;
    const verdict: Verdict =
      said.is === 'refused' && said.doubted === true && !isBelieved({ attempts })
        ? { is: 'retry', words: said.words }
        : said;
    const again =
      verdict.is === 'retry' ? tryAgain({ attempts, after_s: verdict.after_s }, at) : undefined;
    return {
      message: id,
      channel,
      attempt: attempts,
      at,
      status,
      class: kind,
      verdict: verdict.is,
      took_ms: Math.max(0, Math.round(performance.now() - began)),
      words: verdict.is === 'delivered' ? null : verdict.words,
      reference: verdict.is === 'delivered' ? (verdict.reference ?? null) : null,
      state:
        again === undefined
          ? verdict.is === 'delivered'
            ? 'delivered'
            : 'refused'
          : again.is === 'again'
            ? 'waiting'
            : 'failed',
      next_at: again?.is === 'again' ? again.at : null,
    };
  };

  /**
   * Answers that arrive meanwhile are stored together: messages, attempts, and the channels'
   * delivery state.
   */
  const store = async (outcomes: readonly Outcome[]): Promise<void> => {
    const byChannel = Map.groupBy(outcomes, ({ channel }) => channel);
    await inTransaction(sql, async (transaction) => {
      const channels = await deliveringOf(transaction, [...byChannel.keys()]);
      await writeOutcomes(transaction, outcomes);
      await retryOthersNow(
        transaction,
        outcomes.flatMap(({ verdict, channel }) => (verdict === 'delivered' ? [channel] : [])),
        clock.now(),
      );
      await writeDelivering(
        transaction,
        channels.map(({ id, failing_since, refused_at }) => {
          const own = byChannel.get(id) ?? [];
          const before = {
            failing_since: failing_since?.getTime() ?? null,
            refused_at: refused_at?.getTime() ?? null,
          };
          const after = own.reduce(
            (so, { verdict, state, at }) =>
              afterAttempt(so, state === 'failed' ? 'refused' : verdict, at),
            before,
          );
          const delivered = own.filter(({ verdict }) => verdict === 'delivered');
          return {
            id,
            ...after,
            failure: own.at(-1)?.words ?? null,
            delivered_at: delivered.at(-1)?.at ?? null,
          };
        }),
      );
    });
  };

  const storeAll = async (): Promise<void> => {
    while (answered.length > 0) {
      const some = answered.splice(0);
      // An outcome that could not be stored is sent again when its claim expires.
      await store(some).catch((error: unknown) =>
        log.error({ err: error, messages: some.length }, 'could not store the answers to messages'),
      );
    }
    storing = undefined;
  };

  const deliver = async (message: ClaimedMessage): Promise<void> => {
    const { channel_id: channel } = message;
    const began = performance.now();
    try {
      const outcome = outcomeOf(message, await attempt(message), began);
      figures.told(message.kind, outcome.verdict, outcome.at - message.due_at.getTime());
      answered.push(outcome);
      storing ??= storeAll();
      await storing;
    } catch (error) {
      log.error({ err: error, message: message.id, channel }, 'could not send a message; retrying');
    }
  };

  /**
   * Sends again at once what the previous process at this place had claimed. A message without a
   * stored delivery may never have left, and no alert may be lost. It keeps its key, so receivers
   * that support keys recognise it. All claimed messages had also been started, because a claimed
   * message never waits.
   */
  const takeBack = async (): Promise<void> => {
    if (isReleased) return;
    const messages = await releaseClaims(sql, place, clock.now());
    await retrySetUp(sql, clock.now());
    isReleased = true;
    if (messages > 0)
      log.warn({ messages }, 'this coordinator stopped while sending messages; sending them again');
  };

  /** Whether there may be more to claim. */
  const claimSome = async (): Promise<boolean> => {
    if (closed || underWay.size >= shares.all) return false;
    const byChannel = Map.groupBy(underWay.keys(), ({ channel_id }) => channel_id);
    const onTheWay = [...byChannel.values()].flatMap(([first, ...more]) =>
      first === undefined
        ? []
        : [
            {
              channel: first.channel_id,
              host: first.host,
              organisation: first.organisation_id,
              count: more.length + 1,
            },
          ],
    );
    const claimed = await claimMessages(sql, {
      now: clock.now(),
      forMs: claimMs,
      place,
      shares,
      onTheWay,
    });
    for (const message of claimed) {
      const done: Promise<void> = deliver(message).finally(() => {
        underWay.delete(message);
        void hurry().catch((error: unknown) =>
          log.error({ err: error }, 'could not read waiting messages; retrying'),
        );
      });
      underWay.set(message, done);
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
    close: async () => {
      closed = true;
      await claiming?.catch(() => undefined); // It is logged; claimed messages are being sent.
      await Promise.all(underWay.values());
    },
  };
}

/** The answer as it is stored: a status, or a class of our own. */
export function classOf(answer: SendOutcome): {
  readonly status: number | null;
  readonly class: string;
} {
  if (answer.is === 'answer') return { status: answer.status, class: 'answer' };
  if (answer.is === 'mail') return { status: answer.code, class: 'mail' };
  return { status: null, class: answer.failure };
}

export type DeliveringRow = {
  readonly id: string;
  readonly failing_since: Date | null;
  readonly refused_at: Date | null;
};

/** The delivery state of these channels, locked until the transaction ends. */
export function deliveringOf(
  sql: Queryable,
  channels: readonly string[],
): Promise<DeliveringRow[]> {
  return sql<
    DeliveringRow[]
  >`select id, failing_since, refused_at from channels where id = any(${[...channels]}::uuid[])
  order by id for no key update`;
}

/**
 * Stores outcomes. When another coordinator took over a message meanwhile, the attempt is stored,
 * but changes the message only when it was accepted.
 */
export async function writeOutcomes(sql: Queryable, outcomes: readonly Outcome[]): Promise<void> {
  const text = (at: number | null) => (at === null ? null : new Date(at).toISOString());
  const rows = jsonText(
    outcomes.map(({ at, next_at, ...rest }) => ({ ...rest, at: text(at), next_at: text(next_at) })),
  );
  await sql`
    insert into message_attempts (message_id, attempt, at, took_ms, status, class, verdict, words)
    select message, attempt, at, took_ms, status, class, verdict, words
    from json_to_recordset(${rows}::text::json) as o (message uuid, attempt int,
      at timestamptz, took_ms int, status int, class text, verdict text, words text)
    on conflict do nothing`;
  await sql`
    update messages m
    set state = o.state, claimed_until = null, next_at = coalesce(o.next_at, m.next_at),
      words = o.words,
      reference = coalesce(o.reference, m.reference), settled_at = case
        when o.state = 'waiting' then null else o.at end
    from json_to_recordset(${rows}::text::json) as o (message uuid, attempt int, at timestamptz,
      state text, next_at timestamptz, words text,
      reference text)
    where m.id = o.message and (m.state = 'waiting' and m.attempts = o.attempt
      or m.state in ('waiting', 'failed') and o.state = 'delivered')`;
}

/** Once a channel accepts again, what waits for its next attempt is due. */
export async function retryOthersNow(
  sql: Queryable,
  channels: readonly string[],
  now: number,
): Promise<void> {
  if (channels.length === 0) return;
  const at = new Date(now);
  await sql`
    update messages set next_at = ${at} where state = 'waiting' and claimed_until is null
      and next_at > ${at} and channel_id = any(${[...channels]}::uuid[])`;
}

export type Delivery = {
  readonly id: string;
  readonly failing_since: number | null;
  readonly refused_at: number | null;
  readonly failure: string | null;
  readonly delivered_at: number | null;
};

export async function writeDelivering(
  sql: Queryable,
  deliveries: readonly Delivery[],
): Promise<void> {
  const text = (at: number | null) => (at === null ? null : new Date(at).toISOString());
  const rows = deliveries.map(({ failing_since, refused_at, delivered_at, ...rest }) => ({
    ...rest,
    failing_since: text(failing_since),
    refused_at: text(refused_at),
    delivered_at: text(delivered_at),
  }));
  await sql`
    update channels c
    set failing_since = d.failing_since, refused_at = d.refused_at, failure = d.failure,
      last_delivered_at = coalesce(d.delivered_at, c.last_delivered_at), owners_told_at = case
        when d.delivered_at is null then c.owners_told_at end
    from json_to_recordset(${jsonText(rows)}::text::json) as d (id uuid, failing_since timestamptz,
      refused_at timestamptz, failure text,
      delivered_at timestamptz)
    where c.id = d.id`;
}

/** Releases the claims that the previous process at this place left. */
export async function releaseClaims(sql: Queryable, place: string, now: number): Promise<number> {
  const at = new Date(now);
  const { count } = await sql`
    update messages set claimed_until = null, next_at = ${at} where state = 'waiting'
      and claimed_by = ${place} and claimed_until > ${at}`;
  return count;
}

/** A process that starts may have the mail server that the one before it lacked. */
async function retrySetUp(sql: Queryable, now: number): Promise<void> {
  const at = new Date(now);
  await sql`
    update messages set next_at = ${at} where state = 'waiting' and claimed_until is null
      and next_at > ${at} and words = any(${[...setUpFailures]})`;
}

/**
 * What this coordinator is sending: how many messages of which channel, to which host, of which
 * organisation.
 */
export type InFlight = {
  readonly channel: string;
  readonly host: string;
  readonly organisation: string;
  readonly count: number;
};

/**
 * Claims due messages for a time, oldest first. No other coordinator sends them meanwhile; when a
 * coordinator is killed, its claims expire. No channel, host or organisation gets more than its
 * share of what this coordinator sends at once, so that a slow one holds up nothing else.
 */
export function claimMessages(
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
    readonly onTheWay: readonly InFlight[];
  },
): Promise<ClaimedMessage[]> {
  const [at, until] = [new Date(now), new Date(now + forMs)];
  const room = shares.all - onTheWay.reduce((sum, { count }) => sum + count, 0);
  return sql<ClaimedMessage[]>`
    with busy as materialized (
      select * from json_to_recordset(${jsonText([...onTheWay])}::text::json) as b (channel uuid,
        host text, organisation uuid, count int)),
    due as (
      select m.id, m.channel_id, m.organisation_id, m.next_at, m.key,
        case when h.kind = 'email' then 'mail' else coalesce(h.host, h.id::text) end as host,
        row_number() over (partition by m.channel_id order by m.next_at, m.key) as place
      from messages m join channels h on h.id = m.channel_id where m.state = 'waiting'
        and m.next_at <= ${at}),
    of_channel as (
      select d.*, row_number() over (partition by d.host order by d.next_at, d.key) as of_host
      from due d
      where d.place <= ${shares.channel} - coalesce((select sum(count) from busy
        where channel = d.channel_id), 0)),
    of_host as (
      select d.*, row_number()
      over (partition by d.organisation_id order by d.next_at, d.key) as of_organisation
      from of_channel d
      where d.of_host <= ${shares.host} - coalesce((select sum(count) from busy
        where host = d.host), 0)),
    chosen as (
      select d.id from of_host d
      where d.of_organisation <= ${shares.organisation} - coalesce((select sum(count) from busy
        where organisation = d.organisation_id), 0)
      order by d.next_at, d.key limit ${Math.max(0, room)}),
    claimed as (
      update messages
      set attempts = attempts + 1, claimed_until = ${until}, claimed_by = ${place},
        next_at = ${until}
      where id in (select id from messages where state = 'waiting' and next_at <= ${at}
        and id in (select id from chosen) for update skip locked)
      returning id, key, organisation_id, channel_id, thread_id, event, told, due_at, attempts)
    select c.id, c.key, c.organisation_id, c.channel_id, c.thread_id, c.event, c.told, c.due_at,
      c.attempts, h.kind, h.config, h.secrets,
      case when h.kind = 'email' then 'mail' else coalesce(h.host, h.id::text) end as host,
      (select reference from messages t where t.id = c.thread_id) as thread_reference
    from claimed c join channels h on h.id = c.channel_id order by c.key`;
}
