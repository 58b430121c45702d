import { ChannelTriedOut } from '../../shared/api/channels.ts';
import {
  array,
  boolean,
  dateTime,
  dict,
  integer,
  literal,
  maybe,
  nullable,
  object,
  string,
  uuid,
} from '../../shared/api/fields.ts';
import { lines, MessageOut, notificationStory } from '../../shared/api/notifications.ts';
import { anonymousOperation, innerOperation } from '../../shared/api/operation.ts';
import { families } from './kinds/types.ts';

/**
 * What the links in a message do for anyone who has it. GET of each shows a page, POST acts.
 *
 * Operations that only pages and operators call, with who may (`access`). Those of the API are in
 * `shared/api/`.
 */

const secret = object('AlertLinkIn', { secret: string() });

export const showAcknowledgement = anonymousOperation({
  id: 'showAcknowledgement',
  access: 'read',
  does: 'looks',
  summary: 'Show what the link of a message would acknowledge',
  body: secret,
  response: object('AcknowledgementShownOut', {
    organisation: string(),
    channel: string(),
    sentence: string(),
    open: boolean({ description: 'Whether there is still something to acknowledge.' }),
    acknowledged_by: array(string()),
    incidents: array(string()),
  }),
  refusals: ['link_invalid'],
});

export const acknowledgeByLink = anonymousOperation({
  id: 'acknowledgeByLink',
  access: 'read',
  summary: 'Acknowledge the incidents of a message, by its link',
  body: secret,
  response: object('AcknowledgedByLinkOut', { incidents: array(string()) }),
  refusals: ['link_invalid'],
});

export const showConfirmation = anonymousOperation({
  id: 'showConfirmation',
  access: 'read',
  does: 'looks',
  summary: 'Show what an address is asked to confirm, and whether it has done so',
  body: secret,
  response: object('ConfirmationShownOut', {
    organisation: string(),
    address: string(),
    said: boolean(),
  }),
  refusals: ['link_invalid'],
});

export const confirmChannel = anonymousOperation({
  id: 'confirmChannel',
  access: 'read',
  summary: 'Confirm that this address wants the alerts of a channel',
  body: secret,
  response: object('ChannelConfirmedOut', { name: string() }),
  refusals: ['link_invalid'],
});

export const showUnsubscribing = anonymousOperation({
  id: 'showUnsubscribing',
  access: 'read',
  does: 'looks',
  summary: 'Show what the link of a message would unsubscribe',
  body: secret,
  response: object('UnsubscribingOut', { organisation: string(), address: string() }),
  refusals: ['link_invalid'],
});

export const unsubscribe = anonymousOperation({
  id: 'unsubscribe',
  access: 'read',
  summary: 'Unsubscribe the address of a message, and no other',
  body: secret,
  response: object('UnsubscribedOut', { address: string() }),
  refusals: ['link_invalid'],
});

/** Who was notified of what, and why. */
export const showMessage = innerOperation({
  id: 'showMessage',
  access: 'read',
  summary: 'Show a message with every step that led to it',
  params: { channel_id: uuid(), message_id: uuid() },
  response: object('MessageShownOut', {
    ...MessageOut.shape,
    channel_deleted: nullable(dateTime(), {
      description: 'When its channel was deleted.',
    }),
    stories: array(
      object('MessageStoryOut', {
        incident: nullable(uuid(), { description: 'None of a warning.' }),
        monitor: uuid(),
        name: string(),
        lines,
      }),
    ),
  }),
  refusals: ['message_not_found'],
});

const ToldListOut = object('ToldListOut', {
  items: array(
    object('ToldOfOut', {
      channel: uuid(),
      name: string(),
      kind: string(),
      owner: nullable(string()),
      delay_s: integer(),
      shut: nullable(string(), {
        description:
          'Why nothing reaches it now: `off`, `unproven`, `unsubscribed`, `mail_missing` where mail is not set up, or `failing` where its receiver takes nothing.',
      }),
    }),
  ),
});

export const listRecipients = innerOperation({
  id: 'listWouldBeTold',
  access: 'read',
  summary:
    'List who would be notified of a monitor that is being created or edited, earliest first',
  query: {
    monitor: maybe(uuid(), { description: 'The one that is being changed.' }),
    group: maybe(uuid()),
  },
  response: ToldListOut,
  refusals: ['monitor_not_found', 'group_not_found'],
});

export const listNotified = innerOperation({
  id: 'listTold',
  access: 'read',
  summary: 'List who is notified of a monitor, earliest first',
  params: { monitor_id: uuid() },
  response: ToldListOut,
  refusals: ['monitor_not_found'],
});

export const listMonitorChannels = innerOperation({
  id: 'listMonitorChannels',
  access: 'read',
  summary: 'List all channels, and which of them notify of a monitor',
  query: { monitor: maybe(uuid()) },
  response: object('MonitorChannelsOut', {
    items: array(
      object('MonitorChannelOut', {
        id: uuid(),
        name: string(),
        kind: string(),
        owner: nullable(string()),
        delay_s: integer(),
        chosen: boolean(),
        has_all: boolean(),
        may_change: boolean({ description: 'Whether the caller may add or remove the monitor.' }),
      }),
    ),
  }),
  refusals: ['monitor_not_found'],
});

export const setMonitorChannels = innerOperation({
  id: 'setMonitorChannels',
  access: 'write',
  summary: 'Choose the channels that notify of a monitor',
  params: { monitor_id: uuid() },
  body: object('MonitorChannelsIn', { channels: array(uuid()) }),
  response: object('MonitorChannelsSetOut', { changed: integer() }),
  refusals: ['monitor_not_found', 'channel_not_found'],
});

export const explainNotifications = innerOperation({
  id: 'explainNotifications',
  access: 'read',
  summary: 'Explain who was notified of an incident, without the messages',
  params: { incident_id: uuid() },
  response: object('NotificationStoryOut', notificationStory),
  refusals: ['incident_not_found'],
});

/** The settings of a channel, and whether it works before someone has to rely on it. */
export const listChannelKinds = innerOperation({
  id: 'listChannelKinds',
  access: 'read',
  summary: 'List the kinds of channels, with the fields of each',
  response: object('ChannelKindsOut', {
    items: array(
      object('ChannelKindOut', {
        id: string(),
        name: string(),
        about: string(),
        family: literal(families),
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
    push_key: string({ description: 'What a browser needs in order to be notified.' }),
    mail: boolean({ description: 'Whether mail is set up here.' }),
  }),
});

export const askMailbox = innerOperation({
  id: 'askMailbox',
  access: 'write',
  summary: 'Send the confirmation mail of a channel again; three times a day',
  params: { channel_id: uuid() },
  response: object('MailboxAskedOut', { address: string() }),
  refusals: ['channel_not_found', 'channel_invalid', 'channel_test_limit', 'mail_missing'],
});

export const tryChannel = innerOperation({
  id: 'tryChannel',
  access: 'write',
  summary: 'Send a test to a channel before it is saved; ten an hour',
  body: object('ChannelTrialIn', {
    kind: string(),
    config: dict(),
    channel: maybe(uuid(), {
      description: 'The one that is being changed: what `***` stands for.',
    }),
  }),
  response: ChannelTriedOut,
  refusals: ['channel_not_found', 'channel_kind_unknown', 'channel_invalid', 'channel_test_limit'],
});
