import {
  array,
  boolean,
  dateTime,
  dict,
  grown,
  integer,
  literal,
  maybe,
  nullable,
  number,
  object,
  optional,
  string,
  uuid,
} from './fields.ts';
import {
  exampleIds,
  maxIdsIn,
  nullableString,
  operation,
  page,
  pageQuery,
  patched,
} from './operation.ts';

/** Who is notified of outages, how, and when. */

const Hours = object('ChannelHours', {
  zone: maybe(string({ minLength: 1, maxLength: 64 }), {
    description: "An IANA time zone; null means the organisation's.",
  }),
  spans: array(
    object('ChannelSpan', {
      days: array(integer({}, { minimum: 1, maximum: 7 }), {
        minItems: 1,
        maxItems: 7,
        description: '1 is Monday.',
      }),
      from: string({ pattern: '^(?:[01][0-9]|2[0-3]):[0-5][0-9]$', description: 'Such as 09:00.' }),
      to: string({
        pattern: '^(?:(?:[01][0-9]|2[0-3]):[0-5][0-9]|24:00)$',
        description: 'Such as 17:00; earlier than `from` means the next day.',
      }),
    }),
    { maxItems: 21, meaning: 'The hours, each on some days.' },
  ),
});

const channelShape = {
  id: uuid({ example: exampleIds.channel }),
  kind: string({ description: 'Such as `email`, `slack` or `webhook`.', example: 'webhook' }),
  name: string({ example: 'Pager' }),
  config: dict({
    description: 'The settings of its kind; `***` replaces a secret.',
    example: { url: 'https://hooks.example.com/antipode', secret: '***' },
  }),
  enabled: boolean({ example: true }),
  verified: boolean({
    description: 'Whether a mailbox said that it wants this; other kinds always are.',
    example: true,
  }),
  unsubscribed: boolean({ description: 'Whether its address wants no more.', example: false }),
  covers: string({
    description: '`all` monitors, or those that were `chosen`.',
    example: 'chosen',
  }),
  monitors: array(uuid(), { example: [exampleIds.monitor] }),
  groups: array(uuid(), { example: [] }),
  delay_s: integer(
    {},
    {
      description: 'Delay of its alerts, if the incident is then still open and not acknowledged.',
      example: 300,
    },
  ),
  reminder_s: nullable(integer(), {
    description:
      'After so many seconds the alert repeats, then at intervals that double; null: never.',
    example: null,
  }),
  hours: nullable(Hours, { description: 'When it gets alerts; null: at any hour.', example: null }),
  warnings: grown(boolean({ description: 'Whether it gets warnings, too.', example: true }), true),
  owner: nullableString('The member who owns it; null when the team does.', {
    example: null,
  }),
  delivering: boolean({
    description: 'False once it failed permanently, or for an hour.',
    example: true,
  }),
  failure: nullableString('What was wrong with the last attempt.', { example: null }),
  last_delivered_at: nullable(
    dateTime({
      meaning: 'When a message was last delivered to it; null before the first.',
      example: '2026-11-18T04:03:37.022Z',
    }),
  ),
  p95_ms: nullable(number(), {
    description:
      'The time from due to delivered that 95 in 100 messages of the last week did not exceed; null without any.',
    example: 412,
  }),
  created_at: dateTime({ example: '2026-11-02T09:30:00.000Z' }),
};

export const ChannelOut = object('ChannelOut', channelShape);

export const ChannelMadeOut = object('ChannelMadeOut', {
  ...channelShape,
  secret: nullableString(
    'What the messages of a webhook are signed with (`whsec_…`). It is shown once.',
    {
      example: 'whsec_cGxlYXNlIG1ha2Ugb25lIG9mIHlvdXIgb3duIGhlcmU=',
    },
  ),
});

const ChannelPage = page('ChannelPage', ChannelOut);

const maxIds = { maxItems: maxIdsIn.body };
const monitors = { ...maxIds, description: 'With `covers: chosen`.' };
const wait = { minimum: 0, maximum: 86_400 };

export const ChannelIn = object('ChannelIn', {
  kind: string({ meaning: 'Which kind it is.', example: 'webhook' }),
  name: maybe(string({ minLength: 1, limits: { maxLength: 200 }, example: 'Pager' })),
  config: dict({
    description:
      'What its kind asks for: the object `…ChannelConfig` that begins with the name of the kind.',
    example: { url: 'https://hooks.example.com/antipode' },
  }),
  enabled: optional(boolean(), true),
  covers: optional(
    literal(['all', 'chosen'], {
      meaning: 'Whether it gets alerts of all monitors or of chosen ones.',
      example: 'all',
    }),
    'all',
  ),
  monitors: optional(array(uuid(), monitors), []),
  groups: optional(array(uuid(), monitors), []),
  delay_s: optional(
    integer(
      {},
      {
        ...wait,
        meaning:
          'Alerts are sent only when the outage lasts so many seconds and is not acknowledged.',
      },
    ),
    0,
  ),
  reminder_s: maybe(integer({}, wait), {
    meaning: 'Repeats after so many seconds, then at intervals that double; null for never.',
  }),
  hours: maybe(Hours, { meaning: 'When it gets alerts; null for always.' }),
  warnings: maybe(boolean(), {
    description:
      'Whether it gets warnings, too; not sent, mail, chat and webhooks do, pagers and phones do not.',
  }),
  personal: optional(
    boolean({ description: 'Your own, and not the organisation’s: any member may have some.' }),
    false,
  ),
  try: optional(
    boolean({
      description:
        'Whether a message is really sent before it is saved; one that is not taken is refused by 422 `channel_test_failed`, and nothing is saved. A mailbox that must confirm first, and a browser, are never tried.',
      example: false,
    }),
    true,
  ),
});

