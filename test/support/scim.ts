import { type FastifyInstance, fastify } from 'fastify';
import { afterAll, beforeAll } from 'vitest';
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
import { type GateBench, gateBench, signUpPolicyOf } from './gate.ts';
import { createTestOrganisation, type TestOrganisation, testSecretKey } from './people.ts';
import { askedOf, openProviderPlace, ownProvider } from './sign-in-providers.ts';

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

/**
 * A bench whose houses are provisioned by one provider, for all tests of a file.
 * `installationToken`: the provider provisions the installation, too.
 */
export const openScimBench = async (installationToken?: string) => {
  const place = openProviderPlace(['login.example']);
  const provider = await place.open('login.example');
  const { installation, ...part } = place.part(provider.issuer);
  const providers: ProvidersPart = {
    ...part,
    installation:
      installationToken === undefined
        ? installation
        : installation && { ...installation, scim_token: installationToken },
  };
  const bench = gateBench(undefined, undefined, undefined, () => providers);
  const door = signUpPolicyOf(bench);
  let face: ScimFace | undefined;
  beforeAll(() => {
    face = openScim(bench, { providers });
  });
  afterAll(async () => {
    await face?.close();
    await provider.close();
    await place.close();
  });
  const ask: ScimFace['ask'] = (...asked) => {
    if (!face) throw new Error('the bench is there in tests only');
    return face.ask(...asked);
  };
  /** Signs in at the provider of a house, as whoever has this address there. */
  const comeIn = async (
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
  return { bench, door, provider, ask, comeIn };
};

export const userSchema = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const groupSchema = 'urn:ietf:params:scim:schemas:core:2.0:Group';

export const patchOf = (...Operations: readonly object[]): object => ({
  schemas: ['urn:ietf:params:scim:api:messages:2.0:PatchOp'],
  Operations,
});
