import {
  array,
  boolean,
  maybe,
  nullable,
  object,
  optional,
  string,
} from '../../shared/api/fields.ts';
import { anonymousOperation, personOperation } from '../../shared/api/operation.ts';

/** Signing in with a provider: `installation`, or the id of an organisation's. */

const BegunOut = object('ProviderBegunOut', {
  /** Where the browser goes. */
  address: string(),
  /** For the browser alone, until it comes back. */
  secret: string(),
});

/** It leaves nothing but a secret, which expires by itself. */
export const beginProviderSignIn = anonymousOperation({
  id: 'beginProviderSignIn',
  access: 'read',
  does: 'looks',
  summary: 'Begin to sign in with a provider',
  body: object('BeginProviderIn', {
    provider: string(),
    again: optional(boolean({ description: 'It asks for the password again.' }), false),
  }),
  response: BegunOut,
  refusals: ['provider_not_found', 'provider_refused', 'provider_away', 'too_many_attempts'],
});

export const finishProviderSignIn = anonymousOperation({
  id: 'finishProviderSignIn',
  access: 'read',
  summary: 'Sign in with what a provider answered',
  body: object('FinishProviderIn', {
    provider: string(),
    secret: string(),
    answer: string({ description: 'The query with which the browser came back.' }),
    again: optional(boolean(), false),
  }),
  response: object('FinishedProviderOut', {
    /** Null: nothing here is open to them any more. */
    session: nullable(string()),
    refused: maybe(string()),
  }),
  refusals: [
    ...(['provider_not_found', 'provider_refused', 'provider_away', 'too_many_attempts'] as const),
    ...(['account_exists', 'identity_taken', 'plan_limit_members', 'organisation_ending'] as const),
  ],
});

/** OpenID Connect Back-Channel Logout 1.0. */
export const endProviderSessions = anonymousOperation({
  id: 'endProviderSessions',
  access: 'read',
  summary: 'End the sessions that a provider ended',
  body: object('ProviderLogoutIn', { provider: string(), logout_token: string() }),
  response: object('ProviderLogoutOut', { ended: boolean() }),
  refusals: ['provider_not_found', 'provider_refused', 'provider_away', 'too_many_attempts'],
});

export const beginProviderConnection = personOperation({
  id: 'beginProviderConnection',
  access: 'read',
  does: 'looks',
  dangerous: true,
  summary: 'Begin to connect your account with a provider',
  body: object('ConnectProviderIn', { provider: string() }),
  response: BegunOut,
  refusals: ['provider_not_found', 'provider_refused', 'provider_away'],
});

/** Those that may sign them in. */
export const listOwnProviders = personOperation({
  id: 'listOwnProviders',
  access: 'read',
  summary: 'List the providers that your account is or can be connected with',
  response: object('OwnProvidersOut', {
    items: array(object('OwnProviderOut', { key: string(), name: string(), connected: boolean() })),
  }),
});

export const disconnectProvider = personOperation({
  id: 'disconnectProvider',
  access: 'read',
  does: 'acts',
  dangerous: true,
  summary: 'Disconnect your account from a provider, which ends the sessions of it',
  params: { provider: string() },
  response: object('DisconnectedProviderOut', { name: string() }),
  refusals: ['provider_not_found', 'password_missing'],
});
