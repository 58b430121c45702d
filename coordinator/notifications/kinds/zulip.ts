import {
  clean,
  cut,
  cutFor,
  zulip as escaped,
  factsOfOne,
  fitting,
  listed,
  markdownLinks,
  others,
  title,
  toneOf,
} from './text.ts';
import {
  basic,
  type ChannelKind,
  formPost,
  judgeHttp,
  member,
  secretField,
  textField,
  urlField,
  value,
  withoutTrailingSlash,
} from './types.ts';

const marks = {
  bad: ':red_circle:',
  warning: ':orange_circle:',
  good: ':green_circle:',
  neutral: ':white_circle:',
} as const;

// biome-ignore lint/suspicious/noControlCharactersInRegex: it leaves them out.
const channelName = /^[^\x00-\x1f]{1,60}$/v;

export const zulip: ChannelKind = {
  id: 'zulip',
  name: 'Zulip',
  about: 'Posts to a Zulip channel with your bot, one topic per monitor.',
  family: 'chat',
  fields: {
    url: urlField('Zulip server', 'For example https://example.zulipchat.com.'),
    bot: {
      label: 'Bot e-mail',
      hint: 'Zulip → Settings → Bots. A bot of the type “incoming webhook” or “generic”.',
      input: 'email',
      pattern: /^[^\s@:]{1,100}@[^\s@:]{1,200}$/v,
      fault: 'must be an e-mail address',
    },
    key: secretField('Bot API key', 'Shown beside the bot’s e-mail.'),
    channel: textField(
      'Channel',
      'The name of the channel to post to.',
      channelName,
      'must have 1 to 60 characters',
    ),
  },
  message: (notification, config) => {
    const [first] = notification.monitors;
    const only = factsOfOne(notification);
    const last = others(notification);
    const body = only
      ? only.map(({ label, value }) => `* ${label}: ${cutFor(value, 200, escaped)}`)
      : fitting(
          listed(
            notification,
            (name, what) => `* ${escaped(name)}: ${escaped(what)}`,
            (group) => `* ${escaped(group)}:`,
          ),
          5_000,
        );
    const parts = [
      `${marks[toneOf(notification)]} ${cutFor(title(notification), 300, escaped)}`,
      body.join('\n'),
      ...(last === undefined ? [] : [cutFor(last, 300, escaped)]),
      markdownLinks(notification),
    ];
    const names = new Set(notification.monitors.map(({ name }) => name));
    const topic = names.size === 1 && first ? cut(clean(first.name), 60) : 'Antipode';
    return formPost(
      `${withoutTrailingSlash(value(config, 'url'))}/api/v1/messages`,
      {
        type: 'stream',
        to: JSON.stringify(value(config, 'channel')),
        topic: topic === '' ? 'Antipode' : topic,
        content: parts.filter((part) => part !== '').join('\n\n'),
      },
      { authorization: basic(value(config, 'bot'), value(config, 'key')) },
    );
  },
  judge: judgeHttp({
    selfHosted: true,
    refused: {
      400: 'Zulip does not find this channel, or rejected this message',
      401: 'Zulip does not know this bot or its key',
      403: 'the bot has no permission to post there',
    },
    reference: ({ body }) => member(body, 'id'),
    after_s: ({ body }) => member(body, 'retry-after'),
  }),
  gathers: true,
  safe: 'none',
};
