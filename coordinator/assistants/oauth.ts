import { createECDH, createHmac, randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { Adapter, Configuration, Provider } from 'oidc-provider';
import { isRecord } from '../../shared/base/json.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { Sql } from '../database/connect.ts';
import { recordFingerprint, resourceOf } from './connections.ts';
import { consumeRecord, deleteRecord, endConnection, readRecord, writeRecord } from './queries.ts';

type Payload = Readonly<Record<string, unknown>>;

/** What the signing-in of assistants remembers, in the database, so that several coordinators are one. No id that lets somebody in is stored. */
export type OauthRecords = {
  /** False when the connection that it belongs to has ended. */
  readonly write: (model: string, id: string, payload: Payload, expiresIn: number | undefined) => Promise<boolean>;
  readonly read: (model: string, id: string) => Promise<Payload | undefined>;
  /** True for whoever was the first. */
  readonly consume: (model: string, id: string) => Promise<boolean>;
  readonly remove: (model: string, id: string) => Promise<void>;
  /** A connection is also the grant, under the same id. */
  readonly end: (connection: string) => Promise<void>;
};

/** Two processes of one client may refresh with one token at once: so long after its first use it still counts as unused. */
const graceMs = 45_000;

export const createOauthRecords = (sql: Sql, clock: Clock, key: () => Promise<Buffer>): OauthRecords => {
  const keyOf = async (model: string, id: string) => ({ model, fingerprint: recordFingerprint(await key(), model, id) });
  return {
    write: async (model, id, { jti: _, ...payload }, expiresIn) => {
      const at = clock.now();
      const connection = model === 'Grant' ? id : payload.grantId;
      return writeRecord(sql, {
        ...(await keyOf(model, id)),
        ...{ payload, at: new Date(at), connection: typeof connection === 'string' ? connection : null },
        expires_at: expiresIn === undefined ? null : new Date(at + expiresIn * 1_000),
      });
    },
    read: async (model, id) => {
      const now = clock.now();
      const found = await readRecord(sql, await keyOf(model, id), new Date(now));
      if (!found) return undefined;
      const { payload, consumed_at } = found;
      const isUsed = consumed_at !== null && (model !== 'RefreshToken' || consumed_at.getTime() + graceMs <= now);
      return {
        ...payload,
        ...(model === 'Client' ? {} : { jti: id }),
        ...(isUsed ? { consumed: Math.floor(consumed_at.getTime() / 1_000) } : {}),
      };
    },
    consume: async (model, id) => consumeRecord(sql, await keyOf(model, id), new Date(clock.now())),
    remove: async (model, id) => deleteRecord(sql, await keyOf(model, id)),
    end: (connection) => endConnection(sql, connection),
  };
};

/** What the signing-in of assistants signs with, made from the installation's key: the same for all coordinators, and stored nowhere. */
export const createAssistantSecrets = (key: () => Promise<Buffer>) => {
  const made = async (purpose: string): Promise<Buffer> =>
    createHmac('sha256', await key())
      .update(purpose)
      .digest();
  return {
    cookieKey: async (): Promise<string> => (await made('cookies')).toString('base64url'),
    /** The one refresh token that follows another. */
    successors: async (): Promise<(token: string) => string> => {
      const secret = await made('successors of refresh tokens');
      return (token) => createHmac('sha256', secret).update(token).digest('base64url');
    },
    /** A private key of P-256, as JWK. */
    signingKey: async () => {
      const secret = await made('signing key');
      // One in four billion is no private key of this curve; clearing the highest bit makes every one of them one.
      secret.writeUInt8(secret.readUInt8(0) & 0x7f, 0);
      const ecdh = createECDH('prime256v1');
      ecdh.setPrivateKey(secret);
      const point = ecdh.getPublicKey();
      const [x, y] = [point.subarray(1, 33).toString('base64url'), point.subarray(33).toString('base64url')];
      return { kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig', kid: x.slice(0, 16), d: secret.toString('base64url'), x, y };
    },
  };
};

/** What is refused because the connection ended meanwhile, or a code came twice. */
export type GrantEnded = (detail: string) => Error;

const nothing = async (): Promise<undefined> => undefined;

/** Nobody stays signed in with the signing-in of assistants: whoever is at the browser is known by our own session alone, and asked each time. */
const forgetful: Adapter = {
  upsert: nothing,
  find: nothing,
  findByUserCode: nothing,
  findByUid: nothing,
  consume: nothing,
  destroy: nothing,
  revokeByGrantId: nothing,
};

/** What the library stores, as records of ours. */
export const adapterFor =
  (records: OauthRecords, ended: GrantEnded) =>
  (model: string): Adapter =>
    model === 'Session'
      ? forgetful
      : {
          upsert: async (id, payload, expiresIn) => {
            if (!(await records.write(model, id, { ...payload }, expiresIn))) throw ended('the connection has ended');
          },
          find: (id) => records.read(model, id),
          findByUserCode: nothing,
          findByUid: nothing,
          consume: async (id) => {
            const isFirst = await records.consume(model, id);
            if (isFirst || model !== 'AuthorizationCode') return;
            // Of two who bring one code at once nobody knows which of them is its owner.
            const grant = (await records.read(model, id))?.grantId;
            if (typeof grant === 'string') await records.end(grant);
            throw ended('the code was used already');
          },
          destroy: (id) => (model === 'Grant' ? records.end(id) : records.remove(model, id)),
          // A connection is the grant: nothing of it stays when what was given out under it is taken back.
          revokeByGrantId: (grant) => records.end(grant),
        };

/** What an assistant may be granted; the second includes the first. */
export const assistantScopes = ['read', 'write'] as const;

const metadataPath = '/.well-known/oauth-protected-resource';

/**
 * The value of WWW-Authenticate for a call of an assistant that is refused: where it is told how to sign in, and what to ask for. Everything at once; the
 * person narrows it.
 */
export const challengeOf = (baseUrl: string, error?: 'invalid_token'): string => {
  const said = error === undefined ? [] : [`error="${error}"`];
  return `Bearer ${[...said, `resource_metadata="${baseUrl}${metadataPath}/mcp"`, `scope="${assistantScopes.join(' ')}"`].join(', ')}`;
};

/** Says which server of ours signs assistants in (RFC 9728), where clients look for it: at the path of the resource, and at the root. */
export const resourceMetadataRoutes = (app: FastifyInstance, baseUrl: () => string): void => {
  for (const path of [metadataPath, `${metadataPath}/mcp`])
    app.get(path, { exposeHeadRoute: true }, async (_request, reply) =>
      reply.headers({ 'cache-control': 'no-store', 'access-control-allow-origin': '*', 'x-content-type-options': 'nosniff' }).send({
        resource: resourceOf(baseUrl()),
        authorization_servers: [baseUrl()],
        scopes_supported: assistantScopes,
        bearer_methods_supported: ['header'],
        resource_name: 'Antipode',
      }),
    );
};

/** What only signing in with an identity needs, which nobody does here: a client that sends it all the same is not refused for it. */
const ignored = [
  'nonce',
  'max_age',
  'claims',
  'claims_locales',
  'acr_values',
  'id_token_hint',
  'ui_locales',
  'login_hint',
  'response_mode',
  'request',
  'request_uri',
];

/**
 * What a client asks for, as we understand it. Clients ask for more or less than there is, or for nothing; then it is all that there is, and the person
 * narrows it. To change something includes to look.
 */
export const understood = (query: string): string => {
  const asked = new URLSearchParams(query);
  const wanted = new Set((asked.get('scope') ?? '').split(' '));
  const known = assistantScopes.filter((scope) => wanted.has(scope) || wanted.has('write'));
  asked.set('scope', (known.length === 0 ? assistantScopes : known).join(' '));
  for (const name of ignored) asked.delete(name);
  // People are always asked; whoever wants that nobody is asked is told that this cannot be.
  if (asked.get('prompt') !== 'none') asked.delete('prompt');
  return asked.toString();
};

/** Who asks to be connected: a program of a stranger, whatever it says of itself. */

/** Schemes that belong to somebody, or run what they are given: nobody's program is behind them. */
const foreignSchemes = new Set(
  [
    ...['javascript', 'vbscript', 'data', 'blob', 'file', 'about', 'filesystem', 'view-source', 'chrome', 'edge', 'resource', 'jar'],
    ...['ftp', 'ws', 'wss', 'mailto', 'tel', 'sms', 'intent', 'content', 'ms-settings', 'shell', 'search-ms'],
  ].map((name) => `${name}:`),
);

const loopback = new Set(['localhost', '127.0.0.1', '[::1]']);

/** How a client is reached with the answer: at a site, on the machine of whoever asks, or by a scheme that a program there took for itself. */
export type Way = { readonly is: 'site' | 'machine' | 'program'; readonly host: string };

/** Undefined for where nothing is sent. */
export const wayTo = (redirect: unknown): Way | undefined => {
  if (typeof redirect !== 'string' || !/^[\x21-\x7e]{1,2000}$/.test(redirect)) return undefined;
  const url = URL.parse(redirect);
  if (url === null || url.username !== '' || url.password !== '' || redirect.includes('#')) return undefined;
  if (url.protocol === 'https:') return loopback.has(url.hostname) ? undefined : { is: 'site', host: url.host };
  if (url.protocol === 'http:') return loopback.has(url.hostname) ? { is: 'machine', host: url.hostname } : undefined;
  return foreignSchemes.has(url.protocol) ? undefined : { is: 'program', host: url.protocol.slice(0, -1) };
};

const maxRedirects = 20;

/** Why a client with these addresses to return to is not taken; undefined for one that is. */
export const redirectFault = (redirects: unknown): string | undefined => {
  if (!Array.isArray(redirects) || redirects.length === 0) return 'redirect_uris must name where to return to';
  if (redirects.length > maxRedirects) return `redirect_uris must not have more than ${maxRedirects} members`;
  return redirects.every((each) => wayTo(each) !== undefined)
    ? undefined
    : 'redirect_uris must be https, http to this machine itself (localhost, 127.0.0.1, [::1]), or a private scheme of a program';
};

const maxName = 60;

/** What people are shown of a client's name: one line of letters, without what turns or hides letters. */
export const nameShown = (name: unknown): string => {
  const text =
    typeof name === 'string'
      ? name
          .normalize('NFKC')
          .replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '')
          .replaceAll(/\s+/g, ' ')
          .trim()
      : '';
  if (text === '') return 'An assistant without a name';
  const letters = [...text];
  return letters.length > maxName ? `${letters.slice(0, maxName - 1).join('')}…` : text;
};

/** What is kept of what a client says of itself; all else is the same for all of them, and decided here. */
const kept = ['client_id', 'client_name', 'client_id_issued_at', 'redirect_uris'];

/** Every client is a program on somebody's machine, as far as the rules go: no secret, a code alone, and loopback ports of its choice. */
export const keepOfClient = (metadata: object): void => {
  for (const name of Object.keys(metadata)) if (!kept.includes(name)) Reflect.deleteProperty(metadata, name);
  if ('client_name' in metadata) metadata.client_name = nameShown(metadata.client_name);
};

export type { Provider } from 'oidc-provider';

/** A document of a client that says who it is by an address; through the one way by which anything of ours leaves for addresses of others. */
export type ReadDocument = (url: string) => Promise<{
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}>;

export type ProviderDependencies = {
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
export const createProvider = async (parts: ProviderDependencies): Promise<Provider> => {
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
