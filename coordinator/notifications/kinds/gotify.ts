import { cut, isUrgent, links, plainBody, subject } from './text.ts';
import {
  type ChannelKind,
  jsonPost,
  judgeHttp,
  member,
  secretField,
  urlField,
  value,
  withoutTrailingSlash,
} from './types.ts';

export const gotify: ChannelKind = {
  id: 'gotify',
  name: 'Gotify',
  about: 'Sends to your own Gotify server.',
  family: 'phone',
  fields: {
    url: urlField('Server', 'For example https://gotify.example.org.'),
    token: secretField('Application token', 'Gotify → Apps. Begins with A.'),
  },
  message: (notification, config) => {
    const addresses = links(notification).map(({ label, url }) => `${label}: ${url}`);
    return jsonPost(
      `${withoutTrailingSlash(value(config, 'url'))}/message`,
      {
        title: cut(subject(notification), 250),
        message: [plainBody(notification, 8_000), addresses.join('\n')]
          .filter((part) => part !== '')
          .join('\n\n'),
        priority: isUrgent(notification) ? 8 : 4,
        extras: {
          'client::display': { contentType: 'text/plain' },
          'client::notification': {
            click: {
              url:
                notification.event === 'test'
                  ? notification.links.why
                  : notification.links.incident,
            },
          },
        },
      },
      { 'x-gotify-key': value(config, 'token') },
    );
  },
  judge: judgeHttp({
    selfHosted: true,
    refused: {
      400: 'Gotify rejected this message',
      401: 'Gotify does not know this token',
      403: 'the token has no permission to send messages',
    },
    reference: ({ body }) => member(body, 'id'),
  }),
  gathers: true,
  safe: 'none',
};
