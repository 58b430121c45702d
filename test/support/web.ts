import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import Fastify from 'fastify';
import { expect } from 'vitest';
import { limitHeaders, refuseOutside, restServerOptions } from '../../coordinator/api/routes.ts';
import { soundUrl } from '../../coordinator/api/server.ts';
import { type Connections, createConnections } from '../../coordinator/assistants/connections.ts';
import { assistantRoutes, createAssistants } from '../../coordinator/assistants/mcp-routes.ts';
import { type OauthDependencies, oauthRoutes } from '../../coordinator/assistants/oauth-routes.ts';
import { connect, type Sql } from '../../coordinator/database/connect.ts';
import { listenTo } from '../../coordinator/database/listen.ts';
import { createTimeouts } from '../../coordinator/database/startup.ts';
import { createOperations } from '../../coordinator/dependencies.ts';
import type { Role } from '../../coordinator/gate/caller.ts';
import type { Gate } from '../../coordinator/gate/execute.ts';
import { createRateLimiter } from '../../coordinator/gate/rate-limit.ts';
import { dayOf, type ServiceDay, sumOf } from '../../coordinator/health/service-record.ts';
import { createShares } from '../../coordinator/incidents/shared-link.ts';
import { noTestRuns, type TestRunsPart } from '../../coordinator/monitors/test-run.ts';
import { createSender, type Sender } from '../../coordinator/notifications/transport.ts';
import { handlers } from '../../coordinator/operations.ts';
import type { SignUpPolicy } from '../../coordinator/organisations/model.ts';
import { pages as allPages } from '../../coordinator/pages.ts';
import { createSessions, insertSession } from '../../coordinator/people/sessions.ts';
import { createProbeIdentities } from '../../coordinator/probes/identities.ts';
import { noProviders, type ProvidersPart } from '../../coordinator/providers/lookup.ts';
import { createScimCallers } from '../../coordinator/providers/scim/callers.ts';
import { scimRoutes } from '../../coordinator/providers/scim/routes.ts';
import {
  type AccountSecrets,
  createAccountSecrets,
} from '../../coordinator/secrets/account-secrets.ts';
import { createSecretsAtRest, type SecretsAtRest } from '../../coordinator/secrets/at-rest.ts';
import {
  type View,
  type ViewOptions,
  viewOf,
} from '../../coordinator/status-pages/public/frame.ts';
import { createPublishing } from '../../coordinator/status-pages/public/publishing.ts';
import { onOwnDomain, statusRoutes } from '../../coordinator/status-pages/public/routes.ts';
import type {
  PublicDay,
  PublicIncident,
  PublicMonitor,
  PublicPage,
} from '../../coordinator/status-pages/public/snapshot.ts';
import { createTokens } from '../../coordinator/tokens/authenticate.ts';
import { sessionCookie } from '../../coordinator/web/cookies.ts';
import { createChanges } from '../../coordinator/web/live.ts';
import { type WebDependencies, webRoutes } from '../../coordinator/web/routes.ts';
import { createSupervisor } from '../../shared/actor/supervisor.ts';
import { newId } from '../../shared/base/crypto.ts';
import { createLog } from '../../shared/base/log.ts';
import { systemClock } from '../../shared/base/time.ts';
import { createKey } from '../../shared/bus/nkeys.ts';
import { partitionOf } from '../../shared/bus/subjects.ts';
import { testChannels } from './channels.ts';
import { testResults } from './checks.ts';
import {
  createTestOrganisation,
  type Person,
  type TestOrganisation,
  testSecretKey,
} from './people.ts';
import { createDatabase, type TestDatabase } from './services.ts';
import type { Services } from './services-run.ts';

/** For test files: a month of the house's own record, made up. */

const first = Date.UTC(2026, 9, 24);

