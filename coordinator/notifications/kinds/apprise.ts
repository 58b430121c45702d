import { cut, links, plainBody, subject, toneOf } from './text.ts';
import {
  type ChannelKind,
  jsonPost,
  judgeHttp,
  secretField,
  textField,
  urlField,
  value,
  withoutTrailingSlash,
} from './types.ts';

const types = { bad: 'failure', warning: 'warning', good: 'success', neutral: 'info' } as const;

export const apprise: ChannelKind = {
  id: 'apprise',
  name: 'Apprise',
  about: 'Your Apprise API server, which forwards to a hundred other services.',
  family: 'webhook',
  fields: {
    url: urlField('Apprise API server', 'For example https://apprise.example.org.'),
    key: secretField(
      'Configuration key',
      'The key of the stored configuration on the server.',
      /^[\w\-]{1,64}$/v,
      'must have 1 to 64 letters, digits, _ and -',
    ),
    tag: {
      ...textField(
        'Tag',
        'Send only to addresses with this tag. Default: all.',
        /^[\w \-]{1,64}$/v,
        'must have 1 to 64 letters, digits, _ and -',
      ),
      optional: true,
    },
  },
  message: (notification, config) =>
    jsonPost(`${withoutTrailingSlash(value(config, 'url'))}/notify/${value(config, 'key')}`, {
      title: cut(subject(notification), 250),
      body: [
        plainBody(notification, 8_000),
        links(notification)
          .map(({ label, url }) => `${label}: ${url}`)
          .join('\n'),
      ]
        .filter((part) => part !== '')
        .join('\n\n'),
      type: types[toneOf(notification)],
      format: 'text',
      ...(config.tag === undefined ? {} : { tag: config.tag }),
    }),
  judge: judgeHttp({
    selfHosted: true,
    refused: {
      400: 'Apprise rejected this message',
      401: 'Apprise requires authentication',
      403: 'Apprise denied access',
      404: 'there is no Apprise API at this address, or no address has this tag',
    },
    // Apprise reports this with a status that means success elsewhere.
    first: ({ status }) =>
      status === 204
        ? { is: 'refused', words: 'Apprise has no configuration with this key (204)' }
        : undefined,
  }),
  gathers: true,
  safe: 'none',
};
