import {
  array,
  boolean,
  dateTime,
  integer,
  maybe,
  nullable,
  object,
  optional,
  string,
} from '../../shared/api/fields.ts';
import { anonymousOperation, innerOperation, personOperation } from '../../shared/api/operation.ts';

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

export const findSignInProvider = anonymousOperation({
  id: 'findSignInProvider',
  access: 'read',
  does: 'looks',
  summary: "Get the provider of an address's domain",
  body: object('FindProviderIn', { email: string() }),
  response: object('FoundProviderOut', {
    found: nullable(object('SignInProviderName', { key: string(), name: string() })),
  }),
  refusals: ['too_many_attempts'],
});

/** An organisation's own. */
export const showSignInProvider = innerOperation({
  id: 'showSignInProvider',
  access: 'own',
  does: 'looks',
  summary: 'Get the sign-in provider of the organisation',
  response: object('OrganisationProviderOut', {
    answer_address: string(),
    logout_address: string(),
    provider: nullable(
      object('OrganisationProvider', {
        issuer: string(),
        client_id: string(),
        groups_claim: string(),
        group_roles: string(),
        domain: string(),
        record_name: string(),
        record_text: string(),
        proved_at: nullable(dateTime()),
        only_way: boolean(),
        scim_address: string(),
        /** Null: it does not provision. */
        scim: nullable(
          object('OrganisationProvisioning', {
            since: dateTime(),
            people: integer(),
            groups: integer(),
            changed_at: nullable(dateTime()),
          }),
        ),
      }),
    ),
  }),
});

export const setSignInProvider = innerOperation({
  id: 'setSignInProvider',
  access: 'own',
  dangerous: true,
  summary: 'Set the sign-in provider of the organisation',
  body: object('OrganisationProviderIn', {
    issuer: string(),
    client_id: string(),
    client_secret: maybe(string({ description: 'Not given: that of before stays.' })),
    groups_claim: optional(string(), 'groups'),
    group_roles: string({ description: 'Lines such as `admins = admin`; `*` is everyone.' }),
    domain: string({ description: 'Of the e-mail addresses that it vouches for.' }),
    only_way: optional(
      boolean({ description: 'Whether members other than owners sign in by it alone.' }),
      false,
    ),
  }),
  response: object('SetProviderOut', { proved: boolean() }),
  refusals: [
    ...(['issuer_invalid', 'domain_invalid', 'role_unknown', 'too_many_attempts'] as const),
    ...(['provider_refused', 'provider_away', 'plan_limit_members', 'account_exists'] as const),
  ],
});

export const checkSignInDomain = innerOperation({
  id: 'checkSignInDomain',
  access: 'own',
  does: 'acts',
  summary: "Check the DNS record that proves the provider's domain",
  response: object('CheckedSignInDomainOut', { proved: boolean(), texts: array(string()) }),
  refusals: ['sign_in_provider_missing', 'domain_taken', 'too_many_attempts'],
});

export const removeSignInProvider = innerOperation({
  id: 'removeSignInProvider',
  access: 'own',
  does: 'acts',
  dangerous: true,
  summary: 'Remove the sign-in provider, which ends the sessions of it',
  response: object('RemovedSignInProviderOut', { removed: boolean() }),
  refusals: ['sign_in_provider_missing'],
});
