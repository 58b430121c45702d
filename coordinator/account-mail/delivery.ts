import type { Starts } from '../../shared/actor/supervisor.ts';
import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { Queryable, Sql } from '../database/connect.ts';
import { listenTo } from '../database/listen.ts';
import { inTransaction } from '../database/sql.ts';
import { leavingLink } from '../notifications/links.ts';
import { linkChannel } from '../notifications/queries.ts';
import {
  insertReset,
  invitationById,
  linkInvitation,
  linkSignUp,
  linkVerification,
  userByEmail,
  writeKeepLink,
} from '../people/queries.ts';
import { linkLifetimes } from '../people/sessions.ts';
import type { AccountSecrets, SecretKind } from '../secrets/account-secrets.ts';
import { optInMail, updateMail } from '../status-pages/mails.ts';
import { originOf } from '../status-pages/public/snapshot.ts';
import { linkSubscriber, sentIncident, subscriberOfPage } from '../status-pages/subscribers.ts';
import { type Mail, mailChannel, mailFailed, mailSent, takeMails } from './queries.ts';
import { MailRefused, type MailSender } from './sender.ts';
import {
  accountExistsMail,
  addressChangeMail,
  asHtml,
  assignedMail,
  asText,
  channelMail,
  invitationMail,
  lastResortMail,
  notDeliveringMail,
  noticeMail,
  organisationMail,
  passwordResetMail,
  privateProbeMail,
  signUpMail,
  unsubscribedMail,
  verificationMail,
  type Words,
  webhookOffMail,
} from './templates.ts';

type Dependencies = {
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn' | 'info'>;
  readonly sender: MailSender;
  readonly accountSecrets: AccountSecrets;
  readonly baseUrl: () => string;
};

/** Sends waiting mails: at least once each, and until a server accepts or refuses them. */
export type Mailer = { readonly tick: () => Promise<void> };

const second = 1_000;

/** How long a claimed mail belongs to one coordinator; longer than the server's timeout. */
const takenMs = 120 * second;
const atOnce = 2;
const pauses = [1 * second, 5 * second, 30 * second, 120 * second, 600 * second] as const;
/** Including hourly attempts for a day. */
const maxAttempts = pauses.length + 24;

type Addressed = {
  readonly to: string;
  readonly words: Words;
  readonly headers?: { readonly [name: string]: string };
};

type PageMail = Extract<Mail, { readonly kind: 'page-opt-in' | 'page-update' }>;

