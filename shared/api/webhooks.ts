import { EventOut, eventTypes } from './events.ts';
import {
  array,
  boolean,
  dateTime,
  grown,
  integer,
  literal,
  maybe,
  nullable,
  object,
  optional,
  string,
  uuid,
  valueFault,
} from './fields.ts';
import { moment, written } from './moment.ts';
import { exampleIds, nullableString, operation, page, pageQuery, patched } from './operation.ts';

/** Addresses of an organisation's own programs, which get every event as a signed POST. */

const example = {
  url: 'https://hooks.example.com/antipode',
  secret: 'whsec_cGxlYXNlIG1ha2Ugb25lIG9mIHlvdXIgb3duIGhlcmU=',
  id: '019ab3c1-7e02-7d54-8b19-2c6f4a8d0e37',
  delivery: '5d0f7a3e-9c41-4b8e-a6d2-1f3b5c7d9e80',
} as const;

/** The body of each POST. */
export const WebhookEventOut = object('WebhookEventOut', {
  type: string({ description: 'The type of the event.', example: 'incident.confirmed' }),
  timestamp: dateTime({
    meaning: 'When the event was written down; the same at each attempt.',
    example: '2026-11-18T04:03:36.902Z',
  }),
  data: EventOut,
});

const webhookShape = {
  id: uuid({ example: example.id }),
  url: string({
    description: 'Where the events go. Who is neither owner nor admin sees the host alone.',
    example: example.url,
  }),
  description: string({ meaning: 'What it is for; may be empty.', example: 'Ticket system' }),
  event_types: array(string(), {
    description: 'Only these types of events; empty: all, also types that come later.',
    example: ['incident.confirmed', 'incident.resolved'],
  }),
  enabled: boolean({ example: true }),
  disabled_because: nullableString(
    'Why the service turned it off: `gone` (it answered 410), or `failing` (nothing was accepted for five days). Null where a member did.',
    { example: null },
  ),
  failing_since: nullable(
    dateTime({ meaning: 'Since when every attempt failed; null while it works.' }),
    { example: null },
  ),
  last_delivered_at: nullable(
    dateTime({
      meaning: 'When an event was last delivered; null before the first.',
      example: '2026-11-18T04:03:37.411Z',
    }),
  ),
  created_at: dateTime({ example: '2026-11-02T09:30:00.000Z' }),
};

export const WebhookOut = object('WebhookOut', webhookShape);

const secret = string({
  description: 'What the POSTs are signed with (`whsec_…`). It is shown once.',
  example: example.secret,
});

const url = { example: example.url, limits: { maxLength: 2_000 } };
const description = { limits: { maxLength: 200 }, example: 'Ticket system' };
const onlyTypes = {
  maxItems: eventTypes.length,
  description: 'Only these types of events; empty: all, also types that come later.',
  example: ['incident.confirmed', 'incident.resolved'],
};

const WebhookIn = object('WebhookIn', {
  url: string({
    ...url,
    minLength: 1,
    description:
      'An https:// or http:// address. It may lead to public addresses only, unless the operator allows others.',
  }),
  description: optional(string({ ...description, meaning: 'What it is for.' }), ''),
  event_types: optional(array(literal(eventTypes), onlyTypes), []),
  enabled: optional(boolean(), true),
});

const WebhookPatch = object(
  'WebhookPatch',
  {
    url: maybe(string({ ...url, minLength: 1 }), { description: 'Where the events go.' }),
    description: maybe(string(description), { description: 'What it is for.' }),
    event_types: maybe(array(literal(eventTypes), onlyTypes)),
    enabled: maybe(boolean(), {
      description:
        'What waits is dropped when it is turned off. Turned on, it begins with what comes then; a replay sends what came before.',
    }),
  },
  patched,
);

const webhookId = { webhook_id: uuid() };

export const listWebhooks = operation({
  id: 'listWebhooks',
  method: 'GET',
  path: '/api/v1/webhooks',
  tag: 'Webhooks',
  access: 'read',
  summary: 'List webhooks',
  description: 'Addresses of your programs that get events. Oldest first.',
  query: pageQuery,
  response: page('WebhookPage', WebhookOut),
  columns: ['url', 'description', 'enabled', 'failing_since', 'last_delivered_at', 'id'],
});

