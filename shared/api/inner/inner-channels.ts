import { array, boolean, dict, maybe, nullable, number, object, string, uuid } from '../fields.ts';
import { innerOperation } from '../operation.ts';

/** What there is to fill in for a channel, and whether it works before somebody has to rely on it. */

export const listChannelKinds = innerOperation({
  id: 'listChannelKinds',
  access: 'read',
  summary: 'List the kinds of channels, with what each asks for',
  response: object('ChannelKindsOut', {
    items: array(
      object('ChannelKindOut', {
        id: string(),
        name: string(),
        about: string(),
        fields: array(
          object('ChannelFieldOut', {
            name: string(),
            label: string(),
            hint: nullable(string()),
            secret: boolean(),
            optional: boolean(),
            input: string(),
            choices: array(string()),
            pattern: string(),
          }),
        ),
      }),
    ),
    push_key: string({ description: 'What a browser needs in order to be told.' }),
    mail: boolean({ description: 'Whether mail is set up here.' }),
  }),
});

const ChosenOut = object('ChannelChoiceOut', { id: uuid(), name: string() });

export const getChannelChoices = innerOperation({
  id: 'getChannelChoices',
  access: 'read',
  summary: 'List the monitors and groups that a channel may be for',
  response: object('ChannelChoicesOut', { monitors: array(ChosenOut), groups: array(ChosenOut) }),
});

const TriedOut = object('ChannelTriedOut', {
  verdict: string({ description: '`taken`, `retry` or `refused`.' }),
  status: nullable(number()),
  class: string(),
  words: nullable(string()),
  took_ms: number(),
});

export const testChannel = innerOperation({
  id: 'testChannel',
  access: 'write',
  summary: 'Send a message to a channel, and see what it answers; ten an hour',
  params: { channel_id: uuid() },
  response: TriedOut,
  refusals: ['channel_not_found', 'channel_test_limit'],
});

export const askMailbox = innerOperation({
  id: 'askMailbox',
  access: 'write',
  summary: 'Ask a mailbox once more whether it wants the alerts of a channel; three times a day',
  params: { channel_id: uuid() },
  response: object('MailboxAskedOut', { address: string() }),
  refusals: ['channel_not_found', 'channel_invalid', 'channel_test_limit', 'mail_missing'],
});

export const tryChannel = innerOperation({
  id: 'tryChannel',
  access: 'write',
  summary: 'Send a message to a channel before it is saved; ten an hour',
  body: object('ChannelTrialIn', {
    kind: string(),
    config: dict(),
    channel: maybe(uuid(), { description: 'The one that is being changed: what `***` stands for.' }),
  }),
  response: TriedOut,
  refusals: ['channel_not_found', 'channel_kind_unknown', 'channel_invalid', 'channel_test_limit'],
});
