/** For test files: the real pages (gate, access, store, web face) on a database of its own, without the engine behind them. */

import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import Fastify from 'fastify';
import { refuseOutside, restServerOptions, sayBeside } from '../../coordinator/api/routes.ts';
import { soundUrl } from '../../coordinator/api/server.ts';
import { type Connections, createConnections } from '../../coordinator/assistants/connections.ts';
import { assistantRoutes } from '../../coordinator/assistants/mcp-routes.ts';
import { type OauthDependencies, oauthRoutes } from '../../coordinator/assistants/oauth-routes.ts';
import { createAssistants } from '../../coordinator/assistants/setup.ts';
import { connect, type Sql } from '../../coordinator/database/connect.ts';
import { createTimeouts } from '../../coordinator/database/startup.ts';
import type { SignUpPolicy } from '../../coordinator/gate/context.ts';
import { noTestRuns, type TestRunsPart } from '../../coordinator/gate/context.ts';
import { createRateLimiter } from '../../coordinator/gate/rate-limit.ts';
import { createOperations, type Gate } from '../../coordinator/gate/setup.ts';
import { createShares } from '../../coordinator/incidents/shared-link.ts';
import { handlers } from '../../coordinator/operations.ts';
import { pages as allPages } from '../../coordinator/pages.ts';
import { type AccountSecrets, createAccountSecrets } from '../../coordinator/people/secrets.ts';
import { createSessions, insertSession, sessionCookie } from '../../coordinator/people/sessions.ts';
import { createProbeIdentities } from '../../coordinator/probes/identities.ts';
import { createSecretsAtRest } from '../../coordinator/secrets/at-rest.ts';
import { createPublishing } from '../../coordinator/status-pages/public/publishing.ts';
import { onOwnDomain, statusRoutes } from '../../coordinator/status-pages/public/routes.ts';
import { createTokens } from '../../coordinator/tokens/authenticate.ts';
import { createChanges } from '../../coordinator/web/live.ts';
import { type WebDependencies, webRoutes } from '../../coordinator/web/routes.ts';
import { newId } from '../../shared/base/crypto.ts';
import { createLog } from '../../shared/base/log.ts';
import { systemClock } from '../../shared/base/time.ts';
import { createKey } from '../../shared/bus/nkeys.ts';
import { partitionOf } from '../../shared/bus/subjects.ts';
import { testChannels } from './channels.ts';
import { ownRecordOfTest } from './own-record.ts';
import { createTestOrganisation, type Person, type TestOrganisation, testSecretKey } from './people.ts';
import { createDatabase, type TestDatabase } from './services.ts';
import type { Services } from './services-run.ts';

export type Answer = { readonly status: number; readonly headers: Headers; readonly text: string };

type Asked = {
  readonly as?: Person;
  readonly cookie?: string;
  readonly accept?: string;
  readonly encoding?: string;
  readonly headers?: Readonly<Record<string, string>>;
};

export type TestWeb = {
  readonly url: string;
  readonly sql: Sql;
  readonly house: TestOrganisation;
  readonly gate: Gate;
  readonly accountSecrets: AccountSecrets;
  readonly connections: Connections;
  /** Without following where it leads. */
  readonly get: (path: string, asked?: Asked) => Promise<Answer>;
  /** As a browser asks that knows it under another name. */
  readonly hosted: (host: string, path: string, method?: string) => Promise<{ readonly status: number; readonly text: string }>;
  /** The cookie that says who somebody is. */
  readonly cookieOf: (person: Person) => Promise<string>;
  readonly post: (path: string, form: Readonly<Record<string, string | readonly string[]>>, asked?: Asked) => Promise<Answer>;
  /** Nobody is answered any more; what others need of the database stays. */
  readonly die: () => Promise<void>;
  readonly close: () => Promise<void>;
};

const bodyOf = (form: Readonly<Record<string, string | readonly string[]>>): URLSearchParams =>
  new URLSearchParams(
    Object.entries(form).flatMap(([name, of]) => (typeof of === 'string' ? [[name, of]] : of.map((each) => [name, each]))),
  );

/** fetch() lets nobody choose the name of the host. */
const hostedAt = (url: string, host: string, path: string, method = 'GET'): Promise<{ readonly status: number; readonly text: string }> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const asked = request({ hostname, port, path, method, headers: { host, accept: 'text/html' } }, (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (piece: string) => {
        text += piece;
      });
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }));
    });
    asked.on('error', reject);
    asked.end();
  });

