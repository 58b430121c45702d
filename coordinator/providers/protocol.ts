import type { Configuration } from 'openid-client';
import { isRecord } from '../../shared/base/json.ts';
import type { DocumentReader } from '../outbound/documents.ts';

/** OpenID Connect with a provider, by a library; all its requests go through readers of ours. */

/** As it is registered with a provider. */
export type ProviderClient = {
  readonly issuer: string;
  readonly client_id: string;
  readonly client_secret: string;
  /** Its host may be anywhere, since the operator named it. */
  readonly isOperators: boolean;
};

/**
 * `refused`: what came is not to be trusted, or somebody was turned away. `ended`: what was granted
 * is over. `away`: nobody knows.
 */
export class ProviderFault extends Error {
  readonly is: 'refused' | 'ended' | 'away';

  constructor(is: ProviderFault['is'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ProviderFault';
    this.is = is;
  }
}

/** One random secret of a browser is the source of all three; none is stored. */
export type SignInSecrets = {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
};

export type Claims = Readonly<Record<string, unknown>>;

/** What a provider says of somebody; undefined: it did not say it again. */
export type Said = {
  readonly token: Claims | undefined;
  readonly info: Claims | undefined;
  readonly refreshToken: string | undefined;
};

/** Whom a provider signed out: one session, or all of a subject. */
export type LoggedOut = {
  readonly subject: string | undefined;
  readonly session: string | undefined;
  readonly id: string;
};

export type ProviderProtocol = {
  /** Where the browser goes. @throws ProviderFault, as all of these. */
  readonly begin: (
    client: ProviderClient,
    asked: SignInSecrets & { readonly redirectUri: string; readonly again: boolean },
  ) => Promise<string>;
  /** `answer`: the address with which the browser came back. */
  readonly redeem: (
    client: ProviderClient,
    asked: SignInSecrets & { readonly answer: string; readonly groupsClaim: string },
  ) => Promise<Said>;
  readonly refresh: (
    client: ProviderClient,
    kept: {
      readonly refreshToken: string;
      readonly subject: string;
      readonly groupsClaim: string;
    },
  ) => Promise<Said>;
  readonly readLogout: (client: ProviderClient, token: string, now: number) => Promise<LoggedOut>;
};

type Readers = {
  /** Reaches public addresses alone. */
  readonly guarded: DocumentReader['read'];
  /** For the host that the operator named, wherever it is. */
  readonly open: DocumentReader['read'];
};

const timeoutS = 10;
/** A provider's own description is read again after this time. */
const knownMs = 600_000;
const mostKnown = 500;

type Known = {
  readonly at: number;
  readonly configuration: Promise<Configuration>;
  readonly keys: () => Promise<ReturnType<typeof import('jose').createRemoteJWKSet>>;
};

export function createProviderProtocol(readers: Readers): ProviderProtocol {
  const known = new Map<string, Known>();
  const knownOf = (client: ProviderClient): Known => {
    const name = JSON.stringify([client.issuer, client.client_id, client.client_secret]);
    const found = known.get(name);
    if (found && performance.now() - found.at < knownMs) return found;
    if (known.size >= mostKnown) known.clear();
    const fetch = fetchOf(readers, client);
    const configuration = discovered(client, fetch);
    let keys: ReturnType<Known['keys']> | undefined;
    const made: Known = {
      at: performance.now(),
      configuration,
      keys: () => {
        keys ??= keysOf(configuration, fetch);
        return keys;
      },
    };
    configuration.catch(() => known.delete(name));
    known.set(name, made);
    return made;
  };

  return {
    begin: (client, { state, nonce, verifier, redirectUri, again }) =>
      judged(async () => {
        const openid = await import('openid-client');
        const configuration = await knownOf(client).configuration;
        const { scopes_supported: scopes = [] } = configuration.serverMetadata();
        const more = ['offline_access', 'groups'].filter((scope) => scopes.includes(scope));
        return openid.buildAuthorizationUrl(configuration, {
          redirect_uri: redirectUri,
          scope: ['openid', 'email', 'profile', ...more].join(' '),
          state,
          nonce,
          code_challenge: await openid.calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
          // Google's word for the scope offline_access.
          ...(client.issuer === 'https://accounts.google.com' ? { access_type: 'offline' } : {}),
          ...(again ? { prompt: 'login', max_age: '0' } : {}),
        }).href;
      }),
    redeem: (client, { state, nonce, verifier, answer, groupsClaim }) =>
      judged(async () => {
        const openid = await import('openid-client');
        const configuration = await knownOf(client).configuration;
        const granted = await openid.authorizationCodeGrant(configuration, new URL(answer), {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        });
        const token = granted.claims();
        if (!token) throw new ProviderFault('refused', 'it sent no ID token');
        const isWhole = isSaid(token, 'email', 'email_verified', groupsClaim);
        const info = isWhole
          ? undefined
          : await infoOf(configuration, granted.access_token, token.sub);
        return { token, info, refreshToken: granted.refresh_token };
      }),
    refresh: (client, { refreshToken, subject, groupsClaim }) =>
      judged(async () => {
        const openid = await import('openid-client');
        const configuration = await knownOf(client).configuration;
        const granted = await openid.refreshTokenGrant(configuration, refreshToken);
        const token = granted.claims();
        if (token && token.sub !== subject)
          throw new ProviderFault('away', 'it renewed the sign-in of someone else');
        const info =
          token && isSaid(token, groupsClaim)
            ? undefined
            : await infoOf(configuration, granted.access_token, subject).catch(() => undefined);
        return { token, info, refreshToken: granted.refresh_token ?? refreshToken };
      }),
    readLogout: (client, text, now) =>
      judged(async () => {
        const { jwtVerify } = await import('jose');
        const { configuration, keys } = knownOf(client);
        const { payload, protectedHeader } = await jwtVerify(text, await keys(), {
          issuer: (await configuration).serverMetadata().issuer,
          audience: client.client_id,
          algorithms: [...asymmetric],
          currentDate: new Date(now),
          clockTolerance: 30,
          maxTokenAge: maxLogoutAgeS,
          requiredClaims: ['iat', 'jti', 'events'],
        });
        const { sub, sid, jti, events } = payload;
        if (!['logout+jwt', 'JWT', undefined].includes(protectedHeader.typ))
          throw new ProviderFault('refused', 'this token is of another type');
        if (!isRecord(events) || !isRecord(events[logoutEvent]) || 'nonce' in payload)
          throw new ProviderFault('refused', 'this token does not sign out');
        const [subject, session] = [textOf(sub), textOf(sid)];
        if (jti === undefined || (subject === undefined && session === undefined))
          throw new ProviderFault('refused', 'this token signs out nobody');
        return { subject, session, id: jti };
      }),
  };
}

/** No older token signs out; its id is remembered for longer. */
export const maxLogoutAgeS = 300;
const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout';

/** Never one by a shared secret, which the provider's public key could be taken for. */
const asymmetric = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
] as const;

