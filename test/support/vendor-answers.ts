/** How each vendor answers, by its documentation as of November 2026: what is taken and under which name, what is final, what passes. */
import { type Behaviour, says } from './message-receiver.ts';

export type VendorAnswers = {
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
      [says(404, 'no_service'), /know this webhook/],
      [says(403, 'invalid_token'), /know this webhook/],
      [says(400, 'invalid_payload'), /does not take/],
      [says(410, 'channel_is_archived'), /archived/],
    ],
    retry: [busy, [says(500, 'rollup_error'), undefined]],
  },
  teams: {
    taken: says(202),
    refused: [
      [says(404, { error: { code: 'WorkflowNotFound' } }), /no such workflow/],
      [says(410), /no such workflow/],
      [says(401, { error: { code: 'DirectApiAuthorizationRequired' } }), /sign-in/],
    ],
    retry: [busy, [says(502), undefined]],
  },
  discord: {
    taken: says(200, { id: '99', type: 0 }),
    reference: '99',
    refused: [
      [says(404, { message: 'Unknown Webhook', code: 10015 }), /know this webhook/],
      [says(401, { message: 'Invalid Webhook Token', code: 50027 }), /take this webhook/],
    ],
    retry: [
      [says(429, { message: 'You are being rate limited.', retry_after: 1.4, global: false }), 2],
      [says(429, 'error code: 1015', { 'retry-after': '30' }), 30],
    ],
  },
  google_chat: {
    taken: says(200, { name: 'spaces/AAAA/messages/B.B', thread: { name: 'spaces/AAAA/threads/C' } }),
    reference: 'spaces/AAAA/messages/B.B',
    refused: [
      [says(404, { error: { code: 404, status: 'NOT_FOUND' } }), /know this webhook/],
      [says(403, { error: { code: 403, status: 'PERMISSION_DENIED' } }), /forbids/],
    ],
    retry: [busy, [says(429, { error: { code: 429, status: 'RESOURCE_EXHAUSTED' } }), undefined]],
  },
  mattermost: {
    taken: says(200, 'ok'),
    refused: [
      [says(404, { id: 'web.incoming_webhook.invalid.app_error' }), /know this webhook/],
      [says(400, { id: 'web.incoming_webhook.invalid.app_error' }), /does not take/],
    ],
    retry: [busy, broken],
  },
  telegram: {
    taken: says(200, { ok: true, result: { message_id: 42, chat: { id: -100 } } }),
    reference: '42',
    refused: [
      [says(403, { ok: false, error_code: 403, description: 'Forbidden: bot was blocked by the user' }), /blocked/],
      [says(403, { ok: false, error_code: 403, description: 'Forbidden: bot was kicked from the group chat' }), /removed/],
      [says(400, { ok: false, error_code: 400, description: 'Bad Request: chat not found' }), /find this chat/],
      [says(400, { ok: false, error_code: 400, parameters: { migrate_to_chat_id: -100987 } }), /new number: -100987/],
      [says(401, { ok: false, error_code: 401, description: 'Unauthorized' }), /know this bot/],
    ],
    retry: [[says(429, { ok: false, error_code: 429, parameters: { retry_after: 14 } }), 14], broken],
  },
  matrix: {
    taken: says(200, { event_id: '$abc' }),
    reference: '$abc',
    refused: [
      [says(403, { errcode: 'M_FORBIDDEN' }), /may not write/],
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
    retry: [[says(429, { result: 'error', code: 'RATE_LIMIT_HIT', 'retry-after': 28.7 }), 29], broken],
  },
  ntfy: {
    taken: says(200, { id: 'xE73Iyuabi', event: 'message' }),
    reference: 'xE73Iyuabi',
    refused: [
      [says(401, { code: 40101 }), /know this token/],
      [says(403, { code: 40301 }), /may not write/],
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
    refused: [[says(400, { user: 'invalid', errors: ['user identifier is invalid'], status: 0 }), /know this application, user/]],
    retry: [busy, [says(500), undefined]],
  },
  twilio_sms: {
    taken: says(201, { sid: 'SM1', status: 'queued' }),
    reference: 'SM1',
    refused: [
      [says(400, { code: 21_211, message: "The 'To' number is not valid", status: 400 }), /no phone number/],
      [says(400, { code: 21_610, message: 'Attempt to send to unsubscribed recipient', status: 400 }), /STOP/],
      [says(401, { code: 20_003 }), /account and token/],
    ],
    retry: [[says(429, { code: 20_429 }), undefined], broken],
  },
  pagerduty: {
    taken: says(202, { status: 'success', message: 'Event processed', dedup_key: 'a-41' }),
    reference: 'a-41',
    refused: [[says(400, { status: 'invalid event', errors: ["'routing_key' is invalid"] }), /integration key/]],
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
      [says(400, 'Bad Request'), /does not take/],
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