const days: readonly ServiceDay[] = Array.from({ length: 30 }, (_, index) => ({
  day: dayOf(first + index * 86_400_000),
  confirmed: index % 7 === 3 ? 0 : 4 + ((index * 5) % 9),
  p50_ms: index % 7 === 3 ? null : 1_650 + ((index * 137) % 700),
  p95_ms: index % 7 === 3 ? null : 2_900 + ((index * 411) % 2_100),
  doubted: index % 11 === 5 ? 1 : 0,
  false_by_word: index === 16 ? 1 : 0,
  results_lost: index === 9 ? 1_204 : 0,
  own_outages: index % 9 === 4 ? 2 : 0,
  own_outage_s: index % 9 === 4 ? 372 : 0,
}));

export const ownRecordOfTest = { days, sum: sumOf(days) };

/**
 * For test files: the real pages (gate, access, store, web face) on a database of its own, without
 * the engine behind them.
 */

export type Answer = { readonly status: number; readonly headers: Headers; readonly text: string };

/** A person, or the one of the web's own organisation in that role. */
export type Who = Person | Role;

type Asked = {
  readonly as?: Who;
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
  readonly secrets: SecretsAtRest;
  readonly connections: Connections;
  /** Without following where it leads. */
  readonly get: (path: string, asked?: Asked) => Promise<Answer>;
  /** The same as its text alone. */
  readonly text: (path: string, as?: Who) => Promise<string>;
  /** As a browser asks that knows it under another name. */
  readonly hosted: (
    host: string,
    path: string,
    method?: string,
  ) => Promise<{ readonly status: number; readonly text: string }>;
  /** The cookie that says who somebody is. */
  readonly cookieOf: (person: Who) => Promise<string>;
  readonly post: (path: string, form: Values, asked?: Asked) => Promise<Answer>;
  /** As a form of its own pages. */
  readonly send: (path: string, form: Values, as?: Who) => Promise<Answer>;
  /** Nobody is answered any more; what others need of the database stays. */
  readonly die: () => Promise<void>;
  readonly close: () => Promise<void>;
};

const bodyOf = (form: Values): URLSearchParams =>
  new URLSearchParams(
    Object.entries(form).flatMap(([name, of]) =>
      typeof of === 'string' ? [[name, of]] : of.map((each) => [name, each]),
    ),
  );

