import { bytes, cut, isUrgent, plainBody, subject, toneOf } from './text.ts';
import type { ChannelKind } from './types.ts';
import {
  base,
  choiceField,
  jsonPost,
  judgeHttp,
  member,
  secretField,
  textField,
  urlField,
  value,
} from './types.ts';

const tags = {
  bad: 'red_circle',
  warning: 'warning',
  good: 'white_check_mark',
  neutral: 'information_source',
} as const;

export const ntfy: ChannelKind = {
  id: 'ntfy',
  name: 'ntfy',
  about: 'A topic of ntfy.sh or of your own ntfy server; acknowledged with one tap.',
  fields: {
    url: urlField('Server', 'https://ntfy.sh, or the address of your own.'),
    topic: textField(
      'Topic',
      'Whoever knows it can read it on a public server: choose one that nobody guesses.',
      /^[\w\-]{1,64}$/v,
      'must have 1 to 64 letters, digits, _ and -',
    ),
    token: {
      ...secretField('Access token', 'Where the topic asks for one: tk_….'),
      optional: true,
    },
    priority: choiceField(
      'Priority of an outage',
      'ntfy’s own: urgent rings through “do not disturb” where the app may.',
      ['high', 'urgent', 'default'],
    ),
  },
  message: (notification, config) => {
    const { acknowledge, incident, why } = notification.links;
    const limit = { default: 3, high: 4, urgent: 5 }[config.priority ?? 'high'] ?? 4;
    return jsonPost(
      base(value(config, 'url')),
      {
        topic: value(config, 'topic'),
        title: cut(subject(notification), 250, bytes),
        message: plainBody(notification, 3_500, bytes) || cut(subject(notification), 250, bytes),
        priority: isUrgent(notification) ? limit : 3,
        tags: [tags[toneOf(notification)]],
        click: notification.event === 'test' ? why : incident,
        actions: [
          ...(acknowledge === null
            ? []
            : [
                {
                  action: 'http',
                  label: 'Acknowledge',
                  url: acknowledge,
                  method: 'POST',
                  clear: true,
                },
              ]),
          { action: 'view', label: 'Why', url: why },
        ],
      },
      config.token === undefined ? {} : { authorization: `Bearer ${config.token}` },
    );
  },
  judge: judgeHttp({
    refused: {
      400: 'ntfy does not take this message',
      401: 'ntfy does not know this token',
      403: 'the token may not write to this topic',
      413: 'ntfy finds the message too large',
    },
    reference: ({ body }) => member(body, 'id'),
  }),
  resolves: false,
  safe: 'none',
};
