import type { Starts } from '../../shared/actor/supervisor.ts';
import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import { postMails } from '../account-mail/queries.ts';
import type { Sql } from '../database/connect.ts';
import { inTransaction } from '../database/sql.ts';
import { eventJson, eventsByKey } from '../events/queries.ts';
import { signedPost } from '../notifications/kinds/webhook.ts';
import { ownersOf } from '../notifications/last-resort.ts';
import type { Sender } from '../notifications/transport.ts';
import type { SecretsAtRest } from '../secrets/at-rest.ts';
import {
  type ClaimedDelivery,
  claimDeliveries,
  type DueWebhook,
  dueWebhooks,
  handOn,
  healthOf,
  settleDelivery,
  webhookToSend,
  writeHealth,
} from './delivery-queries.ts';
import {
  type Attempted,
  afterAttempt,
  attempted,
  nextAttempt,
  validSecrets,
  webhookContent,
} from './model.ts';
import { cancelDeliveries } from './queries.ts';
import { openWebhook, type WebhookBox } from './secrets.ts';

/**
 * Sends an organisation's events to its webhooks, from the list of events to the log:
 *
 *   1 hand on   a delivery for each event after the cursor of a webhook     delivery-queries.ts
 *   2 turn      a webhook that something is due for gets a turn here
 *   3 claim     a few of its deliveries belong to this coordinator for a time
 *   4 attempt   a signed POST; the event's id is the same at each attempt
 *   5 settle    delivered, or when it is tried again, and how the webhook fares
 *
 *   row of `webhook_deliveries`   waiting    for its next attempt, or for the end of a claim
 *                                 delivered  answered with 2xx
 *                                 failed     given up after the last attempt (model.ts)
 *                                 cancelled  the webhook was turned off, or the event is too old
 *
 * What happens when a step fails, or its process crashes:
 *   1     it was one statement and wrote nothing: the next tick, here or elsewhere, does it
 *   2     a turn is memory alone
 *   3, 4  the claim ends, and the event is sent again under the same id
 *   5     it was one transaction: the claim ends, and the event is sent again under the same id
 *
 * No webhook waits for another: a turn is short, each has a few requests at once, and neither one
 * organisation nor those that fail can take all turns.
 */
