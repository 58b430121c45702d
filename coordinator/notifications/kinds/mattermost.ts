import { colours, cutFor, facts, fitting, links, listed, markdown, others, subject, title, toneOf, unmentioned } from './text.ts';
import type { ChannelKind } from './types.ts';
import { jsonPost, judgeHttp, secretUrlField, value } from './types.ts';

export const mattermost: ChannelKind = {
  id: 'mattermost',
  name: 'Mattermost',
  about: 'A channel of a Mattermost server, by an incoming webhook.',
  fields: {
    url: secretUrlField('Webhook address', 'Mattermost → Integrations → Incoming Webhooks: an address with /hooks/ in it.'),
  },
  message: (told, config) => {
    const [only] = told.monitors;
    const last = others(told);
    const list = fitting(
      listed(
        told,
        (name, what) => `- **${markdown(name)}**: ${markdown(what)}`,
        (group) => `**${markdown(group)}**`,
      ),
      7_000,
    );
    const text = [
      ...(told.monitors.length > 1 ? [list.join('\n')] : []),
      ...(last === undefined ? [] : [cutFor(last, 1_000, markdown)]),
      links(told)
        .map(({ label, url }) => `[${label}](${url.replaceAll(')', '%29')})`)
        .join(' · '),
    ];
    return jsonPost(value(config, 'url'), {
      attachments: [
        {
          // Shown as is in notifications.
          fallback: cutFor(subject(told), 500, unmentioned),
          color: colours[toneOf(told)],
          title: cutFor(title(told), 500, markdown),
          title_link: told.links.incident,
          text: text.join('\n\n'),
          fields:
            told.monitors.length === 1 && only !== undefined
              ? facts(only, told).map(({ label, value }) => ({
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
    refused: {
      400: 'Mattermost does not take this webhook or this message',
      403: 'Mattermost forbids this webhook',
      404: 'Mattermost does not know this webhook any more',
    },
  }),
  resolves: false,
  safe: 'none',
};
