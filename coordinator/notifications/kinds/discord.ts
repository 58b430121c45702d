import {
  colours,
  cutFor,
  factsOfOne,
  markdown,
  markdownLinks,
  markdownList,
  others,
  title,
  toneOf,
} from './text.ts';
import { type ChannelKind, jsonPost, judgeHttp, member, secretUrlField, value } from './types.ts';

export const discord: ChannelKind = {
  id: 'discord',
  name: 'Discord',
  about: 'Posts to a Discord channel through a webhook.',
  family: 'chat',
  fields: {
    url: secretUrlField(
      'Webhook address',
      'Discord → the channel’s settings → Integrations → Webhooks → Copy Webhook URL.',
      /^https:\/\/(?:(?:ptb|canary)\.)?discord(?:app)?\.com\/api\/(?:v\d+\/)?webhooks\/\d{5,25}\/[\w\-]{20,200}(?:\?thread_id=\d{5,25})?$/v,
      'must be like https://discord.com/api/webhooks/…',
    ),
  },
  hosts: ['discord.com', 'discordapp.com', 'ptb.discord.com', 'canary.discord.com'],
  message: (notification, config) => {
    const last = others(notification);
    const list = markdownList(notification, 2_400);
    const footer = markdownLinks(notification);
    const description = [
      ...(notification.monitors.length > 1 ? [list] : []),
      ...(last === undefined ? [] : [cutFor(last, 800, markdown)]),
      ...(footer.length <= 800 ? [footer] : []),
    ].join('\n\n');
    const url = new URL(value(config, 'url'));
    url.searchParams.set('wait', 'true');
    return jsonPost(url.href, {
      embeds: [
        {
          title: cutFor(title(notification), 250, markdown),
          url: notification.links.incident,
          description,
          color: Number.parseInt(colours[toneOf(notification)].slice(1), 16),
          timestamp: new Date(notification.at).toISOString(),
          fields: (factsOfOne(notification) ?? []).map(({ label, value }) => ({
            name: label,
            value: cutFor(value, 350, markdown),
            inline: value.length < 30,
          })),
        },
      ],
      allowed_mentions: { parse: [] },
    });
  },
  judge: judgeHttp({
    refused: {
      400: 'Discord rejected this message',
      401: 'Discord rejected this webhook',
      403: 'Discord denied access to this webhook',
      404: 'Discord no longer knows this webhook',
    },
    reference: ({ body }) => member(body, 'id'),
    after_s: ({ body }) => member(body, 'retry_after'),
  }),
  gathers: true,
  safe: 'none',
};
