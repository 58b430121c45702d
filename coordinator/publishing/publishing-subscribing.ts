import { newId } from '../../shared/base/crypto.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { AccountSecrets } from '../access/access-account-secrets.ts';
import { type Attempts, hostOf, hourly } from '../access/access-attempts.ts';
import { leaverOf } from '../access/access-unsubscribe-links.ts';
import { emailFrom } from '../domain/organisation.ts';
import type { PageLanguage } from '../domain/status-page.ts';
import type { Sql } from '../store/store-database.ts';
import { postMail } from '../store/store-mails.ts';
import { askSubscriber, confirmSubscriber, removeSubscriber } from '../store/store-page-subscribers.ts';
import { inTransaction } from '../store/store-sql-transactions.ts';
import type { ReadPage } from './publishing-read-page.ts';

const hour = 3_600_000;
/** So long the link in the mail that asks is good. */
export const optInLifeMs = 48 * hour;

/** Who wants mails of a page, and who wants no more. */
export type Subscribing = {
  /** The same for whoever gets them already, and whoever was asked just now. @throws Refusal `email_invalid`, `too_many_attempts`. */
  readonly ask: (
    read: ReadPage,
    wanted: { readonly email: string; readonly language: PageLanguage; readonly address: string },
  ) => Promise<void>;
  /** False when the link is not good any more. */
  readonly confirm: (read: ReadPage, secret: string) => Promise<boolean>;
  /** False when we did not sign the link; else they get no more, whether they got any or not. */
  readonly leave: (read: ReadPage, link: string) => Promise<boolean>;
};

export const createSubscribing = (parts: {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly accountSecrets: AccountSecrets;
  readonly attempts: Attempts;
}): Subscribing => {
  const { sql, clock, accountSecrets, attempts } = parts;
  return {
    ask: async ({ id: page }, { email: given, language, address }) => {
      const email = emailFrom(given);
      const host = hostOf(address);
      // By host and mailbox together: no one floods a mailbox from here, and no one elsewhere keeps a subscription away.
      await attempts.count([
        { what: `page subscriptions from ${host}`, most: 20 },
        hourly(`page subscriptions of ${email.toLowerCase()} from ${host}`, 5),
      ]);
      const now = clock.now();
      const at = new Date(now);
      await inTransaction(sql, async (transaction) => {
        const subscriber = await askSubscriber(transaction, { id: newId(), page, email, language, at, notSince: new Date(now - hour) });
        if (subscriber !== undefined) await postMail(transaction, { kind: 'page-opt-in', recipient: email, about: { subscriber }, at });
      });
    },
    confirm: async ({ id: page }, secret) => {
      const now = clock.now();
      const fingerprint = await accountSecrets.fingerprint('page opt-in', secret);
      return confirmSubscriber(sql, page, fingerprint, { at: new Date(now), askedSince: new Date(now - optInLifeMs) });
    },
    leave: async ({ id: page }, link) => {
      const subscriber = await leaverOf(accountSecrets, link);
      if (subscriber === undefined) return false;
      await removeSubscriber(sql, page, subscriber);
      return true;
    },
  };
};
