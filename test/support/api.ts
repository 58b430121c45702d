import type { FastifyInstance, InjectOptions } from 'fastify';
import Fastify from 'fastify';
import { restRoutes, restServerOptions } from '../../coordinator/api/routes.ts';
import { connect, type Sql } from '../../coordinator/database/connect.ts';
import { createOperations } from '../../coordinator/dependencies.ts';
import { createRateLimiter } from '../../coordinator/gate/rate-limit.ts';
import type { TestRunsPart } from '../../coordinator/monitors/test-run.ts';
import { newSigningSecret } from '../../coordinator/notifications/kinds/webhook.ts';
import { handlers } from '../../coordinator/operations.ts';
import { insertMembers, insertUsers } from '../../coordinator/people/queries.ts';
import type { ProbesPart } from '../../coordinator/probes/identities.ts';
import { revokeProbe } from '../../coordinator/probes/queries.ts';
import { createSecretsAtRest } from '../../coordinator/secrets/at-rest.ts';
import { createTokens } from '../../coordinator/tokens/authenticate.ts';
import { insertWebhook } from '../../coordinator/webhooks/queries.ts';
import { sealWebhook } from '../../coordinator/webhooks/secrets.ts';
import { continents } from '../../shared/base/continents.ts';
import { newId } from '../../shared/base/crypto.ts';
import { createLog } from '../../shared/base/log.ts';
import { systemClock } from '../../shared/base/time.ts';
import { partitionOf } from '../../shared/bus/subjects.ts';
import { makeCause } from './causes.ts';
import { testChannels } from './channels.ts';
import { testResults } from './checks.ts';
import type { Heard } from './contract.ts';
import {
  createTestOrganisation,
  type Person,
  type TestOrganisation,
  testSecretKey,
} from './people.ts';
import { downloaded } from './processes.ts';
import { createDatabase } from './services.ts';
import { createTestRunsByHand } from './trials.ts';

/**
 * For test files: the real API (gate, access, store, REST face) on a database of its own, without
 * the engine behind it.
 */

