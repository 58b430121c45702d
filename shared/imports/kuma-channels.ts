import { isRecord } from '../base/json.ts';
import type { Work } from './result.ts';
import { parsed, type Raw, type Row, rowOf } from './rows.ts';
import { omitUnread } from './settings.ts';

/** Notifications of Uptime Kuma: each kind that we have, with the names of its settings there. */

type Settings = { readonly secret: (field: string) => string; readonly row: Row };

const kinds: Readonly<
  Record<string, { readonly kind: string; readonly config: (settings: Settings) => Raw }>
> = {
  slack: { kind: 'slack', config: ({ secret }) => ({ url: secret('slackwebhookURL') }) },
  discord: { kind: 'discord', config: ({ secret }) => ({ url: secret('discordWebhookUrl') }) },
  webhook: { kind: 'webhook', config: ({ secret }) => ({ url: secret('webhookURL') }) },
  mattermost: {
    kind: 'mattermost',
    config: ({ secret }) => ({ url: secret('mattermostWebhookUrl') }),
  },
  GoogleChat: {
    kind: 'google-chat',
    config: ({ secret }) => ({ url: secret('googleChatWebhookURL') }),
  },
  telegram: {
    kind: 'telegram',
    config: ({ secret, row }) => ({
      token: secret('telegramBotToken'),
      chat: row.text('telegramChatID'),
      thread: row.text('telegramMessageThreadID'),
    }),
  },
  ntfy: {
    kind: 'ntfy',
    config: ({ secret, row }) => ({
      url: row.text('ntfyserverurl') || 'https://ntfy.sh',
      topic: row.text('ntfytopic'),
      token: secret('ntfyaccesstoken'),
    }),
  },
  gotify: {
    kind: 'gotify',
    config: ({ secret, row }) => ({
      url: row.text('gotifyserverurl'),
      token: secret('gotifyapplicationToken'),
    }),
  },
  pushover: {
    kind: 'pushover',
    config: ({ secret, row }) => ({
      token: secret('pushoverapptoken'),
      user: secret('pushoveruserkey'),
      device: row.text('pushoverdevice'),
    }),
  },
  matrix: {
    kind: 'matrix',
    config: ({ secret, row }) => ({
      url: row.text('homeserverUrl'),
      token: secret('accessToken'),
      room: row.text('internalRoomId'),
    }),
  },
  PagerDuty: {
    kind: 'pagerduty',
    config: ({ secret }) => ({ key: secret('pagerdutyIntegrationKey') }),
  },
};

/** What the notification says of itself once more, or about how it sends. */
const meaningless = new Set([
  'id',
  'name',
  'type',
  'isDefault',
  'applyExisting',
  'smtpHost',
  'smtpPort',
  'smtpUsername',
  'smtpPassword',
  'smtpFrom',
  'smtpSecure',
  'smtpIgnoreTLSError',
  'webhookContentType',
  'ntfyAuthenticationMethod',
  'slackchannelnotify',
]);

export function channelFrom(
  raw: Raw,
  about: { readonly monitors: readonly string[]; readonly groups: readonly string[] },
  work: Work,
): void {
  const outer = rowOf(raw);
  const given = outer.value('config');
  const config = typeof given === 'string' ? parsed(given) : given;
  const row = rowOf(isRecord(config) ? config : {}, meaningless);
  const name = outer.text('name') || row.text('name');
  const type = row.text('type');
  const shared = {
    enabled: outer.isOff('active') ? false : undefined,
    covers: 'chosen',
    ...about,
  };
  if (outer.isOn('is_default') || row.isOn('isDefault'))
    work.omit(name, 'applies to imported monitors only; edit the channel to include all.');
  if (type === 'smtp') {
    for (const address of row
      .text('smtpTo')
      .split(',')
      .map((one) => one.trim()))
      if (address !== '')
        work.add('channels', name, { ...shared, kind: 'email', config: { address } });
    omitUnread(row, name, work);
    return;
  }
  const known = Object.hasOwn(kinds, type) ? kinds[type] : undefined;
  if (known === undefined) {
    work.omit(
      name,
      `notifications of kind ${type || 'unknown'} are to be set up as a channel by hand.`,
    );
    return;
  }
  const secret = (field: string): string => {
    const value = row.text(field);
    return value === '' ? '' : work.secret(name, field, value);
  };
  work.add('channels', name, {
    ...shared,
    kind: known.kind,
    config: known.config({ secret, row }),
  });
  omitUnread(row, name, work);
}
