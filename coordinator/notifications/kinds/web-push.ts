import { createHash } from 'node:crypto';
import { bytes, cut, isUrgent, plainBody, subject } from './text.ts';
import { type ChannelKind, type Field, judgeHttp, value } from './types.ts';

/** An encrypted message may have 4,096 bytes; the envelope takes 103 of them. */
const maxBytes = 3_500;

export const webPush: ChannelKind = {
  id: 'web_push',
  name: 'Browser notification',
  about: 'Notifies you on this device, even while no Antipode page is open.',
  family: 'browser',
  fields: {
    endpoint: given('Address of the browser', /^https:\/\/[^\s\/?#@\\]+\/\S{1,1000}$/v),
    p256dh: given('Key of the browser', /^B[\w\-]{86}$/v),
    auth: given('Secret of the browser', /^[\w\-]{22}$/v),
  },
  message: (notification, config) => {
    const wake = isUrgent(notification);
    const tag = createHash('sha256')
      .update(notification.thread.key)
      .digest('base64url')
      .slice(0, 32);
    const content = {
      title: cut(subject(notification), 200),
      body: plainBody(notification, 400),
      url: notification.event === 'test' ? notification.links.why : notification.links.incident,
      ...(notification.links.acknowledge === null
        ? {}
        : { acknowledge: notification.links.acknowledge }),
      event: notification.event,
      tag,
      at: notification.at,
    };
    const payload = JSON.stringify(content);
    return {
      by: 'push',
      endpoint: value(config, 'endpoint'),
      p256dh: value(config, 'p256dh'),
      auth: value(config, 'auth'),
      payload:
        bytes(payload) <= maxBytes
          ? payload
          : JSON.stringify({ ...content, body: '', acknowledge: undefined }),
      topic: tag,
      urgency: wake ? 'high' : 'normal',
      ttl_s: wake ? 24 * 3_600 : 4 * 3_600,
    };
  },
  judge: judgeHttp({
    refused: {
      400: 'the push service rejected this message',
      401: 'the push service rejected our key',
      403: 'the browser is subscribed with another key: add it again',
      404: 'the browser ended its subscription',
      410: 'the browser ended its subscription',
      413: 'the message is too large for the push service',
    },
  }),
  gathers: true,
  safe: 'key',
};

function given(label: string, pattern: RegExp): Field {
  return {
    label,
    input: 'subscription',
    secret: true,
    pattern,
    fault: 'must come from a browser: press the button in the browser to be notified',
  };
}
