import { type Behaviour, says } from './receivers.ts';

/**
 * How each vendor answers, by its documentation as of November 2026: what is taken and under which
 * name, what is final, what passes.
 */

type VendorAnswers = {
  readonly taken: Behaviour;
  readonly reference?: string;
  /** Final, with a piece of the words that people read. */
  readonly refused: readonly (readonly [Behaviour, RegExp])[];
  /** It passes; after so many seconds where the vendor says so. */
  readonly retry: readonly (readonly [Behaviour, number | undefined])[];
};

const busy = [says(429, '', { 'retry-after': '7' }), 7] as const;
const broken = [says(503, 'upstream'), undefined] as const;

export const vendorAnswers: Readonly<Record<string, VendorAnswers>> = {
  slack: {
    taken: says(200, 'ok'),
    refused: [
      [says(404, 'no_service'), /no longer knows this webhook/],
      [says(403, 'invalid_token'), /no longer knows this webhook/],
      [says(400, 'invalid_payload'), /rejected this/],
      [says(410, 'channel_is_archived'), /archived/],
    ],
    retry: [busy, [says(500, 'rollup_error'), undefined]],
  },
  teams: {
    taken: says(202),
    refused: [
      [says(404, { error: { code: 'WorkflowNotFound' } }), /no longer exists/],
      [says(410), /no longer exists/],
      [says(401, { error: { code: 'DirectApiAuthorizationRequired' } }), /requires authentication/],
    ],
    retry: [busy, [says(502), undefined]],
  },
  discord: {
    taken: says(200, { id: '99', type: 0 }),
    reference: '99',
    refused: [
      [says(404, { message: 'Unknown Webhook', code: 10015 }), /no longer knows this webhook/],
      [says(401, { message: 'Invalid Webhook Token', code: 50027 }), /rejected this webhook/],
    ],
    retry: [
      [says(429, { message: 'You are being rate limited.', retry_after: 1.4, global: false }), 2],
      [says(429, 'error code: 1015', { 'retry-after': '30' }), 30],
    ],
  },
  google_chat: {
    taken: says(200, {
      name: 'spaces/AAAA/messages/B.B',
      thread: { name: 'spaces/AAAA/threads/C' },
    }),
    reference: 'spaces/AAAA/messages/B.B',
    refused: [
      [says(404, { error: { code: 404, status: 'NOT_FOUND' } }), /no longer knows this webhook/],
      [says(403, { error: { code: 403, status: 'PERMISSION_DENIED' } }), /denied access/],
    ],
    retry: [busy, [says(429, { error: { code: 429, status: 'RESOURCE_EXHAUSTED' } }), undefined]],
  },
  mattermost: {
    taken: says(200, 'ok'),
    refused: [
      [says(404, { id: 'web.incoming_webhook.invalid.app_error' }), /no longer knows this webhook/],
      [says(400, { id: 'web.incoming_webhook.invalid.app_error' }), /rejected this/],
    ],
    retry: [busy, broken],
  },
  telegram: {
    taken: says(200, { ok: true, result: { message_id: 42, chat: { id: -100 } } }),
    reference: '42',
    refused: [
      [
        says(403, {
          ok: false,
          error_code: 403,
          description: 'Forbidden: bot was blocked by the user',
        }),
        /blocked/,
      ],
      [
        says(403, {
          ok: false,
          error_code: 403,
          description: 'Forbidden: bot was kicked from the group chat',
        }),
        /removed/,
      ],
      [
        says(400, { ok: false, error_code: 400, description: 'Bad Request: chat not found' }),
        /find this chat/,
      ],
      [
        says(400, { ok: false, error_code: 400, parameters: { migrate_to_chat_id: -100987 } }),
        /new ID: -100987/,
      ],
      [says(401, { ok: false, error_code: 401, description: 'Unauthorized' }), /know this bot/],
    ],
    retry: [
      [says(429, { ok: false, error_code: 429, parameters: { retry_after: 14 } }), 14],
      broken,
    ],
  },
  matrix: {
    taken: says(200, { event_id: '$abc' }),
    reference: '$abc',
    refused: [
      [says(403, { errcode: 'M_FORBIDDEN' }), /no permission/],
      [says(401, { errcode: 'M_UNKNOWN_TOKEN' }), /know this token/],
    ],
    retry: [
      [says(429, { errcode: 'M_LIMIT_EXCEEDED', retry_after_ms: 2_500 }), 3],
      [says(404, 'no such path'), undefined],
    ],
  },
  zulip: {
    taken: says(200, { result: 'success', msg: '', id: 42 }),
    reference: '42',
    refused: [
      [says(401, { result: 'error', code: 'UNAUTHORIZED' }), /know this bot/],
      [says(400, { result: 'error', code: 'STREAM_DOES_NOT_EXIST' }), /find this channel/],
    ],
    retry: [
      [says(429, { result: 'error', code: 'RATE_LIMIT_HIT', 'retry-after': 28.7 }), 29],
      broken,
    ],
  },
  ntfy: {
    taken: says(200, { id: 'xE73Iyuabi', event: 'message' }),
    reference: 'xE73Iyuabi',
    refused: [
      [says(401, { code: 40101 }), /know this token/],
      [says(403, { code: 40301 }), /no permission/],
    ],
    retry: [busy, [says(429, { code: 42901, http: 429 }), undefined]],
  },
  gotify: {
    taken: says(200, { id: 25, appid: 1 }),
    reference: '25',
    refused: [[says(401, { error: 'Unauthorized', errorCode: 401 }), /know this token/]],
    retry: [broken, [says(404, 'nginx'), undefined]],
  },
  pushover: {
    taken: says(200, { status: 1, request: '647d2300', receipt: 'r1' }),
    reference: 'r1',
    refused: [
      [
        says(400, { user: 'invalid', errors: ['user identifier is invalid'], status: 0 }),
        /know this application, user/,
      ],
    ],
    retry: [busy, [says(500), undefined]],
  },
  twilio_sms: {
    taken: says(201, { sid: 'SM1', status: 'queued' }),
    reference: 'SM1',
    refused: [
      [
        says(400, { code: 21_211, message: "The 'To' number is not valid", status: 400 }),
        /not a phone number/,
      ],
      [
        says(400, {
          code: 21_610,
          message: 'Attempt to send to unsubscribed recipient',
          status: 400,
        }),
        /STOP/,
      ],
      [says(401, { code: 20_003 }), /account and token/],
    ],
    retry: [[says(429, { code: 20_429 }), undefined], broken],
  },
  pagerduty: {
    taken: says(202, { status: 'success', message: 'Event processed', dedup_key: 'a-41' }),
    reference: 'a-41',
    refused: [
      [
        says(400, { status: 'invalid event', errors: ["'routing_key' is invalid"] }),
        /integration key/,
      ],
    ],
    retry: [busy, broken],
  },
  incident_io: {
    taken: says(202, { status: 'success', deduplication_key: 'a-41' }),
    reference: 'a-41',
    refused: [
      [says(401, { type: 'authentication_error' }), /know this token/],
      [says(404, { type: 'not_found' }), /know this alert source/],
    ],
    retry: [busy, broken],
  },
  webhook: {
    taken: says(204),
    refused: [[says(410), /gone/]],
    retry: [busy, broken, [says(404), undefined], [says(400), undefined], [says(401), undefined]],
  },
  apprise: {
    taken: says(200, 'ok'),
    refused: [
      [says(204), /no configuration/],
      [says(400, 'Bad Request'), /rejected this/],
    ],
    retry: [[says(424, 'One or more notification failed'), undefined], broken],
  },
  web_push: {
    taken: says(201),
    refused: [
      [says(404), /ended its subscription/],
      [says(410), /ended its subscription/],
      [says(403), /another key/],
    ],
    retry: [busy, broken],
  },
};

