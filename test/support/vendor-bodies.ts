/** What the vendors write of the bodies that they take: shapes, lengths, sizes. From their documentation, as of November 2026. */

type Schema = Readonly<Record<string, unknown>>;

const text = (maxLength?: number): Schema =>
  maxLength === undefined ? { type: 'string', minLength: 1 } : { type: 'string', minLength: 1, maxLength };
const shape = (properties: Readonly<Record<string, Schema>>, optional: readonly string[] = []): Schema => ({
  type: 'object',
  properties,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  additionalProperties: false,
});
const list = (items: Schema, maxItems: number, minItems = 0): Schema => ({ type: 'array', items, maxItems, minItems });
const url: Schema = { type: 'string', pattern: '^https?://', maxLength: 3_000 };

const slackText = (most: number) => shape({ type: { const: 'plain_text' }, text: text(most), emoji: { const: false } });
const slackBlock: Schema = {
  anyOf: [
    shape({ type: { const: 'header' }, text: slackText(150) }),
    shape({ type: { const: 'section' }, fields: list(slackText(2_000), 10, 1) }),
    shape({ type: { const: 'section' }, text: { anyOf: [slackText(3_000), shape({ type: { const: 'mrkdwn' }, text: text(3_000) })] } }),
    shape({ type: { const: 'context' }, elements: list(slackText(2_000), 10, 1) }),
  ],
};

const run = shape(
  {
    type: { const: 'TextRun' },
    text: text(),
    size: { const: 'Medium' },
    weight: { const: 'Bolder' },
    color: text(),
    isSubtle: { const: true },
  },
  ['size', 'weight', 'color', 'isSubtle'],
);
const card = shape({
  $schema: { const: 'http://adaptivecards.io/schemas/adaptive-card.json' },
  type: { const: 'AdaptiveCard' },
  version: { const: '1.4' },
  fallbackText: text(),
  msteams: shape({ width: { const: 'Full' } }),
  body: list(shape({ type: { const: 'RichTextBlock' }, inlines: list(run, 3, 1) }), 400, 1),
  actions: list(shape({ type: { const: 'Action.OpenUrl' }, title: text(), url }), 6),
});

const googleWidget: Schema = {
  anyOf: [
    shape({ decoratedText: shape({ topLabel: text(), text: text(), wrapText: { const: true } }) }),
    shape({ textParagraph: shape({ text: text() }) }),
    shape({ buttonList: shape({ buttons: list(shape({ text: text(), onClick: shape({ openLink: shape({ url }) }) }), 10, 1) }) }),
  ],
};

const pagerdutyPayload = {
  summary: text(1_024),
  source: text(),
  timestamp: { type: 'string', format: 'date-time' },
  custom_details: { type: 'object' },
};
const pagerdutyLinks = list(shape({ href: url, text: text() }), 10);