/** Probes are made by the operator, who is not tested here; an organisation ends its own. */
const noProbes: ProbesPart = {
  createProbe: () => Promise.reject(new Error('the API makes no probes')),
  rotateProbe: () => Promise.reject(new Error('the API rotates no probes')),
  revokeProbe,
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

export const openApi = async (
  url: string,
  {
    perMinute = 1_000_000,
    // Nobody checks: each is over as it begins.
    trials = createTestRunsByHand([]).part,
  }: { readonly perMinute?: number; readonly trials?: TestRunsPart } = {},
): Promise<Api> => {
  const sql = connect(url, { name: 'test-api', connections: 10 });
  const log = createLog({ name: 'test-api', level: 'silent' });
  const [secretKey, clock] = [testSecretKey, systemClock];
  const tokens = createTokens({ sql, secretKey, clock, log });
  const limiter = createRateLimiter({ sql, clock, log, perMinute });
  const gate = createOperations({
    handlers,
    sql,
    clock,
    results: testResults(),
    secretKey,
    identifiesProbes: true,
    partitionOf,
    probes: noProbes,
    trials,
    channels: testChannels(sql, secretKey),
    mintToken: tokens.mint,
    door: { signUp: 'invited', signUpPlan: 'free', mail: true },
    secrets: createSecretsAtRest(secretKey),
    baseUrl: () => 'http://localhost',
  });
  const logged: unknown[] = [];
  const app = Fastify(restServerOptions);
  restRoutes(app, {
    execute: gate.execute,
    executeOnce: gate.executeOnce,
    authenticate: tokens.authenticate,
    limiter,
    baseUrl: () => 'http://localhost',
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
  const heard = Object.entries(answer.headers).map(([name, value]): [string, string] => [
    name,
    String(value),
  ]);
  const text = answer.body;
  return {
    status: answer.statusCode,
    headers: new Headers(heard),
    text,
    body: text.startsWith('{') ? JSON.parse(text) : undefined,
  };
};

/**
 * For test files: the API at an address of its own, with what its users have: an organisation, and
 * the downloads as files.
 */

export type Served = {
  readonly api: Api;
  readonly url: string;
  readonly house: TestOrganisation;
  readonly files: Awaited<ReturnType<typeof downloaded>>['files'];
  /**
   * What surrounds a program of theirs: nothing but the service, and a token that may only read.
   */
  readonly environment: Readonly<Record<string, string>>;
  readonly close: () => Promise<void>;
};

export const openServed = async (): Promise<Served> => {
  const database = await createDatabase();
  const api = await openApi(database.url);
  const house = await createTestOrganisation(api.sql);
  const url = await api.listen();
  const { files, remove } = await downloaded();
  const environment = {
    PATH: process.env.PATH ?? '',
    ANTIPODE_URL: url,
    ANTIPODE_TOKEN: house.viewer.read,
    XDG_CONFIG_HOME: '/nonexistent',
  };
  return {
    api,
    url,
    house,
    files,
    environment,
    close: async () => {
      remove();
      await api.close();
      await database.drop();
    },
  };
};

/** For test files: one of everything that an organisation can have. */

export type Things = {
  /** In the group, in the window, and on the page. */
  readonly monitor: string;
  readonly otherMonitor: string;
  readonly group: string;
  readonly otherGroup: string;
  readonly window: string;
  readonly page: string;
  readonly incident: string;
  readonly cause: string;
  readonly objective: string;
  /** Of whoever made it. */
  readonly channel: string;
  /** On the page, to the incident. */
  readonly post: string;
  /** On the page. */
  readonly report: string;
  /** Of the page. */
  readonly subscriber: string;
  /** A link to a report of uptime. */
  readonly share: string;
  /** Of a report, to the member. */
  readonly mail: string;
  /** Of a private probe. */
  readonly probeInvitation: string;
  readonly probe: string;
  readonly pingKey: string;
  /** Begun by whoever made it. */
  readonly test: string;
  readonly webhook: string;
  /** Of the webhook. */
  readonly delivery: string;
  /** Of whoever made it, and not the one that they call with. */
  readonly token: string;
  /** Another member, who may only read. */
  readonly otherMember: string;
  /** Of a member. */
  readonly invitation: string;
  /** The address of whoever made it. */
  readonly member: string;
};

const hexOf = (id: string): string => id.replaceAll('-', '');

const idOf = (body: unknown): string => {
  if (typeof body === 'object' && body !== null && 'id' in body && typeof body.id === 'string')
    return body.id;
  throw new Error(`what the test needs could not be made: ${JSON.stringify(body)}`);
};

export const createThings = async (
  api: Api,
  { organisation, user, readWrite, email }: Person,
  options = { published: true },
): Promise<Things> => {
  const send = async (url: string, payload: object): Promise<string> =>
    idOf((await call(api, readWrite, { method: 'POST', url, payload })).body);
  const [page, incident] = [newId(), newId()];
  await api.sql`update users set email_verified_at = now() where email = ${email}`;
  await api.sql`insert into status_pages (id, organisation_id, name, slug) values (${page}, ${organisation}, 'Public', ${`page-${page}`})`;
  const group = await send('/api/v1/groups', { name: 'Web' });
  const otherGroup = await send('/api/v1/groups', { name: `Other ${page}` });
  const monitor = await send('/api/v1/monitors', {
    type: 'https',
    target: 'https://example.org/',
    group,
  });
  const otherMonitor = await send('/api/v1/monitors', { type: 'heartbeat', name: 'Backup' });
  const window = await send('/api/v1/maintenance', {
    starts_at: '2099-01-01',
    ends_at: '2099-01-02',
    monitors: [monitor],
  });
  await api.sql`insert into incidents (id, organisation_id, monitor_id, started_at, confirmed_at, seen_probe, seen_continent)
    values (${incident}, ${organisation}, ${monitor}, now(), now(), 'probe-Europe', 'Europe')`;
  const channel = await send('/api/v1/channels', {
    kind: 'webhook',
    config: { url: 'https://hooks.example.org/' },
    personal: true,
    try: false,
  });
  const objective = await send('/api/v1/objectives', { name: 'Web', group, target: 99.9 });
  const post = newId();
  await api.sql`insert into status_page_posts (id, page_id, organisation_id, incident_id, kind, text, written_at)
    values (${post}, ${page}, ${organisation}, ${incident}, 'investigating', 'We look into it.', now())`;
  const report = newId();
  await api.sql`insert into status_page_reports (id, page_id, organisation_id, title, started_at)
    values (${report}, ${page}, ${organisation}, 'Slow', now())`;
  const subscriber = newId();
  await api.sql`insert into status_page_subscribers (id, page_id, email, language, asked_at)
    values (${subscriber}, ${page}, 'ada@reader.example', 'en', now())`;
  if (options.published)
    await call(api, readWrite, {
      method: 'POST',
      url: `/api/v1/status-pages/${page}/groups`,
      payload: { group },
    });
  const probeInvitation = newId();
  await api.sql`insert into probe_invitations (id, organisation_id, name, continent, fingerprint, shown, created_at, expires_at)
    values (${probeInvitation}, ${organisation}, ${probeInvitation}, 'Africa', ${Buffer.from(probeInvitation)}, 'svcj_…', now(), now() + interval '1 hour')`;
  // Things are made again and again, and tests are limited.
  await api.sql`delete from trials where organisation_id = ${organisation}`;
  const test = await send('/api/v1/tests', { type: 'https', target: 'https://example.org/' });
  const [otherMember, invitation] = [newId(), newId()];
  await insertUsers(api.sql, {
    id: otherMember,
    email: `${otherMember}@example.org`,
    password_hash: 'none',
  });
  await insertMembers(api.sql, organisation, { user: otherMember, role: 'viewer' });
  await api.sql`insert into invitations (id, organisation_id, email, role, created_at, expires_at)
    values (${invitation}, ${organisation}, ${`${invitation}@example.org`}, 'viewer', now(), now() + interval '1 week')`;
  const token = newId();
  await api.sql`insert into tokens (id, organisation_id, user_id, name, scope, fingerprint, shown)
    values (${token}, ${organisation}, ${user}, 'Old', 'read', ${Buffer.from(token)}, 'svc_0000')`;
  const [webhook, delivery] = [newId(), newId()];
  await insertWebhook(
    api.sql,
    {
      id: webhook,
      organisation,
      description: 'Tickets',
      host: 'hooks.example.org',
      event_types: [],
      enabled: true,
      secrets: await sealWebhook(createSecretsAtRest(testSecretKey), api.sql, webhook, {
        url: 'https://hooks.example.org/',
        secrets: [{ secret: newSigningSecret(), until: null }],
      }),
    },
    Date.now(),
  );
  await api.sql`insert into deliveries (id, organisation_id, webhook_id, event_key, event_id, event, created_at, next_at)
    values (${delivery}, ${organisation}, ${webhook}, 1, ${newId()}, 'deploy', now(), now())`;
  const probe = newId();
  await api.sql`insert into probes (id, organisation_id, name, continent) values (${probe}, ${organisation}, ${probe}, 'Africa')`;
  const pingKey = newId();
  await api.sql`insert into ping_keys (id, organisation_id, name, shown, fingerprint, creating, created_at)
    values (${pingKey}, ${organisation}, 'Jobs', 'pk_x', decode(${hexOf(pingKey)}, 'hex'), decode(${hexOf(newId())}, 'hex'), now())`;
  return {
    monitor,
    otherMonitor,
    group,
    otherGroup,
    window,
    page,
    incident,
    cause: await makeCause(api.sql, organisation, incident),
    objective,
    channel,
    post,
    report,
    subscriber,
    share: await send('/api/v1/reports/shares', {}),
    mail: await send('/api/v1/reports/mails', { every: 'week', group }),
    probeInvitation,
    probe,
    pingKey,
    test,
    webhook,
    delivery,
    token,
    otherMember,
    invitation,
    member: email,
  };
};