const ChannelPatch = object(
  'ChannelPatch',
  {
    name: maybe(string({ minLength: 1, limits: { maxLength: 200 } })),
    config: maybe(dict(), {
      description: 'The whole of it. `***` keeps a secret, as long as its host stays.',
    }),
    enabled: maybe(boolean()),
    covers: maybe(
      literal(['all', 'chosen'], {
        meaning: 'Whether it gets alerts of all monitors or of chosen ones.',
      }),
    ),
    monitors: maybe(array(uuid(), maxIds)),
    groups: maybe(array(uuid(), maxIds)),
    delay_s: maybe(integer({}, wait), {
      meaning:
        'Alerts are sent only when the outage lasts so many seconds and is not acknowledged.',
      example: 300,
    }),
    reminder_s: maybe(integer({}, wait), { description: '0 ends reminders.' }),
    hours: maybe(Hours, { description: 'Without spans: at any hour.' }),
    warnings: maybe(boolean(), { description: 'Whether it gets warnings, too.' }),
  },
  patched,
);

const channelId = { channel_id: uuid() };
const faults = [
  'channel_invalid',
  'name_invalid',
  'hours_invalid',
  'time_zone_invalid',
  'monitor_not_found',
  'group_not_found',
] as const;

export const listChannels = operation({
  id: 'listChannels',
  method: 'GET',
  path: '/api/v1/channels',
  tag: 'Channels',
  access: 'read',
  summary: 'List channels',
  description: 'Where alerts go. Oldest first.',
  query: pageQuery,
  response: ChannelPage,
  columns: [
    'kind',
    'name',
    'enabled',
    'verified',
    'delivering',
    'covers',
    'failure',
    'owner',
    'id',
  ],
});

export const createChannel = operation({
  id: 'createChannel',
  method: 'POST',
  path: '/api/v1/channels',
  tag: 'Channels',
  access: 'write',
  summary: 'Create a channel',
  description:
    'Owners and admins make channels of the organisation, other members their own. A test message is sent before it is saved, unless `try` is false; an organisation may have ten tests an hour. A mailbox is asked first.',
  body: ChannelIn,
  response: ChannelMadeOut,
  success: 201,
  refusals: [
    'plan_limit_channels',
    'channel_kind_unknown',
    'mail_missing',
    'channel_test_limit',
    'channel_test_failed',
    ...faults,
  ],
});

export const getChannel = operation({
  id: 'getChannel',
  method: 'GET',
  path: '/api/v1/channels/{channel_id}',
  tag: 'Channels',
  access: 'read',
  summary: 'Get a channel',
  params: channelId,
  response: ChannelOut,
  refusals: ['channel_not_found'],
});

export const updateChannel = operation({
  id: 'updateChannel',
  method: 'PATCH',
  path: '/api/v1/channels/{channel_id}',
  tag: 'Channels',
  access: 'write',
  summary: 'Change a channel',
  params: channelId,
  body: ChannelPatch,
  response: ChannelOut,
  refusals: ['channel_not_found', 'mail_missing', 'channel_test_limit', ...faults],
});

export const deleteChannel = operation({
  id: 'deleteChannel',
  method: 'DELETE',
  path: '/api/v1/channels/{channel_id}',
  tag: 'Channels',
  access: 'write',
  summary: 'Delete a channel',
  description:
    'Waiting messages are dropped. Sent ones stay, without the address that they went to.',
  params: channelId,
  refusals: ['channel_not_found'],
});

/** The result of a test message. */
export const ChannelTriedOut = object('ChannelTriedOut', {
  verdict: string({
    description: '`delivered`, `retry`, or `refused` (it would fail permanently).',
    example: 'delivered',
  }),
  status: nullable(number(), {
    description: 'The status of the answer, of HTTP or SMTP.',
    example: 200,
  }),
  class: string({ description: 'What kind of answer it was.', example: 'http' }),
  words: nullable(string(), { description: 'What the receiver said.', example: null }),
  took_ms: number({ meaning: 'How long the answer took, in milliseconds.', example: 21 }),
});

export const testChannel = operation({
  id: 'testChannel',
  method: 'POST',
  path: '/api/v1/channels/{channel_id}/test',
  tag: 'Channels',
  access: 'write',
  summary: 'Send a test to a channel',
  description:
    'A real message, answered with what its receiver said. An organisation may have ten tests an hour.',
  params: channelId,
  response: ChannelTriedOut,
  refusals: ['channel_not_found', 'channel_invalid', 'channel_test_limit'],
});
