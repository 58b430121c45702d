import { createECDH, createHmac } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { Adapter, Configuration, OIDCContext, Provider } from 'oidc-provider';
import { isRecord } from '../../shared/base/json.ts';
import type { Clock } from '../../shared/base/time.ts';
import type { Sql } from '../database/connect.ts';
import { recordFingerprint, resourceOf } from './connections.ts';
import { consumeRecord, deleteRecord, endConnection, readRecord, writeRecord } from './queries.ts';

type Payload = Readonly<Record<string, unknown>>;

/**
 * The records of the assistants' sign-in, in the database, so that several coordinators act as one.
 * No credential is stored in readable form.
 */
export type OauthRecords = {
  /** False when its connection has ended. */
  readonly write: (
    model: string,
    id: string,
    payload: Payload,
    expiresIn: number | undefined,
  ) => Promise<boolean>;
  readonly read: (model: string, id: string) => Promise<Payload | undefined>;
  /** True for the first use. */
  readonly consume: (model: string, id: string) => Promise<boolean>;
  readonly remove: (model: string, id: string) => Promise<void>;
  /** A connection is also the grant, under the same id. */
  readonly end: (connection: string) => Promise<void>;
};

/**
 * Two processes of one client may refresh with one token at once: for this long after its first
 * use, it still counts as unused.
 */
const graceMs = 45_000;

export function createOauthRecords(
  sql: Sql,
  clock: Clock,
  key: () => Promise<Buffer>,
): OauthRecords {
  const keyOf = async (model: string, id: string) => ({
    model,
    fingerprint: recordFingerprint(await key(), model, id),
  });
  return {
    write: async (model, id, { jti: _, ...payload }, expiresIn) => {
      const at = clock.now();
      const connection = model === 'Grant' ? id : payload.grantId;
      return writeRecord(sql, {
        ...(await keyOf(model, id)),
        payload,
        at,
        connection: typeof connection === 'string' ? connection : null,
        expires_at: expiresIn === undefined ? null : at + expiresIn * 1_000,
      });
    },
    read: async (model, id) => {
      const now = clock.now();
      const found = await readRecord(sql, await keyOf(model, id), now);
      if (!found) return undefined;
      const { payload, consumed_at } = found;
      const isUsed =
        consumed_at !== null && (model !== 'RefreshToken' || consumed_at + graceMs <= now);
      return {
        ...payload,
        ...(model === 'Client' ? {} : { jti: id }),
        ...(isUsed ? { consumed: Math.floor(consumed_at / 1_000) } : {}),
      };
    },
    consume: async (model, id) => consumeRecord(sql, await keyOf(model, id), clock.now()),
    remove: async (model, id) => deleteRecord(sql, await keyOf(model, id)),
    end: (connection) => endConnection(sql, connection),
  };
}

/**
 * The signing keys of the assistants' sign-in, derived from the installation's key: the same for
 * all coordinators, and not stored.
 */
export function createAssistantSecrets(key: () => Promise<Buffer>) {
  const made = async (purpose: string): Promise<Buffer> =>
    createHmac('sha256', await key())
      .update(purpose)
      .digest();
  return {
    cookieKey: async (): Promise<string> => (await made('cookies')).toString('base64url'),
    /** The only refresh token that follows another. */
    successors: async (): Promise<(token: string) => string> => {
      const secret = await made('successors of refresh tokens');
      return (token) => createHmac('sha256', secret).update(token).digest('base64url');
    },
    /** A private key of P-256, as JWK. */
    signingKey: async () => {
      const secret = await made('signing key');
      // One in four billion values is not a private key of this curve; clearing the highest bit
      // makes every value one.
      secret.writeUInt8(secret.readUInt8(0) & 0x7f, 0);
      const ecdh = createECDH('prime256v1');
      ecdh.setPrivateKey(secret);
      const point = ecdh.getPublicKey();
      const [x, y] = [
        point.subarray(1, 33).toString('base64url'),
        point.subarray(33).toString('base64url'),
      ];
      return {
        kty: 'EC',
        crv: 'P-256',
        alg: 'ES256',
        use: 'sig',
        kid: x.slice(0, 16),
        d: secret.toString('base64url'),
        x,
        y,
      };
    },
  };
}

