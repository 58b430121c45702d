import type { Log } from '../../shared/base/log.ts';
import type { Clock } from '../../shared/base/time.ts';
import { createMailSender, type MailSender } from '../account-mail/sender.ts';
import { type Config, dkimOf } from '../config.ts';
import type { Sql } from '../database/connect.ts';
import { type Figures, noFigures } from '../health/meters.ts';
import type { SecretsAtRest } from '../secrets/at-rest.ts';
import { classOf, createOpener } from './alert-sending.ts';
import {
  type ChannelsPart,
  hostOf,
  maskedChannelConfig,
  readChannelConfig,
  splitChannelConfig,
} from './channels.ts';
import { channelKinds, kindOf } from './kinds/index.ts';
import { judgeFailure } from './kinds/types.ts';
import { createAlertLinks, createMessageLinks, createVapidPair } from './links.ts';
import type { Notification } from './message.ts';
import { createNotifier, type Notifier, type NotifierDependencies } from './notifier.ts';
import {
  createSender,
  mailsAtOnce,
  prepareSending,
  type Sender,
  type SenderDependencies,
} from './transport.ts';

/** Everything that sends messages: for the notifier, and for testing a channel. */
export type Notifications = {
  readonly channels: ChannelsPart;
  /** Undefined where mail is not set up. */
  readonly mail: MailSender | undefined;
  /** To addresses of others, through the guard of addresses. */
  readonly send: Sender['send'];
  /** Pings a heartbeat. Undefined when it was accepted, otherwise why not, without the address. */
  readonly ping: (url: string) => Promise<string | undefined>;
  readonly startNotifier: (
    parts: Pick<
      NotifierDependencies,
      'supervisor' | 'everyMs' | 'fallbackMs' | 'isLeader' | 'ask' | 'warningTimes'
    > & { readonly place: string; readonly figures?: Figures },
  ) => Notifier;
  readonly close: () => Promise<void>;
};

type Dependencies = {
  readonly config: Pick<
    Config,
    | ('SECRET_KEY' | 'SECRET_KEY_PREVIOUS' | 'SMTP_URL' | 'MAIL_FROM' | 'ALERT_ALLOW_CIDRS')
    | ('MAIL_DKIM_DOMAIN' | 'MAIL_DKIM_SELECTOR' | 'MAIL_DKIM_KEY')
  >;
  readonly sql: Sql;
  readonly clock: Clock;
  readonly log: Log;
  readonly secrets: SecretsAtRest;
  readonly baseUrl: () => string;
  readonly results: NotifierDependencies['results'];
  readonly ownPlaces?: SenderDependencies['ownPlaces'];
};

const prepareAfterMs = 3_000;
const eventLimitMs = 15_000;
/** As many as are ever sent at once. */
const eventsToOneHost = 256;

const kinds: ChannelsPart['kinds'] = channelKinds.map(({ id, name, about, family, fields }) => ({
  id,
  name,
  about,
  family,
  fields: Object.entries(fields).map(
    ([field, { label, hint, secret, optional, input, choices, pattern }]) => ({
      name: field,
      label,
      input,
      choices: choices ?? [],
      pattern: pattern.source,
      hint: hint ?? null,
      secret: secret === true,
      optional: optional === true,
    }),
  ),
}));

