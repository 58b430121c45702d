import { z } from 'zod';
import type { Starts } from '../../../shared/actor/supervisor.ts';
import { newId } from '../../../shared/base/crypto.ts';
import type { Clock } from '../../../shared/base/time.ts';
import type { Sql } from '../../database/connect.ts';
import { inTransaction } from '../../database/sql.ts';
import { type Attempts, hostOf, hourly } from '../../gate/attempts.ts';
import { challenge } from '../../notifications/challenge.ts';
import { newSigningSecret, signedPost } from '../../notifications/kinds/webhook.ts';
import { leavingLink } from '../../notifications/links.ts';
import type { Sender } from '../../notifications/transport.ts';
import type { AccountSecrets } from '../../secrets/account-secrets.ts';
import { pageWebhookOf, type SecretsAtRest } from '../../secrets/at-rest.ts';
import { updateWords } from '../mails.ts';
import type { PageLanguage } from '../model.ts';
import { sentIncident } from '../subscribers.ts';
import {
  type Delivery,
  deleteDelivery,
  deleteWebhook,
  insertWebhook,
  takeDeliveries,
  webhookFailed,
  webhookOfPage,
  webhookPlace,
  webhookSucceeded,
} from '../webhook-queries.ts';
import type { ReadPage } from './queries.ts';
import { originOf } from './snapshot.ts';

/** What both halves need: subscribing, and sending what is new. */
export type WebhookDependencies = {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly accountSecrets: AccountSecrets;
  readonly secrets: SecretsAtRest;
  readonly send: Sender['send'];
  readonly baseUrl: () => string;
};

export type WebhookSubscription =
  /** Both are shown to the subscriber once. */
  | { readonly is: 'subscribed'; readonly secret: string; readonly leave: string }
  | { readonly is: 'invalid' | 'taken' | 'full' | 'unproved' };

/** The most of a page: each update is sent to all of them. */
const maxWebhooks = 100;

/**
 * Subscribes an address whose server answers a challenge. Nothing is stored before.
 * @throws Refusal `too_many_attempts`.
 */
export function createWebhookSubscribing({
  sql,
  clock,
  accountSecrets,
  secrets,
  send,
  baseUrl,
  attempts,
}: WebhookDependencies & { readonly attempts: Attempts }) {
  return async (
    { id: page, page: { title, slug }, domain }: ReadPage,
    wanted: { readonly url: string; readonly language: PageLanguage; readonly address: string },
  ): Promise<WebhookSubscription> => {
    const url = urlFrom(wanted.url);
    if (url === undefined) return { is: 'invalid' };
    const from = hostOf(wanted.address);
    // No one can have us knock at a host often, from one place or from many.
    await attempts.count([
      { what: `page webhooks from ${from}`, most: 20 },
      hourly(`page webhooks of ${url.host} from everywhere`, 60),
      hourly(`page webhooks of ${url.href} on ${page}`, 5),
    ]);
    const fingerprint = await accountSecrets.fingerprint('page webhook', url.href);
    const { isTaken, others } = await webhookPlace(sql, page, fingerprint);
    if (isTaken || others >= maxWebhooks) return { is: isTaken ? 'taken' : 'full' };
    const [id, secret] = [newId(), newSigningSecret()];
    const origin = originOf({ slug, domain }, baseUrl());
    const refused = await challenge(send, {
      url: url.href,
      secrets: [secret],
      id,
      now: clock.now(),
      type: 'subscription.challenge',
      data: { page: { name: title, url: origin } },
    });
    if (refused !== undefined) return { is: 'unproved' };
    const isNew = await inTransaction(sql, async (transaction) =>
      insertWebhook(transaction, {
        id,
        page,
        fingerprint,
        host: url.host,
        box: await secrets.seal(
          transaction,
          JSON.stringify({ url: url.href, secret }),
          pageWebhookOf(id),
        ),
        language: wanted.language,
        at: new Date(clock.now()),
      }),
    );
    if (!isNew) return { is: 'taken' };
    return {
      is: 'subscribed',
      secret,
      leave: `${origin}/leave/${await leavingLink(accountSecrets, id)}`,
    };
  };
}

