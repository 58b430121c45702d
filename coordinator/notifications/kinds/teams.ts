import {
  bytes,
  cut,
  factsOfOne,
  fitting,
  links,
  listed,
  others,
  subject,
  title,
  toneOf,
} from './text.ts';
import {
  type ChannelKind,
  choiceField,
  jsonPost,
  judgeHttp,
  secretUrlField,
  value,
} from './types.ts';

const colour = { bad: 'Attention', warning: 'Warning', good: 'Good', neutral: 'Default' } as const;

export const teams: ChannelKind = {
  id: 'teams',
  name: 'Microsoft Teams',
  about: 'Posts to a Teams channel or chat through a workflow.',
  family: 'chat',
  fields: {
    url: secretUrlField(
      'Workflow URL',
      'Teams → the channel → … → Workflows → “Send webhook alerts to a channel”. Microsoft has retired the old connectors (webhook.office.com).',
      /^https:\/\/[a-z0-9.\-]+\.(?:logic\.azure\.(?:com|us|cn)|api\.powerplatform\.(?:com|us|cn)|api\.gov\.powerplatform\.microsoft\.us|powerautomate\.(?:com|us|cn))(?::443)?\/\S{10,1000}\S{0,500}$/v,
      'must be the URL of a workflow (logic.azure.com or api.powerplatform.com); Microsoft has retired webhook.office.com: create a workflow instead',
    ),
    form: choiceField(
      'Payload format',
      'Most workflows expect message. Use card for a flow that posts its input as a card.',
      ['message', 'card'],
    ),
  },
  hosts: [
    '*.logic.azure.com',
    '*.logic.azure.us',
    '*.logic.azure.cn',
    '*.api.powerplatform.com',
    '*.api.powerplatform.us',
    '*.api.powerplatform.cn',
    '*.api.gov.powerplatform.microsoft.us',
    '*.powerautomate.com',
    '*.powerautomate.us',
    '*.powerautomate.cn',
  ],
  message: (notification, config) => {
    const only = factsOfOne(notification);
    const last = others(notification);
    const body = only
      ? only.map(({ label, value }) =>
          rich(run(`${label}: `, { isSubtle: true }), run(cut(value, 700))),
        )
      : fitting(
          listed(
            notification,
            (name, what) => `${name}: ${what}`,
            (group) => `${group}:`,
          ),
          4_000,
          (line) => bytes(line) + 60,
        ).map((line) => rich(run(line)));
    const card = {
      $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
      type: 'AdaptiveCard',
      version: '1.4',
      fallbackText: cut(subject(notification), 300),
      msteams: { width: 'Full' },
      body: [
        rich(
          run(cut(title(notification), 500), {
            size: 'Medium',
            weight: 'Bolder',
            color: colour[toneOf(notification)],
          }),
        ),
        ...body,
        ...(last === undefined ? [] : [rich(run(cut(last, 500), { isSubtle: true }))]),
      ],
      actions: links(notification).map(({ label, url }) => ({
        type: 'Action.OpenUrl',
        title: label,
        url,
      })),
    };
    return jsonPost(
      value(config, 'url'),
      config.form === 'card'
        ? card
        : {
            type: 'message',
            attachments: [
              {
                contentType: 'application/vnd.microsoft.card.adaptive',
                contentUrl: null,
                content: card,
              },
            ],
          },
    );
  },
  judge: judgeHttp({
    refused: {
      400: 'the workflow rejected this message (try the other payload format)',
      401: 'the workflow requires authentication; allow anyone to trigger it',
      403: 'the workflow denied access',
      404: 'the workflow no longer exists',
      410: 'the workflow no longer exists',
    },
  }),
  gathers: true,
  safe: 'none',
};

function rich(...inlines: readonly object[]) {
  return { type: 'RichTextBlock', inlines };
}

/** Text of others goes into text runs, which interpret no markdown. */
function run(text: string, more: { readonly [name: string]: unknown } = {}) {
  return {
    type: 'TextRun',
    text,
    ...more,
  };
}
