import { operations } from '../api/index.ts';
import { confirming } from './changes.ts';
import { endOfLists, listed, whole } from './lines.ts';
import type { Row } from './tools.ts';

/**
 * Tools of the organisation itself: its usage, members, tokens and subscribers, and what ends by
 * itself. None lets anyone in.
 */

export const accountRows = {
  show_organisation: {
    operation: operations.showOrganisation,
    title: 'Plan and usage of the organisation',
    about: 'Use it to see what the plan allows, and how much of it is used.',
    run: whole,
  },
  list_certificates: {
    operation: operations.listCertificates,
    title: 'List certificates of monitors',
    about: `Use it to see which certificates expire next, as they were seen last.${endOfLists}`,
    run: listed('certificates'),
  },
  list_domains: {
    operation: operations.listDomains,
    title: 'List watched domains',
    about: `Use it to see which registrations of domains end next.${endOfLists}`,
    run: listed('domains'),
  },
  list_members: {
    operation: operations.listMembers,
    title: 'List members',
    about: `Use it to see who belongs to the organisation, and whom assign_incident can name. Only people change that.${endOfLists}`,
    run: listed('members'),
  },
  list_tokens: {
    operation: operations.listTokens,
    title: 'List API tokens',
    about: `Use it to find a token by how it begins, or tokens that nobody uses; never the tokens themselves.${endOfLists}`,
    run: listed('tokens'),
  },
  revoke_token: {
    operation: operations.revokeToken,
    title: 'Revoke an API token',
    about:
      'Every program that uses it is refused at once, and it cannot come back: ask the person before.',
    effect: 'deletes',
    run: confirming('The token is revoked. Programs that use it are refused.'),
  },
  list_subscribers: {
    operation: operations.listStatusPageSubscribers,
    title: 'List subscribers of a status page',
    about: `Use it to see who is notified of a status page: addresses of people, which belong in no other place.${endOfLists}`,
    run: listed('subscribers'),
  },
  remove_subscriber: {
    operation: operations.removeStatusPageSubscriber,
    title: 'Remove a subscriber of a status page',
    about: 'They are notified no more. Ask before.',
    effect: 'deletes',
    run: confirming('The subscriber is removed.'),
  },
} as const satisfies Readonly<Record<string, Row>>;