/** fetch() lets nobody choose the name of the host. */
const hostedAt = (
  url: string,
  host: string,
  path: string,
  method = 'GET',
): Promise<{ readonly status: number; readonly text: string }> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const asked = request(
      { hostname, port, path, method, headers: { host, accept: 'text/html' } },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8');
        answer.on('data', (piece: string) => {
          text += piece;
        });
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }));
      },
    );
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
  send,
  providers = noProviders,
  ...overrides
}: Partial<WebDependencies> & {
  readonly services?: Services;
  readonly door?: SignUpPolicy;
  readonly trials?: TestRunsPart;
  /** What the house tells of itself, and to whom; to everyone if not said. */
  readonly ownRecord?: WebDependencies['instruments']['ownRecord'];
  /** Documents of clients that say who they are by an address. */
  readonly readDocument?: OauthDependencies['readDocument'];
  /** How webhooks of status pages are reached; public addresses alone, if not said. */
  readonly send?: Sender['send'];
  /** Whom people sign in with. */
  readonly providers?: ProvidersPart;
  /** What browsers call it: passkeys want a name. */
  readonly host?: '127.0.0.1' | 'localhost';
  /** What its BASE_URL says; where it listens, if not said. */
  readonly called?: string;
} = {}): Promise<TestWeb> => {
  let url = '';
  const baseUrl = (): string => called ?? url;
  const database: TestDatabase = await createDatabase(services);
  const sql = connect(database.url, { name: 'test-web', connections: 10 });
  const [secretKey, clock, log] = [
    testSecretKey,
    overrides.clock ?? systemClock,
    createLog({ name: 'test-web', level: 'silent' }),
  ];
  const secrets = createSecretsAtRest(secretKey);
  const hasMail = door?.mail ?? false;
  const sender = createSender({ clock, allow: [], mail: undefined, vapid: undefined });
  const house = await createTestOrganisation(sql);
  const tokens = createTokens({ sql, secretKey, clock, log });
  const changes = createChanges({
    listen: (channel, hear, onListening) => listenTo(sql, channel, hear, { log, onListening }),
    clock,
    log,
  });
  const gate = createOperations({
    handlers,
    sql,
    clock,
    results: testResults(),
    secretKey,
    identifiesProbes: true,
    partitionOf,
    mintToken: tokens.mint,
    trials,
    channels: testChannels(sql, secretKey),
    probes: createProbeIdentities({
      account: createKey('account'),
      clock,
      natsUrl: () => 'nats://127.0.0.1:4222',
      secretKeys: [testSecretKey],
    }),
    secrets,
    baseUrl,
    watcher: 'watch.example.org',
    providers,
    ...(door === undefined ? {} : { door }),
  });
  const accountSecrets = createAccountSecrets(sql, { secretKey });
  const sessions = createSessions({ sql, clock, log, accountSecrets });
  const cookies = new Map<string, string>();
  const cookieOf = async (person: Who): Promise<string> => {
    const { user } = typeof person === 'string' ? house[person] : person;
    const known = cookies.get(user);
    if (known !== undefined) return known;
    const text = randomBytes(32).toString('base64url');
    const fingerprint = await accountSecrets.fingerprint('session', text);
    await insertSession(sql, {
      id: newId(),
      fingerprint,
      user,
      at: Date.now(),
      address: '127.0.0.1',
      device: 'Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0.0.0 Safari/537.36',
    });
    const made = `${sessionCookie}=${text}`;
    cookies.set(user, made);
    return made;
  };
  const publishing = createPublishing({
    sql,
    clock,
    log,
    accountSecrets,
    patiently: createTimeouts({ sql, log }),
    results: testResults(),
    secrets,
    baseUrl,
    send: send ?? sender.send,
  });
  const supervisor = createSupervisor(log);
  publishing.start(supervisor);
  const app = Fastify({
    ...restServerOptions,
    forceCloseConnections: true,
    rewriteUrl: (request) => {
      const sound = soundUrl(request.url ?? '/');
      return onOwnDomain(publishing, url, request.headers.host, sound) ?? sound;
    },
  });
  statusRoutes(app, {
    publishing,
    baseUrl,
    log,
    hasMail,
    isAboutOpen: () => ownRecord(false) !== undefined,
  });
  const assistants = createAssistants({ sql, clock, accountSecrets, secretKey, readDocument });
  const connections = createConnections({ sql, clock, log, secretKey, baseUrl });
  const limiter = createRateLimiter({ sql, clock, log, perMinute: 120 });
  assistantRoutes(app, {
    limiter,
    log,
    clock,
    baseUrl,
    execute: gate.execute,
    callerOf: connections.callerOf,
  });
  scimRoutes(app, {
    limiter,
    log,
    baseUrl,
    execute: gate.execute,
    authenticate: createScimCallers({ sql, with: { accountSecrets, providers, secrets } }),
  });
  const consents = oauthRoutes(app, { ...assistants, log, baseUrl });
  const pages = webRoutes(app, allPages, {
    clock,
    log,
    gate,
    changes,
    authenticate: sessions.authenticate,
    instruments: {
      baseUrl,
      readShare: createShares(sql, testResults(), clock).read,
      consents,
      securityContact: 'mailto:security@antipode.example',
      identifiesProbes: true,
      hasMail,
      ownRecord,
    },
    ...overrides,
  });
  refuseOutside(app, log, pages.answerNotFound, limitHeaders(limiter));
  url = (await app.listen({ port: 0, host: '127.0.0.1' })).replace('127.0.0.1', host);
  const ask = async (
    path: string,
    init: RequestInit,
    { as, cookie, accept = 'text/html', encoding, headers }: Asked,
  ): Promise<Answer> => {
    const sent = [
      ...(as ? [await cookieOf(as)] : []),
      ...(cookie === undefined ? [] : [cookie]),
    ].join('; ');
    const answer = await fetch(`${url}${path}`, {
      redirect: 'manual',
      ...init,
      headers: {
        accept,
        cookie: sent,
        ...(encoding === undefined ? {} : { 'accept-encoding': encoding }),
        ...headers,
      },
    });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  };
  return {
    url,
    sql,
    house,
    gate,
    accountSecrets,
    secrets,
    connections,
    cookieOf,
    hosted: (name, path, method) => hostedAt(url, name, path, method),
    get: (path, asked = {}) => ask(path, {}, asked),
    text: async (path, as) => (await ask(path, {}, as === undefined ? {} : { as })).text,
    post: (path, form, asked = {}) => ask(path, { method: 'POST', body: bodyOf(form) }, asked),
    send: (path, form, as) => {
      const person = as === undefined ? {} : { as };
      return ask(path, { method: 'POST', body: bodyOf(form) }, { ...person, headers: sameSite });
    },
    die: () => app.close(),
    close: async () => {
      await app.close();
      await supervisor.close();
      await changes.close();
      await sessions.close();
      await assistants.close();
      await connections.close();
      await limiter.close();
      await sender.close();
      await tokens.close();
      await sql.end();
      await database.drop();
    },
  };
};

