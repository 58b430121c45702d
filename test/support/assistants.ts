import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';
import {
  auth,
  Client,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import Fastify from 'fastify';
import { afterAll, beforeAll } from 'vitest';
import { restServerOptions } from '../../coordinator/api/routes.ts';
import {
  createAssistantKey,
  createConnections,
  recordFingerprint,
  resourceOf,
} from '../../coordinator/assistants/connections.ts';
import {
  type AssistantDependencies,
  assistantRoutes,
} from '../../coordinator/assistants/mcp-routes.ts';
import { insertConnection } from '../../coordinator/assistants/queries.ts';
import type { Sql } from '../../coordinator/database/connect.ts';
import type { Scope } from '../../coordinator/gate/caller.ts';
import { createRateLimiter } from '../../coordinator/gate/rate-limit.ts';
import { newId } from '../../shared/base/crypto.ts';
import { memberOf } from '../../shared/base/json.ts';
import { createLog } from '../../shared/base/log.ts';
import { portOf } from './connections.ts';
import type { GateBench } from './gate.ts';
import { type Person, testSecretKey } from './people.ts';
import type { TestWeb } from './web.ts';

/**
 * For test files: an assistant that is connected already, without the signing-in that leads to it.
 */

type Options = {
  readonly baseUrl: string;
  readonly scope?: Scope;
  readonly client?: string;
  /** By the clock of whoever will be asked. */
  readonly now?: number;
};

/**
 * Makes a connection of this person's, with an access token that is good for a quarter of an hour.
 */
export const connectAssistant = async (
  sql: Sql,
  { organisation, user }: Pick<Person, 'organisation' | 'user'>,
  { baseUrl, scope = 'read_write', client = 'Test Assistant', now = Date.now() }: Options,
): Promise<{ readonly connection: string; readonly token: string }> => {
  const [connection, token] = [newId(), randomBytes(32).toString('base64url')];
  const about = { client_id: 'a-test', client_name: client, redirect_host: 'localhost' };
  await insertConnection(sql, {
    id: connection,
    organisation,
    user,
    ...about,
    scope,
    created_at: now,
  });
  const fingerprint = recordFingerprint(
    await createAssistantKey(sql, { secretKey: testSecretKey })(),
    'AccessToken',
    token,
  );
  await sql`insert into oauth_records (model, fingerprint, connection_id, payload, created_at, expires_at)
    values ('AccessToken', ${fingerprint}, ${connection}, ${JSON.stringify({ aud: resourceOf(baseUrl) })}::text::jsonb, ${new Date(now)}, ${new Date(now + 900_000)})`;
  return { connection, token };
};

/**
 * For test files: an assistant as a stranger's program is one, with the SDK's client, and the
 * browser in which its person says yes.
 */

type StoredClient = Parameters<NonNullable<OAuthClientProvider['saveClientInformation']>>[0];
type Tokens = Parameters<OAuthClientProvider['saveTokens']>[0];

type Assistant = {
  readonly provider: OAuthClientProvider;
  /** Begins: where it sends its person. */
  readonly begin: () => Promise<URL>;
  /** Ends, with where the browser was led. */
  readonly end: (returned: URL) => Promise<Tokens>;
  tokens: Tokens | undefined;
  client: StoredClient | undefined;
};

type AssistantOptions = {
  readonly redirect?: string;
  readonly name?: string;
  readonly documentUrl?: string;
  readonly scope?: string;
};

export const assistantOf = (url: string, options: AssistantOptions = {}): Assistant => {
  const {
    redirect = 'http://127.0.0.1:33418/callback',
    name = 'Test Assistant',
    documentUrl,
    scope,
  } = options;
  let verifier = '';
  let sentTo: URL | undefined;
  const provider: OAuthClientProvider = {
    get redirectUrl() {
      return redirect;
    },
    ...(documentUrl === undefined ? {} : { clientMetadataUrl: documentUrl }),
    get clientMetadata() {
      return {
        client_name: name,
        redirect_uris: [redirect],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
      };
    },
    state: () => 'a-state',
    clientInformation: () => assistant.client,
    saveClientInformation: (client) => {
      assistant.client = client;
    },
    tokens: () => assistant.tokens,
    saveTokens: (tokens) => {
      assistant.tokens = tokens;
    },
    redirectToAuthorization: (to) => {
      sentTo = to;
    },
    saveCodeVerifier: (made) => {
      verifier = made;
    },
    codeVerifier: () => verifier,
  };
  const serverUrl = `${url}/mcp`;
  const assistant: Assistant = {
    provider,
    tokens: undefined,
    client: undefined,
    begin: async () => {
      await auth(provider, { serverUrl, ...(scope === undefined ? {} : { scope }) });
      if (!sentTo) throw new Error('the assistant sends its person nowhere');
      return sentTo;
    },
    end: async (returned) => {
      const [code, iss] = [returned.searchParams.get('code'), returned.searchParams.get('iss')];
      if (code === null) throw new Error(`there is no code in ${returned}`);
      await auth(provider, {
        serverUrl,
        authorizationCode: code,
        ...(iss === null ? {} : { iss }),
      });
      if (!assistant.tokens) throw new Error('the assistant was given no token');
      return assistant.tokens;
    },
  };
  return assistant;
};

/** What a browser keeps of the cookies that it is given. */
export const createBrowser = (web: Pick<TestWeb, 'url' | 'cookieOf'>, person?: Person) => {
  const jar = new Map<string, { readonly value: string; readonly path: string }>();
  const given: string[] = [];
  const keep = (headers: Headers): void => {
    for (const line of headers.getSetCookie()) {
      given.push(line);
      const [pair = '', ...attributes] = line.split(';').map((each) => each.trim());
      const [name = '', value = ''] = pair.split(/=(.*)/s);
      const path = attributes.find((each) => /^path=/i.test(each))?.slice(5) ?? '/';
      const isOver = attributes.some(
        (each) => /^expires=Thu, 01 Jan 1970/i.test(each) || /^max-age=0$/i.test(each),
      );
      if (isOver) jar.delete(`${name} ${path}`);
      else jar.set(`${name} ${path}`, { value, path });
    }
  };
  const cookiesFor = async (path: string): Promise<string> => {
    const own = [...jar]
      .filter(([, kept]) => path.startsWith(kept.path))
      .map(([key, { value }]) => `${key.split(' ')[0]}=${value}`);
    return [...(person ? [await web.cookieOf(person)] : []), ...own].join('; ');
  };
  const ask = async (to: string | URL, init: RequestInit = {}, at = web.url) => {
    const url = new URL(to, at);
    const headers = {
      accept: 'text/html',
      cookie: await cookiesFor(url.pathname),
      ...init.headers,
    };
    const answer = await fetch(url, { redirect: 'manual', ...init, headers });
    keep(answer.headers);
    return {
      status: answer.status,
      headers: answer.headers,
      text: await answer.text(),
      location: answer.headers.get('location') ?? '',
    };
  };
  return {
    /** Every Set-Cookie that came. */
    given,
    get: (to: string | URL, at?: string) => ask(to, {}, at),
    post: (to: string | URL, form: Readonly<Record<string, string>>, at?: string) =>
      ask(
        to,
        {
          method: 'POST',
          body: new URLSearchParams(form),
          headers: { 'sec-fetch-site': 'same-origin' },
        },
        at,
      ),
  };
};
export type Browser = ReturnType<typeof createBrowser>;

/** Where a page leads on by itself. */
export const ledTo = ({ headers }: { readonly headers: Headers }): string =>
  /^0; url=(.*)$/.exec(headers.get('refresh') ?? '')?.[1] ?? '';

/** What is asked at the token endpoint. */
export const askToken = async (url: string, form: Readonly<Record<string, string>>) => {
  const answer = await fetch(`${url}/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams(form),
  });
  const body: unknown = await answer.json();
  const said = (name: string): string => {
    const value = memberOf(body, name);
    return typeof value === 'string' ? value : '';
  };
  return {
    status: answer.status,
    error: said('error'),
    access: said('access_token'),
    refresh: said('refresh_token'),
    scope: said('scope'),
  };
};

/**
 * From the address that an assistant sends its person to, by the consent page, to where the browser
 * is led in the end.
 */
export const consent = async (
  browser: Browser,
  to: URL,
  form: Readonly<Record<string, string>>,
): Promise<URL> => {
  const began = await browser.get(to);
  const page = await browser.get(began.location);
  if (page.status !== 200)
    throw new Error(`the consent page answers ${page.status}: ${page.location}`);
  const said = await browser.post(began.location, { act: 'allow', ...form });
  const returned = await browser.get(ledTo(said));
  return new URL(returned.location);
};

/**
 * For test files: the address of assistants, with the gate behind it and the protocol's own client
 * before it.
 */

type Era = 'legacy' | 'auto';

export type Connected = { readonly connection: string; readonly token: string };

type AssistantFace = {
  readonly url: string;
  /** Faults of our own that went to the log. */
  readonly logged: readonly unknown[];
  readonly connect: (who: Person, scope?: Scope) => Promise<Connected>;
  readonly clientOf: (
    connected: Connected,
    era?: Era,
    options?: ConstructorParameters<typeof Client>[1],
  ) => Promise<Client>;
  /** One message without a client: what a stranger's program sends. */
  readonly post: (
    connected: Connected | undefined,
    body: unknown,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<Response>;
  /** What happens before the gate is asked the next time. */
  between: ((operation: string) => Promise<void>) | undefined;
  /** Who is taken to be calling when nobody says so: judges from outside sign in nowhere. */
  letIn: Connected | undefined;
};

const open = async (bench: GateBench, { perMinute = 1_000_000 } = {}) => {
  const clock = { now: () => bench.now };
  const log = createLog({ name: 'assistants', level: 'silent' });
  let baseUrl = '';
  const parts = { sql: bench.sql, clock, log };
  const connections = createConnections({
    ...parts,
    secretKey: testSecretKey,
    baseUrl: () => baseUrl,
  });
  const limiter = createRateLimiter({ ...parts, perMinute });
  const logged: unknown[] = [];
  const app = Fastify(restServerOptions);
  const clients: Client[] = [];
  const face: AssistantFace = {
    get url() {
      return baseUrl;
    },
    logged,
    between: undefined,
    letIn: undefined,
    connect: (who, scope = 'read_write') =>
      connectAssistant(bench.sql, who, { baseUrl, scope, now: bench.now }),
    clientOf: async ({ token }, mode = 'auto', options = {}) => {
      const client = new Client(
        { name: 'test', version: '1' },
        { versionNegotiation: { mode }, ...options },
      );
      const requestInit = { headers: { authorization: `Bearer ${token}` } };
      await client.connect(
        new StreamableHTTPClientTransport(new URL(`${baseUrl}/mcp`), { requestInit }),
      );
      clients.push(client);
      return client;
    },
    post: (connected, body, headers = {}) =>
      fetch(`${baseUrl}/mcp`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...(connected === undefined ? {} : { authorization: `Bearer ${connected.token}` }),
          ...headers,
        },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
  };
  const execute: AssistantDependencies['execute'] = async (operation, caller, raw) => {
    await face.between?.(operation.id);
    return bench.gate.execute(operation, caller, raw);
  };
  app.addHook('onRequest', async (request) => {
    if (face.letIn !== undefined) request.headers.authorization ??= `Bearer ${face.letIn.token}`;
  });
  assistantRoutes(app, {
    execute,
    callerOf: connections.callerOf,
    limiter,
    clock,
    baseUrl: () => baseUrl,
    log: { error: (entry: unknown) => logged.push(entry) },
  });
  baseUrl = await app.listen({ port: 0, host: '127.0.0.1' });
  return {
    face,
    close: async () => {
      await Promise.all(clients.map((client) => client.close()));
      await app.close();
      await limiter.close();
      await connections.close();
    },
  };
};

/** A face for all tests of a file, over a bench that was made for them before. */
export const assistantFace = (
  bench: GateBench,
  options?: { readonly perMinute?: number },
): { readonly face: AssistantFace } => {
  let made: Awaited<ReturnType<typeof open>> | undefined;
  beforeAll(async () => {
    made = await open(bench, options);
  });
  afterAll(() => made?.close());
  return {
    get face() {
      if (!made) throw new Error('the face is there in tests and beforeAll only');
      return made.face;
    },
  };
};

/** Of a modern request: what each carries. */
export const envelope = (more: Readonly<Record<string, unknown>> = {}) => ({
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
  ...more,
});

export const textsOf = (answer: unknown): string => {
  const content: unknown =
    typeof answer === 'object' && answer !== null ? Reflect.get(answer, 'content') : undefined;
  return (Array.isArray(content) ? content : [])
    .map((part: unknown) => String(Object(part).text ?? ''))
    .join('\n');
};

/** For test files: a client that keeps to no rules, spoken word by word. */

export const redirect = 'http://127.0.0.1:33418/callback';
export const verifier = 'a-verifier-of-more-than-forty-three-characters-0123456789';
const challenge = createHash('sha256').update(verifier).digest('base64url');

type Texts = Readonly<Record<string, string>>;

/** Of a web that is there by the time of the tests. */
export const anonymousAt = (web: () => TestWeb, browser: () => Browser) => {
  const register = async (metadata: object = {}) => {
    const answer = await fetch(`${web().url}/oauth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ client_name: 'A client', redirect_uris: [redirect], ...metadata }),
    });
    const body: unknown = await answer.json();
    return {
      status: answer.status,
      body,
      id: String(memberOf(body, 'client_id')),
      error: memberOf(body, 'error'),
    };
  };
  const addressFor = (client_id: string, more: Texts = {}): URL => {
    const asked = {
      client_id,
      response_type: 'code',
      redirect_uri: redirect,
      code_challenge: challenge,
      code_challenge_method: 'S256',
    };
    const all = {
      ...asked,
      state: 's',
      resource: `${web().url}/mcp`,
      scope: 'read write',
      ...more,
    };
    return new URL(
      `${web().url}/oauth/auth?${new URLSearchParams(Object.entries(all).filter(([, value]) => value !== ''))}`,
    );
  };
  const all = () => ({ organisation_id: web().house.organisation, scope: 'read_write' });
  return {
    register,
    addressFor,
    all,
    codeOf: async (client: string, more: Texts = {}): Promise<string> =>
      (await consent(browser(), addressFor(client, more), all())).searchParams.get('code') ?? '',
    exchange: (client_id: string, code: string, more: Texts = {}) =>
      askToken(web().url, {
        grant_type: 'authorization_code',
        client_id,
        code,
        redirect_uri: redirect,
        code_verifier: verifier,
        ...more,
      }),
    refresh: (client_id: string, refresh_token: string, more: Texts = {}) =>
      askToken(web().url, { grant_type: 'refresh_token', client_id, refresh_token, ...more }),
    isIn: async (token: string): Promise<boolean> =>
      (await web().connections.callerOf(token)) !== undefined,
  };
};

