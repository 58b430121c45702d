import type { Starts } from '../../shared/actor/supervisor.ts';
import type { Queryable } from '../database/connect.ts';
import { listenTo } from '../database/listen.ts';
import { inTransaction } from '../database/sql.ts';
import { type Answered, usualPauses } from '../deliveries/model.ts';
import {
  type Claimed,
  createSending,
  type Kind,
  type Sending,
  type SendingDependencies,
  startSending,
} from '../deliveries/sending.ts';
import { leavingLink } from '../notifications/links.ts';
import { linkChannel } from '../notifications/queries.ts';
import { insertOneTime, linkAddress, writeKeepLink } from '../people/one-time.ts';
import { invitationById, linkInvitation, userByEmail } from '../people/queries.ts';
import { linkLifetimes } from '../people/sessions.ts';
import type { AccountSecrets, SecretKind } from '../secrets/account-secrets.ts';
import { optInMail, updateMail } from '../status-pages/mails.ts';
import { originOf } from '../status-pages/public/snapshot.ts';
import { linkSubscriber, sentIncident, subscriberOfPage } from '../status-pages/subscribers.ts';
import { type Mail, mailboxOfReport, mailChannel, mailShape } from './queries.ts';
import { MailRefused, type MailSender, mailCodeOf } from './sender.ts';
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
  reportMail,
  signUpMail,
  unsubscribedMail,
  verificationMail,
  type Words,
  webhookOffMail,
} from './templates.ts';

type MailDependencies = SendingDependencies & {
  readonly sender: MailSender;
  readonly accountSecrets: AccountSecrets;
  readonly baseUrl: () => string;
};

/** Longer than the server's timeout. */
const claimMs = 120_000;
/** One after the other, over one connection. */
const shares = { all: 1, subject: 1, host: 1, organisation: 1, failing: 1 };

type Addressed = {
  readonly to: string;
  readonly words: Words;
  readonly headers?: { readonly [name: string]: string };
};

type PageMail = Extract<Mail, { readonly kind: 'page-opt-in' | 'page-update' }>;

type WaitingMail = { readonly mail: unknown };

/** Mails for accounts, owners and subscribers. */
function mailKind({
  sql,
  clock,
  log,
  sender,
  accountSecrets,
  baseUrl,
}: MailDependencies): Kind<WaitingMail> {
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
    return {
      to: to.email,
      words: updateMail(to, told, { page, leave }),
      headers: leavingHeaders(leave),
    };
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
    if (mail.kind === 'report') {
      const { mail: id, address } = mail.about;
      const to = await mailboxOfReport(transaction, id);
      if (to === undefined) return undefined;
      const link = await leavingLink(accountSecrets, id, 'report leaving');
      const leave = `${baseUrl()}/reports/leave/${link}`;
      const words = reportMail(mail.about, `${baseUrl()}${address}`, leave);
      return { to, words, headers: leavingHeaders(leave) };
    }
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
      const to = await linkAddress(transaction, mail.about.sign_up, fingerprint);
      return to === undefined ? undefined : { to, words: signUpMail(address) };
    }
    if (mail.kind === 'e-mail') {
      const { address, fingerprint } = await link('e-mail', 'verify');
      const to = await linkAddress(transaction, mail.about.verification, fingerprint);
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
      const invitation = await invitationById(transaction, mail.about.invitation, now);
      if (!invitation) return undefined;
      const { address, fingerprint } = await link('invitation', 'join');
      await linkInvitation(transaction, invitation.id, fingerprint);
      const { email, organisation, inviter, role } = invitation;
      return { to: email, words: invitationMail(organisation, inviter, role, address) };
    }
    const user = await userByEmail(transaction, mail.recipient);
    if (!user) return undefined;
    const { address, fingerprint } = await link('password reset', 'reset');
    await insertOneTime(transaction, {
      kind: 'password reset',
      fingerprint,
      user: user.id,
      expires_at: now + linkLifetimes.passwordReset,
    });
    // To the account's own address, whatever was typed.
    return { to: user.email, words: passwordResetMail(address) };
  };

  const send = async (id: string, mail: Mail): Promise<Answered> => {
    const letter = await inTransaction(sql, (transaction) => compose(transaction, mail));
    if (letter === undefined) return { ...unanswered, verdict: { is: 'cancelled' } };
    const { to, words, headers = {} } = letter;
    const { subject } = words;
    await sender.send({ id, to, subject, text: asText(words), html: asHtml(words), headers });
    return { ...unanswered, verdict: { is: 'delivered' } };
  };

  const attempt = async ({ id, attempts, mail }: WaitingMail & Claimed): Promise<Answered> => {
    const parsed = mailShape.parse(mail);
    try {
      return await send(id, parsed);
    } catch (error) {
      const words = error instanceof Error ? error.message : String(error);
      log.warn({ err: error, mail: id, kind: parsed.kind, attempts }, 'could not send a mail');
      return {
        status: mailCodeOf(error),
        class: 'mail',
        verdict: { is: error instanceof MailRefused ? 'refused' : 'retry', words },
      };
    }
  };

  return {
    name: 'mail',
    claimMs,
    shares,
    pauses: usualPauses,
    keepsAll: false,
    receivers: (transaction) => transaction`
      select '00000000-0000-0000-0000-000000000000'::uuid as id, 'mail' as host,
        null::uuid as organisation, false as is_failing, 0 as turn`,
    columns: (transaction) => transaction`
      json_build_object('kind', d.event, 'recipient', d.recipient, 'about', d.told) as mail`,
    tables: (transaction) => transaction``,
    attempt,
    settle: async (_, __, write) => write(),
  };
}

/** Mail programs show this as a button of their own (RFC 8058). */
function leavingHeaders(leave: string): NonNullable<Addressed['headers']> {
  return {
    'List-Unsubscribe': `<${leave}>`,
    'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
  };
}

const unanswered = { status: null, class: 'mail' } as const;

export function createMailer(parts: MailDependencies): Sending {
  return createSending(mailKind(parts), parts);
}

/** Sends waiting mails, at once when one arrives and every few seconds besides. */
export async function startMail({
  supervisor,
  everyMs,
  signal,
  ...parts
}: MailDependencies & {
  readonly supervisor: Starts<'mail'>;
  readonly everyMs: number;
  /** Cancels the wait of its start. */
  readonly signal: AbortSignal;
}): Promise<void> {
  const { sql, log } = parts;
  const { hurry } = startSending(supervisor, 'mail', everyMs, createMailer(parts));
  const listening = await listenTo(sql, mailChannel, hurry, { log, signal });
  supervisor.part('mail', listening.unlisten);
}
