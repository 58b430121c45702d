/** For test files: the real API (gate, access, store, REST face) on a database of its own, without the engine behind it. */
import Fastify, { type FastifyInstance, type InjectOptions } from 'fastify';
import { restRoutes, restServerOptions } from '../../coordinator/api/routes.ts';
import { connect, type Sql } from '../../coordinator/database/connect.ts';
import type { ProbesPart } from '../../coordinator/gate/context.ts';
import { noTestRuns } from '../../coordinator/gate/context.ts';
import { createRateLimiter } from '../../coordinator/gate/rate-limit.ts';
import { createOperations } from '../../coordinator/gate/setup.ts';
import { handlers } from '../../coordinator/operations.ts';
import { revokeProbe } from '../../coordinator/probes/queries.ts';
import { createSecretsAtRest } from '../../coordinator/secrets/at-rest.ts';
import { createTokens } from '../../coordinator/tokens/authenticate.ts';
import { continents } from '../../shared/base/continents.ts';
import { newId } from '../../shared/base/crypto.ts';
import { createLog } from '../../shared/base/log.ts';
import { systemClock } from '../../shared/base/time.ts';
import { partitionOf } from '../../shared/bus/subjects.ts';
import { testChannels } from './channels.ts';
import type { Heard } from './contract.ts';
import { testSecretKey } from './people.ts';

/** Probes are made by the operator, who is not tested here; an organisation ends its own. */
const noProbes: ProbesPart = {
  createProbe: () => Promise.reject(new Error('the API makes no probes')),
  rotateProbe: () => Promise.reject(new Error('the API rotates no probes')),
  revokeProbe,
  listProbes: () => Promise.reject(new Error('the API lists no probes')),
  enrolProbe: () => Promise.reject(new Error('the API enrols no probes')),
  isEnrolmentProof: () => false,
  welcome: () => {
    throw new Error('the API welcomes no probes');
  },
};

export type Api = {
  readonly app: FastifyInstance;
  readonly sql: Sql;
  /** Faults of our own that went to the log. */
  readonly logged: readonly unknown[];
  readonly listen: () => Promise<string>;
  readonly close: () => Promise<void>;
};

/** Somebody must be able to check a monitor, or none can be made. */
const insertProbes = async (sql: Sql): Promise<void> => {
  for (const continent of continents)
    await sql`insert into probes (id, name, continent) values (${newId()}, ${`probe-${continent}`}, ${continent})`;
};

export const openApi = async (url: string, { perMinute = 1_000_000 } = {}): Promise<Api> => {
  const sql = connect(url, { name: 'test-api', connections: 10 });
  const log = createLog({ name: 'test-api', level: 'silent' });
  const [secretKey, clock] = [testSecretKey, systemClock];
  const tokens = createTokens({ sql, secretKey, clock, log });
  const limiter = createRateLimiter({ sql, clock, log, perMinute });
  const gate = createOperations({
    handlers,
    ...{
      sql,
      clock,
      secretKey,
      partitionOf,
      probes: noProbes,
      trials: noTestRuns,
      channels: testChannels(sql, secretKey),
      mintToken: tokens.mint,
    },
    secrets: createSecretsAtRest(secretKey),
    baseUrl: () => 'http://localhost',
  });
  const logged: unknown[] = [];
  const app = Fastify(restServerOptions);
  restRoutes(app, {
    ...{ execute: gate.execute, executeOnce: gate.executeOnce },
    ...{ authenticate: tokens.authenticate, limiter, baseUrl: () => 'http://localhost' },
    log: { error: (entry: unknown) => logged.push(entry) },
  });
  await insertProbes(sql);
  await app.ready();
  return {
    app,
    sql,
    logged,
    listen: () => app.listen({ port: 0, host: '127.0.0.1' }),
    close: async () => {
      await app.close();
      await limiter.close();
      await tokens.close();
      await sql.end();
    },
  };
};

/** One call without a network. */
export const call = async (
  { app }: Pick<Api, 'app'>,
  token: string | undefined,
  { headers, ...options }: InjectOptions,
): Promise<Heard & { readonly body: unknown }> => {
  const answer = await app.inject({
    ...options,
    headers: { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...headers },
  });
  const heard = Object.entries(answer.headers).map(([name, value]): [string, string] => [name, String(value)]);
  const text = answer.body;
  return {
    status: answer.statusCode,
    headers: new Headers(heard),
    text,
    body: text.startsWith('{') ? JSON.parse(text) : undefined,
  };
};