/**
 * Carries JSON-RPC between HTTP, which the conformance suite speaks, and a server on standard input
 * and output, which ours is: one process for each session. It carries; it answers nothing itself.
 */
type McpBridge = { readonly url: string; readonly close: () => Promise<void> };

type Session = {
  readonly child: ChildProcessWithoutNullStreams;
  readonly waiting: Map<string, (line: string) => void>;
};

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
};

export const createMcpBridge = async (
  command: readonly [string, ...string[]],
  environment: NodeJS.ProcessEnv,
): Promise<McpBridge> => {
  const sessions = new Map<string, Session>();

  const begin = (): string => {
    const [program, ...given] = command;
    const child = spawn(program, given, { env: environment, stdio: ['pipe', 'pipe', 'pipe'] });
    const waiting: Session['waiting'] = new Map();
    createInterface({ input: child.stdout }).on('line', (line) => {
      const message: unknown = JSON.parse(line);
      const id =
        typeof message === 'object' && message !== null
          ? JSON.stringify(Reflect.get(message, 'id'))
          : '';
      waiting.get(id)?.(line);
      waiting.delete(id);
    });
    child.stderr.resume();
    const session = randomUUID();
    sessions.set(session, { child, waiting });
    return session;
  };

  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') {
      response.writeHead(405, { allow: 'POST' }).end();
      return;
    }
    const text = await bodyOf(request);
    const message: unknown = JSON.parse(text);
    const id: unknown =
      typeof message === 'object' && message !== null ? Reflect.get(message, 'id') : undefined;
    const name = String(request.headers['mcp-session-id'] ?? begin());
    const session = sessions.get(name);
    if (!session) {
      response.writeHead(404).end();
      return;
    }
    const answered =
      id === undefined
        ? undefined
        : new Promise<string>((resolve) => session.waiting.set(JSON.stringify(id), resolve));
    session.child.stdin.write(`${JSON.stringify(message)}\n`);
    if (!answered) {
      response.writeHead(202).end();
      return;
    }
    response
      .writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': name })
      .end(await answered);
  });
  const port = await portOf(server);
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    close: async () => {
      await Promise.all(
        [...sessions.values()].map(
          ({ child }) =>
            new Promise<void>((resolve) =>
              child.exitCode === null ? child.once('exit', () => resolve()).kill() : resolve(),
            ),
        ),
      );
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};
