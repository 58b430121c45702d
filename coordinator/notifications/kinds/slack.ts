import {
  colours,
  cut,
  cutFor,
  slack as escaped,
  factsOfOne,
  fitting,
  links,
  listed,
  others,
  subject,
  title,
  toneOf,
} from './text.ts';
import { type ChannelKind, jsonPost, judgeHttp, secretUrlField, value } from './types.ts';

export const slack: ChannelKind = {
  id: 'slack',
  name: 'Slack',
  about: 'Posts to a Slack channel through an incoming webhook.',
  family: 'chat',
  fields: {
    url: secretUrlField(
      'Webhook address',
      'Slack → Apps → Incoming Webhooks → Add to Slack. Begins with https://hooks.slack.com/services/.',
      /^https:\/\/hooks\.slack(?:-gov)?\.com\/services\/[\w\/\-]{10,300}$/v,
      'must begin with https://hooks.slack.com/services/',
    ),
  },
  hosts: ['hooks.slack.com', 'hooks.slack-gov.com'],
  message: (notification, config) => {
    const only = factsOfOne(notification);
    const last = others(notification);
    const body = only
      ? {
          type: 'section',
          fields: only.map(({ label, value }) => plain(`${label}\n${value}`, 1_900)),
        }
      : {
          type: 'section',
          text: plain(
            fitting(
              listed(
                notification,
                (name, what) => `• ${name}: ${what}`,
                (group) => `${group}:`,
              ),
              2_800,
            ).join('\n'),
            2_900,
          ),
        };
    const blocks = [
      { type: 'header', text: plain(title(notification), 150) },
      ...(notification.monitors.length === 0 ? [] : [body]),
      ...(last === undefined ? [] : [{ type: 'context', elements: [plain(last, 1_900)] }]),
      {
        type: 'section',
        text: {
          type: 'mrkdwn',
          text: links(notification)
            .map(({ label, url }) => `<${escaped(url).replaceAll('|', '%7C')}|${label}>`)
            .join('   '),
        },
      },
    ];
    return jsonPost(value(config, 'url'), {
      text: cutFor(subject(notification), 3_000, escaped),
      attachments: [{ color: colours[toneOf(notification)], blocks }],
    });
  },
  judge: judgeHttp({
    refused: {
      400: 'Slack rejected this webhook or this message',
      401: 'Slack rejected this webhook',
      403: 'the Slack workspace denied access to this webhook',
      404: 'Slack no longer knows this webhook',
      410: 'the Slack channel is archived',
    },
    // "rollup_error" and similar errors come as 500 and are temporary; this one is final whatever
    // the status.
    first: ({ body, status }) =>
      status >= 400 &&
      /^(?:invalid_token|no_service|no_team|team_disabled|token_revoked)$/.test(body.trim())
        ? { is: 'refused', words: `Slack no longer knows this webhook (${status})` }
        : undefined,
  }),
  gathers: true,
  safe: 'none',
};

/**
 * Text of others goes into plain_text blocks, which interpret no format and no mention. Only our
 * own links are mrkdwn.
 */
function plain(text: string, limit: number) {
  return {
    type: 'plain_text',
    text: cut(text, limit),
    emoji: false,
  };
}
