import { cut, isUrgent, plainBody, subject } from './text.ts';
import {
  type ChannelKind,
  choiceField,
  formPost,
  judgeHttp,
  member,
  secretField,
  textField,
  value,
} from './types.ts';

export const pushover: ChannelKind = {
  id: 'pushover',
  name: 'Pushover',
  about: 'Pushes to phones through Pushover. Emergencies repeat until confirmed or resolved.',
  family: 'phone',
  fields: {
    token: secretField(
      'Application token',
      'pushover.net → Your Applications.',
      /^[A-Za-z0-9]{30}$/v,
      'must have 30 letters and digits',
    ),
    user: secretField(
      'User or group key',
      'On the front page of pushover.net.',
      /^[A-Za-z0-9]{30}$/v,
      'must have 30 letters and digits',
    ),
    device: {
      ...textField(
        'Device',
        'The name of one device. Default: all.',
        /^[\w\-]{1,25}$/v,
        'must have 1 to 25 letters, digits, _ and -',
      ),
      optional: true,
    },
    priority: choiceField(
      'Priority of outages',
      'emergency repeats every minute for an hour until confirmed.',
      ['high', 'emergency', 'normal'],
    ),
  },
  hosts: ['api.pushover.net'],
  message: (notification, config) => {
    const token = value(config, 'token');
    const wanted = config.priority ?? 'high';
    const isEmergency = wanted === 'emergency' && isUrgent(notification);
    const tag = notification.thread.key;
    const level = { emergency: '2', high: '1', normal: '0' }[wanted] ?? '0';
    const link =
      notification.links.acknowledge ??
      (notification.event === 'test' ? notification.links.why : notification.links.incident);
    const request = formPost('https://api.pushover.net/1/messages.json', {
      token,
      user: value(config, 'user'),
      title: cut(subject(notification), 250, characters),
      message:
        plainBody(notification, 1_000, characters) || cut(subject(notification), 250, characters),
      timestamp: String(Math.floor(notification.at / 1_000)),
      priority: isUrgent(notification) ? level : '0',
      ...(config.device === undefined ? {} : { device: config.device }),
      ...(link.length > 512
        ? {}
        : {
            url: link,
            url_title: notification.links.acknowledge === null ? 'View incident' : 'Acknowledge',
          }),
      ...(isEmergency ? { retry: '60', expire: '3600', tags: tag } : {}),
    });
    const ends =
      notification.event === 'acknowledged' ||
      ((notification.event === 'up' || notification.event === 'closed') &&
        notification.thread.over);
    return wanted === 'emergency' && ends
      ? {
          ...request,
          afterwards: formPost(
            `https://api.pushover.net/1/receipts/cancel_by_tag/${encodeURIComponent(tag)}.json`,
            { token },
          ),
        }
      : request;
  },
  judge: judgeHttp({
    refused: {
      400: 'Pushover does not know this application, user or device, or rejected this message',
      401: 'Pushover does not know this application',
      404: 'Pushover does not know this application',
    },
    reference: ({ body }) => member(body, 'receipt') ?? member(body, 'request'),
  }),
  gathers: true,
  safe: 'none',
};

/** Characters as Pushover counts them: code points. */
function characters(text: string): number {
  return [...text].length;
}
