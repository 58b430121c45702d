import { createHmac, randomBytes } from 'node:crypto';
import { isoText } from '../../../shared/base/time.ts';
import { isWarning, type Notification } from '../message.ts';
import {
  type ChannelKind,
  judgeHttp,
  type OutgoingRequest,
  secretField,
  secretUrlField,
  value,
} from './types.ts';

/** Event names of webhooks: a noun, a full stop, what happened. */
const types = {
  down: 'incident.down',
  up: 'incident.up',
  was_down: 'incident.was_down',
  closed: 'incident.closed',
  reminder: 'incident.reminder',
  acknowledged: 'incident.acknowledged',
  flapping: 'monitor.flapping',
  warning: 'warning.started',
  warning_over: 'warning.ended',
  test: 'test',
} as const;

export function newSigningSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

/**
 * A POST as Standard Webhooks has it, signed once with each secret: while one is replaced, two are
 * valid. `id`: the same for every attempt at one message.
 */
export function signedPost({
  url,
  secrets,
  id,
  now,
  content: about,
  headers = {},
}: {
  readonly url: string;
  readonly secrets: readonly string[];
  readonly id: string;
  readonly now: number;
  readonly content: unknown;
  readonly headers?: { readonly [name: string]: string };
}): OutgoingRequest {
  const body = JSON.stringify(about);
  const timestamp = String(Math.floor(now / 1_000));
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  });
  return {
    by: 'https',
    method: 'POST',
    url,
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': signatures.join(' '),
      ...headers,
    },
    body,
  };
}

/** What programs get: everything that is known, under stable names. */
function content(notification: Notification) {
  return {
    type: types[notification.event],
    timestamp: new Date(notification.at).toISOString(),
    data: {
      organisation: notification.organisation,
      sentence: notification.sentence,
      ...(isWarning(notification)
        ? {
            warnings: notification.monitors.map(({ id, name, group, target, ...warning }) => ({
              event: types[warning.event],
              monitor: { id, name, group, target },
              text: warning.cause,
              started_at: isoText(warning.started_at),
              ended_at: isoText(warning.resolved_at),
            })),
          }
        : {}),
      incidents: (isWarning(notification) ? [] : notification.monitors).map((monitor) => ({
        id: monitor.incident,
        event: types[monitor.event],
        monitor: {
          id: monitor.id,
          name: monitor.name,
          group: monitor.group,
          target: monitor.target,
        },
        cause: monitor.cause,
        cause_id: monitor.cause_id,
        started_at: isoText(monitor.started_at),
        confirmed_at: isoText(monitor.confirmed_at),
        resolved_at: isoText(monitor.resolved_at),
        seen_from: monitor.seen_from,
        confirmed_from: monitor.confirmed_from,
        matrix: monitor.matrix,
      })),
      others_down: notification.others_down,
      thread: { key: notification.thread.key, over: notification.thread.over },
      links: {
        incident: notification.links.incident,
        acknowledge: notification.links.acknowledge,
        why: notification.links.why,
        channel: notification.links.channel,
      },
    },
  };
}

export const webhook: ChannelKind = {
  id: 'webhook',
  name: 'Webhook',
  about: 'Posts signed JSON to your URL (Standard Webhooks).',
  family: 'webhook',
  fields: {
    url: secretUrlField(
      'URL',
      'Receives a POST with JSON for every event of every monitor, at once. Only the host is shown later, because the URL is often a secret.',
    ),
    secret: {
      ...secretField(
        'Secret',
        'Created here and shown once. Use it to verify signatures.',
        /^whsec_[A-Za-z0-9+\/]{32,86}={0,2}$/v,
        'must begin with whsec_',
      ),
      input: 'generated',
    },
    authorization: {
      ...secretField(
        'Authorization',
        'The value of the Authorization header, if your server requires one.',
        /^[\x20-\x7e]{1,500}$/v,
        'must be up to 500 visible characters',
      ),
      optional: true,
    },
  },
  message: (notification, config, now) =>
    signedPost({
      url: value(config, 'url'),
      secrets: [value(config, 'secret')],
      id: notification.key,
      now,
      content: content(notification),
      headers: config.authorization === undefined ? {} : { authorization: config.authorization },
    }),
  // Other answers of someone's program may be gone tomorrow; 410 alone is final.
  judge: judgeHttp({ refused: { 410: 'the server says that this URL is gone' } }),
  gathers: false,
  safe: 'key',
};
