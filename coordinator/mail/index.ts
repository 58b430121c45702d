import { createTicker } from '../../shared/actor/ticker.ts';
import type { Clock } from '../../shared/base/clock.ts';
import type { Log } from '../../shared/base/log.ts';
import type { AccountSecrets } from '../access/account-secrets.ts';
import type { Sql } from '../store/database.ts';
import { mailChannel } from '../store/mails.ts';
import { createMailer } from './mailer.ts';
import type { MailSender } from './sender.ts';

/** Sends what waits, at once when something comes and every few seconds besides. */
export const startMail = async (parts: {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly sender: MailSender;
  readonly accountSecrets: AccountSecrets;
  readonly baseUrl: () => string;
  readonly everyMs: number;
}): Promise<{ readonly stop: () => Promise<void> }> => {
  const { sql, log, everyMs } = parts;
  const mailer = createMailer(parts);
  const onFailure = (error: unknown): void => log.error({ err: error }, 'mails could not be looked for; it is tried again');
  const ticker = createTicker({ everyMs, tick: mailer.tick, onFailure });
  const listening = await sql.listen(mailChannel, ticker.hurry);
  return {
    stop: async () => {
      await listening.unlisten();
      await ticker.stop();
    },
  };
};
