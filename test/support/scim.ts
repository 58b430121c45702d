import { type FastifyInstance, fastify } from 'fastify';
import { restServerOptions } from '../../coordinator/api/routes.ts';
import { createRateLimiter } from '../../coordinator/gate/rate-limit.ts';
import { beginProviderSignIn, finishProviderSignIn } from '../../coordinator/providers/contract.ts';
import { noProviders, type ProvidersPart } from '../../coordinator/providers/lookup.ts';
import { createScimCallers } from '../../coordinator/providers/scim/callers.ts';
import { setScimToken } from '../../coordinator/providers/scim/contract.ts';
import { scimRoutes } from '../../coordinator/providers/scim/routes.ts';
import { createAccountSecrets } from '../../coordinator/secrets/account-secrets.ts';
import { newId } from '../../shared/base/crypto.ts';
import { isRecord } from '../../shared/base/json.ts';
import { createLog } from '../../shared/base/log.ts';
import type { GateBench, signUpPolicyOf } from './gate.ts';
import { createTestOrganisation, type TestOrganisation, testSecretKey } from './people.ts';
import { askedOf, ownProvider, type TestProvider } from './sign-in-providers.ts';

/** Where providers say who is there, over the gate of a test. */

export type ScimAnswer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Readonly<Record<string, unknown>>;
};

export type ScimFace = {
  readonly app: FastifyInstance;
  readonly ask: (
    token: string | undefined,
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    body?: unknown,
  ) => Promise<ScimAnswer>;
  readonly close: () => Promise<void>;
};

export const openScim = (
  bench: GateBench,
  {
    providers = noProviders,
    perMinute = 100_000,
  }: { readonly providers?: ProvidersPart; readonly perMinute?: number } = {},
): ScimFace => {
  const app = fastify({ ...restServerOptions, logger: false });
  const { sql, secrets } = bench;
  const log = createLog({ name: 'scim', level: 'silent' });
  const clock = { now: () => bench.now };
  const limiter = createRateLimiter({ sql, clock, log, perMinute });
  const accountSecrets = createAccountSecrets(sql, { secretKey: testSecretKey });
  scimRoutes(app, {
    limiter,
    log,
    baseUrl: () => 'https://antipode.test',
    execute: bench.gate.execute,
    authenticate: createScimCallers({ sql, with: { accountSecrets, providers, secrets } }),
  });
  return {
    app,
    ask: async (token, method, path, body) => {
      const { statusCode, headers, payload } = await app.inject({
        method,
        url: `/scim/v2${path}`,
        headers: {
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/scim+json' }),
        },
        ...(body === undefined
          ? {}
          : { payload: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      const said: unknown = payload === '' ? {} : JSON.parse(payload);
      return { status: statusCode, headers, body: isRecord(said) ? said : {} };
    },
    close: async () => {
      await limiter.close();
      await app.close();
    },
  };
};

export type ScimHouse = {
  readonly house: TestOrganisation;
  readonly domain: string;
  readonly token: string;
  /** An address of its domain. */
  readonly address: (name: string) => string;
};

/** An organisation whose provider provisions: `people` are viewers, `bosses` owners. */
export const createScimHouse = async (
  bench: GateBench,
  options: Parameters<typeof createTestOrganisation>[1] = {},
): Promise<ScimHouse> => {
  const house = await createTestOrganisation(bench.sql, options);
  const domain = `d${newId().slice(-12)}.example`;
  await ownProvider(bench, house.organisation, 'https://login.example', domain);
  const { token } = await bench.call(setScimToken, house.owner);
  return { house, domain, token, address: (name) => `${name}@${domain}` };
};

/** Signs in at the provider of a house, as whoever has this address there. */
export const comeInTo = async (
  {
    bench,
    door,
    provider,
  }: {
    readonly bench: GateBench;
    readonly door: ReturnType<typeof signUpPolicyOf>;
    readonly provider: TestProvider;
  },
  { house: { organisation: key } }: ScimHouse,
  email: string,
  sub = newId(),
) => {
  provider.claims = { sub, email, email_verified: true, groups: ['bosses'] };
  provider.info = { sub };
  await bench.sql`update sign_in_providers set issuer = ${provider.issuer}
    where organisation_id = ${key}`;
  const { address, secret } = await door.visit(beginProviderSignIn, { provider: key });
  const asked = askedOf(address);
  const answer = String(new URLSearchParams({ code: provider.grant(asked), state: asked.state }));
  return door.visit(finishProviderSignIn, { provider: key, secret, answer });
};

export const userSchema = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const groupSchema = 'urn:ietf:params:scim:schemas:core:2.0:Group';

export const patchOf = (...Operations: readonly object[]): object => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
  Operations,
});
