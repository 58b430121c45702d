import {
  colours,
  cutFor,
  facts,
  fitting,
  links,
  listed,
  markdown,
  others,
  subject,
  title,
  toneOf,
  unmentioned,
} from './text.ts';
import type { ChannelKind } from './types.ts';
import { jsonPost, judgeHttp, secretUrlField, value } from './types.ts';

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
    const [only] = notification.monitors;
    const last = others(notification);
    const list = fitting(
      listed(
        notification,
        (name, what) => `- **${markdown(name)}**: ${markdown(what)}`,
        (group) => `**${markdown(group)}**`,
      ),
      7_000,
    );
    const text = [
      ...(notification.monitors.length > 1 ? [list.join('\n')] : []),
      ...(last === undefined ? [] : [cutFor(last, 1_000, markdown)]),
      links(notification)
        .map(({ label, url }) => `[${label}](${url.replaceAll(')', '%29')})`)
        .join(' · '),
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
          fields:
            notification.monitors.length === 1 && only !== undefined
              ? facts(only, notification).map(({ label, value }) => ({
                  short: value.length < 40,
                  title: label,
                  value: cutFor(value, 700, markdown),
                }))
              : [],
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
