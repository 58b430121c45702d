import { createTicker } from '../../shared/actor/mailbox.ts';
import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { AccountSecrets } from '../access/access-account-secrets.ts';
import type { Sql } from '../store/store-database.ts';
import { listenTo } from '../store/store-database-listening.ts';
import { mailChannel } from '../store/store-mails.ts';
import type { MailSender } from './mail-sender.ts';
import { createMailer } from './mailer.ts';

/** Sends what waits, at once when something comes and every few seconds besides. */
export const startMail = async (parts: {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly sender: MailSender;
  readonly accountSecrets: AccountSecrets;
  readonly baseUrl: () => string;
  readonly everyMs: number;
  /** Ends the waiting of its start. */
  readonly signal: AbortSignal;
}): Promise<{ readonly stop: () => Promise<void> }> => {
  const { sql, log, everyMs, signal } = parts;
  const mailer = createMailer(parts);
  const onFailure = (error: unknown): void => log.error({ err: error }, 'mails could not be looked for; it is tried again');
  const ticker = createTicker({ everyMs, tick: mailer.tick, onFailure });
  try {
    const listening = await listenTo(sql, mailChannel, ticker.hurry, { log, signal });
    return {
      stop: async () => {
        await listening.unlisten();
        await ticker.stop();
      },
    };
  } catch (error) {
    await ticker.stop();
    throw error;
  }
};
