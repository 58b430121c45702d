import { createTicker } from '../../shared/actor/mailbox.ts';
import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { Sql } from '../store/store-database.ts';
import { postMails } from '../store/store-mails.ts';
import { forgetUnconfirmed, type Telling, takeUntoldIncidents, takeUntoldPosts } from '../store/store-page-subscribers.ts';
import { inTransaction } from '../store/store-sql-transactions.ts';
import { optInLifeMs } from './publishing-subscribing.ts';

const hour = 3_600_000;
/** What is older is no news: nobody is mailed of it, as after a long absence. */
const newsMs = 6 * hour;
const mostPosts = 50;

/** From posts and incidents to mails that wait: each once, also with several coordinators, because what is taken is marked in the same transaction. */
export const tellSubscribers = async (sql: Sql, now: number): Promise<number> => {
  const at = new Date(now);
  const post = (tellings: readonly Telling[]) =>
    tellings.map(({ email, ...about }) => ({ kind: 'page-update' as const, recipient: email, about, at }));
  return inTransaction(sql, async (transaction) => {
    const posts = await takeUntoldPosts(transaction, at, mostPosts);
    const incidents = await takeUntoldIncidents(transaction, at, new Date(now - newsMs));
    await postMails(transaction, [...post(posts), ...post(incidents)]);
    return posts.length + incidents.length;
  });
};

export const startTellingSubscribers = ({
  sql,
  clock,
  log,
  everyMs,
}: {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Pick<Log, 'error'>;
  readonly everyMs: number;
}): { readonly stop: () => Promise<void> } => {
  let cleanedAt = Number.NEGATIVE_INFINITY;
  return createTicker({
    everyMs,
    tick: async () => {
      const now = clock.now();
      await tellSubscribers(sql, now);
      if (now - cleanedAt < hour) return;
      await forgetUnconfirmed(sql, new Date(now - optInLifeMs));
      cleanedAt = now;
    },
    onFailure: (error) => log.error({ err: error }, 'subscribers of status pages could not be told; it is tried again'),
  });
};
