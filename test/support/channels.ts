import type { Sql } from '../../coordinator/database/connect.ts';
import type { ChannelsPart } from '../../coordinator/notifications/channels.ts';
import { kindOf } from '../../coordinator/notifications/kinds/index.ts';
import type { Outgoing, OutgoingRequest } from '../../coordinator/notifications/kinds/types.ts';
import type { Notification, NotifiedMonitor } from '../../coordinator/notifications/message.ts';
import { createNotifications } from '../../coordinator/notifications/setup.ts';
import { createSecretsAtRest } from '../../coordinator/secrets/at-rest.ts';
import { createLog } from '../../shared/base/log.ts';
import { type Clock, systemClock } from '../../shared/base/time.ts';
import { challengeIn } from './receivers.ts';

/**
 * For test files: the kinds of channels and their sender, as the server has them; they reach this
 * machine, and hooks.example.org, which no test can run, wants every event.
 */

export const testChannels = (
  sql: Sql,
  secretKey: string,
  clock: Clock = systemClock,
): ChannelsPart => {
  const { channels } = createNotifications({
    sql,
    clock,
    log: createLog({ name: 'notifier', level: 'silent' }),
    secrets: createSecretsAtRest(secretKey),
    config: { SECRET_KEY: secretKey, ALERT_ALLOW_CIDRS: ['127.0.0.0/8', '::1'] },
    baseUrl: () => 'https://antipode.test',
    results: { within: async () => [] },
  });
  const sendEvent: ChannelsPart['sendEvent'] = async (outgoing) => {
    const isThere = outgoing.by === 'https' && new URL(outgoing.url).host === 'hooks.example.org';
    const body = isThere ? challengeIn({ body: Buffer.from(outgoing.body ?? '') }) : undefined;
    return body === undefined
      ? channels.sendEvent(outgoing)
      : { is: 'answer', status: 200, headers: {}, body };
  };
  return { ...channels, sendEvent };
};

/** For tests of channels: what is told, and a config for each kind. */

export const at = Date.UTC(2026, 10, 22, 18, 5, 4);

export const monitorOf = (more: Partial<NotifiedMonitor> = {}): NotifiedMonitor => ({
  id: '0190c0de-0000-7000-8000-000000000001',
  incident: '0190c0de-0000-7000-8000-00000000000a',
  event: 'down',
  name: 'Checkout',
  group: 'Shop',
  target: 'https://shop.example/checkout',
  cause: 'status 503, expected 2xx',
  started_at: at - 12_000,
  confirmed_at: at - 9_000,
  resolved_at: null,
  seen_from: 'Frankfurt, Europe',
  confirmed_from: 'Tokyo, Asia',
  matrix: 'down from Europe, Asia; up from North America',
  cause_id: '0190c0de-0000-7000-8000-0000000000ca',
  ...more,
});

export const toldOf = (more: Partial<Notification> = {}): Notification => ({
  event: 'down',
  sentence: 'Checkout is down: status 503, expected 2xx.',
  monitors: [monitorOf()],
  others_down: { count: 0, names: [] },
  links: {
    incident: 'https://antipode.example/incidents/0190c0de-0000-7000-8000-00000000000a',
    acknowledge: 'https://antipode.example/acknowledge/sva_3Nw8k2',
    acknowledge_short: 'https://antipode.example/a/9ix3Nw8k2Qm4svu7RzT1',
    why: 'https://antipode.example/alerts/41/why',
    channel: 'https://antipode.example/alerts/channels/7',
    unsubscribe: 'https://antipode.example/unsubscribe/svu_9Qm4',
  },
  organisation: 'Shop & Söhne',
  time_zone: 'UTC',
  key: 'a-41',
  thread: { key: 'a-41', reference: null, over: false },
  at,
  ...more,
});

/** The end of the outage that `toldOf` tells of. */
export const overOf = (more: Partial<Notification> = {}): Notification =>
  toldOf({
    event: 'up',
    sentence: 'Checkout was down for 6 min.',
    monitors: [monitorOf({ event: 'up', resolved_at: at + 348_000 })],
    key: 'a-42',
    thread: { key: 'a-41', reference: '17', over: true },
    at: at + 350_000,
    ...more,
  });

/** A config that each kind takes. */
export const configs: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  email: { address: 'ops@shop.example' },
  slack: { url: 'https://hooks.slack.com/services/T000/B000/XXXXXXXXXXXXXXXX' },
  teams: {
    url: 'https://prod-12.westeurope.logic.azure.com:443/workflows/abc/triggers/manual/paths/invoke?api-version=2016-06-01&sig=s3',
  },
  discord: {
    url: 'https://discord.com/api/webhooks/123456789012345678/abcdefghijklmnopqrstuvwxyz-_ABC',
  },
  google_chat: { url: 'https://chat.googleapis.com/v1/spaces/AAAA/messages?key=k3&token=t4' },
  mattermost: { url: 'https://chat.shop.example/hooks/abc123' },
  telegram: {
    token: '110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw',
    chat: '-1001234567890',
    thread: '5',
  },
  matrix: { url: 'https://matrix.shop.example', token: 'syt_secret', room: '!abc:shop.example' },
  zulip: {
    url: 'https://zulip.shop.example',
    bot: 'bot@zulip.shop.example',
    key: 'k3y',
    channel: 'ops',
  },
  web_push: {
    endpoint: 'https://push.example/send/abc',
    p256dh:
      'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
    auth: 'BTBZMqHH6r4Tts7J_aSIgg',
  },
  ntfy: { url: 'https://ntfy.sh', topic: 'shop-7Qz', token: 'tk_secret' },
  gotify: { url: 'https://gotify.shop.example/', token: 'Asecret' },
  pushover: { token: 'a'.repeat(30), user: 'u'.repeat(30), priority: 'emergency' },
  twilio_sms: {
    account: `AC${'0'.repeat(32)}`,
    token: 't'.repeat(32),
    from: '+15005550006',
    to: '+4915112345678',
  },
  pagerduty: { key: 'R'.repeat(32) },
  incident_io: { url: 'https://api.incident.io/v2/alert_events/http/01HXYZ', token: 'sekrit' },
  webhook: {
    url: 'https://shop.example/hook',
    secret: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
  },
  apprise: { url: 'https://apprise.shop.example', key: 'k-9Zq3' },
};

export const made = (
  id: string,
  notification: Notification,
  more: Readonly<Record<string, string>> = {},
): Outgoing => {
  const kind = kindOf(id);
  if (kind === undefined) throw new Error(`no kind ${id}`);
  return kind.message(notification, { ...configs[id], ...more }, notification.at + 1_000);
};

export const requestOf = (outgoing: Outgoing): OutgoingRequest => {
  if (outgoing.by !== 'https') throw new Error(`goes by ${outgoing.by}`);
  return outgoing;
};
export const bodyOf = (
  id: string,
  notification: Notification,
  more: Readonly<Record<string, string>> = {},
): string => {
  const { body, headers } = requestOf(made(id, notification, more));
  return headers['content-type'] === 'application/json'
    ? body
    : JSON.stringify(Object.fromEntries(new URLSearchParams(body)));
};
export const jsonOf = (
  id: string,
  notification: Notification,
  more: Readonly<Record<string, string>> = {},
): unknown => JSON.parse(bodyOf(id, notification, more));

export const textsOf = (value: unknown): string[] => {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : [];
};