/** For test files: the stream of a page that is open, as a browser reads it. */

/**
 * Reads until the stream says that something changed: the first of all does so when changes are
 * heard of at all. @returns the last id that it gave.
 */
export const untilChanged = async (
  web: TestWeb,
  path = '/live',
  headers: Readonly<Record<string, string>> = {},
): Promise<string> => {
  const leave = new AbortController();
  const cookie = await web.cookieOf(web.house.member);
  const answer = await fetch(`${web.url}${path}`, {
    headers: { cookie, ...headers },
    signal: leave.signal,
  });
  expect(answer.headers.get('content-type')).toBe('text/event-stream');
  let text = '';
  for await (const piece of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += piece;
    if (text.includes('event: changed\ndata: 1\n\n')) break;
  }
  leave.abort();
  return [...text.matchAll(/^id: (.+)$/gm)].at(-1)?.[1] ?? '';
};

/** For test files: the form of a monitor, as a browser sends it. */

export type Values = Readonly<Record<string, string | readonly string[]>>;

/** Of a form that is in order. */
export const wanted = {
  type: 'https',
  target: 'https://shop.example/checkout',
  interval_s: '60',
  act: 'save',
} as const;

export const sameSite = { 'sec-fetch-site': 'same-origin' };

/** Would be a picture, and a script, if it were not shown as text. */
export const hostile = '"><img src=x onerror=alert(1)>';

type Row = {
  readonly id: string;
  readonly name: string;
  readonly target: string;
  readonly interval_s: number;
  readonly config: Readonly<Record<string, unknown>>;
  readonly enabled: boolean;
  readonly group_id: string | null;
};

export type MonitorForms = {
  readonly post: (path: string, form: Values, as: Person) => Promise<Answer>;
  /** Saved by the form; its id. */
  readonly made: (more?: Values, as?: Person) => Promise<string>;
  readonly rowOf: (id: string) => Promise<Row | undefined>;
  readonly rowsNamed: (name: string) => Promise<readonly Row[]>;
};