export function createMailer({
  sql,
  clock,
  log,
  sender,
  accountSecrets,
  baseUrl,
}: Dependencies): Mailer {
  const link = async (
    kind: SecretKind,
    path: string,
  ): Promise<{ address: string; fingerprint: Buffer }> => {
    const { text, fingerprint } = await accountSecrets.mint(kind);
    return { address: `${baseUrl()}/${path}/${text}`, fingerprint };
  };
  const signInPage = (): string => `${baseUrl()}/sign-in`;

  /** For a subscriber of a status page: the confirmation mail, or news of the page. */
  const composeOfPage = async (
    transaction: Queryable,
    mail: PageMail,
  ): Promise<Addressed | undefined> => {
    if (mail.kind === 'page-opt-in') {
      const { text, fingerprint } = await accountSecrets.mint('page opt-in');
      const asked = await linkSubscriber(transaction, mail.about.subscriber, fingerprint);
      return (
        asked && {
          to: asked.email,
          words: optInMail(asked, `${originOf(asked, baseUrl())}/confirm/${text}`),
        }
      );
    }
    const { subscriber, incident, post } = mail.about;
    const to = await subscriberOfPage(transaction, subscriber);
    const told = await sentIncident(transaction, subscriber, incident, post);
    if (to === undefined || told === undefined) return undefined;
    const page = originOf(to, baseUrl());
    const leave = `${page}/leave/${await leavingLink(accountSecrets, subscriber)}`;
    // Mail programs show this as a button of their own (RFC 8058).
    const headers = {
      'List-Unsubscribe': `<${leave}>`,
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    };
    return { to: to.email, words: updateMail(to, told, { page, leave }), headers };
  };

  /**
   * The mail to send; undefined when there is nothing to say any more. Its link is made now, and
   * stored as a fingerprint.
   */
  const compose = async (transaction: Queryable, mail: Mail): Promise<Addressed | undefined> => {
    const now = clock.now();
    if (mail.kind === 'page-opt-in' || mail.kind === 'page-update')
      return composeOfPage(transaction, mail);
    if (mail.kind === 'notice')
      return {
        to: mail.recipient,
        words: noticeMail(mail.about.what, mail.about.detail, signInPage()),
      };
    if (mail.kind === 'last-resort') {
      const { names, count, incident } = mail.about;
      const address = count === 1 ? `${baseUrl()}/incidents/${incident}` : `${baseUrl()}/incidents`;
      return { to: mail.recipient, words: lastResortMail(names, count, address) };
    }
    if (mail.kind === 'not-delivering') {
      const { channel, name, failure } = mail.about;
      return {
        to: mail.recipient,
        words: notDeliveringMail(name, failure, `${baseUrl()}/alerts/${channel}`),
      };
    }
    if (mail.kind === 'webhook-off') {
      const { webhook, name, because } = mail.about;
      return {
        to: mail.recipient,
        words: webhookOffMail(name, because, `${baseUrl()}/webhooks/${webhook}`),
      };
    }
    if (mail.kind === 'private-probe')
      return { to: mail.recipient, words: privateProbeMail(mail.about.message, `${baseUrl()}/`) };
    if (mail.kind === 'organisation')
      return {
        to: mail.recipient,
        words: organisationMail(mail.about, `${baseUrl()}/organisation`),
      };
    if (mail.kind === 'assigned') {
      const { incident, name, by } = mail.about;
      const words = assignedMail(name, by, `${baseUrl()}/incidents/${incident}`);
      return { to: mail.recipient, words };
    }
    if (mail.kind === 'unsubscribed')
      return {
        to: mail.recipient,
        words: unsubscribedMail(mail.about.organisation, mail.about.address, `${baseUrl()}/alerts`),
      };
    if (mail.kind === 'channel') {
      const { address, fingerprint } = await link('channel', 'confirm-channel');
      const organisation = await linkChannel(transaction, mail.about.channel, fingerprint);
      return organisation === undefined
        ? undefined
        : { to: mail.recipient, words: channelMail(organisation, address) };
    }
    if (mail.kind === 'sign-up') {
      if (await userByEmail(transaction, mail.recipient))
        return { to: mail.recipient, words: accountExistsMail(signInPage()) };
      const { address, fingerprint } = await link('sign-up', 'finish');
      const to = await linkSignUp(transaction, mail.about.sign_up, fingerprint);
      return to === undefined ? undefined : { to, words: signUpMail(address) };
    }
    if (mail.kind === 'e-mail') {
      const { address, fingerprint } = await link('e-mail', 'verify');
      const to = await linkVerification(transaction, mail.about.verification, fingerprint);
      return to === undefined ? undefined : { to, words: verificationMail(address) };
    }
    if (mail.kind === 'e-mail-change') {
      const { address, fingerprint } = await link('e-mail kept', 'keep');
      const wanted = await writeKeepLink(transaction, mail.about.verification, fingerprint);
      return wanted === undefined
        ? undefined
        : { to: mail.recipient, words: addressChangeMail(wanted, address) };
    }
    if (mail.kind === 'invitation') {
      const invitation = await invitationById(transaction, mail.about.invitation, new Date(now));
      if (!invitation) return undefined;
      const { address, fingerprint } = await link('invitation', 'join');
      await linkInvitation(transaction, invitation.id, fingerprint);
      const { email, organisation, inviter, role } = invitation;
      return { to: email, words: invitationMail(organisation, inviter, role, address) };
    }
    const user = await userByEmail(transaction, mail.recipient);
    if (!user) return undefined;
    const { address, fingerprint } = await link('password reset', 'reset');
    await insertReset(transaction, {
      fingerprint,
      user: user.id,
      at: new Date(now),
      expires_at: new Date(now + linkLifetimes.passwordReset),
    });
    // To the account's own address, whatever was typed.
    return { to: user.email, words: passwordResetMail(address) };
  };

  const fail = async (mail: Mail, error: unknown): Promise<void> => {
    const at = new Date(clock.now());
    const failure = error instanceof Error ? error.message : String(error);
    const isOver = error instanceof MailRefused || mail.attempts >= maxAttempts;
    const again = isOver ? null : new Date(at.getTime() + pauseAfter(mail.attempts));
    await mailFailed(sql, mail.id, { failure, at, again });
    log.warn(
      { err: error, mail: mail.id, kind: mail.kind, attempts: mail.attempts },
      isOver ? 'gave up on a mail that could not be delivered' : 'could not send a mail; retrying',
    );
  };

  const deliver = async (mail: Mail): Promise<void> => {
    const letter = await inTransaction(sql, (transaction) => compose(transaction, mail));
    if (letter !== undefined) {
      const { to, words, headers = {} } = letter;
      await sender.send({
        id: mail.id,
        to,
        subject: words.subject,
        text: asText(words),
        html: asHtml(words),
        headers,
      });
    }
    await mailSent(sql, mail.id, new Date(clock.now()));
  };

  return {
    tick: async () => {
      for (;;) {
        const taken = await takeMails(sql, new Date(clock.now()), takenMs, atOnce);
        if (taken.length === 0) return;
        // There is one connection, so mails are sent one after the other.
        for (const mail of taken) await deliver(mail).catch((error: unknown) => fail(mail, error));
      }
    },
  };
}

const hour = 3_600 * second;

function pauseAfter(attempts: number): number {
  return pauses[attempts - 1] ?? hour;
}

/** Sends waiting mails, at once when one arrives and every few seconds besides. */
export async function startMail(parts: {
  readonly supervisor: Starts<'mail'>;
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly sender: MailSender;
  readonly accountSecrets: AccountSecrets;
  readonly baseUrl: () => string;
  readonly everyMs: number;
  /** Cancels the wait of its start. */
  readonly signal: AbortSignal;
}): Promise<void> {
  const { supervisor, sql, log, everyMs, signal } = parts;
  const mailer = createMailer(parts);
  const { hurry } = supervisor.ticker('mail', { everyMs, tick: mailer.tick });
  const listening = await listenTo(sql, mailChannel, hurry, { log, signal });
  supervisor.part('mail', listening.unlisten);
}