function textOf(claim: unknown): string | undefined {
  return typeof claim === 'string' && claim !== '' ? claim : undefined;
}

function isSaid(claims: Claims, ...names: readonly string[]): boolean {
  return names.every((name) => claims[name] !== undefined);
}

async function infoOf(
  configuration: Configuration,
  accessToken: string,
  subject: string,
): Promise<Claims | undefined> {
  if (configuration.serverMetadata().userinfo_endpoint === undefined) return undefined;
  const openid = await import('openid-client');
  return openid.fetchUserInfo(configuration, accessToken, subject);
}

type Fetch = (
  url: string,
  options: {
    readonly method?: string;
    readonly headers?: Readonly<Record<string, string>> | Headers;
    readonly body?: unknown;
    readonly signal?: AbortSignal | null;
  },
) => Promise<Response>;

async function discovered(client: ProviderClient, fetch: Fetch): Promise<Configuration> {
  const openid = await import('openid-client');
  const { issuer, client_id, client_secret } = client;
  const first = await openid.discovery(new URL(issuer), client_id, undefined, openid.None(), {
    [openid.customFetch]: fetch,
    timeout: timeoutS,
  });
  const metadata = first.serverMetadata();
  // The library lets Microsoft answer for any tenant; here one issuer is one provider.
  if (metadata.issuer.replace(/\/$/, '') !== issuer.replace(/\/$/, ''))
    throw new ProviderFault('refused', `it calls itself ${metadata.issuer}`);
  const { token_endpoint_auth_methods_supported: ways = [] } = metadata;
  const authentication = ways.includes('client_secret_post')
    ? openid.ClientSecretPost(client_secret)
    : openid.ClientSecretBasic(client_secret);
  const made = new openid.Configuration(metadata, client_id, undefined, authentication);
  made[openid.customFetch] = fetch;
  made.timeout = timeoutS;
  // TLS alone would do for a token that comes directly; its signature is checked all the same.
  openid.enableNonRepudiationChecks(made);
  return made;
}

async function keysOf(configuration: Promise<Configuration>, fetch: Fetch) {
  const { createRemoteJWKSet, customFetch } = await import('jose');
  const { jwks_uri } = (await configuration).serverMetadata();
  if (jwks_uri === undefined) throw new ProviderFault('refused', 'it publishes no keys');
  return createRemoteJWKSet(new URL(jwks_uri), { [customFetch]: fetch });
}

function fetchOf({ guarded, open }: Readers, { issuer, isOperators }: ProviderClient): Fetch {
  const { host } = new URL(issuer);
  return async (url, { method, headers, body, signal }) => {
    const read = isOperators && new URL(url).host === host ? open : guarded;
    const answer = await read(url, {
      method: method === 'POST' ? 'POST' : 'GET',
      headers: headers === undefined ? {} : Object.fromEntries(new Headers(headers)),
      body: body instanceof URLSearchParams || typeof body === 'string' ? String(body) : undefined,
      signal: signal ?? undefined,
    }).catch((error: unknown) => {
      throw new ProviderFault('away', 'it does not answer', { cause: error });
    });
    const isEmpty = [204, 205, 304].includes(answer.status);
    return new Response(isEmpty ? null : Buffer.from(answer.body), {
      status: answer.status,
      headers: answer.headers,
    });
  };
}

async function judged<Done>(work: () => Promise<Done>): Promise<Done> {
  try {
    return await work();
  } catch (error) {
    throw faultOf(error);
  }
}

/** The library wraps what a request throws. */
function faultOf(error: unknown): ProviderFault {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1)
    if (at instanceof ProviderFault) return at;
  if (!(error instanceof Error)) return new ProviderFault('away', 'it failed', { cause: error });
  const word = 'error' in error ? textOf(error.error) : undefined;
  if (error.name === 'ResponseBodyError' && word === 'invalid_grant')
    return new ProviderFault('ended', 'it ended this sign-in', { cause: error });
  // An error of our own registration, or of the provider, says nothing of whoever signs in.
  if (error.name === 'ResponseBodyError')
    return new ProviderFault('away', `it answered ${plain(word)}`, { cause: error });
  if (error.name === 'AuthorizationResponseError')
    return new ProviderFault('refused', `it answered ${plain(word)}`, { cause: error });
  return new ProviderFault('refused', plain(error.message), { cause: error });
}

/** What others wrote is shown in part, and as text alone. */
function plain(text: string | undefined): string {
  return (text ?? 'nothing').replaceAll(/[^\w .,:'()-]/g, '').slice(0, 120);
}
