import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import { afterAttempt, tryAgain } from '../domain/telling/telling-channel.ts';
import { newestOfEach } from '../domain/telling/telling-message.ts';
import { type Figures, noFigures } from '../house/house-figures.ts';
import type { Sql } from '../store/store-database.ts';
import {
  type ClaimedMessage,
  claimMessages,
  deliveringOf,
  type Outcome,
  releaseClaims,
  type Shares,
  writeDelivering,
  writeOutcomes,
} from '../store/store-messages.ts';
import { inTransaction } from '../store/store-sql-transactions.ts';
import { contentFrom } from './alert-content.ts';
import { atOnceToOneHost } from './alert-sender.ts';
import type { Told, ToldLinks } from './alert-told.ts';
import type { Answer, ChannelConfig, ChannelKind, Outgoing, Verdict } from './kinds/channel-kind.ts';

/**
 * Sends messages: claims what is due, for so long that a killed coordinator gives it back, sends it, and stores what was answered (rule 31). What was
 * sent and not stored is sent again, with the same key.
 *
 * Channels do not wait for each other: each has two on their way at most, and neither those to one host nor those of one organisation can take all
 * places.
 */
export type Courier = {
  /** Looks for what is due, and sends it; settles when all that there was is claimed, not when it is sent. */
  readonly hurry: () => Promise<void>;
  /** Takes no more, and waits for what is on its way. */
  readonly close: () => Promise<void>;
};

/** Longer than anything is waited for on the way; shorter than the time after which owners are mailed of what nobody took. */
const claimMs = 60_000;
/** A host gets no more than the sender lets through to it at once. */
const shares: Shares = { all: 256, channel: 2, host: atOnceToOneHost, organisation: 32 };

export type CourierParts = {
  readonly sql: Sql;
  /** Where this coordinator runs, the same after each start: no other runs there at the same time. */
  readonly place: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly kindOf: (id: string) => ChannelKind | undefined;
  readonly send: (outgoing: Outgoing) => Promise<Answer>;
  readonly openSecrets: (channel: string, box: Uint8Array) => Promise<ChannelConfig>;
  readonly linksOf: (message: {
    readonly id: string;
    readonly key: number;
    readonly channel: string;
    readonly incidents: readonly string[];
    readonly mayAcknowledge: boolean;
    readonly isMail: boolean;
  }) => Promise<ToldLinks>;
  readonly figures?: Figures;
};

/** What was answered, as it is stored: a status, or a class of our own. */
export const classOf = (answer: Answer): { readonly status: number | null; readonly class: string } => {
  if (answer.is === 'answer') return { status: answer.status, class: 'answer' };
  if (answer.is === 'mail') return { status: answer.code, class: 'mail' };
  return { status: null, class: answer.failure };
};

type Sent = { readonly status: number | null; readonly class: string; readonly verdict: Verdict };

