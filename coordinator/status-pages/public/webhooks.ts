import { z } from 'zod';
import { newId } from '../../../shared/base/crypto.ts';
import { type Clock, isoText } from '../../../shared/base/time.ts';
import type { Sql } from '../../database/connect.ts';
import { inTransaction } from '../../database/sql.ts';
import { usualPauses } from '../../deliveries/model.ts';
import {
  type Claimed,
  cancelWaiting,
  createSending,
  type Kind,
  type Outcome,
  type Sending,
  type SendingDependencies,
} from '../../deliveries/sending.ts';
import { type Attempts, hostOf, hourly } from '../../gate/attempts.ts';
import { challenge } from '../../notifications/challenge.ts';
import type { Outgoing } from '../../notifications/kinds/types.ts';
import { newSigningSecret, signedPost } from '../../notifications/kinds/webhook.ts';
import { leavingLink } from '../../notifications/links.ts';
import type { Sender } from '../../notifications/transport.ts';
import type { AccountSecrets } from '../../secrets/account-secrets.ts';
import { pageWebhookOf, type SecretsAtRest } from '../../secrets/at-rest.ts';
import { attempted } from '../../webhooks/model.ts';
import { updateWords } from '../mails.ts';
import type { PageLanguage } from '../model.ts';
import { type SubscriberNotice, sentIncident } from '../subscribers.ts';
import {
  deleteWebhooks,
  insertWebhook,
  lockSubscribers,
  webhookOfPage,
  webhookPlace,
  webhooksFailed,
  webhooksSucceeded,
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

type WebhookSubscription =
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
        at: clock.now(),
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

/** Longer than an attempt. */
const claimMs = 60_000;
const shares = { all: 32, subject: 2, host: 10, organisation: 10, failing: 10 } as const;
/** One that accepted nothing for so long, while there was something to send, is switched off. */
const offAfterMs = 3 * 86_400_000;

const boxShape = z.object({ url: z.string(), secret: z.string() });

const types = { began: 'incident.opened', over: 'incident.resolved', post: 'incident.updated' };

type DueUpdate = Omit<SubscriberNotice, 'email'> & { readonly created_at: number };

/** Updates for subscribers by webhook, under one `webhook-id` until they are accepted. */
export function createWebhookDelivery(deps: WebhookDependencies & SendingDependencies): Sending {
  return createSending(updateKind(deps), deps);
}

function updateKind(deps: WebhookDependencies): Kind<DueUpdate> {
  const { clock } = deps;
  return {
    name: 'update',
    claimMs,
    shares,
    pauses: { ...usualPauses, afterMs: usualPauses.afterMs.slice(1), longestAskedMs: 0 },
    keepsAll: false,
    receivers: (sql) => sql`
      select s.id, s.host, p.organisation_id as organisation,
        s.failing_since is not null as is_failing, 0 as turn
      from status_page_subscribers s join status_pages p on p.id = s.page_id`,
    columns: (sql) => sql`
      d.subscriber_id as subscriber, d.told ->> 'incident' as incident, d.event,
      d.told ->> 'post' as post, d.created_at`,
    tables: (sql) => sql``,
    attempt: async (delivery) => {
      const outgoing = await updateFor(deps, delivery);
      // Unsubscribed, switched off, deleted or no longer shown: there is nothing to say.
      if (outgoing === undefined)
        return { verdict: { is: 'cancelled' }, status: null, class: null };
      return { ...attempted(await deps.send(outgoing)), answer: null };
    },
    settle: async (transaction, outcomes, write) => {
      const now = clock.now();
      const of = (...verdicts: readonly Outcome['verdict'][]) =>
        outcomes.flatMap(({ verdict, subject }) => (verdicts.includes(verdict) ? [subject] : []));
      await lockSubscribers(transaction, of('delivered', 'retry', 'gone'));
      await write();
      await deleteWebhooks(transaction, of('gone'));
      await webhooksSucceeded(transaction, of('delivered'));
      const off = await webhooksFailed(transaction, of('retry'), {
        at: now,
        offBefore: now - offAfterMs,
      });
      await cancelWaiting(transaction, 'update', off, now);
    },
  };
}

async function updateFor(
  { sql, clock, accountSecrets, secrets, baseUrl }: WebhookDependencies,
  delivery: DueUpdate & Pick<Claimed, 'id'>,
): Promise<Outgoing | undefined> {
  const { id, subscriber, incident, event, post, created_at } = delivery;
  const to = await webhookOfPage(sql, subscriber);
  const sent = await sentIncident(sql, subscriber, incident, post);
  if (to === undefined || sent === undefined) return undefined;
  const { url, secret } = boxShape.parse(
    JSON.parse(await secrets.open(sql, to.box, pageWebhookOf(subscriber))),
  );
  const origin = originOf(to, baseUrl());
  const { subject, sentence } = updateWords(to, sent);
  return signedPost({
    url,
    secrets: [secret],
    id,
    now: clock.now(),
    content: {
      type: types[event],
      timestamp: isoText(created_at),
      data: {
        page: { name: to.title, url: origin },
        incident: {
          id: incident,
          name: sent.name,
          status: sent.kind,
          started_at: isoText(sent.started_at),
          resolved_at: isoText(sent.resolved_at),
        },
        title: subject,
        text: sentence,
        unsubscribe: `${origin}/leave/${await leavingLink(accountSecrets, subscriber)}`,
      },
    },
  });
}