export function createNotifications({
  config,
  sql,
  clock,
  log,
  secrets,
  baseUrl,
  results,
  ownPlaces,
}: Dependencies): Notifications {
  const keys = { secretKey: config.SECRET_KEY, previousKey: config.SECRET_KEY_PREVIOUS };
  const links = createAlertLinks(sql, keys);
  const vapid = createVapidPair(sql, keys);
  const mail =
    config.SMTP_URL === undefined || config.MAIL_FROM === undefined
      ? undefined
      : createMailSender({
          url: config.SMTP_URL,
          from: config.MAIL_FROM,
          dkim: dkimOf(config),
          connections: mailsAtOnce,
        });

  /** The contact for push services. */
  const subject = (): string => {
    const [, address] = /<?([^\s<>]+@[^\s<>]+?)>?$/.exec(config.MAIL_FROM ?? '') ?? [];
    if (address !== undefined) return `mailto:${address}`;
    return baseUrl().startsWith('https:') ? baseUrl() : 'mailto:antipode@localhost';
  };

  const sender = createSender({
    clock,
    allow: config.ALERT_ALLOW_CIDRS,
    ownPlaces,
    mail,
    vapid: async () => ({ ...(await vapid()), subject: subject() }),
  });
  const { send } = sender;

  const ping: Notifications['ping'] = async (url) => {
    const headers = { 'content-type': 'text/plain; charset=utf-8' };
    const answer = await send({ by: 'https', method: 'POST', url, headers, body: '' });
    if (answer.is === 'failure') return judgeFailure(answer.failure).words;
    const status = answer.is === 'answer' ? answer.status : 0;
    return status >= 200 && status < 300 ? undefined : `it answered ${status}`;
  };

  // Events may take longer, are limited by webhook instead of by host, and never hold up an alert.
  const events = createSender({
    clock,
    allow: config.ALERT_ALLOW_CIDRS,
    ownPlaces,
    mail: undefined,
    vapid: undefined,
    limitMs: eventLimitMs,
    toOneHost: eventsToOneHost,
  });

  const linksOf = createMessageLinks(links, baseUrl);

  const test: ChannelsPart['test'] = async (
    kind,
    settings,
    { key, name, channel, organisation },
  ) => {
    const row = kindOf(kind);
    // Nothing about a test is stored, so no link could unsubscribe from it.
    const about = await linksOf({
      id: key,
      key: null,
      channel,
      incidents: [],
      warned: null,
      mayAcknowledge: false,
      mailbox: null,
    });
    const notification: Notification = {
      event: 'test',
      monitors: [],
      organisation,
      time_zone: 'UTC',
      key,
      at: clock.now(),
      others_down: { count: 0, names: [] },
      sentence: `This is a test${name === null ? '' : ` of the channel ${name}`}: alerts of ${organisation} reach you here.`,
      // A test has no explanation either.
      links: { ...about, why: about.channel },
      thread: { key, reference: null, over: false },
    };
    const began = performance.now();
    if (row === undefined) throw new Error(`there is no kind of channel ${kind}`);
    const answer = await send(row.message(notification, settings, clock.now()));
    const verdict = row.judge(answer);
    const took_ms = Math.max(0, Math.round(performance.now() - began));
    return {
      ...classOf(answer),
      verdict: verdict.is,
      words: verdict.is === 'delivered' ? null : verdict.words,
      took_ms,
    };
  };

  return {
    mail,
    send,
    ping,
    channels: {
      kinds,
      links,
      test,
      sendEvent: events.send,
      read: (kind, sent, stored) => {
        const row = kindOf(kind);
        return row && readChannelConfig(row, sent, stored);
      },
      split: (kind, settings) => {
        const row = kindOf(kind);
        return row === undefined
          ? { open: {}, secrets: settings }
          : splitChannelConfig(row, settings);
      },
      shown: (kind, settings) => {
        const row = kindOf(kind);
        return row === undefined ? {} : maskedChannelConfig(row, settings);
      },
      host: (kind, settings) => {
        const row = kindOf(kind);
        return row === undefined ? null : hostOf(row, settings);
      },
      pushKey: async () => (await vapid()).public_key,
    },
    startNotifier: ({ figures = noFigures, ...parts }) => {
      const notifier = createNotifier({
        ...parts,
        sql,
        clock,
        log,
        kindOf,
        send,
        linksOf,
        results,
        figures,
        hasMail: mail !== undefined,
        openSecrets: createOpener(sql, secrets),
      });
      // Delayed: a start has more urgent work, and no outage is confirmed sooner.
      const preparing = setTimeout(() => {
        prepareSending().catch((error: unknown) =>
          log.warn({ err: error }, 'could not preload the senders; the first message loads them'),
        );
      }, prepareAfterMs).unref();
      return {
        ...notifier,
        close: async () => {
          clearTimeout(preparing);
          await notifier.close();
        },
      };
    },
    close: async () => {
      await sender.close();
      await events.close();
      mail?.close();
    },
  };
}
