import {
  cutFor,
  telegram as escaped,
  factsOfOne,
  fitting,
  links,
  listed,
  others,
  title,
  toneOf,
} from './text.ts';
import {
  type ChannelKind,
  jsonPost,
  judgeHttp,
  member,
  secretField,
  textField,
  value,
} from './types.ts';

const marks = { bad: '🔴', warning: '🟠', good: '🟢', neutral: '⚪' } as const;

export const telegram: ChannelKind = {
  id: 'telegram',
  name: 'Telegram',
  about: 'Posts to a Telegram chat, group or channel with your bot. Recoveries reply to the alert.',
  family: 'chat',
  fields: {
    token: secretField(
      'Bot token',
      'From @BotFather, for example 110201543:AAHdq…',
      /^\d{5,15}:[\w\-]{30,60}$/v,
      'must look like 110201543:AAHdq…',
    ),
    chat: textField(
      'Chat',
      'The chat ID (negative for groups), or the @name of a public channel. The bot must be a member.',
      /^(?:-?\d{3,20}|@[A-Za-z]\w{3,40})$/v,
      'must be a number, or a name that begins with @',
    ),
    thread: {
      ...textField(
        'Topic',
        'The ID of a topic, in a group with topics.',
        /^\d{1,15}$/v,
        'must be a number',
      ),
      optional: true,
    },
  },
  hosts: ['api.telegram.org'],
  message: (notification, config) => {
    const only = factsOfOne(notification);
    const last = others(notification);
    const body = only
      ? only.map(({ label, value }) => `${label}: ${cutFor(value, 300, escaped)}`)
      : fitting(
          listed(
            notification,
            (name, what) => `• <b>${escaped(name)}</b>: ${escaped(what)}`,
            (group) => `<b>${escaped(group)}</b>`,
          ),
          2_600,
        );
    // Telegram refuses buttons for an address inside a private network. A link in the text is
    // merely not shown as a link.
    const parts = [
      `${marks[toneOf(notification)]} <b>${cutFor(title(notification), 300, escaped)}</b>`,
      body.join('\n'),
      ...(last === undefined ? [] : [cutFor(last, 450, escaped)]),
      links(notification)
        .map(({ label, url }) => `<a href="${escaped(url).replaceAll('\u200b', '')}">${label}</a>`)
        .join(' · '),
    ];
    const reply = /^\d+$/.test(notification.thread.reference ?? '')
      ? Number(notification.thread.reference)
      : undefined;
    return jsonPost(`https://api.telegram.org/bot${value(config, 'token')}/sendMessage`, {
      chat_id: value(config, 'chat'),
      ...(config.thread === undefined ? {} : { message_thread_id: Number(config.thread) }),
      text: parts.filter((part) => part !== '').join('\n\n'),
      parse_mode: 'HTML',
      link_preview_options: { is_disabled: true },
      disable_notification:
        notification.event === 'acknowledged' || notification.event === 'closed',
      ...(reply === undefined
        ? {}
        : { reply_parameters: { message_id: reply, allow_sending_without_reply: true } }),
    });
  },
  judge: judgeHttp({
    refused: {
      400: 'Telegram does not find this chat, or rejected this message',
      401: 'Telegram does not know this bot',
      403: 'the bot was blocked or removed from the chat, or has no permission to post there',
      404: 'Telegram does not know this bot',
    },
    reference: ({ body }) => member(body, 'result', 'message_id'),
    after_s: ({ body }) => member(body, 'parameters', 'retry_after'),
    first: ({ body, status }) => {
      const moved = member(body, 'parameters', 'migrate_to_chat_id');
      return status === 400 && typeof moved === 'number'
        ? { is: 'refused', words: `the group has a new ID: ${moved}` }
        : undefined;
    },
  }),
  gathers: true,
  safe: 'none',
};
