import {
  array,
  dateTime,
  grown,
  integer,
  maybe,
  nullable,
  number,
  object,
  string,
  uuid,
} from './fields.ts';
import { exampleIds, operation, page, pageQuery } from './operation.ts';

/** Who was notified of what, and why; and alerts that are held. */

const LineOut = object('StoryLineOut', {
  at: nullable(dateTime({ meaning: 'When it was.', example: '2026-11-18T04:03:36.410Z' })),
  text: string({ meaning: 'One step, in one sentence.', example: 'Alert queued.' }),
});

/** The steps that led to a message, or to none. */
export const lines = array(LineOut, { description: 'Every step, in order of time.' });

const MessageAttemptOut = object('MessageAttemptOut', {
  at: dateTime({ meaning: 'When it was sent.', example: '2026-11-18T04:03:36.551Z' }),
  took_ms: number({ meaning: 'How long the answer took, in milliseconds.', example: 141 }),
  status: nullable(number(), {
    description: 'The status of the answer, of HTTP or SMTP.',
    example: 200,
  }),
  class: string({ description: 'What kind of answer it was.', example: 'http' }),
  verdict: string({
    description: '`delivered`, `retry`, or `refused` (failed permanently).',
    example: 'delivered',
  }),
  words: nullable(string(), { description: 'What the receiver said.', example: null }),
});

export const MessageOut = object('MessageOut', {
  id: uuid({ example: exampleIds.message }),
  channel: uuid({ example: exampleIds.channel }),
  channel_name: string({ meaning: 'What the channel is called.', example: 'Pager' }),
  kind: string({ meaning: 'The kind of the channel.', example: 'webhook' }),
  event: string({ description: 'Such as `down`, `up` or `reminder`.', example: 'down' }),
  sentence: string({ meaning: 'The first line of the message.', example: 'Shop is down' }),
  state: string({
    description:
      '`waiting`, `delivered`, `refused` (failed permanently), `failed` (not delivered in time), or `superseded` by a later one.',
    example: 'delivered',
  }),
  due_at: dateTime({ meaning: 'When it was due.', example: '2026-11-18T04:03:36.410Z' }),
  created_at: dateTime({ example: '2026-11-18T04:03:36.410Z' }),
  settled_at: nullable(dateTime(), {
    description: 'When it was delivered, or failed permanently; null before.',
    example: '2026-11-18T04:03:36.692Z',
  }),
  next_at: nullable(dateTime(), { description: 'When it is tried again.', example: null }),
  words: nullable(string(), { description: 'What the receiver said last.', example: null }),
  incidents: array(
    object('MessageIncidentOut', {
      incident: uuid({ example: exampleIds.incident }),
      monitor: uuid({ example: exampleIds.monitor }),
      name: string({ meaning: 'What the monitor is called.', example: 'Shop' }),
      event: string({ meaning: 'What became of it.', example: 'down' }),
    }),
    { meaning: 'What it says something of.' },
  ),
  attempts: array(MessageAttemptOut, { meaning: 'Each time that it was sent.' }),
});

export const listMessages = operation({
  id: 'listMessages',
  method: 'GET',
  path: '/api/v1/messages',
  tag: 'Notifications',
  access: 'read',
  summary: 'List messages',
  description: 'What was sent to channels, or is waiting. Newest first.',
  query: {
    channel: maybe(uuid(), { description: 'Only those of this channel.' }),
    ...pageQuery,
  },
  response: page('MessagePage', MessageOut),
  refusals: ['channel_not_found'],
  columns: ['state', 'sentence', 'channel_name', 'event', 'created_at', 'settled_at', 'id'],
});

/** Who was notified of an incident, and why the others were not. */
export const notificationStory = {
  acknowledged: nullable(
    object('AcknowledgedOut', {
      at: dateTime({
        meaning: 'When it was acknowledged.',
        example: '2026-11-18T04:05:12.200Z',
      }),
      by: string({ meaning: 'Who acknowledged it.', example: 'Ada' }),
    }),
    { description: 'Since when reminders and later channels are held; null: nobody has it.' },
  ),
  last_resort: nullable(
    object('LastResortOut', {
      at: dateTime({ meaning: 'When it was.', example: '2026-11-18T04:08:36.410Z' }),
      mailed: array(string(), {
        meaning: 'Their addresses.',
        example: ['ada@harbour.example.com'],
      }),
    }),
    {
      description: 'When no channel delivered the alert, and which owners were mailed.',
      example: null,
    },
  ),
  held_because: grown(
    nullable(string(), {
      description:
        'The monitor or group that is down, while alerts of this incident are held for that.',
      example: 'Gateway',
    }),
    null,
  ),
  channels: array(
    object('ChannelStoryOut', {
      channel: uuid({ example: exampleIds.channel }),
      name: string({ example: 'Pager' }),
      kind: string({ meaning: 'The kind of the channel.', example: 'webhook' }),
      deleted: nullable(dateTime(), {
        description: 'When the channel was deleted.',
        example: null,
      }),
      outcome: string({
        description: '`notified`, `waiting` or `not_notified`.',
        example: 'notified',
      }),
      took_ms: nullable(number(), {
        description: 'From when nothing held the first message until it was delivered.',
        example: 282,
      }),
      lines,
    }),
    { description: 'Every channel, and deleted ones that were notified.' },
  ),
};

export const getIncidentNotifications = operation({
  id: 'getIncidentNotifications',
  method: 'GET',
  path: '/api/v1/incidents/{incident_id}/notifications',
  tag: 'Notifications',
  access: 'read',
  summary: 'Explain who was notified of an incident, and who was not',
  description: 'For each channel step by step why, and what was sent to it.',
  params: { incident_id: uuid() },
  response: object('IncidentNotificationsOut', {
    ...notificationStory,
    messages: array(MessageOut, {
      description: 'What was sent of it, or is waiting: the newest hundred, the newest first.',
    }),
  }),
  refusals: ['incident_not_found'],
});

export const MuteOut = object('MuteOut', {
  until: nullable(dateTime(), {
    description: 'When the mute ends; null: alerts are not muted.',
    example: '2026-11-18T14:00:00.000Z',
  }),
  by: nullable(string(), { description: 'Who muted them.', example: 'Ada' }),
});

export const showMute = operation({
  id: 'showMute',
  method: 'GET',
  path: '/api/v1/alerts/mute',
  tag: 'Notifications',
  access: 'read',
  summary: 'Get until when all alerts are muted, if they are',
  response: MuteOut,
});

/** A week. */
export const longestMute_min = 10_080;

export const muteAlerts = operation({
  id: 'muteAlerts',
  method: 'POST',
  path: '/api/v1/alerts/mute',
  tag: 'Notifications',
  access: 'write',
  summary: 'Mute all alerts of the organisation for a while',
  description:
    'They are held, not lost. A new mute replaces the one before. muteMonitor mutes one monitor.',
  body: object('MuteIn', {
    minutes: integer(
      {},
      {
        meaning: 'For how long, up to a week.',
        limits: { minimum: 1, maximum: longestMute_min },
        example: 60,
      },
    ),
  }),
  response: MuteOut,
  refusals: ['mute_invalid'],
});

export const unmuteAlerts = operation({
  id: 'unmuteAlerts',
  method: 'POST',
  path: '/api/v1/alerts/unmute',
  tag: 'Notifications',
  access: 'write',
  summary: 'Unmute all alerts of the organisation',
  description: 'Held alerts are sent if what they are about is still down.',
  response: MuteOut,
});