export const startWeb = async ({
  services,
  door,
  trials = noTestRuns,
  host = '127.0.0.1',
  called,
  ownRecord = () => ownRecordOfTest,
  readDocument,
  ...overrides
}: Partial<WebDependencies> & {
  readonly services?: Services;
  readonly door?: SignUpPolicy;
  readonly trials?: TestRunsPart;
  /** What the house tells of itself, and to whom; to everyone if not said. */
  readonly ownRecord?: WebDependencies['instruments']['ownRecord'];
  /** Documents of clients that say who they are by an address. */
  readonly readDocument?: OauthDependencies['readDocument'];
  /** What browsers call it: passkeys want a name. */
  readonly host?: '127.0.0.1' | 'localhost';
  /** What its BASE_URL says; where it listens, if not said. */
  readonly called?: string;
} = {}): Promise<TestWeb> => {
  let url = '';
  const baseUrl = (): string => called ?? url;
  const database: TestDatabase = await createDatabase(services);
  const sql = connect(database.url, { name: 'test-web', connections: 10 });
  const [secretKey, clock, log] = [testSecretKey, overrides.clock ?? systemClock, createLog({ name: 'test-web', level: 'silent' })];
  const house = await createTestOrganisation(sql);
  const tokens = createTokens({ sql, secretKey, clock, log });
  const changes = createChanges({ sql, clock, log });
  const gate = createOperations({
    handlers,
    ...{ sql, clock, secretKey, partitionOf, mintToken: tokens.mint, trials, channels: testChannels(sql, secretKey) },
    probes: createProbeIdentities({
      account: createKey('account'),
      clock,
      natsUrl: 'nats://127.0.0.1:4222',
      secretKeys: [testSecretKey],
      requireSigned: 'auto',
    }),
    secrets: createSecretsAtRest(secretKey),
    baseUrl,
    ...(door === undefined ? {} : { door }),
  });
  const accountSecrets = createAccountSecrets(sql, { secretKey });
  const sessions = createSessions({ sql, clock, log, accountSecrets });
  const cookies = new Map<string, string>();
  const cookieOf = async ({ user }: Person): Promise<string> => {
    const known = cookies.get(user);
    if (known !== undefined) return known;
    const text = randomBytes(32).toString('base64url');
    const fingerprint = await accountSecrets.fingerprint('session', text);
    await insertSession(sql, { id: newId(), fingerprint, user, at: new Date(), address: '127.0.0.1', device: 'a test' });
    const made = `${sessionCookie}=${text}`;
    cookies.set(user, made);
    return made;
  };
  const publishing = createPublishing({ sql, clock, log, accountSecrets, patiently: createTimeouts({ sql, log }) });
  const app = Fastify({
    ...{ ...restServerOptions, forceCloseConnections: true },
    rewriteUrl: (request) => {
      const sound = soundUrl(request.url ?? '/');
      return onOwnDomain(publishing, url, request.headers.host, sound) ?? sound;
    },
  });
  statusRoutes(app, { publishing, baseUrl, log, hasMail: true, isAboutOpen: () => ownRecord(false) !== undefined });
  const assistants = createAssistants({ sql, clock, accountSecrets, secretKey, readDocument });
  const connections = createConnections({ sql, clock, log, secretKey, baseUrl });
  const limiter = createRateLimiter({ sql, clock, log, perMinute: 120 });
  assistantRoutes(app, { limiter, log, clock, baseUrl, execute: gate.execute, callerOf: connections.callerOf });
  const consents = oauthRoutes(app, { ...assistants, log, baseUrl });
  const pages = webRoutes(app, allPages, {
    ...{ clock, log, gate, changes, authenticate: sessions.authenticate },
    instruments: { baseUrl, readShare: createShares(sql).read, consents, ownRecord },
    ...overrides,
  });
  refuseOutside(app, log, pages.answerNotFound, sayBeside(limiter));
  url = (await app.listen({ port: 0, host: '127.0.0.1' })).replace('127.0.0.1', host);
  const ask = async (path: string, init: RequestInit, { as, cookie, accept = 'text/html', encoding, headers }: Asked): Promise<Answer> => {
    const sent = [...(as ? [await cookieOf(as)] : []), ...(cookie === undefined ? [] : [cookie])].join('; ');
    const answer = await fetch(`${url}${path}`, {
      redirect: 'manual',
      ...init,
      headers: { accept, cookie: sent, ...(encoding === undefined ? {} : { 'accept-encoding': encoding }), ...headers },
    });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  };
  return {
    ...{ url, sql, house, gate, accountSecrets, connections, cookieOf },
    hosted: (name, path, method) => hostedAt(url, name, path, method),
    get: (path, asked = {}) => ask(path, {}, asked),
    post: (path, form, asked = {}) => ask(path, { method: 'POST', body: bodyOf(form) }, asked),
    die: () => app.close(),
    close: async () => {
      await app.close();
      await publishing.close();
      await changes.close();
      await sessions.close();
      await assistants.close();
      await connections.close();
      await limiter.close();
      await tokens.close();
      await sql.end();
      await database.drop();
    },
  };
};