/** For a refusal because the connection ended meanwhile, or a code came twice. */
type GrantEnded = (detail: string) => Error;

/**
 * The assistants' sign-in keeps no sessions: our own session alone identifies the user, who is
 * asked each time.
 */
const forgetful: Adapter = {
  upsert: nothing,
  find: nothing,
  findByUserCode: nothing,
  findByUid: nothing,
  consume: nothing,
  destroy: nothing,
  revokeByGrantId: nothing,
};

async function nothing(): Promise<undefined> {
  return undefined;
}

/**
 * Stores the library's objects as records of ours. `successor`: the refresh token that follows the
 * one of this request, if it used one.
 */
function adapterFor(records: OauthRecords, ended: GrantEnded, successor: () => string | undefined) {
  return (model: string): Adapter =>
    model === 'Session'
      ? forgetful
      : {
          upsert: async (id, payload, expiresIn) => {
            const its = model === 'RefreshToken' ? (successor() ?? id) : id;
            if (!(await records.write(model, its, { ...payload }, expiresIn)))
              throw ended('the connection has ended');
          },
          find: (id) => records.read(model, id),
          findByUserCode: nothing,
          findByUid: nothing,
          consume: async (id) => {
            const isFirst = await records.consume(model, id);
            if (isFirst || model !== 'AuthorizationCode') return;
            // When two clients send one code at once, it is unknown which of them owns it.
            const grant = (await records.read(model, id))?.grantId;
            if (typeof grant === 'string') await records.end(grant);
            throw ended('the code was used already');
          },
          destroy: (id) => (model === 'Grant' ? records.end(id) : records.remove(model, id)),
          // A connection is the grant: it is deleted when everything issued under it is revoked.
          revokeByGrantId: (grant) => records.end(grant),
        };
}

/** What an assistant may be granted; the second includes the first. */
export const assistantScopes = ['read', 'write'] as const;

const metadataPath = '/.well-known/oauth-protected-resource';

/**
 * The value of WWW-Authenticate when a call of an assistant is refused: where to sign in, and which
 * scopes to request. It names all scopes; the user narrows them.
 */
export function challengeOf(baseUrl: string, error?: 'invalid_token'): string {
  const said = error === undefined ? [] : [`error="${error}"`];
  return `Bearer ${[...said, `resource_metadata="${baseUrl}${metadataPath}/mcp"`, `scope="${assistantScopes.join(' ')}"`].join(', ')}`;
}

/**
 * Says which server of ours signs assistants in (RFC 9728), where clients look for it: at the path
 * of the resource, and at the root.
 */
export function resourceMetadataRoutes(app: FastifyInstance, baseUrl: () => string): void {
  for (const path of [metadataPath, `${metadataPath}/mcp`])
    app.get(path, { exposeHeadRoute: true }, async (_request, reply) =>
      reply
        .headers({
          'cache-control': 'no-store',
          'access-control-allow-origin': '*',
          'x-content-type-options': 'nosniff',
        })
        .send({
          resource: resourceOf(baseUrl()),
          authorization_servers: [baseUrl()],
          scopes_supported: assistantScopes,
          bearer_methods_supported: ['header'],
          resource_name: 'Antipode',
        }),
    );
}

/**
 * Only needed to sign in with an identity, which is not supported here: a client that sends it
 * anyway is not refused for it.
 */
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
 * What a client asks for, as we interpret it. A client that asks for unknown scopes or for none
 * gets all scopes, and the user narrows them. The scope to write includes the scope to read.
 */
export function understood(query: string): string {
  const asked = new URLSearchParams(query);
  const wanted = new Set((asked.get('scope') ?? '').split(' '));
  const known = assistantScopes.filter((scope) => wanted.has(scope) || wanted.has('write'));
  asked.set('scope', (known.length === 0 ? assistantScopes : known).join(' '));
  for (const name of ignored) asked.delete(name);
  // Users are always asked; a client that forbids asking is told that this is impossible.
  if (asked.get('prompt') !== 'none') asked.delete('prompt');
  return asked.toString();
}