const maxUrl = 2_000;

function urlFrom(given: string): URL | undefined {
  const url = given.length > maxUrl ? null : URL.parse(given.trim());
  const isPlain = url?.protocol === 'https:' && `${url.username}${url.password}${url.hash}` === '';
  return isPlain ? url : undefined;
}

const second = 1_000;
const hour = 3_600 * second;
/** How long a claimed delivery belongs to one coordinator; longer than an attempt. */
const takenMs = 60 * second;
const atOnce = 10;
const pauses = [5 * second, 30 * second, 120 * second, 600 * second] as const;
/** Including hourly attempts for a day. */
const maxAttempts = pauses.length + 24;
/** One that accepted nothing for so long, while there was something to send, is switched off. */
const offAfterMs = 3 * 24 * hour;

const boxShape = z.object({ url: z.string(), secret: z.string() });

const types = { began: 'incident.opened', over: 'incident.resolved', post: 'incident.updated' };

/** Sends what waits: at least once each, under one `webhook-id`, until it is accepted. */
export function createWebhookDelivery({
  sql,
  clock,
  accountSecrets,
  secrets,
  send,
  baseUrl,
}: WebhookDependencies): { readonly tick: () => Promise<void> } {
  const deliver = async (delivery: Delivery): Promise<void> => {
    const { id, subscriber, incident, event, post, created_at, attempts } = delivery;
    const to = await webhookOfPage(sql, subscriber);
    const sent = await sentIncident(sql, subscriber, incident, post);
    // Unsubscribed, switched off, deleted or no longer shown: there is nothing to say.
    if (to === undefined || sent === undefined) return deleteDelivery(sql, id);
    const { url, secret } = boxShape.parse(
      JSON.parse(await secrets.open(sql, to.box, pageWebhookOf(subscriber))),
    );
    const origin = originOf(to, baseUrl());
    const { subject, sentence } = updateWords(to, sent);
    const answer = await send(
      signedPost({
        url,
        secrets: [secret],
        id,
        now: clock.now(),
        content: {
          type: types[event],
          timestamp: created_at.toISOString(),
          data: {
            page: { name: to.title, url: origin },
            incident: {
              id: incident,
              name: sent.name,
              status: sent.kind,
              started_at: sent.started_at.toISOString(),
              resolved_at: sent.resolved_at?.toISOString() ?? null,
            },
            title: subject,
            text: sentence,
            unsubscribe: `${origin}/leave/${await leavingLink(accountSecrets, subscriber)}`,
          },
        },
      }),
    );
    const status = answer.is === 'answer' ? answer.status : 0;
    if (status >= 200 && status < 300) return webhookSucceeded(sql, delivery);
    if (status === 410) return deleteWebhook(sql, subscriber);
    const now = clock.now();
    await inTransaction(sql, (transaction) =>
      webhookFailed(transaction, delivery, {
        at: new Date(now),
        again: attempts >= maxAttempts ? null : new Date(now + (pauses[attempts - 1] ?? hour)),
        offBefore: new Date(now - offAfterMs),
      }),
    );
  };

  return {
    tick: async () => {
      for (;;) {
        const taken = await takeDeliveries(sql, new Date(clock.now()), takenMs, atOnce);
        if (taken.length === 0) return;
        await Promise.all(taken.map(deliver));
      }
    },
  };
}

export function startWebhookDelivery({
  supervisor,
  everyMs,
  ...parts
}: WebhookDependencies & {
  readonly supervisor: Starts<'page webhooks'>;
  readonly everyMs: number;
}): void {
  supervisor.ticker('page webhooks', { everyMs, tick: createWebhookDelivery(parts).tick });
}
