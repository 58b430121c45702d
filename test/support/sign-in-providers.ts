import { createHash, createHmac, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { exportJWK, SignJWT } from 'jose';
import { createDocumentReader, type DocumentReader } from '../../coordinator/outbound/documents.ts';
import type { InstallationProvider, ProvidersPart } from '../../coordinator/providers/lookup.ts';
import { createProviderProtocol } from '../../coordinator/providers/protocol.ts';
import { providerSecretOf } from '../../coordinator/secrets/at-rest.ts';
import { newId } from '../../shared/base/crypto.ts';
import { mint, mintAuthority } from './certificates.ts';
import type { GateBench } from './gate.ts';
import { type Behaviour, openReceiver, type Receiver, says } from './receivers.ts';

/** A provider of OpenID Connect that says what a test wants, over TLS; not one that is well. */

type Values = Readonly<Record<string, unknown>>;

export type Asked = {
  readonly state: string;
  readonly nonce: string;
  readonly challenge: string;
  readonly address: URL;
};

export type TestProvider = {
  readonly issuer: string;
  readonly port: number;
  readonly server: Receiver;
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
  readonly kid: string;
  /** In place of what it says by itself. */
  metadata: Values;
  /** Answers at this path as it likes. */
  readonly answers: Map<string, Behaviour>;
  /** What it says of whoever signs in. */
  claims: Values;
  info: Values;
  /** The ID token of a code; by default a good one. */
  token: (asked: Asked) => Promise<string>;
  refreshToken: string | undefined;
  /** Refresh tokens that are over. */
  readonly ended: Set<string>;
  readonly refreshed: string[];
  readonly sign: (claims: Values, header?: Values) => Promise<string>;
  readonly standard: (asked: Asked) => Values;
  /** A code for what was asked, which it redeems once. */
  readonly grant: (asked: Asked) => string;
  readonly reset: () => void;
  readonly close: () => Promise<void>;
};

export const client = { client_id: 'antipode', client_secret: 'a secret of a client' };

export const askedOf = (address: string): Asked => {
  const url = new URL(address);
  const of = (name: string): string => url.searchParams.get(name) ?? '';
  return { state: of('state'), nonce: of('nonce'), challenge: of('code_challenge'), address: url };
};

export const openTestProvider = async (
  host: string,
  tls: { readonly certificate: string; readonly key: string },
): Promise<TestProvider> => {
  const server = await openReceiver({ tls });
  const issuer = `https://${host}:${server.port}`;
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const kid = newId();
  const codes = new Map<string, Asked>();
  const sign: TestProvider['sign'] = (claims, header = {}) =>
    new SignJWT({ ...claims })
      .setProtectedHeader({ alg: 'RS256', kid, ...header })
      .sign(privateKey);
  const standard: TestProvider['standard'] = ({ nonce }) => {
    const now = Math.floor(Date.now() / 1_000);
    return {
      iss: issuer,
      aud: client.client_id,
      iat: now,
      exp: now + 300,
      auth_time: now,
      nonce,
      ...provider.claims,
    };
  };
  const fresh = () => ({
    metadata: {},
    claims: { sub: 'ada' },
    info: { sub: 'ada' },
    token: (asked: Asked) => sign(standard(asked)),
    refreshToken: undefined,
  });
  const provider: TestProvider = {
    issuer,
    port: server.port,
    server,
    publicKey,
    privateKey,
    kid,
    answers: new Map(),
    ended: new Set(),
    refreshed: [],
    ...fresh(),
    sign,
    standard,
    grant: (asked) => {
      const code = newId();
      codes.set(code, asked);
      return code;
    },
    reset: () => {
      Object.assign(provider, fresh());
      provider.answers.clear();
      provider.ended.clear();
      provider.refreshed.length = 0;
    },
    close: server.close,
  };
  const json = (status: number, body: unknown): Behaviour =>
    says(status, body, { 'content-type': 'application/json' });
  const redeem = async (form: URLSearchParams): Promise<Behaviour> => {
    const of = (name: string): string => form.get(name) ?? '';
    if (of('grant_type') === 'refresh_token') {
      provider.refreshed.push(of('refresh_token'));
      return provider.ended.has(of('refresh_token'))
        ? json(400, { error: 'invalid_grant' })
        : json(200, {
            access_token: 'access',
            token_type: 'bearer',
            ...(provider.refreshToken === undefined
              ? {}
              : { refresh_token: provider.refreshToken }),
          });
    }
    const asked = codes.get(of('code'));
    codes.delete(of('code'));
    const challenge = createHash('sha256').update(of('code_verifier')).digest('base64url');
    if (asked === undefined || asked.challenge !== challenge)
      return json(400, { error: 'invalid_grant' });
    return json(200, {
      access_token: 'access',
      token_type: 'bearer',
      id_token: await provider.token(asked),
      ...(provider.refreshToken === undefined ? {} : { refresh_token: provider.refreshToken }),
    });
  };
  server.answer(async (response, request) => {
    const { pathname } = new URL(request.path, issuer);
    const own = provider.answers.get(pathname);
    if (own) return own(response, request);
    if (pathname === '/.well-known/openid-configuration')
      return json(200, {
        issuer,
        authorization_endpoint: `${issuer}/auth`,
        token_endpoint: `${issuer}/token`,
        userinfo_endpoint: `${issuer}/me`,
        jwks_uri: `${issuer}/keys`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
        token_endpoint_auth_methods_supported: ['client_secret_basic'],
        ...provider.metadata,
      })(response, request);
    if (pathname === '/keys')
      return json(200, {
        keys: [{ ...(await exportJWK(publicKey)), kid, use: 'sig', alg: 'RS256' }],
      })(response, request);
    if (pathname === '/me') return json(200, provider.info)(response, request);
    if (pathname === '/token')
      return (await redeem(new URLSearchParams(request.body.toString())))(response, request);
    return json(404, {})(response, request);
  });
  return provider;
};

export type ProviderPlace = {
  readonly open: (host: string) => Promise<TestProvider>;
  readonly tls: { readonly certificate: string; readonly key: string };
  readonly part: (issuer: string, more?: Partial<InstallationProvider>) => ProvidersPart;
  /** Names that lead elsewhere than to this machine. */
  readonly names: Map<string, string>;
  readonly close: () => Promise<void>;
};

/** Hosts of `.example` that are this machine, with certificates that are trusted until the end. */
export const openProviderPlace = (hosts: readonly string[]): ProviderPlace => {
  const usual = getCACertificates('default');
  const authority = mintAuthority('Authority of a test');
  setDefaultCACertificates([...usual, authority.certificate]);
  const tls = mint({ names: [...hosts], issuer: authority });
  const names = new Map<string, string>();
  const lookup = async (name: string) => [names.get(name) ?? '127.0.0.1'];
  const ownPlaces = async () => () => false;
  const readers: DocumentReader[] = [
    createDocumentReader({ allow: ['127.0.0.1/32'], lookup, ownPlaces, maxBytes: 524_288 }),
    createDocumentReader({ allow: ['0.0.0.0/0'], lookup, ownPlaces, maxBytes: 524_288 }),
  ];
  const [guarded, open] = readers;
  if (!guarded || !open) throw new Error('two readers were made');
  return {
    names,
    tls,
    open: (host) => openTestProvider(host, tls),
    part: (issuer, more = {}) => ({
      installation: {
        ...client,
        issuer,
        groups_claim: 'groups',
        group_roles: [
          { group: 'admins', role: 'admin' },
          { group: 'bosses', role: 'owner' },
          { group: 'people', role: 'viewer' },
        ],
        organisation: null,
        only_way: false,
        ...more,
      },
      protocol: createProviderProtocol({ guarded: guarded.read, open: open.read }),
    }),
    close: async () => {
      setDefaultCACertificates(usual);
      for (const { close } of readers) await close();
    },
  };
};

/** Tokens that nobody signed, or somebody by a secret that both sides know. */
export const unsigned = (claims: object, header: object): string =>
  `${[header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')}.`;

export const bySecret = (claims: object, secret: string | Buffer, header: object = {}): string => {
  const text = unsigned(claims, { alg: 'HS256', typ: 'JWT', ...header }).slice(0, -1);
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
};

/** Of an organisation that proved this domain; its key. */
export const ownProvider = async (
  { sql, secrets }: Pick<GateBench, 'sql' | 'secrets'>,
  organisation: string,
  issuer: string,
  domain: string,
): Promise<string> => {
  const id = newId();
  const box = await secrets.seal(sql, client.client_secret, providerSecretOf(id));
  await sql`insert into sign_in_providers (id, organisation_id, issuer, client_id, client_secret,
      group_roles, domain, domain_token, domain_proved_at)
    values (${id}, ${organisation}, ${issuer}, ${client.client_id}, ${box},
      '[{"group":"people","role":"viewer"},{"group":"bosses","role":"owner"}]', ${domain}, 't',
      now())`;
  return organisation;
};
