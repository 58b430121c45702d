import { randomBytes } from 'node:crypto';
import type { Configuration, Provider } from 'oidc-provider';
import { isRecord } from '../../../shared/base/json.ts';
import { resourceOf } from '../../access/access-assistant-connections.ts';
import type { createAssistantSecrets, OauthRecords } from '../../access/access-oauth-records.ts';
import { adapterFor } from './oauth-adapter.ts';
import { keepOfClient, redirectFault } from './oauth-clients.ts';
import { assistantScopes } from './oauth-resource.ts';

export type { Provider } from 'oidc-provider';

/** A document of a client that says who it is by an address; through the one way by which anything of ours leaves for addresses of others. */
export type ReadDocument = (url: string) => Promise<{
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}>;

export type ProviderParts = {
  readonly baseUrl: string;
  readonly records: OauthRecords;
  readonly secrets: ReturnType<typeof createAssistantSecrets>;
  readonly readDocument: ReadDocument;
  /** Whether the address behind a request may have one more document fetched. */
  readonly mayFetch: (request: object) => Promise<boolean>;
  /** Where the browser is told what did not work. */
  readonly failedAt: (code: string) => string;
};

const minute = 60;
const day = 86_400;

/** How long what is given out is good for, in seconds: a code while a browser asks whether it may open a program. A refresh token is new with each use, so that a connection in use has no end. */
export const lives = { access: 15 * minute, refresh: 90 * day, code: 5 * minute, consent: 60 * minute, grant: 3_650 * day } as const;

export const paths = {
  authorization: '/oauth/auth',
  token: '/oauth/token',
  registration: '/oauth/register',
  revocation: '/oauth/revoke',
  jwks: '/oauth/jwks',
  end_session: '/oauth/end',
} as const;

export const consentCookie = 'assistant_consent';

/** It warns of every Node that was no LTS yet when it was written; it is tested here with ours. All else that it says is heard. */
const load = async () => {
  const { warn } = console;
  console.warn = (...said: unknown[]) => {
    if (!String(said[0]).includes('Unsupported runtime')) warn(...said);
  };
  try {
    return await import('oidc-provider');
  } finally {
    console.warn = warn;
  }
};

/** The one set of rules by which assistants sign in: a code with PKCE for a public client, an opaque token for this one resource, and a person who says yes. */
export const createProvider = async (parts: ProviderParts): Promise<Provider> => {
  const { baseUrl, records, secrets, readDocument, mayFetch, failedAt } = parts;
  const { Provider: OidcProvider, errors, interactionPolicy } = await load();
  const resource = resourceOf(baseUrl);
  const isSecure = baseUrl.startsWith('https:');
  const cookie = { httpOnly: true, sameSite: 'lax', secure: isSecure, signed: true, overwrite: true } as const;
  const scope = assistantScopes.join(' ');

  const configuration: Configuration = {
    adapter: adapterFor(records, (detail) => new errors.InvalidGrant(detail)),
    jwks: { keys: [await secrets.signingKey()] },
    cookies: {
      keys: [await secrets.cookieKey()],
      names: { session: 'assistant_sign_in', interaction: consentCookie, resume: 'assistant_resume' },
      long: { ...cookie, path: paths.authorization },
      short: cookie,
    },
    routes: paths,
    scopes: [...assistantScopes],
    claims: { sub: null },
    responseTypes: ['code'],
    clientAuthMethods: ['none'],
    clientDefaults: {
      application_type: 'native',
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      id_token_signed_response_alg: 'ES256',
    },
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    extraClientMetadata: {
      properties: ['antipode'],
      validator: (_ctx, _key, _value, metadata) => {
        const fault = redirectFault(metadata.redirect_uris);
        if (fault !== undefined) throw new errors.InvalidClientMetadata(fault);
        keepOfClient(metadata);
      },
    },
    pkce: { required: () => true },
    formats: { bitsOfOpaqueRandomness: 256 },
    ttl: {
      AccessToken: lives.access,
      AuthorizationCode: lives.code,
      RefreshToken: lives.refresh,
      Interaction: lives.consent,
      Session: lives.consent,
      Grant: lives.grant,
      IdToken: lives.access,
    },
    rotateRefreshToken: true,
    issueRefreshToken: async () => true,
    expiresWithSession: async () => false,
    // Who it is stands in the connection; the library needs to know no more than that it is somebody.
    findAccount: async (_ctx, accountId) => ({ accountId, claims: async () => ({ sub: accountId }) }),
    loadExistingGrant: async (ctx) => {
      const id = ctx.oidc.result?.consent?.grantId;
      return id === undefined ? undefined : ctx.oidc.provider.Grant.find(id);
    },
    interactions: { policy: interactionPolicy.base(), url: (_ctx, { uid }) => `/connect/${uid}` },
    clientBasedCORS: () => true,
    renderError: async (ctx, out) => {
      if (ctx.method === 'GET') ctx.redirect(failedAt(out.error));
      else ctx.body = out;
    },
    fetch: async (url) => {
      const { status, headers, body } = await readDocument(String(url));
      return new Response(Buffer.from(body), { status, headers });
    },
    features: {
      devInteractions: { enabled: false },
      // A token is good for whoever bears it, and what is asked for stands in the address: what is not there is not offered.
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      userinfo: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      revocation: { enabled: true, allowedPolicy: async (_ctx, client, token) => token.clientId === client.clientId },
      registration: { enabled: true, issueRegistrationAccessToken: false },
      clientIdMetadataDocument: {
        enabled: true,
        ack: 'draft-02',
        allowFetch: async (ctx) => ctx === undefined || mayFetch(ctx.req),
        cacheDuration: { min: 60, max: day },
      },
      resourceIndicators: {
        enabled: true,
        defaultResource: async () => resource,
        useGrantedResource: async () => true,
        getResourceServerInfo: async (_ctx, asked) => {
          if (asked !== resource) throw new errors.InvalidTarget(`tokens are given out for ${resource} alone`);
          return { scope, audience: resource, accessTokenFormat: 'opaque', accessTokenTTL: lives.access };
        },
      },
    },
  };
  const provider = new OidcProvider(baseUrl, configuration);
  const successorOf = await secrets.successors();
  // Used once more while that is allowed, a refresh token gives the same successor: there is never a second chain that nobody compares again.
  Object.defineProperty(provider.RefreshToken.prototype, 'generateTokenId', {
    value: (): string => {
      const used = OidcProvider.ctx?.oidc.entities.RotatedRefreshToken;
      return used === undefined ? randomBytes(32).toString('base64url') : successorOf(used.jti);
    },
  });
  // Who we are is told by BASE_URL: the requests that it is given say so, whatever they came with.
  provider.proxy = true;
  // The library always names a scope of identities and other ways to answer, which nobody is given here.
  provider.use(async (ctx, next) => {
    await next();
    if (isRecord(ctx.body) && 'scopes_supported' in ctx.body)
      ctx.body = { ...ctx.body, scopes_supported: assistantScopes, response_modes_supported: ['query'] };
  });
  return provider;
};
