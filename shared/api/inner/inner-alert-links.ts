import { array, boolean, object, string } from '../fields.ts';
import { innerOperation } from '../operation.ts';

/** What the links in a message do, for whoever has it; a GET of each shows, a POST acts. */

const secret = object('AlertLinkIn', { secret: string() });

export const showAcknowledgement = innerOperation({
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
  }),
  refusals: ['link_invalid'],
});

export const acknowledgeByLink = innerOperation({
  id: 'acknowledgeByLink',
  access: 'read',
  summary: 'Acknowledge what a message told, by its link',
  body: secret,
  response: object('AcknowledgedByLinkOut', { incidents: array(string()) }),
  refusals: ['link_invalid'],
});

export const showConfirmation = innerOperation({
  id: 'showConfirmation',
  access: 'read',
  does: 'looks',
  summary: 'Show what a mailbox is asked, and whether it has said yes already',
  body: secret,
  response: object('ConfirmationShownOut', { organisation: string(), address: string(), said: boolean() }),
  refusals: ['link_invalid'],
});

export const confirmChannel = innerOperation({
  id: 'confirmChannel',
  access: 'read',
  summary: 'Say that this mailbox wants the alerts of a channel',
  body: secret,
  response: object('ChannelConfirmedOut', { name: string() }),
  refusals: ['link_invalid'],
});

export const showUnsubscribing = innerOperation({
  id: 'showUnsubscribing',
  access: 'read',
  does: 'looks',
  summary: 'Show what the link of a message would end',
  body: secret,
  response: object('UnsubscribingOut', { organisation: string(), address: string() }),
  refusals: ['link_invalid'],
});

export const unsubscribe = innerOperation({
  id: 'unsubscribe',
  access: 'read',
  summary: 'End what comes to the address of a message, for that address alone',
  body: secret,
  response: object('UnsubscribedOut', { address: string() }),
  refusals: ['link_invalid'],
});
