import type { Starts, Ticker } from '../../shared/actor/supervisor.ts';
import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { Sql, Transaction } from '../database/connect.ts';
import { inTransaction } from '../database/sql.ts';
import { type Answered, nextAttempt, type Pauses } from './model.ts';
import {
  type Claimed,
  type Claiming,
  claimDeliveries,
  type Outcome,
  retryNow,
  type Shares,
  takeBackClaims,
  writeOutcomes,
} from './queries.ts';

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
  const ticker = supervisor.ticker(name, { everyMs, tick: sending.hurry });
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