/**
 * What the vendors write of the bodies that they take: shapes, lengths, sizes. From their
 * documentation, as of November 2026.
 */

type Schema = Readonly<Record<string, unknown>>;

const text = (maxLength?: number): Schema =>
  maxLength === undefined
    ? { type: 'string', minLength: 1 }
    : { type: 'string', minLength: 1, maxLength };
const shape = (
  properties: Readonly<Record<string, Schema>>,
  optional: readonly string[] = [],
): Schema => ({
  type: 'object',
  properties,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  additionalProperties: false,
});
const list = (items: Schema, maxItems: number, minItems = 0): Schema => ({
  type: 'array',
  items,
  maxItems,
  minItems,
});
const url: Schema = { type: 'string', pattern: '^https?://', maxLength: 3_000 };

const slackText = (limit: number) =>
  shape({ type: { const: 'plain_text' }, text: text(limit), emoji: { const: false } });
const slackBlock: Schema = {
  anyOf: [
    shape({ type: { const: 'header' }, text: slackText(150) }),
    shape({ type: { const: 'section' }, fields: list(slackText(2_000), 10, 1) }),
    shape({
      type: { const: 'section' },
      text: { anyOf: [slackText(3_000), shape({ type: { const: 'mrkdwn' }, text: text(3_000) })] },
    }),
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
    shape({
      buttonList: shape({
        buttons: list(shape({ text: text(), onClick: shape({ openLink: shape({ url }) }) }), 10, 1),
      }),
    }),
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
    attachments: list(
      shape({
        color: { type: 'string', pattern: '^#[0-9a-f]{6}$' },
        blocks: list(slackBlock, 50, 1),
      }),
      100,
    ),
  }),
  teams: shape({
    type: { const: 'message' },
    attachments: list(
      shape({
        contentType: { const: 'application/vnd.microsoft.card.adaptive' },
        contentUrl: { type: 'null' },
        content: card,
      }),
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
        fields: list(
          shape({ name: text(256), value: text(1_024), inline: { type: 'boolean' } }),
          25,
        ),
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
      reply_parameters: shape({
        message_id: { type: 'integer' },
        allow_sending_without_reply: { const: true },
      }),
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
          shape({
            action: { const: 'http' },
            label: text(),
            url,
            method: { const: 'POST' },
            clear: { const: true },
          }),
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
          {
            ...pagerdutyPayload,
            severity: { enum: ['critical', 'error', 'warning', 'info'] },
            group: text(),
            class: text(),
          },
          ['group'],
        ),
        links: pagerdutyLinks,
      }),
      shape({
        routing_key: { type: 'string', minLength: 32, maxLength: 32 },
        payload: shape(pagerdutyPayload),
        links: pagerdutyLinks,
      }),
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
  twilio_sms: shape({ To: text(), From: text(), MessagingServiceSid: text(), Body: text(306) }, [
    'From',
    'MessagingServiceSid',
  ]),
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