/** The JSON of a kind, by its id. */
export const schemas: Readonly<Record<string, Schema>> = {
  slack: shape({
    text: text(40_000),
    attachments: list(shape({ color: { type: 'string', pattern: '^#[0-9a-f]{6}$' }, blocks: list(slackBlock, 50, 1) }), 100),
  }),
  teams: shape({
    type: { const: 'message' },
    attachments: list(
      shape({ contentType: { const: 'application/vnd.microsoft.card.adaptive' }, contentUrl: { type: 'null' }, content: card }),
      1,
      1,
    ),
  }),
  discord: shape({
    embeds: list(
      shape({
        title: text(256),
        url,
        description: { type: 'string', maxLength: 4_096 },
        color: { type: 'integer', minimum: 0, maximum: 0xffffff },
        timestamp: { type: 'string', format: 'date-time' },
        fields: list(shape({ name: text(256), value: text(1_024), inline: { type: 'boolean' } }), 25),
      }),
      10,
      1,
    ),
    allowed_mentions: shape({ parse: list({}, 0) }),
  }),
  google_chat: shape({
    text: text(4_096),
    thread: shape({ threadKey: text(4_000) }),
    cardsV2: list(
      shape({
        cardId: text(64),
        card: shape({
          header: shape({ title: text(), subtitle: { type: 'string' } }),
          sections: list(shape({ widgets: list(googleWidget, 100, 1) }), 1, 1),
        }),
      }),
      1,
      1,
    ),
  }),
  mattermost: shape({
    attachments: list(
      shape({
        fallback: text(),
        color: text(),
        title: text(),
        title_link: url,
        text: { type: 'string' },
        fields: list(shape({ short: { type: 'boolean' }, title: text(), value: text() }), 20),
      }),
      1,
      1,
    ),
  }),
  telegram: shape(
    {
      chat_id: text(),
      message_thread_id: { type: 'integer' },
      text: text(4_096),
      parse_mode: { const: 'HTML' },
      link_preview_options: shape({ is_disabled: { const: true } }),
      disable_notification: { type: 'boolean' },
      reply_parameters: shape({ message_id: { type: 'integer' }, allow_sending_without_reply: { const: true } }),
    },
    ['message_thread_id', 'reply_parameters'],
  ),
  matrix: shape(
    {
      msgtype: { const: 'm.text' },
      body: text(),
      format: { const: 'org.matrix.custom.html' },
      formatted_body: text(),
      'm.mentions': shape({}),
      'm.relates_to': shape({ rel_type: { const: 'm.thread' }, event_id: text() }),
    },
    ['m.relates_to'],
  ),
  ntfy: shape({
    topic: { type: 'string', pattern: '^[-_A-Za-z0-9]{1,64}$' },
    title: text(),
    message: text(),
    priority: { type: 'integer', minimum: 1, maximum: 5 },
    tags: list(text(), 5),
    click: url,
    actions: list(
      {
        anyOf: [
          shape({ action: { const: 'http' }, label: text(), url, method: { const: 'POST' }, clear: { const: true } }),
          shape({ action: { const: 'view' }, label: text(), url }),
        ],
      },
      3,
    ),
  }),
  gotify: shape({
    title: text(),
    message: text(),
    priority: { type: 'integer', minimum: 0, maximum: 10 },
    extras: shape({
      'client::display': shape({ contentType: { const: 'text/plain' } }),
      'client::notification': shape({ click: shape({ url }) }),
    }),
  }),
  pagerduty: {
    anyOf: [
      shape({
        routing_key: { type: 'string', minLength: 32, maxLength: 32 },
        event_action: { enum: ['trigger', 'acknowledge', 'resolve'] },
        dedup_key: text(255),
        client: text(),
        client_url: url,
        payload: shape(
          { ...pagerdutyPayload, severity: { enum: ['critical', 'error', 'warning', 'info'] }, group: text(), class: text() },
          ['group'],
        ),
        links: pagerdutyLinks,
      }),
      shape({ routing_key: { type: 'string', minLength: 32, maxLength: 32 }, payload: shape(pagerdutyPayload), links: pagerdutyLinks }),
    ],
  },
  incident_io: shape({
    title: text(),
    description: { type: 'string' },
    deduplication_key: text(),
    status: { enum: ['firing', 'resolved'] },
    source_url: url,
    metadata: { type: 'object' },
  }),
  webhook: shape({
    type: { type: 'string', pattern: '^[a-z_]+(\\.[a-z_]+)?$' },
    timestamp: { type: 'string', format: 'date-time' },
    data: { type: 'object' },
  }),
  apprise: shape(
    {
      title: text(),
      body: { type: 'string' },
      type: { enum: ['info', 'success', 'warning', 'failure'] },
      format: { const: 'text' },
      tag: text(),
    },
    ['tag'],
  ),
};

/** The form of a kind that sends none of JSON. */
export const forms: Readonly<Record<string, Schema>> = {
  zulip: shape({ type: { const: 'stream' }, to: text(), topic: text(60), content: text(10_000) }),
  pushover: shape(
    {
      token: { type: 'string', pattern: '^[A-Za-z0-9]{30}$' },
      user: { type: 'string', pattern: '^[A-Za-z0-9]{30}$' },
      title: text(250),
      message: text(1_024),
      timestamp: { type: 'string', pattern: '^\\d+$' },
      priority: { enum: ['-2', '-1', '0', '1', '2'] },
      device: text(25),
      url: text(512),
      url_title: text(100),
      retry: { type: 'string', pattern: '^[3-9]\\d|\\d{3,}$' },
      expire: { type: 'string', pattern: '^\\d{1,5}$' },
      tags: text(),
    },
    ['device', 'url', 'url_title', 'retry', 'expire', 'tags'],
  ),
  twilio_sms: shape({ To: text(), From: text(), MessagingServiceSid: text(), Body: text(306) }, ['From', 'MessagingServiceSid']),
};

/** The most bytes of a body, all told. */
export const maxBytes: Readonly<Record<string, number>> = {
  slack: 100_000,
  teams: 28_000,
  discord: 100_000,
  google_chat: 32_000,
  mattermost: 100_000,
  telegram: 40_000,
  matrix: 65_000,
  ntfy: 16_000,
  pagerduty: 512_000,
  gotify: 100_000,
};