/** Schemes that belong to someone, or execute their content: no client's program is behind them. */
const foreignSchemes = new Set(
  [
    'javascript',
    'vbscript',
    'data',
    'blob',
    'file',
    'about',
    'filesystem',
    'view-source',
    'chrome',
    'edge',
    'resource',
    'jar',
    'ftp',
    'ws',
    'wss',
    'mailto',
    'tel',
    'sms',
    'intent',
    'content',
    'ms-settings',
    'shell',
    'search-ms',
  ].map((name) => `${name}:`),
);

const loopback = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * How a client receives the answer: at a site, on the user's machine, or by a scheme that a program
 * there registered.
 */
export type RedirectTarget = { readonly is: 'site' | 'machine' | 'program'; readonly host: string };

/** Undefined for addresses that get no answer. */
export function redirectTargetOf(redirect: unknown): RedirectTarget | undefined {
  if (typeof redirect !== 'string' || !/^[\x21-\x7e]{1,2000}$/.test(redirect)) return undefined;
  const url = URL.parse(redirect);
  if (url === null || url.username !== '' || url.password !== '' || redirect.includes('#'))
    return undefined;
  if (url.protocol === 'https:')
    return loopback.has(url.hostname) ? undefined : { is: 'site', host: url.host };
  if (url.protocol === 'http:')
    return loopback.has(url.hostname) ? { is: 'machine', host: url.hostname } : undefined;
  return foreignSchemes.has(url.protocol)
    ? undefined
    : { is: 'program', host: url.protocol.slice(0, -1) };
}

const maxRedirects = 20;

/** Why a client with these redirect addresses is refused; undefined when it is accepted. */
export function redirectFault(redirects: unknown): string | undefined {
  if (!Array.isArray(redirects) || redirects.length === 0)
    return 'redirect_uris must name where to return to';
  if (redirects.length > maxRedirects)
    return `redirect_uris must not have more than ${maxRedirects} members`;
  return redirects.every((each) => redirectTargetOf(each) !== undefined)
    ? undefined
    : 'redirect_uris must be https, http to this machine itself (localhost, 127.0.0.1, [::1]), or a private scheme of a program';
}

const maxName = 60;

/**
 * A client's name as people see it: one line of letters, without characters that reverse or hide
 * text.
 */
export function nameShown(name: unknown): string {
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
}

/**
 * What is stored of a client's metadata; everything else is the same for all clients, and decided
 * here.
 */
const kept = ['client_id', 'client_name', 'client_id_issued_at', 'redirect_uris'];

/**
 * By the rules, every client is a program on a user's machine: no secret, only codes, and any
 * loopback port.
 */
export function keepOfClient(metadata: object): void {
  for (const name of Object.keys(metadata))
    if (!kept.includes(name)) Reflect.deleteProperty(metadata, name);
  if ('client_name' in metadata) metadata.client_name = nameShown(metadata.client_name);
}

export type { Provider } from 'oidc-provider';

/**
 * The document of a client that identifies itself by an address; fetched by the only way of
 * requests to addresses of others.
 */
export type ReadDocument = (url: string) => Promise<{
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}>;

type ProviderDependencies = {
  readonly baseUrl: string;
  readonly records: OauthRecords;
  readonly secrets: ReturnType<typeof createAssistantSecrets>;
  readonly readDocument: ReadDocument;
  /** Whether the address behind a request may have one more document fetched. */
  readonly mayFetch: (request: object) => Promise<boolean>;
  /** The page that explains a failure in the browser. */
  readonly failedAt: (code: string) => string;
};

const minute = 60;
const day = 86_400;

/**
 * How long issued credentials are valid, in seconds. A code lasts while a browser asks whether it
 * may open a program. Each use replaces the refresh token, so a connection in use never ends.
 */
const lifetimes = {
  access: 15 * minute,
  refresh: 90 * day,
  code: 5 * minute,
  consent: 60 * minute,
  grant: 3_650 * day,
} as const;