export const createWebhook = operation({
  id: 'createWebhook',
  method: 'POST',
  path: '/api/v1/webhooks',
  tag: 'Webhooks',
  access: 'manage',
  summary: 'Create a webhook',
  description:
    'First the address is asked whether it wants them: it gets a signed POST of the type `webhook.challenge`, and must answer 2xx with the text of `data.challenge` as its body. Your program has no secret yet to verify it with, and none is needed. Then every event of `GET /api/v1/events` that comes from now on is sent there as a signed POST (Standard Webhooks): `webhook-id` is the id of the event and the same at each attempt, the body is `WebhookEventOut`. An answer of 2xx within 15 seconds means that it is delivered; otherwise it is sent again after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h, later where `Retry-After` says so. An event may come twice, and out of order. For owners and admins.',
  body: WebhookIn,
  response: object('WebhookMadeOut', { ...webhookShape, secret }),
  success: 201,
  refusals: ['plan_limit_webhooks', 'webhook_invalid', 'webhook_unproved', 'too_many_attempts'],
});

export const getWebhook = operation({
  id: 'getWebhook',
  method: 'GET',
  path: '/api/v1/webhooks/{webhook_id}',
  tag: 'Webhooks',
  access: 'read',
  summary: 'Get a webhook',
  params: webhookId,
  response: WebhookOut,
  refusals: ['webhook_not_found'],
});

export const updateWebhook = operation({
  id: 'updateWebhook',
  method: 'PATCH',
  path: '/api/v1/webhooks/{webhook_id}',
  tag: 'Webhooks',
  access: 'manage',
  summary: 'Change a webhook',
  description: 'A new address is asked first, as when a webhook is created.',
  params: webhookId,
  body: WebhookPatch,
  response: WebhookOut,
  refusals: ['webhook_not_found', 'webhook_invalid', 'webhook_unproved', 'too_many_attempts'],
});

export const deleteWebhook = operation({
  id: 'deleteWebhook',
  method: 'DELETE',
  path: '/api/v1/webhooks/{webhook_id}',
  tag: 'Webhooks',
  access: 'manage',
  summary: 'Delete a webhook',
  description: 'What waits is dropped, and its log is deleted.',
  params: webhookId,
  refusals: ['webhook_not_found'],
});

export const rotateWebhookSecret = operation({
  id: 'rotateWebhookSecret',
  method: 'POST',
  path: '/api/v1/webhooks/{webhook_id}/secret',
  tag: 'Webhooks',
  access: 'manage',
  summary: 'Replace the secret of a webhook',
  description:
    'The one before signs for another 24 hours, beside the new one: until then `webhook-signature` has both.',
  params: webhookId,
  response: object('WebhookSecretOut', {
    secret,
    previous_until: dateTime({
      meaning: 'Until when the one before signs, too.',
      example: '2026-11-19T04:03:37.000Z',
    }),
  }),
  refusals: ['webhook_not_found'],
});

/** Owners and admins alone see what a receiver answers. */
const answer = nullableString(
  'The first 1,024 bytes of the answer, for owners and admins; null where there was none.',
  { example: 'ok' },
);
const status = nullable(integer(), {
  description: 'The status of the answer; null where there was none.',
  example: 200,
});
const failure = nullableString(
  'Why there was no answer, such as `timeout`, `dns_failed` or `blocked_address`.',
  { example: null },
);

export const testWebhook = operation({
  id: 'testWebhook',
  method: 'POST',
  path: '/api/v1/webhooks/{webhook_id}/test',
  tag: 'Webhooks',
  access: 'manage',
  summary: 'Send a test to a webhook',
  description:
    'An event of the type `webhook.test`, answered with what came back. It is in no log. An organisation may have ten tests an hour, with those of channels.',
  params: webhookId,
  response: object('WebhookTriedOut', {
    delivered: boolean({ description: 'Whether the answer was 2xx.', example: true }),
    status,
    failure,
    answer,
    took_ms: integer({}, { meaning: 'How long the answer took, in milliseconds.', example: 21 }),
    sent: WebhookEventOut,
  }),
  refusals: ['webhook_not_found', 'channel_test_limit'],
});

