import { bytes, cut, isUrgent, plainBody, subject, toneOf } from './text.ts';
import {
  type ChannelKind,
  choiceField,
  jsonPost,
  judgeHttp,
  member,
  secretField,
  textField,
  urlField,
  value,
  withoutTrailingSlash,
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
  about: 'Pushes to phones through ntfy.sh or your own server. Acknowledge with one tap.',
  family: 'phone',
  fields: {
    url: urlField('Server', 'https://ntfy.sh, or your own server.'),
    topic: textField(
      'Topic',
      'On a public server anyone who knows the topic can read it. Choose one that is hard to guess.',
      /^[\w\-]{1,64}$/v,
      'must have 1 to 64 letters, digits, _ and -',
    ),
    token: {
      ...secretField('Access token', 'Only if the topic requires one: tk_…'),
      optional: true,
    },
    priority: choiceField(
      'Priority of outages',
      'urgent overrides “do not disturb” if the app may.',
      ['high', 'urgent', 'default'],
    ),
  },
  message: (notification, config) => {
    const { acknowledge, incident, why } = notification.links;
    const limit = { default: 3, high: 4, urgent: 5 }[config.priority ?? 'high'] ?? 4;
    return jsonPost(
      withoutTrailingSlash(value(config, 'url')),
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
    selfHosted: true,
    refused: {
      400: 'ntfy rejected this message',
      401: 'ntfy does not know this token',
      403: 'the token has no permission to publish to this topic',
      413: 'the message is too large for ntfy',
    },
    reference: ({ body }) => member(body, 'id'),
  }),
  gathers: true,
  safe: 'none',
};