export const createCourier = (parts: CourierParts): Courier => {
  const { sql, place, clock, log, kindOf, send, openSecrets, linksOf, figures = noFigures } = parts;
  const underWay = new Map<ClaimedMessage, Promise<void>>();
  const answered: Outcome[] = [];
  let storing: Promise<void> | undefined;
  let looking: Promise<void> | undefined;
  let lookAgain = false;
  let closed = false;
  let isReleased = false;

  const toldOf = async (message: ClaimedMessage, isMail: boolean): Promise<Told> => {
    const content = contentFrom(message.told);
    const { id, key, channel_id: channel, thread_id, thread_reference } = message;
    const open = content.monitors.filter(({ event }) => event === 'down' || event === 'reminder' || event === 'flapping');
    const incidents = content.monitors.map(({ incident }) => incident);
    const links = await linksOf({ id, key, channel, incidents, mayAcknowledge: open.length > 0, isMail });
    const monitors = newestOfEach(content.monitors, ({ id: monitor }) => monitor);
    const earlier = content.monitors.filter((monitor) => !monitors.includes(monitor));
    return {
      ...content,
      monitors,
      earlier,
      links,
      key: id,
      thread: { key: thread_id, reference: thread_reference, over: content.thread.over },
    };
  };

  const attempt = async (message: ClaimedMessage): Promise<Sent> => {
    const kind = kindOf(message.kind);
    const refused = (words: string): Sent => ({ status: null, class: 'settings', verdict: { is: 'refused', words } });
    if (kind === undefined) return refused('This version knows no such kind of channel.');
    const secrets = message.secrets === null ? {} : await openSecrets(message.channel_id, message.secrets);
    const told = await toldOf(message, kind.id === 'email');
    let outgoing: Outgoing;
    try {
      outgoing = kind.message(told, { ...message.config, ...secrets }, clock.now());
    } catch (error) {
      log.error({ err: error, channel: message.channel_id, kind: message.kind }, 'a message could not be made');
      return refused('No message can be made with the settings of this channel; save them anew.');
    }
    const answer = await send(outgoing);
    return { ...classOf(answer), verdict: kind.judge(answer) };
  };

  const outcomeOf = (message: ClaimedMessage, { status, class: kind, verdict }: Sent, began: number): Outcome => {
    const at = clock.now();
    const { id, channel_id: channel, attempts } = message;
    const again = verdict.is === 'retry' ? tryAgain({ attempts, after_s: verdict.after_s }, at) : undefined;
    return {
      ...{ message: id, channel, attempt: attempts, at, status, class: kind, verdict: verdict.is },
      took_ms: Math.max(0, Math.round(performance.now() - began)),
      words: verdict.is === 'taken' ? null : verdict.words,
      reference: verdict.is === 'taken' ? (verdict.reference ?? null) : null,
      state: again === undefined ? (verdict.is === 'taken' ? 'taken' : 'refused') : again.is === 'again' ? 'waiting' : 'given_up',
      next_at: again?.is === 'again' ? again.at : null,
    };
  };

  /** What was answered meanwhile is stored together: messages, attempts, and how the channels deliver. */
  const store = async (outcomes: readonly Outcome[]): Promise<void> => {
    const byChannel = Map.groupBy(outcomes, ({ channel }) => channel);
    await inTransaction(sql, async (transaction) => {
      const channels = await deliveringOf(transaction, [...byChannel.keys()]);
      await writeOutcomes(transaction, outcomes);
      await writeDelivering(
        transaction,
        channels.map(({ id, failing_since, refused_at }) => {
          const own = byChannel.get(id) ?? [];
          const before = { failing_since: failing_since?.getTime() ?? null, refused_at: refused_at?.getTime() ?? null };
          const after = own.reduce(
            (so, { verdict, state, at }) => afterAttempt(so, state === 'given_up' ? 'refused' : verdict, at),
            before,
          );
          const taken = own.filter(({ verdict }) => verdict === 'taken');
          return { id, ...after, failure: own.at(-1)?.words ?? null, taken_at: taken.at(-1)?.at ?? null };
        }),
      );
    });
  };

  const storeAll = async (): Promise<void> => {
    while (answered.length > 0) {
      const some = answered.splice(0);
      // What could not be stored is sent again when its claim is over.
      await store(some).catch((error: unknown) =>
        log.error({ err: error, messages: some.length }, 'answers to messages could not be stored'),
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
      log.error({ err: error, message: message.id, channel }, 'a message could not be sent; it is tried again');
    }
  };

  /**
   * What the predecessor at this place had claimed is sent at once. Whatever it had not stored as delivered may not have left, and no alert is to be
   * lost: it is sent with the same key, by which receivers that know keys know it. All that was claimed was also begun, for nothing claimed waits.
   */
  const takeBack = async (): Promise<void> => {
    if (isReleased) return;
    const messages = await releaseClaims(sql, place, clock.now());
    isReleased = true;
    if (messages > 0) log.warn({ messages }, 'this coordinator ended while it sent messages; they are sent again');
  };

  const look = async (): Promise<void> => {
    await takeBack();
    for (;;) {
      lookAgain = false;
      if (closed || underWay.size >= shares.all) return;
      const byChannel = Map.groupBy(underWay.keys(), ({ channel_id }) => channel_id);
      const onTheWay = [...byChannel.values()].flatMap(([first, ...more]) =>
        first === undefined
          ? []
          : [{ channel: first.channel_id, host: first.host, organisation: first.organisation_id, count: more.length + 1 }],
      );
      const claimed = await claimMessages(sql, { now: clock.now(), forMs: claimMs, place, shares, onTheWay });
      for (const message of claimed) {
        const done: Promise<void> = deliver(message).finally(() => {
          underWay.delete(message);
          void hurry().catch((error: unknown) => log.error({ err: error }, 'messages could not be looked for; it is tried again'));
        });
        underWay.set(message, done);
      }
      if (claimed.length === 0 && !lookAgain) return;
    }
  };

  const hurry = (): Promise<void> => {
    lookAgain = true;
    looking ??= look().finally(() => {
      looking = undefined;
    });
    return looking;
  };

  return {
    hurry,
    close: async () => {
      closed = true;
      await looking?.catch(() => undefined); // It is in the log; what it claimed is on its way.
      await Promise.all(underWay.values());
    },
  };
};