const WebhookDeliveryOut = object('WebhookDeliveryOut', {
  id: uuid({ example: example.delivery }),
  event_id: uuid({
    description: 'The id of the event, sent as `webhook-id`.',
    example: exampleIds.post,
  }),
  event: string({ description: 'The type of the event.', example: 'incident.confirmed' }),
  state: string({
    description:
      '`waiting` for an attempt, `delivered`, `failed` (given up after the last attempt), or `cancelled` (the webhook was turned off).',
    example: 'delivered',
  }),
  attempts: integer({}, { meaning: 'How often it was sent.', example: 1 }),
  next_attempt_at: nullable(dateTime({ meaning: 'When it is sent again; null: never.' }), {
    example: null,
  }),
  attempted_at: nullable(
    dateTime({ meaning: 'When the last attempt ended.', example: '2026-11-18T04:03:37.411Z' }),
  ),
  status,
  failure,
  answer,
  took_ms: grown(
    nullable(integer(), {
      meaning: 'How long the last attempt took, in milliseconds.',
      example: 21,
    }),
    null,
  ),
  created_at: dateTime({
    meaning: 'When the event was handed to the webhook.',
    example: '2026-11-18T04:03:37.022Z',
  }),
});

export const listWebhookDeliveries = operation({
  id: 'listWebhookDeliveries',
  method: 'GET',
  path: '/api/v1/webhooks/{webhook_id}/deliveries',
  tag: 'Webhooks',
  access: 'read',
  summary: 'List what was sent to a webhook',
  description: 'Each event with its last attempt, newest first. Kept for 14 days once it is over.',
  params: webhookId,
  query: {
    ...pageQuery,
    state: maybe(literal(['waiting', 'delivered', 'failed', 'cancelled']), {
      description: 'Only those in this state.',
    }),
  },
  response: page('WebhookDeliveryPage', WebhookDeliveryOut),
  refusals: ['webhook_not_found'],
  columns: ['created_at', 'event', 'state', 'attempts', 'status', 'failure', 'id'],
});

export const resendWebhookDelivery = operation({
  id: 'resendWebhookDelivery',
  method: 'POST',
  path: '/api/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/resend',
  tag: 'Webhooks',
  access: 'manage',
  summary: 'Send an event to a webhook again',
  description:
    'Under the same `webhook-id`, whatever became of it, and with all its attempts. An organisation can ask for 60 an hour.',
  params: { ...webhookId, delivery_id: uuid() },
  response: WebhookDeliveryOut,
  refusals: [
    'webhook_not_found',
    'webhook_delivery_not_found',
    'webhook_disabled',
    'too_many_attempts',
  ],
});

const ReplayIn = object(
  'WebhookReplayIn',
  {
    after: maybe(string({ minLength: 1, limits: { maxLength: 1_000 } }), {
      description: 'An `after` of `GET /api/v1/events` without `monitor`.',
    }),
    since: maybe(moment(written), {
      description: 'From the first event at or after this moment on.',
      example: '2026-11-18T00:00:00Z',
    }),
  },
  { description: 'One of both.', example: { since: '2026-11-18T00:00:00Z' } },
  (values, place) =>
    (values.after === null) === (values.since === null)
      ? valueFault(place, 'send either `after` or `since`', {})
      : undefined,
);

export const replayWebhook = operation({
  id: 'replayWebhook',
  method: 'POST',
  path: '/api/v1/webhooks/{webhook_id}/replay',
  tag: 'Webhooks',
  access: 'manage',
  summary: 'Send all events since a moment to a webhook',
  description:
    'Whether they were sent before or not, each under its own `webhook-id`. Events are kept for 90 days. A webhook can be replayed once a minute, and an organisation can replay ten times an hour.',
  params: webhookId,
  body: ReplayIn,
  response: object('WebhookReplayOut', {
    events: integer({}, { meaning: 'How many events that is, as of now.', example: 12 }),
  }),
  refusals: ['webhook_not_found', 'webhook_disabled', 'too_many_attempts'],
});
