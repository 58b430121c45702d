import {
  bytes,
  clean,
  colours,
  cutFor,
  factsOfOne,
  fitting,
  googleCard,
  googlePlain,
  googleText,
  links,
  listed,
  others,
  subject,
  title,
} from './text.ts';
import { type ChannelKind, jsonPost, judgeHttp, member, secretUrlField, value } from './types.ts';

export const googleChat: ChannelKind = {
  id: 'google_chat',
  name: 'Google Chat',
  about: 'Posts to a Google Chat space through a webhook, one thread per outage.',
  family: 'chat',
  fields: {
    url: secretUrlField(
      'Webhook address',
      'Google Chat → the space → Apps & integrations → Webhooks.',
      /^https:\/\/chat\.googleapis\.com\/v1\/spaces\/[\w\-]{1,100}\/messages\?\S{10,500}$/v,
      'must be like https://chat.googleapis.com/v1/spaces/…/messages?key=…&token=…',
    ),
  },
  hosts: ['chat.googleapis.com'],
  message: (notification, config) => {
    const only = factsOfOne(notification);
    const last = others(notification);
    const widgets = only
      ? only.map(({ label, value }) => ({
          decoratedText: {
            topLabel: label,
            text: cutFor(value, 400, googleCard),
            wrapText: true,
          },
        }))
      : [
          {
            textParagraph: {
              text: fitting(
                listed(
                  notification,
                  (name, what) => `• <b>${googleCard(name)}</b>: ${googleCard(what)}`,
                  (group) => `<b>${googleCard(group)}</b>`,
                ),
                8_000,
                bytes,
              ).join('\n'),
            },
          },
        ];
    const url = new URL(value(config, 'url'));
    url.searchParams.set('messageReplyOption', 'REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD');
    // Google's API merges two messages with the same id. It is not documented for webhooks, so
    // nothing relies on it.
    url.searchParams.set('requestId', notification.key);
    return jsonPost(url.href, {
      text: cutFor(subject(notification), 500, googleText),
      thread: { threadKey: notification.thread.key },
      cardsV2: [
        {
          cardId: notification.key.slice(0, 64),
          card: {
            // A header supports no markup.
            header: {
              title: cutFor(title(notification), 200, googlePlain),
              subtitle: cutFor(clean(notification.organisation), 100, googlePlain),
            },
            sections: [
              {
                widgets: [
                  ...(notification.monitors.length === 0 ? [] : widgets),
                  ...(last === undefined
                    ? []
                    : [
                        {
                          textParagraph: {
                            text: `<font color="${colours[notification.others_down.count === 0 ? 'good' : 'bad']}">${cutFor(last, 600, googleCard)}</font>`,
                          },
                        },
                      ]),
                  {
                    buttonList: {
                      buttons: links(notification).map(({ label, url }) => ({
                        text: label,
                        onClick: { openLink: { url } },
                      })),
                    },
                  },
                ],
              },
            ],
          },
        },
      ],
    });
  },
  judge: judgeHttp({
    refused: {
      400: 'Google Chat rejected this webhook or this message',
      401: 'Google Chat rejected this webhook',
      403: 'Google Chat denied access to this webhook',
      404: 'Google Chat no longer knows this webhook',
    },
    reference: ({ body }) => member(body, 'name'),
  }),
  gathers: true,
  safe: 'none',
};
