import {
  colours,
  cutFor,
  factsOfOne,
  markdown,
  markdownLinks,
  markdownList,
  others,
  subject,
  title,
  toneOf,
  unmentioned,
} from './text.ts';
import { type ChannelKind, jsonPost, judgeHttp, secretUrlField, value } from './types.ts';

export const mattermost: ChannelKind = {
  id: 'mattermost',
  name: 'Mattermost',
  about: 'Posts to a Mattermost channel through an incoming webhook.',
  family: 'chat',
  fields: {
    url: secretUrlField(
      'Webhook address',
      'Mattermost → Integrations → Incoming Webhooks. The URL contains /hooks/.',
    ),
  },
  message: (notification, config) => {
    const last = others(notification);
    const list = markdownList(notification, 7_000);
    const text = [
      ...(notification.monitors.length > 1 ? [list] : []),
      ...(last === undefined ? [] : [cutFor(last, 1_000, markdown)]),
      markdownLinks(notification),
    ];
    return jsonPost(value(config, 'url'), {
      attachments: [
        {
          // Shown as is in notifications.
          fallback: cutFor(subject(notification), 500, unmentioned),
          color: colours[toneOf(notification)],
          title: cutFor(title(notification), 500, markdown),
          title_link: notification.links.incident,
          text: text.join('\n\n'),
          fields: (factsOfOne(notification) ?? []).map(({ label, value }) => ({
            short: value.length < 40,
            title: label,
            value: cutFor(value, 700, markdown),
          })),
        },
      ],
    });
  },
  judge: judgeHttp({
    selfHosted: true,
    refused: {
      400: 'Mattermost rejected this webhook or this message',
      403: 'Mattermost denied access to this webhook',
      404: 'Mattermost no longer knows this webhook',
    },
  }),
  gathers: true,
  safe: 'none',
};
