import type { Starts } from '../../../shared/actor/supervisor.ts';
import { newId } from '../../../shared/base/crypto.ts';
import type { Clock } from '../../../shared/base/time.ts';
import { postMail, postMails } from '../../account-mail/queries.ts';
import type { Sql } from '../../database/connect.ts';
import { inTransaction } from '../../database/sql.ts';
import { type Attempts, hostOf, hourly } from '../../gate/attempts.ts';
import { subscriberOf } from '../../notifications/links.ts';
import { emailFrom } from '../../organisations/model.ts';
import type { PageLanguage } from '../model.ts';
import {
  type ConfirmationLink,
  confirmSubscriber,
  forgetUnconfirmed,
  insertUnconfirmed,
  removeSubscriber,
  takeUnsentIncidents,
  takeUnsentPosts,
  takeUnsentUpdates,
  type WaitingPage,
  waitingPages,
} from '../subscribers.ts';
import { insertDeliveries } from '../webhook-queries.ts';
import type { ReadPage } from './queries.ts';
import { createWebhookSubscribing, type WebhookDependencies } from './webhooks.ts';

const hour = 3_600_000;
/** How long the confirmation link is valid. */
const optInLifetimeMs = 48 * hour;

/** Subscribes and unsubscribes readers of a page. */
export type Subscribing = {
  /**
   * The same answer for existing subscribers, and for addresses that were asked just now. @throws
   * Refusal `email_invalid`, `too_many_attempts`.
   */
  readonly ask: (
    read: ReadPage,
    wanted: { readonly email: string; readonly language: PageLanguage; readonly address: string },
  ) => Promise<void>;
  /** By webhook: it takes as long as the server that is asked. */
  readonly webhook: ReturnType<typeof createWebhookSubscribing>;
  /** The pages that one answer confirms: the link's own, and what else the mailbox asked for. */
  readonly waiting: (read: ReadPage, secret: string) => Promise<readonly WaitingPage[]>;
  /** False when the link is no longer valid. `slugs`: the pages that it showed. */
  readonly confirm: (read: ReadPage, secret: string, slugs: readonly string[]) => Promise<boolean>;
  /**
   * False when we did not sign the link; otherwise they get no more mails, whether they were
   * subscribed or not.
   */
  readonly leave: (read: ReadPage, link: string) => Promise<boolean>;
};

export function createSubscribing(
  parts: WebhookDependencies & { readonly attempts: Attempts },
): Subscribing {
  const { sql, clock, accountSecrets, attempts } = parts;
  const linkOf = async ({ id: page }: ReadPage, secret: string): Promise<ConfirmationLink> => ({
    page,
    fingerprint: await accountSecrets.fingerprint('page opt-in', secret),
    askedSince: clock.now() - optInLifetimeMs,
  });
  return {
    webhook: createWebhookSubscribing(parts),
    ask: async ({ id: page }, { email: given, language, address }) => {
      const email = emailFrom(given);
      const host = hostOf(address);
      // By host and mailbox together: no one can flood a mailbox from here, and no one elsewhere
      // can block a subscription.
      await attempts.count([
        { what: `page subscriptions from ${host}`, most: 20 },
        hourly(`page subscriptions of ${email.toLowerCase()} from ${host}`, 5),
      ]);
      const now = clock.now();
      await inTransaction(sql, async (transaction) => {
        const subscriber = await insertUnconfirmed(transaction, {
          id: newId(),
          page,
          email,
          language,
          at: now,
          notSince: now - hour,
        });
        if (subscriber !== undefined)
          await postMail(transaction, {
            kind: 'page-opt-in',
            recipient: email,
            about: { subscriber },
            at: now,
          });
      });
    },
    waiting: async (read, secret) => waitingPages(sql, await linkOf(read, secret)),
    confirm: async (read, secret, slugs) =>
      confirmSubscriber(sql, await linkOf(read, secret), clock.now(), slugs),
    leave: async ({ id: page }, link) => {
      const subscriber = await subscriberOf(accountSecrets, link);
      if (subscriber === undefined) return false;
      await removeSubscriber(sql, page, subscriber);
      return true;
    },
  };
}

/**
 * Older posts are no longer news: no one is mailed about them, for example after a long absence.
 */
const newsMs = 6 * hour;
const maxPosts = 50;

/**
 * Turns posts and incidents into waiting mails and deliveries. Each is sent once, even with several
 * coordinators, because it is marked in the same transaction.
 */
export async function notifySubscribers(
  sql: Sql,
  { now, hasMail }: { readonly now: number; readonly hasMail: boolean },
): Promise<number> {
  return inTransaction(sql, async (transaction) => {
    const notices = [
      ...(await takeUnsentPosts(transaction, now, maxPosts)),
      ...(await takeUnsentUpdates(transaction, now, maxPosts)),
      ...(await takeUnsentIncidents(transaction, now, now - newsMs)),
    ];
    const mails = notices.flatMap(({ email, ...about }) =>
      email === null || !hasMail
        ? []
        : [{ kind: 'page-update' as const, recipient: email, about, at: now }],
    );
    const deliveries = notices.flatMap(({ email, ...about }) =>
      email === null ? [{ id: newId(), ...about }] : [],
    );
    await postMails(transaction, mails);
    await insertDeliveries(transaction, deliveries, now);
    return notices.length;
  });
}

export function startNotifyingSubscribers({
  supervisor,
  sql,
  clock,
  everyMs,
  hasMail,
}: {
  readonly supervisor: Starts<'page mails'>;
  readonly sql: Sql;
  readonly clock: Clock;
  readonly everyMs: number;
  readonly hasMail: boolean;
}): void {
  let cleanedAt = Number.NEGATIVE_INFINITY;
  supervisor.ticker('page mails', {
    everyMs,
    tick: async () => {
      const now = clock.now();
      await notifySubscribers(sql, { now, hasMail });
      if (now - cleanedAt < hour) return;
      await forgetUnconfirmed(sql, now - optInLifetimeMs);
      cleanedAt = now;
    },
  });
}
