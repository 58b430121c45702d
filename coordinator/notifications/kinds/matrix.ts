import {
  bytes,
  cut,
  cutFor,
  factsOfOne,
  fitting,
  html,
  links,
  listed,
  others,
  plainBody,
  title,
} from './text.ts';
import {
  type ChannelKind,
  judgeHttp,
  member,
  secretField,
  textField,
  urlField,
  value,
  withoutTrailingSlash,
} from './types.ts';

export const matrix: ChannelKind = {
  id: 'matrix',
  name: 'Matrix',
  about: 'Posts to a Matrix room with your account, one thread per outage.',
  family: 'chat',
  fields: {
    url: urlField('Homeserver', 'For example https://matrix.example.org.'),
    token: secretField(
      'Access token',
      'The token of the account that posts. In Element: Settings → Help & About → Advanced.',
    ),
    room: textField(
      'Room',
      'The internal room ID, such as !abc:example.org. In Element: the room’s settings → Advanced.',
      /^![^\s\/?#]{1,250}$/v,
      'must begin with !',
    ),
  },
  message: (notification, config) => {
    const only = factsOfOne(notification);
    const last = others(notification);
    const list = only
      ? only.map(({ label, value }) => `<li>${label}: ${cutFor(value, 500, html)}</li>`)
      : fitting(
          listed(
            notification,
            (name, what) => `<li><b>${html(name)}</b>: ${html(what)}</li>`,
            (group) => `<li>${html(group)}</li>`,
          ),
          16_000,
          bytes,
        );
    const shown = links(notification).map(
      ({ label, url }) => `<a href="${html(url)}">${label}</a>`,
    );
    const formatted = [
      `<b>${cutFor(title(notification), 500, html)}</b>`,
      list.length === 0 ? '' : `<ul>${list.join('')}</ul>`,
      last === undefined ? '' : `<p>${html(last)}</p>`,
      `<p>${shown.join(' · ')}</p>`,
    ].join('');
    const room = encodeURIComponent(value(config, 'room'));
    const { reference } = notification.thread;
    return {
      by: 'https',
      method: 'PUT',
      url: `${withoutTrailingSlash(value(config, 'url'))}/_matrix/client/v3/rooms/${room}/send/m.room.message/${encodeURIComponent(notification.key)}`,
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${value(config, 'token')}`,
      },
      body: JSON.stringify({
        msgtype: 'm.text',
        body: `${cut(title(notification), 500)}\n\n${plainBody(notification, 8_000, bytes)}\n\n${notification.links.incident}`,
        format: 'org.matrix.custom.html',
        formatted_body: formatted,
        // No one is mentioned, whatever a name says.
        'm.mentions': {},
        ...(reference === null
          ? {}
          : { 'm.relates_to': { rel_type: 'm.thread', event_id: reference } }),
      }),
    };
  },
  judge: judgeHttp({
    selfHosted: true,
    refused: {
      401: 'the homeserver does not know this token',
      403: 'the account has no permission to post in this room',
      413: 'the message is too large for the homeserver',
    },
    reference: ({ body }) => member(body, 'event_id'),
    after_s: ({ body }) => {
      const ms = member(body, 'retry_after_ms');
      return typeof ms === 'number' ? ms / 1_000 : undefined;
    },
  }),
  gathers: true,
  safe: 'key',
};