export const monitorForms = (web: TestWeb): MonitorForms => {
  const post: MonitorForms['post'] = (path, form, as) =>
    web.post(path, form, { as, headers: sameSite });
  const rows = (where: 'id' | 'name', is: string) =>
    web.sql<
      Row[]
    >`select id, name, target, interval_s, config, enabled, group_id from monitors where ${web.sql(where)} = ${is}`;
  return {
    post,
    made: async (more = {}, as = web.house.member) => {
      const { status, headers, text } = await post(
        '/monitors/new',
        { ...wanted, name: `M ${newId()}`, ...more },
        as,
      );
      const [, id] = /^\/monitors\/([^#]+)/.exec(headers.get('location') ?? '') ?? [];
      if (status !== 303 || id === undefined)
        throw new Error(`it was not saved: ${status} ${text}`);
      return id;
    },
    rowOf: async (id) => (await rows('id', id))[0],
    rowsNamed: (name) => rows('name', name),
  };
};

/** What a browser would send back of a page's form without a change. */
export const fieldsIn = (text: string): Record<string, string[]> => {
  const fields: Record<string, string[]> = {};
  const add = (name: string, value: string) => {
    fields[name] = [...(fields[name] ?? []), plain(value)];
  };
  const plain = (value: string) =>
    value
      .replaceAll('&quot;', '"')
      .replaceAll('&#39;', "'")
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
      .replaceAll('&amp;', '&');
  const form = text.slice(
    text.indexOf('id="monitor-form"'),
    text.indexOf('</form>', text.indexOf('id="monitor-form"')),
  );
  for (const [tag] of form.matchAll(/<input[^>]*>/g)) {
    const name = /name="([^"]*)"/.exec(tag)?.[1];
    if (name === undefined || (/type="(checkbox|radio)"/.test(tag) && !/ checked/.test(tag)))
      continue;
    add(name, /value="([^"]*)"/.exec(tag)?.[1] ?? '');
  }
  for (const [, name = '', value = ''] of form.matchAll(
    /<textarea[^>]*name="([^"]*)"[^>]*>\n?([^<]*)</g,
  ))
    add(name, value);
  for (const [, name = '', options = ''] of form.matchAll(
    /<select[^>]*name="([^"]*)"[^>]*>(.*?)<\/select>/gs,
  )) {
    const all = [...options.matchAll(/<option(?: value="([^"]*)")?( selected)?[^>]*>([^<]*)</g)];
    const chosen = all.find(([, , selected]) => selected !== undefined) ?? all[0];
    // The value of an option that names none is its text.
    add(name, chosen?.[1] ?? chosen?.[3] ?? '');
  }
  return fields;
};

/** For test files: a public page as a value. */

export const pageNow = Date.parse('2026-11-22T13:08:00Z');
const day = 86_400_000;

export const dayUp = (from: number): PublicDay => ({
  from,
  up: day,
  down: 0,
  maintenance: 0,
  unknown: 0,
});

export const publicMonitor = (name: string, more: Partial<PublicMonitor> = {}): PublicMonitor => ({
  kind: 'monitor',
  id: newId(),
  name,
  isUnder: false,
  state: 'up',
  days: Array.from({ length: 90 }, (_, index) => dayUp(pageNow - (90 - index) * day)),
  percent: { 7: 100, 30: 100, 90: 100 },
  responseMs: 143.4,
  slowSince: null,
  ...more,
});

export const publicIncident = (
  of: PublicMonitor,
  more: Partial<PublicIncident> = {},
): PublicIncident => ({
  id: newId(),
  monitors: [of.id],
  names: [of.name],
  title: null,
  impacts: [],
  until: null,
  startedAt: pageNow - 6 * 60_000,
  resolvedAt: null,
  posts: [],
  witnesses: [],
  ...more,
});

export const publicPage = (more: Partial<PublicPage> = {}): PublicPage => ({
  slug: 'shop',
  title: 'Shop status',
  description: null,
  language: 'en',
  accent: null,
  hasLogo: false,
  zone: 'Europe/Berlin',
  now: pageNow,
  rows: [],
  incidents: [],
  maintenance: [],
  objectives: [],
  ...more,
});

export const publicView = (page: PublicPage, seen: Partial<ViewOptions> = {}): View =>
  viewOf(page, {
    root: '/status/shop',
    origin: 'https://antipode.test/status/shop',
    isStale: false,
    hasMail: true,
    ...seen,
  });