export function createWebhookSending(deps: WebhookSendingDependencies): WebhookSending {
  const { sql, clock, log, secrets, send, hasMail, chance = Math.random } = deps;
  const turns = new Map<DueWebhook, Promise<void>>();
  let onTurnEnd = (): void => undefined;
  let closed = false;

  const settle = async (
    webhook: DueWebhook,
    { id, attempts }: ClaimedDelivery,
    result: Attempted,
    took_ms: number,
  ): Promise<void> => {
    const now = clock.now();
    const at = new Date(now);
    await inTransaction(sql, async (transaction) => {
      // First the webhook, then its deliveries: whoever turns it off locks them in this order.
      const before = await healthOf(transaction, webhook.id);
      const next = result.is === 'failed' ? nextAttempt(attempts, result, now, chance()) : null;
      await settleDelivery(transaction, {
        id,
        attempts,
        state: result.is === 'delivered' ? 'delivered' : next === null ? 'failed' : 'waiting',
        at,
        next_at: next === null ? null : new Date(next),
        status: result.status,
        class: result.failure,
        took_ms,
        answer: result.answer,
      });
      if (before === undefined) return;
      const { health, off } = afterAttempt(
        {
          failing_since: before.failing_since?.getTime() ?? null,
          last_failed_at: before.last_failed_at?.getTime() ?? null,
        },
        result.is,
        now,
      );
      const date = (time: number | null) => (time === null ? null : new Date(time));
      await writeHealth(transaction, webhook.id, {
        failing_since: date(health.failing_since),
        last_failed_at: date(health.last_failed_at),
        delivered_at: result.is === 'delivered' ? at : null,
        off,
      });
      if (off === null) return;
      log.warn({ webhook: webhook.id, because: off }, 'turned off a webhook');
      await cancelDeliveries(transaction, webhook.id, at);
      if (!hasMail) return;
      const owners = await ownersOf(transaction, [before.organisation_id]);
      const about = {
        webhook: webhook.id,
        name: before.description === '' ? before.host : before.description,
        because: off,
      };
      await postMails(
        transaction,
        (owners.get(before.organisation_id) ?? []).map((recipient) => ({
          kind: 'webhook-off' as const,
          recipient,
          about,
          at,
        })),
      );
    });
  };

  const attempt = async (
    webhook: DueWebhook,
    claimed: ClaimedDelivery,
    content: unknown,
    { url, secrets: all }: WebhookBox,
  ): Promise<void> => {
    const now = clock.now();
    const began = performance.now();
    const outcome = await send(
      signedPost({
        url,
        secrets: validSecrets(all, now).map(({ secret }) => secret),
        id: claimed.event_id,
        now,
        content,
      }),
    );
    const took = Math.max(0, Math.round(performance.now() - began));
    await settle(webhook, claimed, attempted(outcome), took);
  };

  /** Returns false when nothing was due any more. */
  const sendSome = async (webhook: DueWebhook): Promise<boolean> => {
    const now = clock.now();
    const claimed = await claimDeliveries(sql, {
      webhook: webhook.id,
      at: new Date(now),
      until: new Date(now + claimMs),
      limit: webhook.isFailing ? shares.ofFailing : shares.ofWebhook,
    });
    if (claimed.length === 0) return false;
    const to = await webhookToSend(sql, webhook.id);
    // Turned off or deleted meanwhile, with all that waited.
    if (to === undefined) return false;
    const box = await openWebhook(secrets, sql, webhook.id, to.secrets);
    const events = new Map(
      (
        await eventsByKey(
          sql,
          to.organisation_id,
          claimed.map(({ event_key }) => event_key),
        )
      ).map((event) => [event.key, event]),
    );
    const attempts = await Promise.allSettled(
      claimed.map((each) => {
        const event = events.get(each.event_key);
        return event === undefined
          ? settleDelivery(sql, { ...forgotten, ...each, at: new Date(clock.now()) })
          : attempt(webhook, each, webhookContent(eventJson(event)), box);
      }),
    );
    for (const one of attempts)
      if (one.status === 'rejected')
        log.error(
          { err: one.reason, webhook: webhook.id },
          'could not store the outcome of a delivery; sending it again',
        );
    return true;
  };

  const turn = async (webhook: DueWebhook): Promise<void> => {
    const until = performance.now() + turnMs;
    try {
      while (!closed && performance.now() < until && (await sendSome(webhook)));
    } catch (error) {
      log.error({ err: error, webhook: webhook.id }, 'could not send to a webhook; retrying');
    }
  };

  const beginTurns = async (): Promise<void> => {
    const failing = [...turns.keys()].filter(({ isFailing }) => isFailing).length;
    const due = await dueWebhooks(sql, {
      at: new Date(clock.now()),
      underWay: [...turns.keys()],
      limit: shares.turns - turns.size,
      ofOrganisation: shares.turnsOfOrganisation,
      ofFailing: shares.turnsOfFailing - failing,
    });
    for (const webhook of due) {
      const done = turn(webhook).finally(() => {
        turns.delete(webhook);
        onTurnEnd();
      });
      turns.set(webhook, done);
    }
  };

  return {
    tick: async () => {
      for (let isMore = true; isMore && !closed; ) {
        isMore = await handOn(sql, new Date(clock.now()));
        await beginTurns();
      }
    },
    onTurnEnd: (hear) => {
      onTurnEnd = hear;
    },
    idle: async () => {
      await Promise.all(turns.values());
    },
    close: async () => {
      closed = true;
      await Promise.all(turns.values());
    },
  };
}

/** What is due is sent within this time, besides being sent at once when a turn ends. */
const everyMs = 1_000;

export function startWebhooks(
  deps: WebhookSendingDependencies & { readonly supervisor: Starts<'webhooks'> },
): void {
  const sending = createWebhookSending(deps);
  const ticker = deps.supervisor.ticker('webhooks', { everyMs, tick: sending.tick });
  sending.onTurnEnd(ticker.hurry);
  deps.supervisor.part('webhooks', async () => {
    await ticker.stop();
    await sending.close();
  });
}

/** Longer than an attempt. */
const claimMs = 30_000;
const turnMs = 10_000;

/** Concurrency limits. */
const shares = {
  /** Requests per webhook, and per failing one. */
  ofWebhook: 4,
  ofFailing: 1,
  /** Webhooks in total, per organisation, and failing. */
  turns: 64,
  turnsOfOrganisation: 8,
  turnsOfFailing: 32,
} as const;

/** An event that is not kept any more, such as one of 90 days ago that was sent again. */
const forgotten = {
  state: 'cancelled',
  next_at: null,
  status: null,
  class: null,
  took_ms: 0,
  answer: null,
} as const;

export type WebhookSending = {
  /** Hands on what is new, and begins to send what is due. */
  readonly tick: () => Promise<void>;
  /** Called when there is room for more. */
  readonly onTurnEnd: (hear: () => void) => void;
  /** Resolves when nothing is being sent. */
  readonly idle: () => Promise<void>;
  /** Begins nothing more, and waits for what is being sent. */
  readonly close: () => Promise<void>;
};

export type WebhookSendingDependencies = {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly secrets: SecretsAtRest;
  /** Ends within less than the time of a claim. */
  readonly send: Sender['send'];
  /** Whether owners can be mailed. */
  readonly hasMail: boolean;
  /** From 0 to 1: how much later a repeated attempt is. */
  readonly chance?: () => number;
};