export const paths = {
  authorization: '/oauth/auth',
  token: '/oauth/token',
  registration: '/oauth/register',
  revocation: '/oauth/revoke',
  jwks: '/oauth/jwks',
  end_session: '/oauth/end',
} as const;

export const consentCookie = 'assistant_consent';

/**
 * The rules for assistants to sign in: a code with PKCE for a public client, an opaque token for
 * this one resource, and a user who agrees.
 */
export async function createProvider(dependencies: ProviderDependencies): Promise<Provider> {
  const { baseUrl, records, secrets, readDocument, mayFetch, failedAt } = dependencies;
  const { Provider: OidcProvider, errors, interactionPolicy } = await load();
  const resource = resourceOf(baseUrl);
  const isSecure = baseUrl.startsWith('https:');
  const cookie = {
    httpOnly: true,
    sameSite: 'lax',
    secure: isSecure,
    signed: true,
    overwrite: true,
  } as const;
  const scope = assistantScopes.join(' ');
  const successorOf = await secrets.successors();
  // A refresh token that is used again within the grace time returns the same successor: there is
  // never a second chain without reuse detection.
  const successor = (request: OIDCContext | undefined): string | undefined => {
    const used = request?.entities.RotatedRefreshToken;
    return used && successorOf(used.jti);
  };

  const configuration: Configuration = {
    adapter: adapterFor(
      records,
      (detail) => new errors.InvalidGrant(detail),
      () => successor(OidcProvider.ctx?.oidc),
    ),
    jwks: { keys: [await secrets.signingKey()] },
    cookies: {
      keys: [await secrets.cookieKey()],
      names: {
        session: 'assistant_sign_in',
        interaction: consentCookie,
        resume: 'assistant_resume',
      },
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
      AccessToken: lifetimes.access,
      AuthorizationCode: lifetimes.code,
      RefreshToken: lifetimes.refresh,
      Interaction: lifetimes.consent,
      Session: lifetimes.consent,
      Grant: lifetimes.grant,
      IdToken: lifetimes.access,
    },
    rotateRefreshToken: true,
    issueRefreshToken: async () => true,
    expiresWithSession: async () => false,
    // The connection names the user; the library needs to know only that there is one.
    findAccount: async (_ctx, accountId) => ({
      accountId,
      claims: async () => ({ sub: accountId }),
    }),
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
      // Tokens are bearer tokens, and requests are in the address: the features that are missing
      // here are not offered.
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      userinfo: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      revocation: {
        enabled: true,
        allowedPolicy: async (_ctx, client, token) => token.clientId === client.clientId,
      },
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
          if (asked !== resource)
            throw new errors.InvalidTarget(`tokens are given out for ${resource} alone`);
          return {
            scope,
            audience: resource,
            accessTokenFormat: 'opaque',
            accessTokenTTL: lifetimes.access,
          };
        },
      },
    },
  };
  const provider = new OidcProvider(baseUrl, configuration);
  // BASE_URL says who we are: the requests passed to the library say so, whatever they contained.
  provider.proxy = true;
  // The library always announces an identity scope and other response types, which are not
  // available here.
  provider.use(async (ctx, next) => {
    await next();
    if (isRecord(ctx.body) && 'scopes_supported' in ctx.body)
      ctx.body = {
        ...ctx.body,
        scopes_supported: assistantScopes,
        response_modes_supported: ['query'],
      };
    const token = successor(ctx.oidc);
    if (token !== undefined && isRecord(ctx.body) && 'refresh_token' in ctx.body)
      ctx.body = { ...ctx.body, refresh_token: token };
  });
  return provider;
}

/**
 * It warns of every Node that was not LTS when it was written; we test it with ours. All its other
 * warnings are logged.
 */
async function load() {
  const { warn } = console;
  console.warn = (...said: unknown[]) => {
    if (!String(said[0]).includes('Unsupported runtime')) warn(...said);
  };
  try {
    return await import('oidc-provider');
  } finally {
    console.warn = warn;
  }
}
