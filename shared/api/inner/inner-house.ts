import { array, boolean, dateTime, integer, maybe, nullable, object, optional, string, uuid } from '../fields.ts';
import { innerOperation } from '../operation.ts';

/** What the house tells its operator, and what it could not work on by itself. */

const days = optional(integer({ ge: 1, le: 400 }), 7);

export const listNotices = innerOperation({
  id: 'listNotices',
  access: 'manage',
  does: 'looks',
  summary: 'List what the operator is told: all that is open, and what ended in the last days',
  query: { days },
  response: object('NoticeListOut', {
    items: array(
      object('NoticeOut', {
        id: integer(),
        kind: string(),
        subject: string({ description: 'The id of the probe, or the part of the house that it is about.' }),
        message: string(),
        what_to_do: nullable(string(), { description: 'null when it is over.' }),
        began_at: dateTime(),
        ended_at: nullable(dateTime()),
      }),
    ),
    open: integer(),
  }),
});

export const listRefused = innerOperation({
  id: 'listRefused',
  access: 'manage',
  does: 'looks',
  summary: 'List what was refused on the bus in the last days, by day, probe and reason',
  query: { days, probe_id: maybe(uuid()) },
  response: object('RefusedListOut', {
    items: array(
      object('RefusedOut', {
        day: string(),
        probe: string({ description: 'Its id; `unknown` for a probe that does not exist, `beat` for heartbeats.' }),
        probe_name: nullable(string()),
        reason: string(),
        meaning: string(),
        count: integer(),
        last_at: dateTime(),
      }),
    ),
    count: integer({}, { description: 'All counts together.' }),
  }),
});

const setAside = {
  id: integer(),
  subject: string(),
  reason: string({ description: 'Why it could not be worked on.' }),
  at: dateTime(),
  bytes: integer(),
  attempts: integer({}, { description: 'How often it was worked on again in vain.' }),
  retry_asked_at: nullable(dateTime(), { description: 'Since when it waits to be worked on again.' }),
};

export const listSetAside = innerOperation({
  id: 'listSetAside',
  access: 'manage',
  does: 'looks',
  summary: 'List messages that could not be worked on',
  response: object('SetAsideListOut', { items: array(object('SetAsideOut', setAside)), count: integer() }),
});

export const showSetAside = innerOperation({
  id: 'showSetAside',
  access: 'manage',
  does: 'looks',
  summary: 'Show a message that could not be worked on, with its bytes',
  params: { set_aside_id: integer() },
  response: object('SetAsideDetailsOut', {
    ...setAside,
    data: string({ description: 'The message, as text where it is text.' }),
    encoding: string({ description: '`text` or `base64`.' }),
  }),
  refusals: ['set_aside_not_found'],
});

const which = object('SetAsideIn', {
  set_aside_id: maybe(integer()),
  all: optional(boolean(), false),
});

export const retrySetAside = innerOperation({
  id: 'retrySetAside',
  access: 'manage',
  summary: 'Have one or all of the messages that could not be worked on worked on again',
  body: which,
  response: object('RetriedOut', { asked: array(integer()) }),
  refusals: ['set_aside_not_found', 'request_malformed'],
});

export const dropSetAside = innerOperation({
  id: 'dropSetAside',
  access: 'manage',
  dangerous: true,
  summary: 'Forget one or all of the messages that could not be worked on',
  body: which,
  response: object('DroppedOut', { dropped: array(integer()) }),
  refusals: ['set_aside_not_found', 'request_malformed'],
});
